// Finds steps in fragments: many small programs, executed again and again with reads of their
// results in between, where one program could do the work. patterns_graphs.c finds those of
// PyTorch/XLA.
#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"
#include "diagnose/explain/pieces_internal.h"

enum {
    ROUNDS_MIN = 3, // minimum rounds of a recurring program
    EAGER_MIN = 5,  // framework operations in each step
    EAGER_LINES_MIN = 2,
    EAGER_ON_LINE_MIN = 6,      // if they are all on one line
    EAGER_WITH_RANDOM_MIN = 10, // in each step, if they are all on a line that draws random values
};

void rk_pieces_cleanup(rk_pieces *list) {
    rk_free(list->items);
    rk_free(list->versions);
}

static const rk_explained *compilation_of(const rk_explainer *e, size_t process, const char *key) {
    for (size_t i = 0; i < e->out->count; i++) {
        const rk_explained *item = &e->out->items[i];
        if (item->compile->process == process && strcmp(item->compile->key, key) == 0)
            return item;
    }
    return NULL;
}

static bool is_whole(const rk_known *known) {
    return known->has_sketch && !rk_is_framework_operation(&known->sketch);
}

// Collects the executed programs of the process, with their last counts.
static rk_err *collect(const rk_explainer *e, size_t process, rk_pieces *out_pieces) {
    const rk_run_model *run = e->run;
    out_pieces->items = rk_calloc(run->executed_count + 1, sizeof *out_pieces->items);
    if (!out_pieces->items)
        return rk_err_no_memory();
    for (size_t i = 0; i < run->executed_count; i++) {
        const rk_run_executed *executed = &run->executed[i];
        const rk_known *known =
            executed->process == process ? rk_corpus_find(e->corpus, executed->key) : NULL;
        size_t at = 0;
        if (!known || !known->has_sketch)
            continue;
        while (at < out_pieces->count && out_pieces->items[at].known != known)
            at++;
        uint64_t rounds = executed->rounds ? executed->rounds : executed->executions;
        out_pieces->items[at] = (rk_piece){known, compilation_of(e, process, executed->key),
                                           executed->executions, rounds, rounds};
        out_pieces->count += at == out_pieces->count;
    }
    for (size_t i = 0; i < out_pieces->count; i++) {
        uint64_t executions = out_pieces->items[i].executions;
        if (!is_whole(out_pieces->items[i].known))
            continue;
        out_pieces->whole += executions;
        if (executions > out_pieces->repetitions)
            out_pieces->repetitions = executions;
    }
    return NULL;
}

static bool is_recurring(const rk_pieces *list, const rk_piece *one) {
    return 2 * one->rounds >= list->repetitions && one->rounds >= ROUNDS_MIN;
}

static bool may_be_versions(const rk_known *a, const rk_known *b) {
    const rk_sketch *one = &a->sketch, *other = &b->sketch;
    return one->call.hash == other->call.hash && !rk_same_types(one, other) &&
           rk_same_operations(one, other) &&
           rk_span_equal(rk_program_index_bare_name(rk_span_text(one->module)),
                         rk_program_index_bare_name(rk_span_text(other->module)));
}

// Returns whether two versions of a framework operation take turns, each in a good part of the
// steps, as when the batch has another size after some of them.
static bool take_turns(const rk_piece *a, const rk_piece *b, uint64_t steps) {
    const double share_max = 1.05, share_min = 0.1;
    const uint64_t least = a->rounds < b->rounds ? a->rounds : b->rounds;
    return !is_whole(a->known) && !is_whole(b->known) &&
           (double)(a->rounds + b->rounds) <= share_max * (double)steps &&
           (double)least >= share_min * (double)steps && may_be_versions(a->known, b->known);
}

