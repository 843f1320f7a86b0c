// Finds steps of PyTorch/XLA in pieces. PyTorch/XLA records all operations up to a barrier, or up
// to a read of a value (.item()), as one graph. All its graphs have one name, and pieces of one
// step may share most of their lines. So this file decides which graphs are versions of each other,
// and which ones are parts of one step, executed one after the other.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/graphs_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"

enum {
    STEPS_MIN = 3,       // executions of a recurring part
    PARTS_MIN = 3,       // different graphs in a step
    MICRO_STEPS_MAX = 4, // a graph of a micro-batch is executed more often than that of the update
};
// Versions of one graph are similar and return nearly the same.
#define VERSION_SIMILARITY 0.75
#define VERSION_RESULTS    0.8

static const rk_explained *compilation_of(const rk_explainer *e, size_t process, const char *key) {
    for (size_t i = 0; i < e->out->count; i++) {
        const rk_explained *item = &e->out->items[i];
        if (item->compile->process == process && strcmp(item->compile->key, key) == 0)
            return item;
    }
    return NULL;
}

static const rk_run_compile *first_request(const rk_run_model *run, size_t process,
                                           const char *key) {
    const rk_run_compile *first = NULL;
    for (size_t i = 0; i < run->compile_count; i++) {
        const rk_run_compile *one = &run->compiles[i];
        if (one->process == process && strcmp(one->key, key) == 0 &&
            (!first || one->seq < first->seq))
            first = one;
    }
    return first;
}

// Collects the executed graphs of the process, with their last counts.
static rk_err *collect(const rk_explainer *e, size_t process, const rk_steps *steps,
                       rk_graphs *out_graphs) {
    const rk_run_model *run = e->run;
    out_graphs->items = rk_calloc(run->executed_count + 1, sizeof *out_graphs->items);
    if (!out_graphs->items)
        return rk_err_no_memory();
    for (size_t i = 0; i < run->executed_count; i++) {
        const rk_run_executed *executed = &run->executed[i];
        const rk_known *known =
            executed->process == process ? rk_corpus_find(e->corpus, executed->key) : NULL;
        size_t at = 0;
        if (!known || !known->has_sketch || known->sketch.is_mlir)
            continue;
        while (at < out_graphs->count && out_graphs->items[at].known != known)
            at++;
        const rk_run_compile *request = first_request(run, process, executed->key);
        out_graphs->items[at] = (rk_graph){
            .known = known,
            .item = compilation_of(e, process, executed->key),
            .executions = executed->executions,
            .request = request,
            .step = request ? rk_steps_of_compile(steps, request) : RK_NO_STEP,
            .group = at,
        };
        out_graphs->count += at == out_graphs->count;
    }
    return NULL;
}

// Groups.

static void join(rk_graphs *list, size_t a, size_t b) {
    size_t from = list->items[a].group, to = list->items[b].group;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].group == from)
            list->items[i].group = to;
}

// The graph of the same process that graph `at` was compared with; `count` if there is none.
static size_t compared_with(const rk_graphs *list, size_t at) {
    const rk_explained *item = list->items[at].item;
    size_t i = 0;
    while (i < list->count && !(item && item->nearest_of && list->items[i].known == item->nearest))
        i++;
    return item && item->nearest_of && item->nearest_of->process == item->compile->process
               ? i
               : list->count;
}

// Returns whether the comparison leaves open if the two are versions: their operations differ.
static bool is_open(const rk_explained *item) {
    return !item->accumulates &&
           (item->cause == RK_CAUSE_STRUCTURE || item->cause == RK_CAUSE_PARAMETERS);
}

static void join_versions(rk_graphs *list, bool open) {
    for (size_t i = 0; i < list->count; i++) {
        size_t other = compared_with(list, i);
        if (other < list->count && is_open(list->items[i].item) == open)
            join(list, i, other);
    }
}

// Returns whether two graphs may be versions by their sketches alone. `both_loaded`: nothing was
// compared, so any similarity counts.
static bool look_like_versions(const rk_sketch *a, const rk_sketch *b, bool both_loaded) {
    double similarity =
        rk_sketch_is_read(a) == rk_sketch_is_read(b) ? rk_sketch_similarity(a, b, true) : 0;
    return similarity > 0 && (both_loaded || (similarity >= VERSION_SIMILARITY &&
                                              rk_same_results(a, b) >= VERSION_RESULTS));
}

