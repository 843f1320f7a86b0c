// Finds graphs of PyTorch/XLA that grow: each has all operations of an earlier one, and the same
// few in addition. Something is computed on and on, and is executed only as a part of each next
// graph.
#include <inttypes.h>

#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"

enum {
    GRAPHS_MIN = 3,
    MANY_ADDED = 50,       // operations
    ADDED_WITH_INPUTS = 8, // operations, if each graph also has an input more
};

#define CONTAINED_MIN 0.95 // of the smaller graph's operations

static bool only_adds_operations(const rk_explained *item) {
    if (item->cause != RK_CAUSE_STRUCTURE || !item->nearest_of || !rk_explained_is_torch(item) ||
        !item->differences.cause_count)
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->differences.items[i].kind != RK_DIFFERENCE_OP_ADDED)
            return false;
    return true;
}

static bool is_same_operation(const rk_difference *a, const rk_difference *b) {
    return a->op && b->op && strcmp(a->op, b->op) == 0 && a->after && b->after &&
           strcmp(a->after, b->after) == 0;
}

// Returns whether one of two items is compared with the other one, and both add the same.
static bool are_links(const rk_explained *a, const rk_explained *b) {
    if ((a->nearest != b->program && b->nearest != a->program) ||
        a->differences.cause_count != b->differences.cause_count || !only_adds_operations(b))
        return false;
    for (size_t i = 0; i < a->differences.cause_count; i++)
        if (!is_same_operation(&a->differences.items[i], &b->differences.items[i]))
            return false;
    return true;
}

static bool changes_shape(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->differences.items[i].kind == RK_DIFFERENCE_SHAPE)
            return true;
    return false;
}

// How many operations a graph of PyTorch/XLA has in addition to all those of the graph of an
// earlier request, with inputs of the same shapes; 0 if it is no such graph.
static uint32_t count_added(const rk_explained *item) {
    if (item->cause < RK_CAUSE_SHAPE || item->cause > RK_CAUSE_PARAMETERS || !item->nearest_of ||
        !rk_explained_is_torch(item) || item->takes_lists || changes_shape(item) ||
        !item->program->has_sketch || !item->nearest->has_sketch)
        return 0;
    const rk_sketch *less = &item->nearest->sketch, *more = &item->program->sketch;
    return more->op_count > less->op_count && rk_contained_operations(less, more) >= CONTAINED_MIN
               ? more->op_count - less->op_count
               : 0;
}

// Returns whether one of two items is compared with the other one, and both add about as many
// operations: each iteration of a loop adds a whole model, of which a part depends on a length.
static bool are_equal_steps(const rk_explained *a, const rk_explained *b) {
    enum { TOLERANCE = 20 }; // a part of the operations
    if (!a->program || !b->program || (a->nearest != b->program && b->nearest != a->program))
        return false;
    uint32_t one = count_added(a), other = count_added(b);
    uint32_t distance = one > other ? one - other : other - one;
    return one >= MANY_ADDED && other >= MANY_ADDED && distance <= one / TOLERANCE;
}

static bool only_adds_inputs(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->differences.items[i].kind != RK_DIFFERENCE_PARAMETER_ADDED ||
            !rk_is_of_input(&item->differences.items[i]))
            return false;
    return item->cause == RK_CAUSE_PARAMETERS && item->differences.cause_count > 0;
}

// Returns whether one of two items is compared with the other one, and both add the same number of
// inputs and of operations, for one value that is read: an iteration of a loop that takes an input,
// such as a cell of an RNN. (A sum, or a list that grows, adds an input but hardly any operation.)
static bool are_iterations(const rk_explained *a, const rk_explained *b) {
    if (!a->program || !b->program || (a->nearest != b->program && b->nearest != a->program) ||
        !only_adds_inputs(a) || !only_adds_inputs(b) ||
        a->differences.cause_count != b->differences.cause_count)
        return false;
    uint32_t one = count_added(a), other = count_added(b);
    return one >= ADDED_WITH_INPUTS && one == other && a->program->sketch.result_count == 1 &&
           b->program->sketch.result_count == 1;
}

bool rk_explain_graph_grows(const rk_explanation *x, const rk_explained *item) {
    if (!rk_explained_is_torch(item))
        return false;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *other = &x->items[i];
        if (other != item && ((only_adds_operations(item) && are_links(item, other)) ||
                              are_equal_steps(item, other) || are_iterations(item, other)))
            return true;
    }
    return false;
}

