#include "diagnose/diff/diff_internal.h"

#include "base/alloc.h"
#include "diagnose/diff/align.h"
#include "diagnose/diff/hash.h"

void rk_program_diff_cleanup(rk_program_diff *diff) {
    rk_differences_cleanup(&diff->list);
    *diff = (rk_program_diff){0};
}

static void rk_differ_cleanup(rk_differ *d) {
    rk_free(d->match);
    rk_free(d->parameter);
    rk_free(d->function);
}

static uint32_t *new_ids(size_t count) {
    uint32_t *ids = rk_malloc((count + 1) * sizeof *ids);
    if (ids)
        memset(ids, 0xFF, (count + 1) * sizeof *ids); // RK_NO_ID
    return ids;
}

static rk_err *allocate(rk_differ *d) {
    d->match = new_ids((size_t)d->a->item_count + d->b->item_count);
    d->parameter = new_ids((size_t)d->a->parameter_count + d->b->parameter_count);
    d->function = new_ids(d->a->function_count);
    if (!d->match || !d->parameter || !d->function)
        return rk_err_no_memory();
    d->back = d->match + d->a->item_count;
    d->parameter_back = d->parameter + d->a->parameter_count;
    return NULL;
}

// Functions.

static uint64_t hash_content(const rk_program_index *index,
                             const rk_program_index_function *function) {
    uint64_t hash = function->name_hash;
    for (uint32_t i = 0; i < function->count; i++)
        hash = rk_hash_mix(hash, index->items[function->first + i].kind);
    return hash;
}

// Lists the functions that have no partner yet, hashed by name, or by name and content. `partner`
// NULL: no function has one. The module and the entry function are left out.
static uint32_t list_functions(const rk_program_index *index, const uint32_t *partner,
                               bool by_content, uint64_t *hashes, uint32_t *ids) {
    uint32_t count = 0;
    for (uint32_t f = 1; f < index->function_count; f++) {
        if (f == index->entry || (partner && partner[f] != RK_NO_ID))
            continue;
        const rk_program_index_function *function = &index->functions[f];
        hashes[count] = by_content ? hash_content(index, function) : function->name_hash;
        ids[count++] = f;
    }
    return count;
}

static rk_err *match_functions_by(rk_differ *d, bool by_content, uint64_t *hashes, uint32_t *ids,
                                  uint32_t *back) {
    uint32_t limit = d->a->function_count;
    uint32_t a_count = list_functions(d->a, d->function, by_content, hashes, ids);
    uint32_t b_count = list_functions(d->b, back, by_content, hashes + limit, ids + limit);
    rk_autofree uint32_t *match = new_ids(a_count);
    if (!match)
        return rk_err_no_memory();
    RK_TRY(rk_align(hashes, a_count, hashes + limit, b_count, match));
    for (uint32_t i = 0; i < a_count; i++) {
        if (match[i] == RK_ALIGN_NONE)
            continue;
        d->function[ids[i]] = ids[limit + match[i]];
        back[ids[limit + match[i]]] = ids[i];
    }
    return NULL;
}

static rk_err *match_functions(rk_differ *d) {
    size_t all = (size_t)d->a->function_count + d->b->function_count;
    rk_autofree uint64_t *hashes = rk_malloc((all + 1) * sizeof *hashes);
    rk_autofree uint32_t *ids = new_ids(all), *back = new_ids(d->b->function_count);
    if (!hashes || !ids || !back)
        return rk_err_no_memory();
    d->function[0] = 0;
    if (d->a->entry && d->b->entry)
        d->function[d->a->entry] = d->b->entry;
    // Equal content first: a name without its number may belong to several functions.
    RK_TRY(match_functions_by(d, true, hashes, ids, back));
    return match_functions_by(d, false, hashes, ids, back);
}

// Operations.

typedef struct hashes {
    uint64_t *a, *b;
    uint32_t *by_kind, *by_place;
} hashes;

static void fill(const rk_program_index *index, const rk_program_index_function *function,
                 bool placed, uint64_t *out) {
    for (uint32_t i = 0; i < function->count; i++) {
        const rk_program_index_item *item = &index->items[function->first + i];
        out[i] = placed ? item->placed : item->kind;
    }
}

static uint32_t count_matched(const uint32_t *match, uint32_t count) {
    uint32_t matched = 0;
    for (uint32_t i = 0; i < count; i++)
        matched += match[i] != RK_ALIGN_NONE;
    return matched;
}