// Adds a version to a piece. The piece stands for the version that was requested first.
static void add_version(const rk_explainer *e, size_t process, rk_pieces *list, rk_piece *to,
                        const rk_piece *one) {
    rk_piece_version added = {to->known, one->item};
    to->executions += one->executions;
    to->rounds += one->rounds;
    if (one->version_rounds > to->version_rounds)
        to->version_rounds = one->version_rounds;
    if (rk_first_request(e, process, one->known) < rk_first_request(e, process, to->known)) {
        for (size_t i = 0; i < list->version_count; i++)
            if (list->versions[i].of == to->known)
                list->versions[i].of = one->known;
        added = (rk_piece_version){one->known, to->item};
        to->known = one->known;
        to->item = one->item;
    }
    list->versions[list->version_count++] = added;
}

// Makes one piece of the versions of a framework operation that take turns.
static rk_err *merge_versions(const rk_explainer *e, size_t process, rk_pieces *list,
                              uint64_t steps) {
    size_t kept = 0;
    list->versions = rk_calloc(list->count + 1, sizeof *list->versions);
    if (!list->versions)
        return rk_err_no_memory();
    for (size_t i = 0; i < list->count; i++) {
        const rk_piece *one = &list->items[i];
        size_t at = 0;
        while (at < kept && !take_turns(&list->items[at], one, steps))
            at++;
        if (at == kept) {
            list->items[kept++] = *one;
            continue;
        }
        add_version(e, process, list, &list->items[at], one);
    }
    list->count = kept;
    return NULL;
}

// Keeps the framework operations that recur in the steps.
static void keep_recurring(rk_pieces *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_recurring(list, &list->items[i]) && !is_whole(list->items[i].known))
            list->items[kept++] = list->items[i];
    list->count = kept;
}

// Returns a lower bound for the executions of a program after the program of the steps was
// requested. Between the two requests, it was executed at most as often as all programs together.
static uint64_t executions_in_steps(const rk_explainer *e, size_t process, const rk_piece *one) {
    uint64_t step = rk_first_step_request(e, process);
    uint64_t request = rk_first_request(e, process, one->known);
    if (request > step)
        return one->executions;
    uint64_t since = rk_executions_at(e, process, request);
    uint64_t until = rk_executions_at(e, process, step);
    if (since == UINT64_MAX || until == UINT64_MAX || until < since)
        return 0;
    return one->executions > until - since ? one->executions - (until - since) : 0;
}

static bool is_in_steps(const rk_explainer *e, size_t process, const rk_pieces *list,
                        const rk_piece *one) {
    return 2 * executions_in_steps(e, process, one) >= list->repetitions;
}

// Removes framework operations of the start, however often they ran there. The operations that make
// a batch run in every step, but for the first time before the program of the steps is requested.
static void remove_start(const rk_explainer *e, size_t process, rk_pieces *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_whole(list->items[i].known) || is_in_steps(e, process, list, &list->items[i]))
            list->items[kept++] = list->items[i];
    list->count = kept;
}

// Returns how many framework operations a step executes at least. Whole programs may have run
// outside of steps, too.
static uint64_t eager_per_step(const rk_pieces *list, const rk_process_steps *steps) {
    uint64_t whole = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_whole(list->items[i].known))
            whole += list->items[i].executions;
    return steps->sums.executions > whole ? (steps->sums.executions - whole) / steps->count : 0;
}

// Returns whether the process requested the program later than in the first steps. Then it is not
// of every step, but of an evaluation after some of them.
static bool is_of_later_steps(const rk_explainer *e, size_t process, const rk_steps *steps,
                              const rk_known *known) {
    enum { FIRST_STEPS = 4 };
    uint64_t step = rk_first_step_of(e, process, steps, known);
    return step != RK_NO_STEP && step > FIRST_STEPS;
}

static void remove_later(const rk_explainer *e, size_t process, const rk_steps *steps,
                         rk_pieces *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_whole(list->items[i].known) ||
            !is_of_later_steps(e, process, steps, list->items[i].known))
            list->items[kept++] = list->items[i];
    list->count = kept;
}

