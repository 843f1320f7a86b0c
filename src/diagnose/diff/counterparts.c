#include "diagnose/diff/counterparts.h"

#include "base/alloc.h"
#include "diagnose/diff/hash.h"

// How many requests back the same name is searched. More requests of one name share positions.
enum { LOOK_BACK_MAX = 1024 };

// How far apart the positions of two programs of one name may be. A run with thousands of programs
// of one name would take minutes.
enum { POSITIONS_MAX = 2048 };

static uint64_t hash_name(const rk_run_compile *request, const rk_known *known) {
    // The stored program may have another name than the request: that of a function before it was
    // renamed.
    const char *name =
        *request->name || !known || !known->has_sketch ? request->name : known->sketch.module;
    return rk_hash_span(RK_HASH_SEED, rk_program_index_bare_name(rk_span_text(name)));
}

static uint32_t find_position(const rk_start *start, size_t index) {
    const rk_run_model *run = start->run;
    const rk_start_request *of = &start->requests[index];
    uint32_t position = 0;
    for (size_t i = index; i-- > 0 && index - i <= LOOK_BACK_MAX;) {
        const rk_start_request *other = &start->requests[i];
        if (other->name != of->name || run->processes[run->compiles[i].process].rank !=
                                           run->processes[run->compiles[index].process].rank)
            continue;
        if (strcmp(run->compiles[i].key, run->compiles[index].key) == 0)
            return other->position;
        if (other->position + 1 > position)
            position = other->position + 1;
    }
    return position;
}

rk_err *rk_start_make(const rk_run_model *run, const rk_corpus *corpus, rk_start *out_start) {
    *out_start = (rk_start){
        .run = run, .requests = rk_calloc(run->compile_count + 1, sizeof *out_start->requests)};
    if (!out_start->requests)
        return rk_err_no_memory();
    for (size_t i = 0; i < run->compile_count; i++) {
        const rk_run_compile *compile = &run->compiles[i];
        rk_start_request *request = &out_start->requests[i];
        request->known = compile->key[0] ? rk_corpus_find(corpus, compile->key) : NULL;
        request->name = hash_name(compile, request->known);
        request->position = find_position(out_start, i);
    }
    return NULL;
}

void rk_start_cleanup(rk_start *start) {
    rk_free(start->requests);
    *start = (rk_start){0};
}

static double similarity_of(const rk_known *earlier, const rk_known *later, bool same_source) {
    return earlier->has_sketch && later->has_sketch
               ? rk_sketch_similarity_of_one_name(&earlier->sketch, &later->sketch, same_source)
               : 0;
}

static bool is_far(const rk_start_request *a, const rk_start_request *b) {
    return a->position + POSITIONS_MAX < b->position || b->position + POSITIONS_MAX < a->position;
}

static bool is_before(const rk_run_compile *a, const rk_run_compile *b) {
    if (a->process == b->process)
        return a->seq < b->seq;
    return a->time_ns < b->time_ns;
}

// Nearly equal programs of a run, such as two samples of a graph of PyTorch/XLA, are told apart by
// their positions.
static double likeness(const rk_counterpart *one) {
    const double same_position = 0.005;
    return one->similarity + (one->same_position ? same_position : 0);
}

static bool is_better(const rk_counterpart *a, const rk_counterpart *b) {
    if (a->failed != b->failed)
        return b->failed;
    if (a->same_program != b->same_program)
        return a->same_program;
    if (likeness(a) != likeness(b))
        return likeness(a) > likeness(b);
    return true; // requests come in order of time: the later one
}

// Inserts a candidate in order. Of several requests for one program, the latest one counts.
static void insert(rk_counterparts *list, const rk_counterpart *one) {
    bool same_position = one->same_position;
    size_t at = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].known != one->known)
            continue;
        same_position |= list->items[i].same_position;
        list->count--;
        for (size_t k = i; k < list->count; k++)
            list->items[k] = list->items[k + 1];
        break;
    }
    while (at < list->count && !is_better(one, &list->items[at]))
        at++;
    if (at == RK_COUNTERPARTS_MAX)
        return;
    if (list->count < RK_COUNTERPARTS_MAX)
        list->count++;
    for (size_t i = list->count - 1; i > at; i--)
        list->items[i] = list->items[i - 1];
    list->items[at] = *one;
    list->items[at].same_position = same_position;
}

void rk_counterparts_find(const rk_start *start, const rk_start *of, size_t index,
                          rk_counterparts *out_list) {
    *out_list = (rk_counterparts){.count = 0};
    const rk_start_request *later = &of->requests[index];
    bool same_start = start == of;
    for (size_t i = 0; i < start->run->compile_count && later->known; i++) {
        const rk_start_request *earlier = &start->requests[i];
        const rk_run_compile *request = &start->run->compiles[i];
        if (!earlier->known || earlier->known == later->known || earlier->name != later->name ||
            (same_start && !is_before(request, &of->run->compiles[index])))
            continue;
        bool same = rk_digest_equal(&earlier->known->key.program, &later->known->key.program);
        if (!same && is_far(earlier, later))
            continue;
        const rk_counterpart one = {
            .known = earlier->known,
            .request = request,
            .similarity = same ? 1 : similarity_of(earlier->known, later->known, same_start),
            .same_program = same,
            .failed = request->failed && !request->refused,
            .same_position = !same_start && earlier->position == later->position,
        };
        if (one.similarity > 0)
            insert(out_list, &one);
    }
}

// Counting changes.

// Kinds whose differences in a list are all one change: a batch size is in several inputs, and a
// changed flag comes with others.
static bool is_one_change(rk_difference_kind kind) {
    return kind == RK_DIFFERENCE_SHAPE || kind == RK_DIFFERENCE_DTYPE ||
           kind == RK_DIFFERENCE_SHARDING || kind >= RK_DIFFERENCE_OPTION;
}

static rk_difference_kind kind_of(const rk_difference *d) {
    return d->kind >= RK_DIFFERENCE_OPTION ? RK_DIFFERENCE_OPTION : d->kind;
}

typedef bool (*is_known_fn)(const void *context, const rk_difference *difference);

// Returns whether an earlier slice of the list stands for this one: on the same line, with the same
// numbers (the slices of a batch and its targets move together), or if one of them has no line.
static bool is_counted_slice(const rk_differences *list, size_t at, is_known_fn is_known,
                             const void *context) {
    const rk_difference *d = &list->items[at];
    for (size_t i = 0; i < at; i++) {
        const rk_difference *other = &list->items[i];
        if (other->follows || !rk_is_of_slice(other) || (is_known && is_known(context, other)))
            continue;
        if (!other->file || !d->file || rk_is_on_same_line(other, d) ||
            (rk_same_text(other->before, d->before) && rk_same_text(other->after, d->after)))
            return true;
    }
    return false;
}

size_t rk_count_changes(const rk_differences *list,
                        bool (*is_known)(const void *context, const rk_difference *difference),
                        const void *context) {
    bool seen[RK_DIFFERENCE_KIND_COUNT] = {false};
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const rk_difference *d = &list->items[i];
        if (d->follows || (is_known && is_known(context, d)))
            continue;
        if (rk_is_of_slice(d)) {
            count += !is_counted_slice(list, i, is_known, context);
            continue;
        }
        rk_difference_kind kind = kind_of(d);
        count += !seen[kind];
        seen[kind] = is_one_change(d->kind);
    }
    return count;
}
