#include "diagnose/steps/detect_internal.h"
#include "diagnose/steps/period_internal.h"

// Finds the longest repetition at the end of the last `count` entries. Returns its length, or 0.
static uint32_t find(rk_step_detector *r, uint64_t count, uint32_t max_period, bool by_name,
                     uint32_t *out_period) {
    if (count > r->valid)
        count = r->valid;
    for (uint64_t i = 0; i < count; i++)
        r->items[i] = rk_step_detector_token(r, r->entries - count + i, by_name);
    return rk_step_detector_find(r->items, (uint32_t)count, max_period, RK_STEP_DETECTOR_TIMES,
                                 r->border, out_period);
}

static bool is_at(const rk_step_detector *r, const rk_step_detector_pattern *p, uint64_t from) {
    for (uint32_t i = 0; i < p->period; i++)
        if (rk_step_detector_token(r, from + i, p->by_name) != p->tokens[i])
            return false;
    return true;
}

// Finds a kept pattern that starts at `*from`, or less than one period later, and moves `*from`
// there. NULL if there is none. The same pattern may be found from another of its positions.
static rk_step_detector_pattern *find_known(rk_step_detector *r, uint64_t *from, uint32_t period,
                                            bool by_name) {
    for (uint32_t i = 0; i < r->known_count; i++) {
        rk_step_detector_pattern *p = &r->known[i];
        if (p->period != period || p->by_name != by_name)
            continue;
        for (uint32_t turn = 0; turn < period; turn++)
            if (is_at(r, p, *from + turn)) {
                *from += turn;
                return p;
            }
    }
    return NULL;
}

// Returns the highest score of the entries, and the types of the one that carries the most.
static uint32_t score_of(const rk_step_detector *r, uint64_t from, uint32_t count,
                         uint64_t *out_carried_set) {
    uint32_t score = 0, carried = 0;
    *out_carried_set = 0;
    for (uint32_t i = 0; i < count; i++) {
        const rk_step_detector_program *program = rk_step_detector_program_at(r, from + i);
        score = score > program->score ? score : program->score;
        *out_carried_set = program->carried > carried ? program->carried_set : *out_carried_set;
        carried = program->carried > carried ? program->carried : carried;
    }
    return score;
}

// Adds a pattern. If all places are taken, it replaces the pattern with the fewest matches, except
// the current one.
static rk_step_detector_pattern *add_known(rk_step_detector *r, uint64_t from, uint32_t period,
                                           bool by_name) {
    rk_step_detector_pattern *p =
        &r->known[r->known_count < RK_STEP_DETECTOR_KNOWN ? r->known_count++ : 0];
    for (uint32_t i = 0; i < RK_STEP_DETECTOR_KNOWN && r->ids >= RK_STEP_DETECTOR_KNOWN; i++)
        if (&r->known[i] != r->current && (p == r->current || r->known[i].matched < p->matched))
            p = &r->known[i];
    *p = (rk_step_detector_pattern){
        .id = ++r->ids, .period = period, .by_name = by_name, .is_idle = true};
    p->score = score_of(r, from, period, &p->carried_set);
    for (uint32_t i = 0; i < period; i++) {
        const rk_step_detector_program *program = rk_step_detector_program_at(r, from + i);
        p->tokens[i] = by_name ? program->name : program->token;
        p->carried = p->carried > program->carried ? p->carried : program->carried;
        p->operations = p->operations > program->operations ? p->operations : program->operations;
        if (p->carried_bytes < program->carried_bytes)
            p->carried_bytes = program->carried_bytes;
        p->is_training |= program->carried > 1 || program->operations == 0;
        p->is_idle &= program->is_operation;
    }
    return p;
}

static void close_step(rk_step_detector *r, const rk_step_detector_pattern *p,
                       const rk_step_detector_totals *end) {
    if (!p->is_idle)
        rk_step_detector_close(r, p->id, end);
}

// Counts the programs of a step that begins after an earlier one was cut short.
static void begin_with(rk_step_detector *r, uint64_t entry) {
    rk_step_detector_entry *e = rk_step_detector_entry_at(r, entry);
    if (entry + 1 < r->entries) { // of the programs executed since, not all are of this step
        rk_step_detector_count_entry(r, e);
        return;
    }
    rk_step_detector_recount(r);
    e->programs = (uint32_t)r->open_programs;
    e->programs_before = e->programs - (e->programs > 0);
}