// Aligns the operations of two functions by kind, then by kind and line. The second alignment is
// better if it matches as many operations: among many equal operations it pairs those of the same
// line.
static rk_err *match_ops_of(rk_differ *d, const rk_program_index_function *a,
                            const rk_program_index_function *b, const hashes *h) {
    fill(d->a, a, false, h->a);
    fill(d->b, b, false, h->b);
    RK_TRY(rk_align(h->a, a->count, h->b, b->count, h->by_kind));
    const uint32_t *best = h->by_kind;
    uint32_t matched = count_matched(h->by_kind, a->count);
    fill(d->a, a, true, h->a);
    fill(d->b, b, true, h->b);
    // Equal sequences need no second alignment.
    if (memcmp(h->a, h->b, (a->count < b->count ? a->count : b->count) * sizeof *h->a) != 0 ||
        a->count != b->count) {
        RK_TRY(rk_align(h->a, a->count, h->b, b->count, h->by_place));
        if (count_matched(h->by_place, a->count) >= matched)
            best = h->by_place;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        if (best[i] == RK_ALIGN_NONE)
            continue;
        d->match[a->first + i] = b->first + best[i];
        d->back[b->first + best[i]] = a->first + i;
    }
    return NULL;
}

static rk_err *match_ops(rk_differ *d) {
    size_t all = (size_t)d->a->item_count + d->b->item_count;
    rk_autofree uint64_t *space = rk_malloc((all + 1) * sizeof *space);
    rk_autofree uint32_t *match = new_ids(2 * (size_t)d->a->item_count);
    if (!space || !match)
        return rk_err_no_memory();
    hashes h = {space, space + d->a->item_count, match, match + d->a->item_count};
    for (uint32_t f = 0; f < d->a->function_count; f++) {
        uint32_t partner = d->function[f];
        if (partner != RK_NO_ID)
            RK_TRY(match_ops_of(d, &d->a->functions[f], &d->b->functions[partner], &h));
    }
    return NULL;
}

// The class of cause.

static bool is_other_toolchain(const rk_model *a, const rk_model *b) {
    return a->producer && b->producer && strcmp(a->producer, b->producer) != 0;
}

// Returns whether sizes and numbers in the source are all that differs by itself. Other operations
// follow from them: a shuffle of more values has more rounds.
static bool only_sizes_differ(const rk_differences *list) {
    bool any = false;
    for (size_t i = 0; i < list->count; i++) {
        const rk_difference *d = &list->items[i];
        if (d->follows)
            continue;
        if (d->kind != RK_DIFFERENCE_SHAPE && d->kind != RK_DIFFERENCE_CONSTANT)
            return false;
        any |= d->kind == RK_DIFFERENCE_SHAPE;
    }
    return any;
}

// The first class in this order that occurs explains the others: changed inputs change the
// operations inside.
static rk_cause cause_of(const rk_differ *d) {
    if (!d->out->list.count)
        return RK_CAUSE_FIRST;
    if (d->parameters)
        return RK_CAUSE_PARAMETERS;
    if (d->shapes) // operations are then counted only if they come from a branch
        return d->structures ? RK_CAUSE_STRUCTURE : RK_CAUSE_SHAPE;
    if (d->dtypes)
        return RK_CAUSE_DTYPE;
    if (d->shardings)
        return RK_CAUSE_SHARDING;
    if (d->constants && only_sizes_differ(&d->out->list))
        return RK_CAUSE_CONSTANT;
    // Another type of all values comes with a few other operations (a mean in more bits).
    if (d->structures || d->converts)
        return d->converts > 2 * d->structures ? RK_CAUSE_DTYPE : RK_CAUSE_STRUCTURE;
    if (d->donations && !d->constants)
        return RK_CAUSE_OPTIONS;
    return d->constants ? RK_CAUSE_CONSTANT : RK_CAUSE_STRUCTURE;
}

// Results that the program computes: a constant as a result is left over from the initialization,
// which PyTorch/XLA materializes with the first step.
static size_t count_computed_results(const rk_program_index *index) {
    size_t count = 0;
    for (uint32_t i = 0; i < index->result_count; i++)
        count += !rk_differ_is_literal_result(index, i);
    return count;
}

// Returns whether the later program only adds most of its new inputs to its results. It must have
// all inputs of the earlier program, as many results, and few other new operations. Or it takes
// what the earlier program returns, adds to it, and uses the sums itself: the optimizer's update is
// part of the last micro-batch. The update may have further inputs of its own.
static bool is_accumulation(const rk_differ *d) {
    size_t added = 0;
    for (uint32_t i = 0; i < d->b->parameter_count; i++)
        added += d->parameter_back[i] == RK_NO_ID;
    for (uint32_t i = 0; i < d->a->parameter_count; i++)
        if (d->parameter[i] == RK_NO_ID)
            return false;
    if (added && d->consumed >= 2 && 4 * d->consumed >= added)
        return true;
    return added && 2 * d->accumulated >= added && d->out->added <= 6 * d->accumulated &&
           count_computed_results(d->a) == count_computed_results(d->b);
}