// Returns whether a member of the pattern grew from that graph. The first graph of such a sequence
// may be compared with a graph that differs in more than a few operations, such as one of another
// sequence.
static bool is_grown_from(const rk_members *members, const rk_explained *item) {
    const double similar = 0.75;
    bool is_other = (item->cause == RK_CAUSE_SHAPE || item->cause == RK_CAUSE_PARAMETERS) &&
                    item->similarity < similar;
    if (item->cause != RK_CAUSE_STRUCTURE && item->cause != RK_CAUSE_DTYPE && !is_other)
        return false;
    bool found = false;
    for (size_t i = 0; i < members->count; i++) {
        if (members->items[i] == item)
            return false;
        found |= item->program && members->items[i]->nearest == item->program;
    }
    return found;
}

// Returns whether one graph has all operations of the other one, which is not only a small part.
static bool is_point_between(const rk_sketch *a, const rk_sketch *b) {
    enum { PARTS_MAX = 16 };
    bool is_part = a->op_count > PARTS_MAX * b->op_count || b->op_count > PARTS_MAX * a->op_count;
    return !is_part && rk_contained_operations(a, b) >= CONTAINED_MIN;
}

// Returns whether an item was compared with a graph of an earlier start, and is another point of
// the sequence of the first `count` members. So the difference is no change of the source.
static bool is_of_sequence(const rk_members *members, size_t count, const rk_explained *item) {
    if ((item->cause != RK_CAUSE_STRUCTURE && item->cause != RK_CAUSE_PARAMETERS) ||
        item->nearest_of || !rk_explained_is_torch(item) || !item->program ||
        !item->program->has_sketch)
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_point_between(&members->items[i]->program->sketch, &item->program->sketch))
            return true;
    return false;
}

static void add_operations(const rk_explained *item, rk_buf *out) {
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const char *op = item->differences.items[i].op, *dot = strchr(op, '.');
        rk_buf_add_format(out, "%s%s", i ? ", " : "", dot ? dot + 1 : op);
    }
}

// Appends the number of operations that each graph adds: "about 596", or "31 to 596".
static void add_counts(const rk_members *members, rk_buf *out) {
    const double like = 1.5;
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < members->count; i++) {
        uint32_t count = count_added(members->items[i]);
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    if (most > like * least)
        rk_buf_add_format(out, "%" PRIu32 " to %" PRIu32, least, most);
    else
        rk_buf_add_format(out, "about %" PRIu32, most);
}

// All functions without a name have one name (<lambda>): there the line counts.
static bool is_in_function(const rk_source *line, const rk_stack_frame *frame) {
    if (!frame->function || !rk_span_is(line->file, frame->file) ||
        !rk_span_is(line->function, frame->function))
        return false;
    return *frame->function != '<' || strcmp(frame->function, "<module>") == 0 ||
           line->line == frame->line;
}

// The line of the loop: of the lines that lead to the first added operation, the innermost one in a
// function that leads to most operations of the graph.
static rk_err *find_loop(const rk_explainer *e, const rk_explained *item, const rk_difference *head,
                         const char **out_file, uint32_t *out_line) {
    enum { ITEMS_LOOKED_AT = 4096 };
    RK_AUTO(rk_loaded) loaded = {0};
    rk_path path;
    uint32_t counts[RK_PATH_MAX] = {0}, all = 0;
    size_t lines = head->stack.count < RK_PATH_MAX ? head->stack.count : RK_PATH_MAX;
    if (lines)
        RK_TRY(rk_corpus_open(e->corpus, item->program, &loaded));
    if (!loaded.loaded || !loaded.index.entry)
        return NULL;
    const rk_program_index_function *entry = &loaded.index.functions[loaded.index.entry];
    for (uint32_t i = 0; i < entry->count && i < ITEMS_LOOKED_AT; i++) {
        rk_path_read(loaded.index.model, loaded.index.items[entry->first + i].op, RK_FILE_USER,
                     &path);
        all += path.count > 0;
        for (size_t k = 0; k < lines; k++)
            for (uint32_t f = 0; f < path.count; f++)
                if (is_in_function(&path.frames[f], &head->stack.frames[k])) {
                    counts[k]++;
                    break;
                }
    }
    for (size_t k = 0; k < lines; k++) {
        if (2 * counts[k] < all || !rk_is_user_frame(&head->stack.frames[k]))
            continue;
        *out_file = head->stack.frames[k].file;
        *out_line = head->stack.frames[k].line;
        break;
    }
    return NULL;
}

