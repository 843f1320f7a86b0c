// Finds inputs that come and go: gradients that are created and then accumulated, and optional
// keys.
#include <inttypes.h>

#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"

// Minimum shares of what two calls of one function with other inputs have in common.
#define SAME_RESULTS_MIN    0.8
#define SAME_OPERATIONS_MIN 0.7 // of the smaller program's operations
#define SAME_LINES_MIN      0.6 // of the smaller program's operations, by line

static bool is_input(const rk_difference *d) {
    return !d->follows &&
           (d->kind == RK_DIFFERENCE_PARAMETER_ADDED ||
            d->kind == RK_DIFFERENCE_PARAMETER_REMOVED) &&
           rk_is_of_input(d);
}

static size_t count_of(const rk_explained *item, bool (*counts)(const rk_difference *)) {
    size_t count = 0;
    for (size_t i = 0; i < item->differences.count; i++)
        count += counts(&item->differences.items[i]);
    return count;
}

static size_t count_inputs(const rk_explained *item) {
    return count_of(item, is_input);
}

// The input is a sum that goes on, and not a constant that became an input (a counter).
static bool is_sum(const rk_difference *d) {
    return is_input(d) && d->is_summed && !d->constant;
}

// All graphs of PyTorch/XLA have one name: there the line must be the same, too.
static bool same_function(const rk_explained *a, const rk_explained *b) {
    const rk_difference *x = rk_explained_head(a), *y = rk_explained_head(b);
    return rk_explained_share_name(a, b) &&
           (!x->file || !y->file ||
            (strcmp(x->file, y->file) == 0 && (!rk_explained_is_torch(a) || x->line == y->line)));
}

// Optional inputs.

// The share of the smaller program's operations whose lines the larger program has, too; 1 if a
// program has no lines. The line of the call says nothing if there are others.
static double contained_lines(const rk_sketch *a, const rk_sketch *b) {
    const rk_sketch *less = a->op_count < b->op_count ? a : b, *more = less == a ? b : a;
    uint64_t common = 0, all = 0;
    for (uint32_t i = 0; i < less->line_count; i++) {
        const rk_sketch_line *line = &less->lines[i], *same = rk_sketch_find_line(more, line->hash);
        if (less->line_count > 1 && line->hash == less->call.hash)
            continue;
        uint32_t there = same ? same->count : 0;
        common += line->count < there ? line->count : there;
        all += line->count;
    }
    return all && more->line_count ? (double)common / (double)all : 1;
}

static bool has_other_types(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if ((d->kind == RK_DIFFERENCE_SHAPE || d->kind == RK_DIFFERENCE_DTYPE) && rk_is_of_input(d))
            return true;
    }
    return false;
}

// Returns whether one function was called with other inputs. Two functions may have one name, also
// two that share a model: they return other things, take the same inputs in other shapes, or do
// other things. JAX programs without any line of the user are not distinguished.
static bool is_same_function_with_other_inputs(const rk_explained *item) {
    const rk_known *before = item->nearest, *after = item->program;
    if (!before || !after || !before->has_sketch || !after->has_sketch)
        return false;
    const rk_sketch *a = &before->sketch, *b = &after->sketch;
    return (rk_explained_head(item)->file || !b->is_mlir) && !has_other_types(item) &&
           rk_same_results(a, b) >= SAME_RESULTS_MIN &&
           rk_contained_operations(a, b) >= SAME_OPERATIONS_MIN &&
           contained_lines(a, b) >= SAME_LINES_MIN;
}

// Growing inputs: a list that is passed on from step to step, or a sum whose graph is not executed.

static const char *later_type_of(const rk_difference *d) {
    return d->after ? d->after : "";
}

// Returns whether two names are equal but for their numbers: "history[3]" and "history[4]".
static bool same_stem(const char *a, const char *b) {
    static const char digits[] = "0123456789";
    for (; *a || *b; a += *a != 0, b += *b != 0) {
        a += strspn(a, digits);
        b += strspn(b, digits);
        if (*a != *b)
            return false;
    }
    return true;
}

static bool is_like(const rk_difference *a, const rk_difference *b) {
    return strcmp(later_type_of(a), later_type_of(b)) == 0 &&
           same_stem(a->attribute ? a->attribute : "", b->attribute ? b->attribute : "");
}