// Returns how many framework operations a usual step executes, each counted once. `usual_programs`:
// of all kinds.
static size_t usual_operations(const rk_pieces *list, const rk_process_steps *steps,
                               double usual_programs) {
    uint64_t whole = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_whole(list->items[i].known))
            whole += list->items[i].executions;
    uint64_t programs = (uint64_t)usual_programs,
             whole_programs = (whole + steps->count / 2) / steps->count;
    return programs > whole_programs ? (size_t)(programs - whole_programs) : 0;
}

static size_t count_recurring(const rk_pieces *list) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += is_recurring(list, &list->items[i]) && !is_whole(list->items[i].known);
    return count;
}

// Returns whether operations of the start are among the recurring ones. Each operation of a long
// start may have run there only, but not all of them: the steps run `usual` ones.
static bool may_remove_start(const rk_explainer *e, size_t process, const rk_pieces *list,
                             size_t usual) {
    size_t in_steps = 0;
    for (size_t i = 0; i < list->count; i++)
        in_steps += is_recurring(list, &list->items[i]) && !is_whole(list->items[i].known) &&
                    is_in_steps(e, process, list, &list->items[i]);
    return in_steps >= EAGER_MIN || in_steps >= usual || count_recurring(list) > 2 * usual;
}

// Removes the framework operations if they are not of the steps. Without steps, totals do not show
// it. The average alone does not show it either: a checkpoint after some steps executes many.
static void remove_outside_steps(const rk_explainer *e, size_t process, const rk_steps *steps,
                                 double usual_programs, rk_pieces *list) {
    const rk_process_steps *own = &steps->processes[process];
    size_t usual = own->count ? usual_operations(list, own, usual_programs) : 0;
    list->usual = usual;
    if (usual + 1 < EAGER_MIN || eager_per_step(list, own) < EAGER_MIN)
        list->count = 0;
    remove_later(e, process, steps, list);
    list->is_called_before = !list->is_all && !may_remove_start(e, process, list, usual);
    if (!list->is_called_before && !list->is_all) // else the beginning of the steps is not known
        remove_start(e, process, list);
}

static bool has_rounds(const rk_piece *one, double rounds_min, bool in_one_version) {
    return (double)(in_one_version ? one->version_rounds : one->rounds) >= rounds_min;
}

// Returns how many operations have so many rounds, in one version or in all versions together.
// Keeps only these if there are at least EAGER_MIN.
static size_t keep_with_rounds(rk_pieces *list, double rounds_min, bool in_one_version) {
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < list->count; i++)
        count += has_rounds(&list->items[i], rounds_min, in_one_version);
    if (count < EAGER_MIN)
        return count;
    for (size_t i = 0; i < list->count; i++)
        if (has_rounds(&list->items[i], rounds_min, in_one_version))
            list->items[kept++] = list->items[i];
    list->count = kept;
    return kept;
}

// Keeps the operations that run in nearly each step, if these are enough for a finding: a line for
// a log runs in some steps only. If they are not enough, the lines are not known: several loops may
// each have operations of their own. If whole programs do not run equally often in each step, some
// may be those of another loop, such as a solver's for a plot: the operations there may have nearly
// as many rounds as there are steps.
static void keep_in_each_step(rk_pieces *list, uint64_t steps) {
    const double share_min = 0.8, sure_min = 0.97, others_min = 0.2;
    bool has_others = steps && (double)(list->whole % steps) >= others_min * (double)steps;
    size_t kept = has_others ? keep_with_rounds(list, sure_min * (double)steps, true) : 0;
    if (kept < EAGER_MIN)
        kept = keep_with_rounds(list, share_min * (double)steps, false);
    list->is_scattered = kept < EAGER_MIN && !list->is_all;
}

// Returns whether a step executes some operations more than once. A program has the line of its
// first call only.
static bool are_several_times(const rk_explainer *e, size_t process, const rk_pieces *list,
                              uint64_t steps) {
    const double more_min = 1.5;
    for (size_t i = 0; i < list->count; i++)
        if ((double)executions_in_steps(e, process, &list->items[i]) >= more_min * (double)steps)
            return true;
    return false;
}

