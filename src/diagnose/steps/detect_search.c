#include "diagnose/steps/detect_internal.h"
#include "diagnose/steps/period_internal.h"

// Finds the longest repetition at the end of the last `count` executions. Returns its length, or 0.
static uint32_t find(rk_step_detector *r, uint64_t count, uint32_t max_period, bool by_name,
                     uint32_t *out_period) {
    if (count > r->valid)
        count = r->valid;
    for (uint64_t i = 0; i < count; i++)
        r->items[i] = rk_step_detector_token(
            rk_step_detector_entry_at(r, r->executions - count + i), by_name);
    return rk_step_detector_find(r->items, (uint32_t)count, max_period, RK_STEP_DETECTOR_TIMES,
                                 r->border, out_period);
}

static bool is_at(const rk_step_detector *r, const rk_step_detector_pattern *p, uint64_t from) {
    for (uint32_t i = 0; i < p->period; i++)
        if (rk_step_detector_token(rk_step_detector_entry_at(r, from + i), p->by_name) !=
            p->tokens[i])
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

// Adds a pattern. If all places are taken, it replaces the pattern with the fewest matches, except
// the current one.
static rk_step_detector_pattern *add_known(rk_step_detector *r, uint64_t from, uint32_t period,
                                           bool by_name) {
    rk_step_detector_pattern *p =
        &r->known[r->known_count < RK_STEP_DETECTOR_KNOWN ? r->known_count++ : 0];
    for (uint32_t i = 0; i < RK_STEP_DETECTOR_KNOWN && r->ids >= RK_STEP_DETECTOR_KNOWN; i++)
        if (&r->known[i] != r->current && (p == r->current || r->known[i].matched < p->matched))
            p = &r->known[i];
    *p = (rk_step_detector_pattern){.id = ++r->ids, .period = period, .by_name = by_name};
    for (uint32_t i = 0; i < period; i++)
        p->tokens[i] = rk_step_detector_token(rk_step_detector_entry_at(r, from + i), by_name);
    return p;
}

void rk_step_detector_take_in(rk_step_detector *r, const rk_step_detector_entry *e) {
    rk_step_detector_pattern *p = r->current;
    uint32_t token = rk_step_detector_token(e, p->by_name);
    bool matches = token == p->tokens[r->at];
    // The pattern starts again before its end: the step was cut short.
    if (!matches && r->at > 0 && token == p->tokens[0]) {
        rk_step_detector_close(r, p->id);
        p->steps++;
        r->at = 0;
        matches = true;
    }
    rk_step_detector_add_entry(r, e);
    if (!matches)
        return;
    p->matched++;
    r->last_match = r->open_from + r->open.executions;
    if (++r->at < p->period)
        return;
    r->at = 0;
    p->steps++;
    rk_step_detector_close(r, p->id);
}

// Makes the pattern that starts at `from` the current one, and matches the executions since then
// with it.
static void adopt(rk_step_detector *r, uint64_t from, uint32_t period, bool by_name) {
    rk_step_detector_pattern *p = find_known(r, &from, period, by_name);
    if (!p)
        p = add_known(r, from, period, by_name);
    bool takes_back = from < r->open_from;
    rk_step_detector_emit(r);
    r->step_number++;
    r->open = (rk_step_sums){0};
    // If the pattern starts before the open step, it replaces steps that are closed already: the
    // next range starts at `from`, and makes their ranges void. Else the executions before it are
    // in no step.
    if (takes_back) {
        r->open_from = from;
    } else {
        for (uint64_t i = r->open_from; i < from; i++)
            if (r->executions - i <= r->valid)
                rk_step_detector_add_entry(r, rk_step_detector_entry_at(r, i));
        r->open.executions = from - r->open_from; // counts executions that left the history, too
        rk_step_detector_close(r, 0);
    }
    r->current = p;
    r->at = 0;
    r->begun = from;
    r->strays = r->flat_steps = 0;
    r->last_match = from;
    for (uint64_t i = from; i < r->executions; i++)
        rk_step_detector_take_in(r, rk_step_detector_entry_at(r, i));
}

// Returns whether the longer pattern is one step with micro-steps. It must add programs to the
// current pattern, each once. An added program that repeats is something else, for example an
// evaluation of several batches.
static bool is_longer_step(const rk_step_detector *r, uint64_t from, uint32_t period) {
    const rk_step_detector_pattern *p = r->current;
    uint32_t micro_steps = 0, strays[RK_STEP_DETECTOR_MAX_PERIOD], stray_count = 0;
    for (uint32_t i = 0; i < period; i++) {
        uint32_t token = rk_step_detector_token(rk_step_detector_entry_at(r, from + i), p->by_name);
        bool is_stray = true;
        micro_steps += token == p->tokens[0];
        for (uint32_t j = 0; j < p->period; j++)
            is_stray = is_stray && token != p->tokens[j];
        for (uint32_t j = 0; j < stray_count && is_stray; j++)
            if (strays[j] == token)
                return false;
        if (is_stray)
            strays[stray_count++] = token;
    }
    return stray_count > 0 && micro_steps <= RK_STEP_DETECTOR_MAX_MICRO_STEPS;
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
    uint64_t from = r->executions - len;
    // The longer pattern must cover half of the executions since the current pattern began. Else it
    // may be a passing interruption.
    if (len == 0 || period <= p->period || 2 * (uint64_t)len < r->executions - r->begun ||
        !is_longer_step(r, from, period))
        return false;
    adopt(r, from, period, p->by_name);
    return true;
}

static void look_for_other(rk_step_detector *r) {
    enum { LASTS = 512, KNOWN_LASTS = 8 };
    uint64_t strays = r->executions - r->last_match;
    if (strays < RK_STEP_DETECTOR_STRAYS_BEFORE_LOOK || r->executions < r->next_look)
        return;
    // Look ever less often while the strays continue.
    r->next_look = r->executions + (strays < 64 ? 8 : strays < RK_STEP_DETECTOR_HISTORY ? 64 : 512);
    rk_step_detector_pattern *p = r->current;
    uint32_t period, len = find(r, strays, RK_STEP_DETECTOR_MAX_PERIOD, p->by_name, &period);
    if (len == 0)
        return;
    uint64_t from = r->executions - len, first = from;
    // Another pattern must have lasted as long as the current one, or for LASTS executions, so that
    // an interruption does not replace it. A kept pattern proved itself before and needs less.
    uint64_t needed = p->matched < LASTS ? p->matched : LASTS;
    if (find_known(r, &first, period, p->by_name))
        needed = KNOWN_LASTS;
    if (len >= needed)
        adopt(r, from, period, p->by_name);
}

void rk_step_detector_look_for_first(rk_step_detector *r) {
    if (r->executions < r->next_look)
        return;
    // Look ever less often: again after an eighth more executions.
    uint64_t since = r->executions - r->begun;
    uint64_t wait = since / 8;
    r->next_look = r->executions + (wait < 1 ? 1 : wait > 512 ? 512 : wait);
    uint32_t period,
        len = find(r, RK_STEP_DETECTOR_HISTORY, RK_STEP_DETECTOR_MAX_PERIOD, false, &period);
    bool by_name = len == 0 && since >= RK_STEP_DETECTOR_BY_NAME_AFTER;
    if (by_name)
        len = find(r, RK_STEP_DETECTOR_HISTORY, RK_STEP_DETECTOR_MAX_PERIOD, true, &period);
    // A pattern of one program needs one repetition more: three in a row may be chance.
    if (len >= RK_STEP_DETECTOR_TIMES + 1)
        adopt(r, r->executions - len, period, by_name);
}

// If all programs have one name, each execution matches by name and is a step. A pattern of the
// programs themselves is more exact, and replaces it after LASTS executions.
void rk_step_detector_look_beyond_names(rk_step_detector *r) {
    enum { LASTS = 256 };
    if (r->executions < r->next_look)
        return;
    r->next_look = r->executions + LASTS;
    uint32_t period,
        len = find(r, RK_STEP_DETECTOR_HISTORY, RK_STEP_DETECTOR_MAX_PERIOD, false, &period);
    if (len >= LASTS)
        adopt(r, r->executions - len, period, false);
}

void rk_step_detector_look_after_stray(rk_step_detector *r) {
    r->strays++;
    if (!look_for_longer(r))
        look_for_other(r);
}