// The operation that makes the only result of a program; RK_NO_ID if there is none.
static uint32_t result_op(const rk_program_index *index) {
    return index->result_count == 1 ? index->producer[index->results[0]] : RK_NO_ID;
}

// Finds the line that makes the only result of a program.
static bool find_result_line(const rk_program_index *index, rk_source *out_line) {
    uint32_t op = result_op(index);
    return op != RK_NO_ID && rk_program_index_source(index, op, out_line);
}

static bool has_line(const rk_program_index *index, const rk_source *line) {
    rk_source place;
    for (uint32_t i = 0; i < index->item_count; i++)
        if (rk_program_index_source(index, index->items[i].op, &place) &&
            rk_source_same_line(&place, line))
            return true;
    return false;
}

static bool returns_other_line(const rk_differ *d) {
    rk_source a, b;
    return find_result_line(d->a, &a) && find_result_line(d->b, &b) && !has_line(d->b, &a) &&
           !has_line(d->a, &b);
}

// Finds the line of a package that makes the only result of a program. False if a line of the user
// makes it.
static bool find_package_line(const rk_program_index *index, rk_source *out_line) {
    rk_path path;
    uint32_t op = result_op(index);
    if (op == RK_NO_ID)
        return false;
    rk_path_read(index->model, op, RK_FILE_PACKAGE, &path);
    if (!path.count || rk_file_owner_of(path.frames[0].file) != RK_FILE_PACKAGE)
        return false;
    *out_line = path.frames[0];
    return true;
}

static bool returns_other_package_line(const rk_differ *d) {
    rk_source a, b;
    return find_package_line(d->a, &a) && find_package_line(d->b, &b) &&
           !rk_source_same_line(&a, &b);
}

// Another version of the framework writes the program in another way: all other differences follow
// from the version.
static rk_err *compare_producers(rk_differ *d) {
    if (!is_other_toolchain(d->a->model, d->b->model) || !d->out->list.count)
        return NULL;
    for (size_t i = 0; i < d->out->list.count; i++)
        d->out->list.items[i].follows = true;
    rk_differ_subject subject = {.op = rk_span_text("program")};
    RK_TRY(rk_differ_add(d, RK_DIFFERENCE_VERSION, &subject, rk_span_text("producer"),
                         rk_span_text(d->a->model->producer), rk_span_text(d->b->model->producer)));
    d->out->cause = RK_CAUSE_TOOLCHAIN;
    return NULL;
}

// If nothing is a cause, the first difference is.
static void be_cause(rk_differences *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].follows)
            return;
    if (list->count) {
        list->items[0].follows = false;
        list->cause_count = 1;
    }
}

// Operations that come from a branch go before the inputs whose shapes differ.
static void lead_with_operations(rk_differences *list) {
    for (size_t i = 0; i < list->count; i++) {
        rk_difference *one = &list->items[i];
        bool is_op = one->kind == RK_DIFFERENCE_OP_ADDED || one->kind == RK_DIFFERENCE_OP_REMOVED;
        if (is_op && !one->follows && !one->is_moved)
            one->order = 0;
        else if (!one->order)
            one->order = 1;
    }
}

rk_err *rk_diff_programs(const rk_program_index *before, const rk_program_index *after,
                         rk_program_diff *out_diff) {
    *out_diff = (rk_program_diff){0};
    RK_AUTO(rk_differ) d = {.a = before, .b = after, .out = out_diff};
    RK_TRY(allocate(&d));
    RK_TRY(match_functions(&d));
    RK_TRY(match_ops(&d));
    RK_TRY(rk_differ_match_parameters(&d));
    RK_TRY(rk_differ_parameters(&d));
    RK_TRY(rk_differ_results(&d, false));
    RK_TRY(rk_differ_ops(&d));
    RK_TRY(rk_differ_results(&d, true));
    if (!out_diff->list.count)
        RK_TRY(rk_differ_arguments(&d));
    be_cause(&out_diff->list);
    out_diff->cause = cause_of(&d);
    out_diff->accumulates = is_accumulation(&d);
    out_diff->returns_other_line = out_diff->cause == RK_CAUSE_STRUCTURE && returns_other_line(&d);
    out_diff->returns_other_package_line =
        (out_diff->cause == RK_CAUSE_STRUCTURE || out_diff->cause == RK_CAUSE_PARAMETERS) &&
        returns_other_package_line(&d);
    RK_TRY(compare_producers(&d));
    if (d.shapes && out_diff->cause == RK_CAUSE_STRUCTURE)
        lead_with_operations(&out_diff->list);
    rk_differences_sort(&out_diff->list);
    return NULL;
}