static const rk_explained *find_largest(const rk_members *members) {
    const rk_explained *largest = members->items[0];
    for (size_t i = 1; i < members->count; i++)
        if (members->items[i]->program->sketch.op_count >= largest->program->sketch.op_count)
            largest = members->items[i];
    return largest;
}

// Returns whether most of the graphs return only true or false: they check conditions.
static bool are_mostly_checks(const rk_members *members) {
    size_t checks = 0;
    for (size_t i = 0; i < members->count; i++)
        checks += rk_is_check(&members->items[i]->program->sketch);
    return 2 * checks > members->count;
}

static rk_err *report(rk_explainer *e, const rk_members *members) {
    const rk_explained *first = members->items[0];
    bool adds_few = only_adds_operations(first) && count_added(first) < MANY_ADDED;
    const rk_explained *last = adds_few ? first : find_largest(members);
    const rk_difference *head = rk_explained_head(last);
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    const char *file = head ? head->file : NULL;
    uint32_t line = head ? head->line : 0;
    if (head)
        RK_TRY(find_loop(e, last, head, &file, &line));
    rk_buf_add_format(
        &text.summary,
        "at least %zu graphs are compiled that grow: each has the operations of an earlier one "
        "and some more (",
        members->count);
    if (adds_few)
        add_operations(first, &text.summary);
    else
        add_counts(members, &text.summary);
    rk_buf_add_text(&text.summary, ")");
    rk_buf_add_text(&text.advice,
                    "Operations are added to a value again and again, such as a sum or the state "
                    "of the random numbers, and nothing executes them. They wait until a read "
                    "(.item(), .cpu(), print, if, a mask as an index) executes a graph, and are a "
                    "part of that graph. If a loop of yours adds them, call torch_xla.sync() in "
                    "each iteration. (What is drawn at random may then be something else.) If they "
                    "are within one call of a library, your source has no place for it.");
    if (are_mostly_checks(members))
        rk_buf_add_text(&text.advice,
                        " If torch.distributions or Pyro checks its arguments after each "
                        "operation, torch.distributions.Distribution.set_default_validate_args("
                        "False) or pyro.enable_validation(False) turns these checks off. Wrong "
                        "arguments are then not reported.");
    RK_TRY(rk_pattern_add(e->out, RK_PATTERN_FRAGMENTS, members->items, members->count, &text, file,
                          line));
    e->out->patterns[e->out->pattern_count - 1].grows = true;
    return NULL;
}

// Returns whether a difference may be of operations that waited for a read. A size is no such
// difference, and neither are values that the first step creates, or a list of another length.
static bool may_follow(const rk_explained *item) {
    rk_cause cause = item->cause;
    return (cause == RK_CAUSE_STRUCTURE || cause == RK_CAUSE_PARAMETERS ||
            cause == RK_CAUSE_CONSTANT) &&
           !item->is_startup && !item->takes_lists && item->nearest_of && item->advice &&
           item->nearest_of->process == item->compile->process && rk_explained_is_torch(item);
}

rk_err *rk_find_growing_graphs(rk_explainer *e) {
    rk_explanation *x = e->out;
    for (size_t p = 0; p < e->run->process_count; p++) {
        RK_AUTO(rk_members) members = {0};
        for (size_t i = 0; i < x->count; i++)
            if (x->items[i].compile->process == p && !rk_is_in_pattern(x, &x->items[i], NULL) &&
                rk_explain_graph_grows(x, &x->items[i]))
                RK_TRY(rk_members_add(&members, &x->items[i]));
        if (members.count < GRAPHS_MIN)
            continue;
        size_t grown = members.count;
        for (size_t i = 0; i < x->count; i++)
            if (x->items[i].compile->process == p &&
                (is_grown_from(&members, &x->items[i]) ||
                 is_of_sequence(&members, grown, &x->items[i])))
                RK_TRY(rk_members_add(&members, &x->items[i]));
        RK_TRY(report(e, &members));
        for (size_t i = 0; i < members.count; i++) // no branch became active
            rk_explained_be_first(&x->items[members.items[i] - x->items]);
        for (size_t i = 0; i < x->count; i++)
            if (x->items[i].compile->process == p && may_follow(&x->items[i]))
                RK_TRY(rk_explained_add_advice(&x->items[i],
                                               "But graphs of this run grow, and this may follow "
                                               "from it: begin with that finding."));
    }
    return NULL;
}