// Returns whether two graphs of different steps have the same operations on the same lines: an
// evaluation may do the same as a part of a step, for values of other sizes.
static bool are_same_of_two_steps(const rk_graph *a, const rk_graph *b) {
    const rk_sketch *one = &a->known->sketch, *other = &b->known->sketch;
    return a->step != RK_NO_STEP && b->step != RK_NO_STEP && a->step != b->step &&
           one->line_count && rk_same_operations(one, other) &&
           rk_have_same_kinds_and_lines(one, other);
}

// Joins graphs that were not compared with another graph of this process: they were loaded, or
// compared with an earlier run, or they are of another part of the job.
static void join_uncompared(rk_graphs *list) {
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < i; k++)
            if (compared_with(list, i) == list->count && compared_with(list, k) == list->count &&
                (are_same_of_two_steps(&list->items[k], &list->items[i]) ||
                 look_like_versions(&list->items[k].known->sketch, &list->items[i].known->sketch,
                                    !list->items[i].item && !list->items[k].item)))
                join(list, i, k);
}

// Returns whether graph `at` and the graph that it was compared with are parts of one step: both
// recur in every step, and they do or return different things.
static bool are_parts(const rk_graphs *list, size_t at, size_t other) {
    const rk_graph *one = &list->items[at], *before = &list->items[other];
    return one->group != before->group && is_open(one->item) && rk_graphs_recur(list, at) &&
           rk_graphs_recur(list, other) &&
           (one->item->similarity < VERSION_SIMILARITY ||
            rk_same_results(&one->known->sketch, &before->known->sketch) < VERSION_RESULTS);
}

// Returns whether only the first step executed the graph that graph `at` was compared with. Later
// steps take as inputs what the first one created, in other views.
static bool is_of_first_step(const rk_graphs *list, size_t at, size_t other) {
    const rk_graph *one = &list->items[at], *before = &list->items[other];
    return before->executions == 1 && 2 * one->executions >= list->steps &&
           one->executions >= STEPS_MIN && before->request && before->request->has_executions &&
           (double)before->request->executions < list->executions && !one->item->accumulates;
}

// Steps.

static uint64_t largest_group(const rk_graphs *list) {
    uint64_t most = 0;
    for (size_t i = 0; i < list->count; i++) {
        uint64_t count = rk_graphs_executions(list, i);
        most = count > most ? count : most;
    }
    return most;
}

// The number of steps, if step detection found none: a counter makes every program a new one. The
// group with the fewest executions is executed once in each step. Totals do not show this, so it
// only serves to see which graphs are no versions of each other.
static uint64_t guess_steps(const rk_graphs *list) {
    uint64_t most = largest_group(list), fewest = most;
    for (size_t i = 0; i < list->count; i++) {
        uint64_t count = rk_graphs_executions(list, i);
        if (count >= STEPS_MIN && MICRO_STEPS_MAX * count >= most && count < fewest)
            fewest = count;
    }
    return fewest;
}

static rk_err *count_steps(const rk_process_steps *steps, rk_graphs *list) {
    list->steps = steps->count;
    // If no program repeats, step detection may have counted each execution as a step. A few steps
    // may have executed versions that are not joined yet.
    if (list->steps >= STEPS_MIN && 4 * list->steps <= 5 * largest_group(list))
        return NULL;
    rk_autofree size_t *groups = rk_calloc(list->count + 1, sizeof *groups);
    if (!groups)
        return rk_err_no_memory();
    for (size_t i = 0; i < list->count; i++)
        groups[i] = list->items[i].group;
    join_versions(list, true);
    list->is_guess = true;
    list->steps = guess_steps(list);
    for (size_t i = 0; i < list->count; i++)
        list->items[i].group = groups[i];
    return NULL;
}

// Joins all versions, and counts what recurs in the steps.
static rk_err *sum_up(rk_graphs *list, const rk_process_steps *steps) {
    uint64_t executions = 0;
    for (size_t i = 0; i < list->count; i++) {
        size_t other = compared_with(list, i);
        if (other < list->count && is_open(list->items[i].item) && !are_parts(list, i, other))
            join(list, i, other);
    }
    for (size_t i = 0; i < list->count; i++) {
        uint64_t count = rk_graphs_executions(list, i);
        if (count >= STEPS_MIN && 2 * count >= list->steps) {
            list->parts++;
            executions += count;
        }
    }
    list->executions = (double)executions / (double)list->steps;
    if (list->is_guess)
        return NULL;
    rk_usual_step step;
    RK_TRY(rk_steps_find_usual_step(steps, &step));
    list->executions = step.executions;
    list->reads = step.device_to_host;
    return NULL;
}

