// Finds the line of the user's source where a step of PyTorch/XLA is cut.
#include "base/alloc.h"
#include "diagnose/explain/graphs_internal.h"
#include "diagnose/explain/operations_internal.h"

void rk_cut_place_cleanup(rk_cut_place *place) {
    rk_free(place->file);
}

// Returns whether a graph that ran again was first requested in the first two steps, as the version
// is that most steps execute. An evaluation may run others again, which come later.
static bool runs_again_in_steps(const rk_graph *one) {
    enum { FIRST_STEPS = 2 };
    return one->executions > 1 && (one->step == RK_NO_STEP || one->step <= FIRST_STEPS);
}

// Returns whether a graph is of the steps, and not a version that only the initialization or a
// validation executed. If each step has a version of its own, all of them count.
static bool is_of_steps(const rk_graphs *list, size_t at) {
    if (!rk_graphs_recur(list, at))
        return false;
    for (size_t i = 0; list->items[at].executions < 2 && i < list->count; i++)
        if (list->items[i].group == list->items[at].group && runs_again_in_steps(&list->items[i]))
            return false;
    return true;
}

const rk_graph *rk_graphs_largest_part(const rk_graphs *list) {
    const rk_graph *largest = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (is_of_steps(list, i) &&
            (!largest || list->items[i].known->sketch.op_count > largest->known->sketch.op_count))
            largest = &list->items[i];
    return largest;
}

// Returns whether another version of the same part was requested before. That of the first steps is
// of the steps; a later one may be of an evaluation that calculates the same.
static bool is_later_version(const rk_graphs *list, size_t at) {
    const rk_graph *one = &list->items[at];
    for (size_t i = 0; one->request && i < list->count; i++)
        if (list->items[i].group == one->group && list->items[i].request &&
            list->items[i].request->seq < one->request->seq && is_of_steps(list, i))
            return true;
    return false;
}

// The part to begin with: of the parts that end in a read, the one with the most operations,
// because it costs the most. If only the largest part ends in a read, or none does, the smallest
// part.
static const rk_graph *find_cut(const rk_graphs *list, const rk_graph *largest) {
    const rk_graph *best = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const rk_graph *one = &list->items[i];
        bool reads = rk_sketch_is_read(&one->known->sketch) && one != largest,
             best_reads = best && rk_sketch_is_read(&best->known->sketch) && best != largest;
        uint32_t count = one->known->sketch.op_count;
        if (!is_of_steps(list, i) || is_later_version(list, i))
            continue;
        if (!best || (reads && !best_reads) ||
            (reads == best_reads &&
             (reads ? count > best->known->sketch.op_count : count < best->known->sketch.op_count)))
            best = one;
    }
    return best;
}

static bool leads_to(const rk_path *lines, const rk_source *line) {
    for (uint32_t i = 0; i < lines->count; i++)
        if (rk_source_same_line(&lines->frames[i], line))
            return true;
    return false;
}

// How many of the innermost lines of a path also lead to operations of the program.
static rk_err *share_lines(const rk_explainer *e, const rk_graph *with, const rk_path *of,
                           uint32_t *out_shared) {
    enum { ITEMS_LOOKED_AT = 4096 };
    RK_AUTO(rk_loaded) loaded = {0};
    bool found[RK_PATH_MAX] = {false};
    rk_path other;
    *out_shared = 0;
    RK_TRY(rk_corpus_open(e->corpus, with->known, &loaded));
    if (!loaded.loaded || !loaded.index.entry)
        return NULL;
    const rk_program_index_function *entry = &loaded.index.functions[loaded.index.entry];
    for (uint32_t i = 0; i < entry->count && i < ITEMS_LOOKED_AT; i++) {
        rk_path_read(loaded.index.model, loaded.index.items[entry->first + i].op, RK_FILE_USER,
                     &other);
        for (uint32_t k = 0; k < of->count; k++)
            found[k] = found[k] || leads_to(&other, &of->frames[k]);
    }
    while (*out_shared < of->count && found[*out_shared])
        (*out_shared)++;
    return NULL;
}

// Finds the line of the user that computes gradients in a program, by the gradient that it begins
// with. (Operations of gradients have no lines, because Python does not call them.) The last line,
// if there are several.
static bool find_backward(const rk_program_index *index, rk_source *out_place) {
    static const char file[] = "torch/autograd/__init__.py";
    bool found = false;
    // The gradient that a loss begins with is a constant, so it is no item of the index.
    for (uint32_t op = 0; op < index->model->ops.count; op++) {
        rk_path path;
        rk_path_read(index->model, op, RK_FILE_FRAMEWORK, &path);
        for (uint32_t k = 0; k < path.count; k++)
            if (rk_span_is(path.frames[k].function, "_make_grads") &&
                rk_span_is(rk_file_installed_part(path.frames[k].file), file) &&
                rk_program_index_source(index, op, out_place)) {
                found = true;
                break;
            }
    }
    return found;
}