// Closes the step before `entry`, which begins the next one.
static void close_short_step(rk_step_detector *r, rk_step_detector_pattern *p, uint64_t entry) {
    const rk_step_detector_entry *last = rk_step_detector_entry_at(r, entry - 1);
    r->open_programs = last->programs;
    close_step(r, p, &last->totals);
    begin_with(r, entry);
    p->steps++;
}

// Handles an entry inside a step that does not match the current pattern at its position. Returns
// whether it matches at another one, and moves the position there.
static bool match_elsewhere(rk_step_detector *r, rk_step_detector_pattern *p, uint64_t entry,
                            uint32_t token) {
    // The update comes early: the step has fewer micro-steps.
    if (p->ends_with_program && token == p->tokens[p->period - 1]) {
        r->at = p->period - 1;
        return true;
    }
    if (token != p->tokens[0])
        return false;
    // The pattern starts again before its end: the step was cut short. Without its update it is no
    // step, and its executions belong to the next one.
    if (!p->ends_with_program)
        close_short_step(r, p, entry);
    r->at = 0;
    return true;
}

// Returns the number of the program of which this one may be a version; its own number if there is
// none.
static uint32_t first_version(const rk_step_detector *r, uint32_t program) {
    uint32_t version_of = r->programs[program].version_of;
    return version_of > 0 ? version_of - 1 : program;
}

// Returns whether the program stands where the pattern has another version of it: a later one, or
// an earlier one that returns, as when a changing size takes its first value again. In a step of
// two updates, versions are not merged: no program is executed twice in a row.
static bool is_version_in_place(const rk_step_detector *r, const rk_step_detector_pattern *p,
                                uint64_t entry) {
    uint32_t number = r->history[entry % RK_STEP_DETECTOR_HISTORY].program;
    if (p->by_name || !rk_step_detector_program_at(r, entry)->is_numbered)
        return false;
    uint32_t first = first_version(r, number);
    for (uint32_t i = 0; i < r->program_capacity; i++)
        if (r->programs[i].token == p->tokens[r->at] && first_version(r, i) == first)
            return true;
    return false;
}

void rk_step_detector_take_in(rk_step_detector *r, uint64_t entry) {
    rk_step_detector_pattern *p = r->current;
    uint32_t token = rk_step_detector_token(r, entry, p->by_name);
    const rk_step_detector_entry *e = rk_step_detector_entry_at(r, entry);
    if (token != p->tokens[r->at] && !is_version_in_place(r, p, entry) &&
        (r->at == 0 || !match_elsewhere(r, p, entry, token)))
        return;
    p->matched++;
    r->last_match = entry + 1;
    if (++r->at < p->period)
        return;
    r->at = 0;
    p->steps++;
    close_step(r, p, &e->totals);
}

// Returns the position of the program that ends a step: the one that carries the most, for example
// the update after several gradients. Returns `period` if there is not exactly one.
static uint32_t find_last(const rk_step_detector *r, uint64_t from, uint32_t period) {
    uint32_t last = 0, most = 0, count = 0;
    for (uint32_t i = 0; i < period; i++) {
        const rk_step_detector_program *program = rk_step_detector_program_at(r, from + i);
        count = program->carried == most ? count + 1 : program->carried > most ? 1 : count;
        last = program->carried > most ? i : last;
        most = program->carried > most ? program->carried : most;
    }
    return count == 1 ? last : period;
}

static bool is_gap(const rk_step_detector *r, uint64_t entry) {
    return r->history[entry % RK_STEP_DETECTOR_HISTORY].program >= RK_STEP_DETECTOR_FIRST_GAP;
}

static bool is_of_pattern(const rk_step_detector *r, const rk_step_detector_pattern *p,
                          uint64_t entry) {
    uint32_t token = rk_step_detector_token(r, entry, p->by_name);
    for (uint32_t i = 0; i < p->period; i++)
        if (p->tokens[i] == token)
            return true;
    return false;
}

// Returns the start of the step that ends before `from`, if it is in no step of an earlier pattern;
// else returns `from`. An earlier step may have been compiled differently, or its first executions
// may not look like the later ones: gaps are only known once there is a reference.
static uint64_t step_before(rk_step_detector *r, const rk_step_detector_pattern *p, uint64_t from) {
    uint64_t oldest = r->entries - r->valid, at = from, limit = from;
    while (limit > oldest && from - limit < p->period &&
           rk_step_detector_entry_at(r, limit - 1)->totals.executions > r->free_from)
        limit--;
    if (p->ends_with_update && limit < from &&
        rk_step_detector_token(r, from - 1, false) == p->tokens[p->period - 1]) {
        for (at = from - 1; at > limit && is_of_pattern(r, p, at - 1) &&
                            rk_step_detector_token(r, at - 1, false) != p->tokens[p->period - 1];)
            at--;
        return at;
    }
    while (at > limit &&
           rk_step_detector_is_similar(rk_step_detector_program_at(r, at - 1),
                                       rk_step_detector_program_at(r, at - 1 + p->period)))
        at--;
    return from - at == p->period ? at : from;
}