// Returns whether a graph that is not a read follows graph `at` in the first step, with at most
// other reads in between. So the read is not the last operation of the step.
static bool is_followed(const rk_graphs *list, size_t at) {
    const rk_run_compile *from = list->items[at].request, *next = NULL;
    uint64_t reads = 1;
    for (size_t i = 0; from && i < list->count; i++) {
        const rk_run_compile *request = list->items[i].request;
        if (request && request->seq > from->seq &&
            !rk_sketch_is_read(&list->items[i].known->sketch) &&
            (!next || request->seq < next->seq))
            next = request;
    }
    for (size_t i = 0; next && i < list->count; i++)
        reads += list->items[i].request && list->items[i].request->seq > from->seq &&
                 list->items[i].request->seq < next->seq;
    return next && next->seq == from->seq + reads && next->executions <= from->executions + reads;
}

// Returns whether reads cut the step: a number is read in every step, before the step goes on.
static bool is_cut_by_reads(const rk_graphs *list) {
    for (size_t i = 0; i < list->count; i++)
        if (rk_sketch_is_read(&list->items[i].known->sketch) && rk_graphs_recur(list, i) &&
            is_followed(list, i))
            return true;
    return false;
}

// Parts of different kinds of steps are no parts of one step, so the number of programs executed in
// a step must reach the same minimum. A sample after some steps may recur as often as the steps:
// then a read that cuts each step shows the pieces.
static bool is_in_pieces(const rk_graphs *list) {
    double executions = list->executions + 0.5;
    return (list->parts >= PARTS_MIN && executions >= (double)PARTS_MIN) ||
           (list->parts > 1 && executions >= 2 && is_cut_by_reads(list));
}

// The pattern.

// The line that calculates a number that is read; with others, if there are any. `call`: of the
// line shown.
static void describe_reads(const rk_cut_place *place, rk_buf *out) {
    uint32_t lines[RK_CUT_LINES_MAX + 1] = {place->line};
    if (!place->other_count || place->call) {
        rk_buf_add_text(out, "; a number that is read is calculated on the line shown, at least "
                             "the first time");
        rk_buf_add_text(out, place->call ? "" : "; it is read there or on a later line");
        return;
    }
    memcpy(lines + 1, place->others, place->other_count * sizeof *lines);
    rk_buf_add_text(out, "; numbers that are read are calculated on lines ");
    rk_add_line_numbers(lines, place->other_count + 1, place->has_more_others ? "others" : NULL,
                        out);
    if (!place->has_more_others) // a graph that another finding counts may be a read, too
        rk_buf_add_text(out, ", perhaps also on others");
    rk_buf_add_text(out, ", at least the first time; they are read there or on later lines");
}

// What the compilations of a finding cost. `shared_ns` and `start_ns` are parts of `all_ns`, and
// may overlap.
typedef struct costs {
    uint64_t all_ns;
    uint64_t shared_ns; // of those that another cause explains
    uint64_t start_ns;  // of those that only the start executed
} costs;

// Says what the seconds of the finding are, if they are not only those of the parts.
static void describe_costs(const costs *sum, rk_buf *out) {
    enum { PART = 10 };
    bool has_start = PART * sum->start_ns > sum->all_ns;
    if (!sum->shared_ns && !has_start)
        return;
    rk_buf_add_format(out, ". Its seconds are about those of all parts but the largest%s%s",
                      has_start ? ", and of similar graphs of the start" : "",
                      sum->shared_ns ? "; other findings count some of these seconds, too" : "");
}

static void describe(const rk_graphs *list, const rk_cut_place *place, const costs *sum,
                     rk_pattern_text *text) {
    rk_buf_add_format(&text->summary, "a step is %.0f programs, one after the other",
                      list->executions);
    if (list->reads >= 0.5)
        rk_buf_add_format(&text->summary, ", with %.1f reads to the host per step (the median)",
                          list->reads);
    if (place->is_backward)
        rk_buf_add_text(&text->summary, "; a cut is inside of the call on the line shown, which "
                                        "computes the gradients");
    else if (place->is_read)
        describe_reads(place, &text->summary);
    else if (place->file)
        rk_buf_add_text(&text->summary,
                        "; one of these programs returns what the line shown calculates, at "
                        "least the first time");
    if (place->call && !place->is_backward)
        rk_buf_add_format(&text->summary, ", in the call on line %u", place->call);
    describe_costs(sum, &text->summary);
    rk_buf_add_text(
        &text->advice,
        "Each .item(), .cpu(), print of a tensor or additional torch_xla.sync() cuts "
        "the graph. Read numbers for a log once, after the step; choose with "
        "torch.where instead of if; leave one barrier a step, if nothing needs a second "
        "one. If a library reads the values, such as a check of torch.distributions or "
        "an adaptive solver, only its options can change that. What the host needs "
        "within the step, such as the action for a simulator, must be read, and that "
        "cut stays. An operation that PyTorch/XLA runs on the CPU cuts the graph, too: "
        "torch_xla.debug.metrics.metrics_report() has a counter aten::… for each.");
}