static bool only_adds_inputs(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.count; i++)
        if (is_input(&item->differences.items[i]) &&
            item->differences.items[i].kind == RK_DIFFERENCE_PARAMETER_REMOVED)
            return false;
    return count_inputs(item) > 0;
}

// How many new inputs of `item` are like `d`.
static size_t count_like(const rk_explained *item, const rk_difference *d) {
    size_t count = 0;
    for (size_t i = 0; i < item->differences.count; i++)
        count += is_input(&item->differences.items[i]) && is_like(&item->differences.items[i], d);
    return count;
}

// Returns whether `item` adds to `before` the same inputs as `before` adds to an earlier program.
static bool goes_on_from(const rk_explained *item, const rk_explained *before) {
    if (item == before || item->nearest != before->program || !item->nearest_of ||
        before->cause != RK_CAUSE_PARAMETERS || !before->nearest_of ||
        count_inputs(item) != count_inputs(before) || !only_adds_inputs(item) ||
        !only_adds_inputs(before))
        return false;
    for (size_t i = 0; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (is_input(d) && count_like(item, d) != count_like(before, d))
            return false;
    }
    return true;
}

// The compilation that `item` goes on from, or with `later` one that goes on from `item`; NULL if
// there is none.
static const rk_explained *next_link(const rk_explanation *x, const rk_explained *item,
                                     bool later) {
    for (size_t i = 0; i < x->count; i++)
        if (later ? goes_on_from(&x->items[i], item) : goes_on_from(item, &x->items[i]))
            return &x->items[i];
    return NULL;
}

// Returns whether another graph of PyTorch/XLA has fewer inputs of that type than the one before
// it: the number goes up and down.
static bool shrinks(const rk_explanation *x, const char *type) {
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (!item->nearest_of || !rk_explained_is_torch(item))
            continue;
        for (size_t k = 0; k < item->differences.count; k++) {
            const rk_difference *d = &item->differences.items[k];
            if (is_input(d) && d->kind == RK_DIFFERENCE_PARAMETER_REMOVED && d->before &&
                strcmp(d->before, type) == 0)
                return true;
        }
    }
    return false;
}

// PyTorch/XLA gives inputs no names, so that two optional keys of one type look like growth.
static bool grows(const rk_explanation *x, const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    if (item->cause != RK_CAUSE_PARAMETERS || !item->program || !head)
        return false;
    size_t least = head->attribute && strncmp(head->attribute, "parameter ", 10) != 0 ? 2 : 3;
    size_t links = 1;
    for (unsigned later = 0; later < 2; later++)
        for (const rk_explained *at = item; links < least && (at = next_link(x, at, later));)
            links++;
    return links >= least && !shrinks(x, later_type_of(head));
}

static rk_err *advise_on_growth(rk_explained *item) {
    bool torch = rk_explained_is_torch(item);
    rk_free(RK_TAKE(item->advice));
    item->advice = rk_strdup(
        torch ? "From graph to graph, the same number of inputs is added: something is kept from "
                "step to step and grows, such as a list of tensors, or a sum that is not executed "
                "with its step (total += loss). Add up numbers that were read (loss.item()) after "
                "the step, or detach the value before the step ends."
              : "From call to call, the same number of inputs is added, such as by a list that "
                "grows. Keep the values in one array of fixed size, or reduce them as they come.");
    return item->advice ? NULL : rk_err_no_memory();
}

static void write_names(const rk_members *members, bool (*counts)(const rk_difference *),
                        rk_buf *out) {
    enum { SHOWN = 4, NAMES_MAX = 64 };
    const char *seen[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        for (size_t k = 0; k < members->items[i]->differences.count; k++) {
            const rk_difference *d = &members->items[i]->differences.items[k];
            // The inputs of PyTorch/XLA have only numbers, which differ from graph to graph.
            const char *name = rk_explained_is_torch(members->items[i])
                                   ? (d->after ? d->after : d->before)
                                   : d->attribute;
            size_t at = 0;
            if (!counts(d) || !name)
                continue;
            while (at < count && strcmp(seen[at], name) != 0)
                at++;
            if (at == count && count < NAMES_MAX)
                seen[count++] = name;
        }
    }
    for (size_t i = 0; i < count && i < SHOWN; i++)
        rk_buf_add_format(out, "%s%s", i ? ", " : "", seen[i]);
    if (count > SHOWN)
        rk_buf_add_format(out, " and %zu more", count - SHOWN);
}