// Closes the executions before the pattern that starts at `from`, and opens its first step there.
// If the pattern starts before the open step, it replaces steps that are closed already: the next
// range starts at `from`, and makes their ranges void.
static void open_at(rk_step_detector *r, uint64_t from) {
    const rk_step_detector_entry *first = rk_step_detector_entry_at(r, from);
    // Transfers and compilations between two executions belong to the later one.
    rk_step_detector_totals start = first->before;
    if (start.executions >= r->open.executions) {
        r->open_programs = first->programs_before;
        rk_step_detector_close(r, 0, &start);
    }
    rk_step_detector_emit(r);
    r->open = start;
    r->open_programs = 0;
    r->step_number++;
}

// Opens the first step, and closes the steps before `from`, which do not match the pattern exactly.
static void take_earlier(rk_step_detector *r, rk_step_detector_pattern *p, uint64_t from) {
    enum { EARLIER_MAX = 16 };
    // Unless this pattern replaces the steps of the current one.
    if (rk_step_detector_entry_at(r, from)->totals.executions > r->open.executions)
        r->free_from = r->open.executions;
    uint64_t starts[EARLIER_MAX + 1] = {from};
    uint32_t count = 0;
    while (count < EARLIER_MAX && !p->by_name) {
        starts[count + 1] = step_before(r, p, starts[count]);
        if (starts[count + 1] == starts[count])
            break;
        count++;
    }
    open_at(r, starts[count]);
    for (; count > 0; count--) {
        for (uint64_t i = starts[count]; i < starts[count - 1]; i++)
            rk_step_detector_count_entry(r, rk_step_detector_entry_at(r, i));
        p->steps++;
        close_step(r, p, &rk_step_detector_entry_at(r, starts[count - 1] - 1)->totals);
    }
}

// Makes the pattern that starts at `from` the current one, and matches the executions since then
// with it.
static void adopt(rk_step_detector *r, uint64_t from, uint32_t period, bool by_name) {
    if (period > 1 && !by_name && rk_step_detector_drop_companions(r, from, period))
        return; // the search goes on with the others
    rk_step_detector_pattern *p = find_known(r, &from, period, by_name);
    if (!p) {
        uint32_t last = by_name ? period : find_last(r, from, period);
        from += last + 1 < period ? last + 1 : 0;
        p = add_known(r, from, period, by_name);
        p->ends_with_update = last < period && period > 1;
        p->ends_with_program = p->ends_with_update && !is_gap(r, from + period - 1);
    }
    r->current = p;
    take_earlier(r, p, from); // counts in the current pattern
    r->at = 0;
    r->begun = from;
    r->strays = r->flat_steps = 0;
    r->last_match = from;
    for (uint64_t i = from; i < r->entries; i++) {
        rk_step_detector_count_entry(r, rk_step_detector_entry_at(r, i));
        rk_step_detector_take_in(r, i);
    }
    rk_step_detector_recount(r);
}

// Returns whether `set` has fewer than half of the types of `wanted`. False if one of the two is
// not known.
static bool lacks_types(uint64_t set, uint64_t wanted) {
    return set != 0 && wanted != 0 &&
           2 * __builtin_popcountll(set & wanted) < __builtin_popcountll(wanted);
}

// Returns whether a program without a name of its own is a whole step, as one of the current
// pattern is.
static bool is_another_step(const rk_step_detector *r, const rk_step_detector_program *program) {
    const rk_step_detector_pattern *p = r->current;
    for (uint32_t i = 0; i < r->program_capacity && program->is_numbered && !p->by_name; i++) {
        const rk_step_detector_program *other = &r->programs[i];
        if (other->carried == p->carried && other->name != 0 && other != program &&
            (rk_step_detector_are_whole_steps(other, program) ||
             rk_step_detector_does_more(program, other)))
            return true;
    }
    return false;
}