// Returns whether the graph is a read that was compared with a program of another purpose: with one
// that reads nothing, or with one of an earlier run that this run executes as well.
static bool is_new_read(const rk_graphs *list, size_t at) {
    const rk_explained *item = list->items[at].item;
    if (!item || !item->nearest || !item->nearest->has_sketch || !is_open(item) ||
        !rk_sketch_is_read(&list->items[at].known->sketch) || !rk_graphs_recur(list, at))
        return false;
    if (!rk_sketch_is_read(&item->nearest->sketch))
        return true;
    for (size_t i = 0; i < list->count && !item->nearest_of; i++)
        if (list->items[i].known == item->nearest)
            return true;
    return false;
}

// Returns whether graph `at` replaces one of the first step for no known reason. (An optimizer's
// state is one.)
static bool replaces_first(const rk_graphs *list, size_t at, size_t other) {
    const rk_explained *item = list->items[at].item;
    return is_of_first_step(list, at, other) &&
           !(item->cause == RK_CAUSE_PARAMETERS && rk_explain_takes_what_was_zero(item));
}

// Returns whether only the start executed the graph, once.
static bool is_of_start(const rk_graph *graph) {
    return graph->step == 0 && graph->executions == 1;
}

// Returns whether the start executed more graphs than a step has parts. Then they are no first
// step, although they may resemble parts of the steps.
static bool has_long_start(const rk_graphs *list) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += is_of_start(&list->items[i]);
    return count > list->parts;
}

// Resets the cause of parts that were compared with other parts of the step, since neither was
// compiled because of the other, and of graphs that replace those of the first step. Then collects
// the programs of the other parts than the largest one, if no other cause explains them.
static rk_err *take_parts(rk_explainer *e, const rk_graphs *list, rk_members *members, costs *sum) {
    const rk_graph *largest = rk_graphs_largest_part(list);
    bool without_start = has_long_start(list);
    for (size_t i = 0; i < list->count; i++) {
        const rk_explained *item = list->items[i].item;
        size_t other = compared_with(list, i);
        bool parts =
            other < list->count && (are_parts(list, i, other) || replaces_first(list, i, other));
        if (item && (parts || is_new_read(list, i)))
            rk_explained_be_first(&e->out->items[item - e->out->items]);
    }
    for (size_t i = 0; i < list->count; i++) {
        const rk_explained *item = list->items[i].item;
        if (!item || !rk_graphs_recur(list, i) || list->items[i].group == largest->group ||
            (without_start && is_of_start(&list->items[i])))
            continue;
        uint64_t cost_ns = rk_explained_cost_ns(item);
        sum->all_ns += cost_ns;
        sum->start_ns += is_of_start(&list->items[i]) ? cost_ns : 0;
        if (item->cause == RK_CAUSE_FIRST)
            RK_TRY(rk_members_add(members, item));
        else
            sum->shared_ns += cost_ns;
    }
    return NULL;
}

rk_err *rk_find_graph_fragments(rk_explainer *e, size_t process, const rk_steps *steps,
                                bool *out_found) {
    RK_AUTO(rk_graphs) list = {0};
    RK_AUTO(rk_members) members = {0};
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    RK_AUTO(rk_cut_place) place = {.file = NULL};
    RK_TRY(collect(e, process, steps, &list));
    if (!list.count)
        return NULL;
    join_versions(&list, false);
    join_uncompared(&list);
    RK_TRY(count_steps(&steps->processes[process], &list));
    if (list.steps < STEPS_MIN)
        return NULL;
    RK_TRY(sum_up(&list, &steps->processes[process]));
    if (!is_in_pieces(&list))
        return NULL;
    costs sum = {0};
    RK_TRY(take_parts(e, &list, &members, &sum));
    if (list.is_guess)
        return NULL;
    *out_found = true;
    RK_TRY(rk_graphs_find_place(e, &list, &place));
    describe(&list, &place, &sum, &text);
    RK_TRY(rk_pattern_add(e->out, RK_PATTERN_FRAGMENTS, members.items, members.count, &text,
                          place.file, place.line));
    rk_pattern *pattern = &e->out->patterns[e->out->pattern_count - 1];
    pattern->is_of_each_step = true;
    pattern->shared_ns = sum.shared_ns;
    return NULL;
}