// Finds the program that creates the values and runs again after the one that adds to them: the
// program that `item` is compared with, or a later version of it. NULL if neither runs again.
static const rk_run_compile *find_creator(const rk_explainer *e, const rk_explained *item) {
    if (rk_explain_executions(e->run, item->nearest_of) != 1) // an unknown number counts as many
        return item->nearest_of;
    for (size_t i = 0; i < e->out->count; i++) {
        const rk_explained *other = &e->out->items[i];
        if (other->nearest == item->nearest && !other->accumulates &&
            other->compile->process == item->compile->process &&
            other->compile->seq > item->compile->seq)
            return other->compile;
    }
    return NULL;
}

static void describe_sets(const rk_members *members, rk_buf *out) {
    rk_buf_add_format(out,
                      "%s was compiled again %zu times with other inputs; some inputs are not "
                      "always there (",
                      rk_explained_name(members->items[0]), members->count);
    write_names(members, is_input, out);
}

// `creates`: the request of the program that creates the values.
static void describe_turns(const rk_members *members, const rk_run_compile *creates, rk_buf *out) {
    const rk_explained *first = members->items[0];
    bool (*counts)(const rk_difference *) = count_of(first, is_sum) ? is_sum : is_input;
    rk_buf_add_format(out,
                      "two programs take turns: %s (request %" PRIu64
                      ") creates %zu values, and %s "
                      "(request %" PRIu64 ") takes them as inputs and adds to them (",
                      *creates->name ? creates->name : rk_explained_name(first), creates->seq,
                      count_of(first, counts), rk_explained_name(first), first->compile->seq);
    write_names(members, counts, out);
}

static rk_err *add_group(rk_explainer *e, const rk_members *members, rk_pattern_kind kind) {
    const rk_explained *first = members->items[0];
    const rk_difference *head = rk_explained_head(first);
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    if (kind == RK_PATTERN_ALTERNATION)
        describe_turns(members, find_creator(e, first), &text.summary);
    else
        describe_sets(members, &text.summary);
    rk_buf_add_text(&text.summary, ")");
    if (!head->file)
        rk_buf_add_text(&text.summary, "; no line of the source is known");
    rk_buf_add_text(&text.advice, rk_members_usual_advice(members));
    return rk_pattern_add(e->out, kind, members->items, members->count, &text, head->file,
                          head->line);
}

static bool belongs(const rk_explanation *x, const rk_explained *item, rk_pattern_kind kind) {
    bool inputs = item->cause == RK_CAUSE_PARAMETERS && item->nearest_of &&
                  rk_explained_head(item) && count_inputs(item) && !item->is_startup &&
                  !item->is_own_call;
    if (kind == RK_PATTERN_ALTERNATION)
        return inputs && item->accumulates;
    return inputs && !item->accumulates && !rk_explained_is_constant(item) &&
           !rk_explain_begins_sum(item) && is_same_function_with_other_inputs(item) &&
           !grows(x, item);
}

static bool is_input_name(const char *text) {
    static const char prefix[] = "input ";
    return text &&
           (strncmp(text, prefix, sizeof prefix - 1) == 0 || strcmp(text, "another input") == 0);
}

// Returns whether two graphs of PyTorch/XLA only use their inputs in another way: of several
// optional inputs of one type, they have another one.
static bool has_other_input(const rk_explained *item) {
    if (item->cause != RK_CAUSE_STRUCTURE || !item->nearest_of || !rk_explained_is_torch(item))
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (d->kind != RK_DIFFERENCE_ATTRIBUTE || !is_input_name(d->before) ||
            !is_input_name(d->after))
            return false;
    }
    return item->differences.cause_count > 0;
}

// Finds the request that the chain of compared programs of each item begins with. A program is
// mostly compared with one that comes before it in the list, whose head is known then.
static void find_heads(const rk_explanation *x, const rk_run_compile **heads) {
    for (size_t i = 0; i < x->count; i++) {
        const rk_run_compile *head = x->items[i].compile;
        size_t at = i;
        for (size_t links = 0; links < x->count && at < x->count && !heads[at]; links++) {
            if (!x->items[at].nearest_of)
                break;
            head = x->items[at].nearest_of;
            const rk_explained *item = rk_explained_of(x, head);
            at = item ? (size_t)(item - x->items) : x->count;
        }
        heads[i] = at < x->count && heads[at] ? heads[at] : head;
    }
}