// Returns whether an entry that is no part of the current pattern may be the update of its
// parameters. It must carry as much as the pattern, or nearly as much and be large: an evaluation
// that returns the model has fewer operations. Programs without names of their own must be larger
// than the pattern, because a smaller one may be a version of the same step.
static bool is_update(const rk_step_detector *r, uint64_t entry, uint32_t micro_steps) {
    // After so few micro-steps, a program with another state may be the update of a second model: a
    // generator after five steps of its critic. After more it is, for example, a simulation.
    enum { FEW = 8 };
    const rk_step_detector_pattern *p = r->current;
    const rk_step_detector_program *program = rk_step_detector_program_at(r, entry);
    uint64_t carried = program->carried, operations = program->operations;
    if (is_gap(r, entry))
        return 2 * carried > p->carried;
    if (p->ends_with_program) // it has an update: usually the entry is another version of this one
        return carried > p->carried;
    if (program->is_operation || is_another_step(r, program) ||
        (micro_steps > FEW && lacks_types(program->carried_set, p->carried_set)))
        return false;
    bool is_large = (program->is_numbered ? 1 : 2) * operations > p->operations;
    return carried >= p->carried || (2 * carried > p->carried && is_large);
}

// Returns whether the longer pattern is one step with micro-steps. It must add programs to the
// current pattern, each once. An added program that repeats is something else, for example an
// evaluation of several batches. One of the added programs must update the parameters.
static bool is_longer_step(const rk_step_detector *r, uint64_t from, uint32_t period) {
    const rk_step_detector_pattern *p = r->current;
    uint32_t micro_steps = 0, strays[RK_STEP_DETECTOR_MAX_PERIOD], stray_count = 0;
    bool has_update = p->carried == 0;
    for (uint32_t i = 0; i < period; i++)
        micro_steps += rk_step_detector_token(r, from + i, p->by_name) == p->tokens[0];
    for (uint32_t i = 0; i < period; i++) {
        uint32_t token = rk_step_detector_token(r, from + i, p->by_name);
        if (is_of_pattern(r, p, from + i))
            continue;
        for (uint32_t j = 0; j < stray_count; j++)
            if (strays[j] == token)
                return false;
        strays[stray_count++] = token;
        has_update |= is_update(r, from + i, micro_steps);
    }
    return stray_count > 0 && micro_steps <= RK_STEP_DETECTOR_MAX_MICRO_STEPS && has_update;
}

static bool look_for_longer(rk_step_detector *r) {
    // A search reads a large part of the history. After ALWAYS_UP_TO strays only every SELDOM-th
    // stray starts one.
    enum { ALWAYS_UP_TO = 64, SELDOM = 64 };
    if (r->strays > ALWAYS_UP_TO && r->strays % SELDOM != 0)
        return false;
    const rk_step_detector_pattern *p = r->current;
    uint32_t period,
        len = find(r, (uint64_t)RK_STEP_DETECTOR_TIMES * RK_STEP_DETECTOR_LONGER_PERIOD_MAX,
                   RK_STEP_DETECTOR_LONGER_PERIOD_MAX, p->by_name, &period);
    uint64_t from = r->entries - len;
    // The longer pattern must cover half of the entries since the current pattern began. Else it
    // may be a passing interruption.
    if (len == 0 || period <= p->period || 2 * (uint64_t)len < r->entries - r->begun ||
        !is_longer_step(r, from, period))
        return false;
    adopt(r, from, period, p->by_name);
    return true;
}

// Returns after how many more entries look_for_other looks again: ever more, while the strays
// continue.
static uint64_t wait_after(uint64_t strays, bool is_weak) {
    if (strays < 64)
        return is_weak ? 1 : 8;
    return strays < RK_STEP_DETECTOR_HISTORY ? 64 : 512;
}

// Returns whether the entry is one of the `period` entries from `from` on.
static bool is_one_of(const rk_step_detector *r, uint64_t entry, uint64_t from, uint32_t period,
                      bool by_name) {
    uint32_t token = rk_step_detector_token(r, entry, by_name);
    for (uint32_t i = 0; i < period; i++)
        if (rk_step_detector_token(r, from + i, by_name) == token)
            return true;
    return false;
}

// Returns the first entry, of those after the last match, from which the pattern of `period`
// entries at `from` covers at least three quarters of the entries, and at least `needed` of them.
// Other programs interrupt it now and then, for example to log a value. Returns UINT64_MAX if there
// is none.
static uint64_t begin_of_loop(const rk_step_detector *r, uint64_t from, uint32_t period,
                              uint64_t needed) {
    bool by_name = r->current->by_name;
    uint64_t strays = r->entries - r->last_match, covered = 0, first = UINT64_MAX;
    uint64_t oldest = r->entries - (strays < r->valid ? strays : r->valid);
    for (uint64_t i = r->entries; i > oldest; i--) {
        covered += is_one_of(r, i - 1, from, period, by_name);
        if (4 * covered < 3 * (r->entries - i + 1))
            break;
        bool is_start = i - 1 <= from;
        for (uint32_t k = 0; k < period && is_start; k++)
            is_start = rk_step_detector_token(r, i - 1 + k, by_name) ==
                       rk_step_detector_token(r, from + k, by_name);
        first = is_start && covered >= needed ? i - 1 : first;
    }
    return first;
}