// Returns whether most operations of a program have no line, as operations of gradients have none.
static bool is_of_gradients(const rk_program_index *index) {
    const rk_program_index_function *entry = &index->functions[index->entry];
    uint32_t without = 0;
    rk_source place;
    for (uint32_t i = 0; i < entry->count; i++)
        without += !rk_program_index_source(index, index->items[entry->first + i].op, &place);
    return 2 * without > entry->count;
}

// Finds the line of the user that computes gradients, if the step is cut inside: a part of the step
// computes gradients, and no gradient begins there. Unknown if several lines compute gradients.
static rk_err *find_backward_of_step(const rk_explainer *e, const rk_graphs *list,
                                     rk_cut_place *out) {
    bool goes_on = false, is_one = true;
    for (size_t i = 0; i < list->count; i++) {
        RK_AUTO(rk_loaded) loaded = {0};
        rk_source place;
        if (!rk_graphs_recur(list, i))
            continue;
        RK_TRY(rk_corpus_open(e->corpus, list->items[i].known, &loaded));
        if (!loaded.loaded || !loaded.index.entry)
            continue;
        if (!find_backward(&loaded.index, &place)) {
            goes_on |= is_of_gradients(&loaded.index);
            continue;
        }
        is_one &= !out->file || (out->line == place.line && rk_span_is(place.file, out->file));
        if (!out->file) {
            out->line = place.line;
            RK_TRY(rk_difference_text(place.file, &out->file));
        }
    }
    out->is_backward = out->file && goes_on && is_one;
    if (!out->is_backward) {
        rk_cut_place_cleanup(out);
        *out = (rk_cut_place){.file = NULL};
    }
    return NULL;
}

// Adds the line that makes the value of a read, if it is another line of the same file.
static rk_err *add_other(const rk_explainer *e, const rk_graph *read, rk_cut_place *out) {
    RK_AUTO(rk_loaded) loaded = {0};
    rk_source place;
    size_t at = 0;
    RK_TRY(rk_corpus_open(e->corpus, read->known, &loaded));
    uint32_t op = loaded.loaded && loaded.index.result_count
                      ? loaded.index.producer[loaded.index.results[0]]
                      : RK_NO_ID;
    if (op == RK_NO_ID || !rk_program_index_source(&loaded.index, op, &place) ||
        place.line == out->line || !rk_span_is(place.file, out->file))
        return NULL;
    while (at < out->other_count && out->others[at] != place.line)
        at++;
    out->has_more_others |= at == RK_CUT_LINES_MAX;
    if (at == out->other_count && at < RK_CUT_LINES_MAX)
        out->others[out->other_count++] = place.line;
    return NULL;
}

// Adds the lines of the other reads that recur in the steps, if they were compiled no later than
// the largest part. The reads of an evaluation come later.
static rk_err *add_others(const rk_explainer *e, const rk_graphs *list, const rk_graph *cut,
                          rk_cut_place *out) {
    enum { READS_MAX = 32 };
    const rk_graph *largest = rk_graphs_largest_part(list);
    size_t looked = 0;
    if (!largest || largest->step == RK_NO_STEP)
        return NULL;
    for (size_t i = 0; i < list->count && looked < READS_MAX; i++) {
        const rk_graph *one = &list->items[i];
        if (one->group == cut->group || !rk_sketch_is_read(&one->known->sketch) ||
            !rk_graphs_recur(list, i) || one->step == RK_NO_STEP || one->step > largest->step)
            continue;
        looked++;
        RK_TRY(add_other(e, one, out));
    }
    return NULL;
}

rk_err *rk_graphs_find_place(const rk_explainer *e, const rk_graphs *list, rk_cut_place *out) {
    const rk_graph *largest = rk_graphs_largest_part(list),
                   *cut = largest ? find_cut(list, largest) : NULL;
    RK_AUTO(rk_loaded) loaded = {0};
    rk_source place;
    rk_path lines;
    uint32_t shared = 0;
    bool looked = false;
    if (!cut)
        return NULL;
    RK_TRY(rk_corpus_open(e->corpus, cut->known, &loaded));
    for (uint32_t i = 0; loaded.loaded && i < loaded.index.result_count; i++) {
        uint32_t op = loaded.index.producer[loaded.index.results[i]];
        if (op == RK_NO_ID)
            continue;
        if (!rk_program_index_source(&loaded.index, op, &place)) {
            // A constant and an input have no line, either.
            if (looked || loaded.index.item_of_op[op] == RK_NO_ID ||
                loaded.index.parameter[loaded.index.results[i]] != RK_NO_ID)
                continue;
            looked = true;
            RK_TRY(find_backward_of_step(e, list, out));
            if (out->file)
                return NULL;
            continue;
        }
        rk_path_read(loaded.index.model, op, RK_FILE_USER, &lines);
        if (largest != cut)
            RK_TRY(share_lines(e, largest, &lines, &shared));
        if (shared && shared < lines.count)
            out->call = lines.frames[shared].line;
        out->line = place.line;
        out->is_read = rk_sketch_is_read(&cut->known->sketch);
        RK_TRY(rk_difference_text(place.file, &out->file));
        return out->is_read ? add_others(e, list, cut, out) : NULL;
    }
    return NULL;
}