static size_t count_lines(const rk_pieces *list) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        size_t k = 0;
        while (k < i &&
               list->items[k].known->sketch.call.hash != list->items[i].known->sketch.call.hash)
            k++;
        count += k == i;
    }
    return count;
}

// Returns whether the operations draw random values: one such line runs several programs.
static bool are_random(const rk_pieces *list) {
    for (size_t i = 0; i < list->count; i++)
        if (rk_is_random_helper(&list->items[i].known->sketch))
            return true;
    return false;
}

static bool is_in_pieces(const rk_pieces *list) {
    if (list->repetitions < ROUNDS_MIN || list->count < EAGER_MIN)
        return false;
    return count_lines(list) >= EAGER_LINES_MIN ||
           (list->count >= EAGER_ON_LINE_MIN &&
            (!are_random(list) || list->usual >= EAGER_WITH_RANDOM_MIN));
}

// The compilations of the pieces, with those of their other versions.
static rk_err *take_members(const rk_pieces *list, rk_members *out_members) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].item)
            RK_TRY(rk_members_add(out_members, list->items[i].item));
        for (size_t k = 0; k < list->version_count; k++)
            if (list->versions[k].of == list->items[i].known && list->versions[k].item)
                RK_TRY(rk_members_add(out_members, list->versions[k].item));
    }
    return NULL;
}

static uint64_t cost_ns(const rk_members *members) {
    uint64_t sum = 0;
    for (size_t i = 0; i < members->count; i++)
        sum += rk_explained_cost_ns(members->items[i]);
    return sum;
}

static rk_err *look_at(rk_explainer *e, size_t process, const rk_steps *steps, bool *out_found) {
    RK_AUTO(rk_pieces) list = {0};
    RK_AUTO(rk_members) members = {0};
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    RK_TRY(collect(e, process, &list));
    const rk_process_steps *own = &steps->processes[process];
    // Each step may call a version of its own, such as the update of one of several solvers.
    bool is_rare = 2 * list.repetitions < own->count;
    list.is_all = 2 * list.whole < own->count;
    if (is_rare)
        list.repetitions = own->count;
    // Hardly any program begins a round.
    for (size_t i = 0; list.is_all && i < list.count; i++)
        list.items[i].rounds = list.items[i].version_rounds = list.items[i].executions;
    RK_TRY(merge_versions(e, process, &list, own->count));
    rk_usual_step step;
    RK_TRY(rk_steps_find_usual_step(own, &step));
    remove_outside_steps(e, process, steps, step.programs, &list);
    keep_recurring(&list);
    keep_in_each_step(&list, own->count);
    list.is_several_times = are_several_times(e, process, &list, own->count);
    if (!is_in_pieces(&list))
        return NULL;
    RK_TRY(take_members(&list, &members));
    const rk_sketch_line *line;
    RK_TRY(rk_pieces_describe(e, process, steps, &list, step.device_to_host, &text, &line));
    // Not all programs of a step are known. Those that are loaded cost nothing.
    if (list.count < list.usual && !list.is_all && cost_ns(&members) > 0)
        rk_buf_add_format(&text.summary, "; the seconds are those of %zu of them", list.count);
    *out_found = true;
    RK_TRY(rk_pattern_add(e->out, RK_PATTERN_FRAGMENTS, members.items, members.count, &text,
                          line ? line->file : NULL, line ? line->line : 0));
    e->out->patterns[e->out->pattern_count - 1].is_of_each_step = true;
    return NULL;
}

// All ranks do the same: the first process with fragments stands for all.
rk_err *rk_find_fragments(rk_explainer *e) {
    bool found = false;
    RK_AUTO(rk_steps) steps = {0};
    RK_TRY(rk_steps_read(e->run, &steps));
    for (size_t p = 0; p < e->run->process_count && !found; p++) {
        RK_TRY(rk_find_graph_fragments(e, p, &steps, &found));
        if (!found)
            RK_TRY(look_at(e, p, &steps, &found));
    }
    return NULL;
}