static void look_for_other(rk_step_detector *r) {
    enum { LASTS = 512, KNOWN_LASTS = 8, LOOP_LASTS = 64 };
    rk_step_detector_pattern *p = r->current;
    uint64_t strays = r->entries - r->last_match, carried_set;
    // A weak pattern came before the programs that carry the work, and is soon replaced.
    uint64_t best = r->reference == UINT32_MAX ? 0 : r->programs[r->reference].score;
    bool is_weak = best > 0 && 2 * (uint64_t)p->score <= best;
    if (strays < (is_weak ? RK_STEP_DETECTOR_TIMES : RK_STEP_DETECTOR_STRAYS_BEFORE_LOOK) ||
        r->entries < r->next_look)
        return;
    r->next_look = r->entries + wait_after(strays, is_weak);
    uint32_t period, len = find(r, strays, RK_STEP_DETECTOR_MAX_PERIOD, p->by_name, &period);
    if (len == 0)
        return;
    uint64_t from = r->entries - len, first = from;
    uint64_t score = score_of(r, from, period, &carried_set);
    // An evaluation returns a part of the training's state, and has a lower score.
    if (2 * score < p->score && !lacks_types(p->carried_set, carried_set) &&
        strays < RK_STEP_DETECTOR_STRAYS_OF_EVALUATION)
        return;
    // Another pattern must have lasted as long as the current one, or for LASTS executions, so that
    // an interruption does not replace it. A kept pattern proved itself before and needs less.
    uint64_t needed = p->matched < LASTS ? p->matched : LASTS;
    if (is_weak && 2 * score >= best)
        needed = RK_STEP_DETECTOR_TIMES;
    else if (find_known(r, &first, period, p->by_name))
        needed = KNOWN_LASTS;
    // A second loop that carries about as much is no interruption.
    uint64_t begin = UINT64_MAX;
    if (4 * score >= 3 * p->score)
        begin = begin_of_loop(r, from, period, LOOP_LASTS < needed ? LOOP_LASTS : needed);
    if (len >= needed || begin <= from)
        adopt(r, begin < from ? begin : from, period, p->by_name);
}

void rk_step_detector_look_for_first(rk_step_detector *r) {
    if (r->entries < r->next_look)
        return;
    // Look ever less often: again after an eighth more executions.
    uint64_t since = r->entries - r->begun;
    uint64_t wait = since / 8;
    r->next_look = r->entries + (wait < 1 ? 1 : wait > 512 ? 512 : wait);
    uint32_t period,
        len = find(r, RK_STEP_DETECTOR_HISTORY, RK_STEP_DETECTOR_MAX_PERIOD, false, &period);
    bool by_name = len == 0 && since >= RK_STEP_DETECTOR_BY_NAME_AFTER;
    if (by_name)
        len = find(r, RK_STEP_DETECTOR_HISTORY, RK_STEP_DETECTOR_MAX_PERIOD, true, &period);
    // A pattern of one program needs one repetition more, unless it is the reference: three in a
    // row may be chance.
    uint32_t last = rk_step_detector_entry_at(r, r->entries - 1)->program;
    if (len >= RK_STEP_DETECTOR_TIMES + (last != r->reference))
        adopt(r, r->entries - len, period, by_name);
}

// If all programs have one name, each execution matches by name and is a step. A pattern of the
// programs themselves is more exact, and replaces it after LASTS executions.
void rk_step_detector_look_beyond_names(rk_step_detector *r) {
    enum { LASTS = 256 };
    if (r->entries < r->next_look)
        return;
    r->next_look = r->entries + LASTS;
    uint32_t period,
        len = find(r, RK_STEP_DETECTOR_HISTORY, RK_STEP_DETECTOR_MAX_PERIOD, false, &period);
    if (len >= LASTS)
        adopt(r, r->entries - len, period, false);
}

void rk_step_detector_look_after_stray(rk_step_detector *r) {
    r->strays++;
    if (!look_for_longer(r))
        look_for_other(r);
}