// The programs that may belong to a group.
typedef struct candidates {
    bool *open;                   // belongs to no group yet; owned
    bool *joins;                  // may belong to a group that others begin; owned
    const rk_run_compile **heads; // of the chains; owned
} candidates;

static void candidates_cleanup(candidates *list) {
    rk_free(list->open);
    rk_free(list->joins);
    rk_free(list->heads);
}

static rk_err *find_candidates(const rk_explanation *x, rk_pattern_kind kind,
                               candidates *out_list) {
    out_list->open = rk_calloc(x->count + 1, sizeof *out_list->open);
    out_list->joins = rk_calloc(x->count + 1, sizeof *out_list->joins);
    out_list->heads = rk_calloc(x->count + 1, sizeof *out_list->heads);
    if (!out_list->open || !out_list->joins || !out_list->heads)
        return rk_err_no_memory();
    find_heads(x, out_list->heads);
    for (size_t i = 0; i < x->count; i++) {
        out_list->open[i] = belongs(x, &x->items[i], kind);
        out_list->joins[i] = kind == RK_PATTERN_OPTIONAL_INPUTS && has_other_input(&x->items[i]);
    }
    return NULL;
}

static bool takes_constant(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->differences.items[i].constant)
            return true;
    return false;
}

// Moves the programs that belong with the first one from the candidates to the members. Functions
// of one name, such as the graphs of PyTorch/XLA, may each have a second set of inputs: they have
// different chains. An input that was a constant has a reason of its own.
static rk_err *add_members(const rk_explanation *x, rk_pattern_kind kind, size_t first,
                           candidates *list, rk_members *members) {
    for (size_t k = first; k < x->count; k++) {
        if (!list->open[k] || !same_function(&x->items[first], &x->items[k]) ||
            (kind != RK_PATTERN_ALTERNATION &&
             (list->heads[k] != list->heads[first] ||
              takes_constant(&x->items[k]) != takes_constant(&x->items[first]))))
            continue;
        list->open[k] = false;
        RK_TRY(rk_members_add(members, &x->items[k]));
    }
    return NULL;
}

// Adds the programs that have another one of the optional inputs of the same chain.
static rk_err *add_joining(const rk_explanation *x, size_t first, candidates *list,
                           rk_members *members) {
    for (size_t k = 0; k < x->count; k++) {
        if (!list->joins[k] || list->heads[k] != list->heads[first] ||
            !rk_explained_share_name(&x->items[first], &x->items[k]))
            continue;
        list->joins[k] = false;
        RK_TRY(rk_members_add(members, &x->items[k]));
    }
    return NULL;
}

static rk_err *find(rk_explainer *e, rk_pattern_kind kind, size_t least) {
    const rk_explanation *x = e->out;
    RK_AUTO(candidates) list = {0};
    RK_TRY(find_candidates(x, kind, &list));
    for (size_t i = 0; i < x->count; i++) {
        if (!list.open[i])
            continue;
        RK_AUTO(rk_members) members = {0};
        RK_TRY(add_members(x, kind, i, &list, &members));
        if (members.count < least)
            continue;
        RK_TRY(add_joining(x, i, &list, &members));
        RK_TRY(add_group(e, &members, kind));
    }
    return NULL;
}

// Gradients that are created only once, in the first step, alternate with nothing. Each job that
// accumulates compiles these two programs.
static void forgive_first_creation(rk_explainer *e) {
    for (size_t i = 0; i < e->out->count; i++) {
        rk_explained *item = &e->out->items[i];
        if (item->accumulates && item->cause == RK_CAUSE_PARAMETERS && item->nearest_of &&
            item->nearest_of->process == item->compile->process && !find_creator(e, item))
            rk_explained_be_first(item);
    }
}

// One more set of inputs may be a second way to call the function. Two more mean that the inputs
// depend on the batch.
rk_err *rk_find_input_patterns(rk_explainer *e) {
    forgive_first_creation(e);
    for (size_t i = 0; i < e->out->count; i++)
        if (grows(e->out, &e->out->items[i]))
            RK_TRY(advise_on_growth(&e->out->items[i]));
    RK_TRY(find(e, RK_PATTERN_ALTERNATION, 1));
    return find(e, RK_PATTERN_OPTIONAL_INPUTS, 2);
}
