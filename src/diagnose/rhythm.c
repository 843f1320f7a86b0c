#include "diagnose/rhythm.h"

#include <string.h>

#include "base/alloc.h"
#include "diagnose/rhythm_find.h"

enum {
    HISTORY = 1024, // executions; a power of two, at least RK_RHYTHM_TIMES * RK_RHYTHM_MAX_PERIOD
    KNOWN = 8,      // rhythms that are remembered
    // What one rhythm is interrupted by is looked at for another one when it is so long, and then
    // ever less often.
    STRAYS_BEFORE_LOOK = 16,
    LONGER_PERIOD_MAX = 128, // of a rhythm that explains interruptions
    BY_NAME_AFTER = 128,     // executions without a rhythm by which frameworks number them
    EXACT_RANGES = 256,      // before unequal steps share one
};

#define NAMED (UINT32_C(1) << 31) // a token that is a name

// An execution, and what came between the one before and it.
typedef struct entry {
    uint32_t token, name; // as programs are told apart; by name alone
    uint32_t program;
    uint32_t compiles, host_to_device, device_to_host;
    bool is_new;
    uint64_t host_to_device_bytes, device_to_host_bytes;
} entry;

typedef struct pattern {
    uint32_t id, period;
    bool by_name;
    uint64_t steps, matched; // executions
    uint32_t tokens[RK_RHYTHM_MAX_PERIOD];
} pattern;

struct rk_rhythm {
    rk_rhythm_emit_fn *emit;
    void *context;
    entry history[HISTORY];     // of execution i at i % HISTORY
    uint64_t executions, valid; // so many of the last ones are in the history
    entry next;                 // what is known of the next execution already
    uint64_t *step_of;          // owned; by program: the step that it was last executed in, from 1
    uint32_t program_capacity;
    uint64_t programs;
    uint64_t step_number; // of the open step, over all rhythms; never the same twice
    rk_step_sums open;    // since the last step's end
    uint64_t open_from;   // execution
    pattern known[KNOWN];
    uint32_t known_count, ids;
    pattern *current; // one of them, or NULL
    uint32_t at;      // in it
    uint64_t begun;   // execution that the current one was found from
    uint64_t last_match, strays, next_look;
    bool is_marked;
    uint64_t marked_steps, flat_steps;
    rk_step_range range; // not emitted yet
    rk_step_sums last;   // step in it
    uint64_t ranges;     // emitted
    // The program that is the whole rhythm came again, nothing in between: so often, and not yet
    // looked at. That is what most executions are.
    bool may_repeat;
    uint32_t repeated;
    uint64_t repeats;
    uint32_t items[HISTORY];
    uint16_t border[HISTORY];
};

rk_err *rk_rhythm_new(rk_rhythm_emit_fn *emit, void *context, rk_rhythm **out_rhythm) {
    *out_rhythm = rk_calloc(1, sizeof **out_rhythm);
    if (!*out_rhythm)
        return rk_err_no_memory();
    (*out_rhythm)->emit = emit;
    (*out_rhythm)->context = context;
    (*out_rhythm)->step_number = 1;
    return NULL;
}

void rk_rhythm_free(rk_rhythm *r) {
    if (r)
        rk_free(r->step_of);
    rk_free(r);
}

// Sums.

// Where a program was last executed; NULL when memory is short: then it counts as known.
static uint64_t *step_of(rk_rhythm *r, uint32_t program) {
    if (program >= r->program_capacity) {
        uint32_t larger = program < 32 ? 64 : program * 2;
        uint64_t *grown = rk_realloc(r->step_of, larger * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + r->program_capacity, 0, (larger - r->program_capacity) * sizeof *grown);
        r->step_of = grown;
        r->program_capacity = larger;
    }
    return &r->step_of[program];
}

static void add_entry(rk_rhythm *r, const entry *e) {
    rk_step_sums *sums = &r->open;
    uint64_t *step = step_of(r, e->program);
    if (step && *step != r->step_number) {
        *step = r->step_number;
        sums->programs++;
    }
    sums->executions++;
    sums->new_programs += e->is_new;
    sums->compiles += e->compiles;
    sums->host_to_device += e->host_to_device;
    sums->host_to_device_bytes += e->host_to_device_bytes;
    sums->device_to_host += e->device_to_host;
    sums->device_to_host_bytes += e->device_to_host_bytes;
}

static void add_sums(rk_step_sums *to, const rk_step_sums *step) {
    to->executions += step->executions;
    to->programs = to->programs > step->programs ? to->programs : step->programs;
    to->new_programs += step->new_programs;
    to->compiles += step->compiles;
    to->host_to_device += step->host_to_device;
    to->host_to_device_bytes += step->host_to_device_bytes;
    to->device_to_host += step->device_to_host;
    to->device_to_host_bytes += step->device_to_host_bytes;
}

static bool is_growth(const rk_step_sums *sums) {
    return sums->compiles > 0 || sums->new_programs > 0;
}

// Ranges.

static void emit_range(rk_rhythm *r) {
    if (r->range.sums.executions == 0 && r->range.steps == 0)
        return;
    r->emit(r->context, &r->range);
    r->range = (rk_step_range){0};
    r->ranges++;
}

static bool continues_range(const rk_rhythm *r, uint32_t id) {
    const rk_step_range *range = &r->range;
    if (range->steps == 0 || range->rhythm != id ||
        range->first_execution + range->sums.executions != r->open_from)
        return false;
    if (memcmp(&r->last, &r->open, sizeof r->open) == 0)
        return true;
    return r->ranges >= EXACT_RANGES && !is_growth(&r->open) && !is_growth(&r->last);
}

// The open sums become a step of that rhythm, or, for rhythm 0, what is in no step.
static void close_open(rk_rhythm *r, uint32_t id) {
    if (id == 0 && r->open.executions == 0)
        return;
    if (!continues_range(r, id)) {
        emit_range(r);
        r->range = (rk_step_range){
            .rhythm = id, .first_execution = r->open_from, .is_marked = r->is_marked && id > 0};
    }
    r->range.steps += id > 0;
    add_sums(&r->range.sums, &r->open);
    r->last = r->open;
    if (id > 0)
        r->flat_steps = is_growth(&r->open) ? 0 : r->flat_steps + 1;
    r->open_from += r->open.executions;
    r->open = (rk_step_sums){0};
    r->step_number++;
}

static void push_entry(rk_rhythm *r, const entry *e) {
    r->history[r->executions++ % HISTORY] = *e;
    r->valid += r->valid < HISTORY;
}

// Accounts for what was only counted.
static void settle(rk_rhythm *r) {
    uint64_t times = r->repeats;
    r->repeats = 0;
    r->may_repeat = false;
    if (times == 0)
        return;
    entry again = r->history[(r->executions - 1) % HISTORY];
    uint64_t left_out = times > HISTORY ? times - HISTORY : 0; // of the history
    r->executions += left_out;
    for (uint64_t i = left_out; i < times; i++)
        push_entry(r, &again);
    r->range.steps += times;
    r->range.sums.executions += times;
    r->current->steps += times;
    r->current->matched += times;
    r->flat_steps += times;
    r->open_from += times;
    r->last_match = r->executions;
    r->step_number += times;
    uint64_t *step = step_of(r, again.program);
    if (step)
        *step = r->step_number - 1;
}

// Whether the same program once more is one step more, in all respects like the last one.
static bool may_repeat(const rk_rhythm *r) {
    static const rk_step_sums alone = {.executions = 1, .programs = 1};
    return r->current && !r->is_marked && r->current->period == 1 && !r->current->by_name &&
           r->open.executions == 0 && r->range.steps > 0 && r->range.rhythm == r->current->id &&
           memcmp(&r->last, &alone, sizeof alone) == 0;
}

// Looking for a rhythm.

static uint32_t token_of(const entry *e, bool by_name) {
    return by_name ? e->name : e->token;
}

static const entry *entry_at(const rk_rhythm *r, uint64_t execution) {
    return &r->history[execution % HISTORY];
}

static uint32_t find(rk_rhythm *r, uint64_t count, uint32_t max_period, bool by_name,
                     uint32_t *out_period) {
    if (count > r->valid)
        count = r->valid;
    for (uint64_t i = 0; i < count; i++)
        r->items[i] = token_of(entry_at(r, r->executions - count + i), by_name);
    return rk_rhythm_find(r->items, (uint32_t)count, max_period, RK_RHYTHM_TIMES, r->border,
                          out_period);
}

static bool is_at(const rk_rhythm *r, const pattern *p, uint64_t from) {
    for (uint32_t i = 0; i < p->period; i++)
        if (token_of(entry_at(r, from + i), p->by_name) != p->tokens[i])
            return false;
    return true;
}

// The pattern that is known already, and begins a few executions later perhaps.
static pattern *find_known(rk_rhythm *r, uint64_t *from, uint32_t period, bool by_name) {
    for (uint32_t i = 0; i < r->known_count; i++) {
        pattern *p = &r->known[i];
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

// Instead of the one that mattered least, where there is no room.
static pattern *add_known(rk_rhythm *r, uint64_t from, uint32_t period, bool by_name) {
    pattern *p = &r->known[r->known_count < KNOWN ? r->known_count++ : 0];
    for (uint32_t i = 0; i < KNOWN && r->ids >= KNOWN; i++)
        if (&r->known[i] != r->current && (p == r->current || r->known[i].matched < p->matched))
            p = &r->known[i];
    *p = (pattern){.id = ++r->ids, .period = period, .by_name = by_name};
    for (uint32_t i = 0; i < period; i++)
        p->tokens[i] = token_of(entry_at(r, from + i), by_name);
    return p;
}

static void take_in(rk_rhythm *r, const entry *e) {
    pattern *p = r->current;
    uint32_t token = token_of(e, p->by_name);
    bool matches = token == p->tokens[r->at];
    if (!matches && r->at > 0 && token == p->tokens[0]) { // it was cut short
        close_open(r, p->id);
        p->steps++;
        r->at = 0;
        matches = true;
    }
    add_entry(r, e);
    if (!matches)
        return;
    p->matched++;
    r->last_match = r->open_from + r->open.executions;
    if (++r->at < p->period)
        return;
    r->at = 0;
    p->steps++;
    close_open(r, p->id);
}

// From `from` on that rhythm is the one.
static void adopt(rk_rhythm *r, uint64_t from, uint32_t period, bool by_name) {
    pattern *p = find_known(r, &from, period, by_name);
    if (!p)
        p = add_known(r, from, period, by_name);
    bool takes_back = from < r->open_from;
    emit_range(r);
    r->step_number++;
    r->open = (rk_step_sums){0};
    if (takes_back) {
        r->open_from = from;
    } else {
        for (uint64_t i = r->open_from; i < from; i++)
            if (r->executions - i <= r->valid)
                add_entry(r, entry_at(r, i));
        r->open.executions = from - r->open_from; // also of those that are no longer known
        close_open(r, 0);
    }
    r->current = p;
    r->at = 0;
    r->begun = from;
    r->strays = r->flat_steps = 0;
    r->last_match = from;
    for (uint64_t i = from; i < r->executions; i++)
        take_in(r, entry_at(r, i));
}

// What is not in the shorter pattern, in the longer one: if it repeats itself, it is something
// else than a part of each step.
static bool is_longer_step(const rk_rhythm *r, uint64_t from, uint32_t period) {
    const pattern *p = r->current;
    uint32_t micro_steps = 0, strays[RK_RHYTHM_MAX_PERIOD], stray_count = 0;
    for (uint32_t i = 0; i < period; i++) {
        uint32_t token = token_of(entry_at(r, from + i), p->by_name);
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
    return stray_count > 0 && micro_steps <= RK_RHYTHM_MAX_MICRO_STEPS;
}

static bool look_for_longer(rk_rhythm *r) {
    enum { ALWAYS_UP_TO = 64, SELDOM = 64 };
    if (r->strays > ALWAYS_UP_TO && r->strays % SELDOM != 0)
        return false;
    const pattern *p = r->current;
    uint32_t period, len = find(r, (uint64_t)RK_RHYTHM_TIMES * LONGER_PERIOD_MAX, LONGER_PERIOD_MAX,
                                p->by_name, &period);
    uint64_t from = r->executions - len;
    if (len == 0 || period <= p->period || 2 * (uint64_t)len < r->executions - r->begun ||
        !is_longer_step(r, from, period))
        return false;
    adopt(r, from, period, p->by_name);
    return true;
}

static void look_for_other(rk_rhythm *r) {
    enum { LASTS = 512, KNOWN_LASTS = 8 };
    uint64_t strays = r->executions - r->last_match;
    if (strays < STRAYS_BEFORE_LOOK || r->executions < r->next_look)
        return;
    r->next_look = r->executions + (strays < 64 ? 8 : strays < HISTORY ? 64 : 512);
    pattern *p = r->current;
    uint32_t period, len = find(r, strays, RK_RHYTHM_MAX_PERIOD, p->by_name, &period);
    if (len == 0)
        return;
    uint64_t from = r->executions - len, first = from;
    uint64_t needed = p->matched < LASTS ? p->matched : LASTS;
    if (find_known(r, &first, period, p->by_name))
        needed = KNOWN_LASTS;
    if (len >= needed)
        adopt(r, from, period, p->by_name);
}

static void look_for_first(rk_rhythm *r) {
    if (r->executions < r->next_look)
        return;
    uint64_t since = r->executions - r->begun;
    uint64_t wait = since / 8;
    r->next_look = r->executions + (wait < 1 ? 1 : wait > 512 ? 512 : wait);
    uint32_t period, len = find(r, HISTORY, RK_RHYTHM_MAX_PERIOD, false, &period);
    bool by_name = len == 0 && since >= BY_NAME_AFTER;
    if (by_name)
        len = find(r, HISTORY, RK_RHYTHM_MAX_PERIOD, true, &period);
    // Two programs in turn come three times sooner than they mean anything.
    if (len >= RK_RHYTHM_TIMES + 1)
        adopt(r, r->executions - len, period, by_name);
}

// Where one name is all there is, everything is a step, until the programs themselves show more.
static void look_beyond_names(rk_rhythm *r) {
    enum { LASTS = 256 };
    if (r->executions < r->next_look)
        return;
    r->next_look = r->executions + LASTS;
    uint32_t period, len = find(r, HISTORY, RK_RHYTHM_MAX_PERIOD, false, &period);
    if (len >= LASTS)
        adopt(r, r->executions - len, period, false);
}

static void note_new(rk_rhythm *r, uint32_t program) {
    const uint64_t *step = step_of(r, program);
    r->next.is_new = step && *step == 0;
    r->programs += r->next.is_new;
}

static void execute(rk_rhythm *r, uint32_t program, uint32_t name, bool is_telling) {
    settle(r);
    note_new(r, program);
    r->next.program = program;
    r->next.name = name | NAMED;
    r->next.token = is_telling ? r->next.name : program;
    push_entry(r, &r->next);
    r->next = (entry){0};
    const entry *e = entry_at(r, r->executions - 1);
    if (r->is_marked || !r->current) {
        add_entry(r, e);
        if (!r->is_marked)
            look_for_first(r);
        return;
    }
    take_in(r, e);
    if (r->last_match < r->executions) {
        r->strays++;
        if (!look_for_longer(r))
            look_for_other(r);
    } else if (r->current->by_name) {
        look_beyond_names(r);
    }
}

void rk_rhythm_execute(rk_rhythm *r, uint32_t program, uint32_t name, bool is_telling) {
    if (RK_LIKELY(r->may_repeat && program == r->repeated)) {
        r->repeats++;
        return;
    }
    execute(r, program, name, is_telling);
    r->may_repeat = may_repeat(r);
    r->repeated = program;
}

void rk_rhythm_transfer(rk_rhythm *r, bool to_device, uint64_t bytes) {
    settle(r);
    if (to_device) {
        r->next.host_to_device++;
        r->next.host_to_device_bytes += bytes;
    } else {
        r->next.device_to_host++;
        r->next.device_to_host_bytes += bytes;
    }
}

void rk_rhythm_compile(rk_rhythm *r) {
    settle(r);
    r->next.compiles++;
    r->flat_steps = 0;
}

void rk_rhythm_skip(rk_rhythm *r, uint64_t executions) {
    settle(r);
    r->executions += executions;
    r->open.executions += executions;
    r->last_match += executions;
    r->valid = 0;
    r->at = 0;
}

// What came before the first mark belongs to the first step.
static void begin_marks(rk_rhythm *r) {
    r->is_marked = true;
    emit_range(r);
    r->open.executions += r->open_from;
    r->open_from = 0;
    r->flat_steps = 0;
}

void rk_rhythm_mark(rk_rhythm *r) {
    enum { MARKED_RHYTHM = INT32_MAX };
    settle(r);
    if (!r->is_marked)
        begin_marks(r);
    // A value that was fetched after the last execution is a part of the step that it ends.
    r->open.compiles += r->next.compiles;
    r->open.host_to_device += r->next.host_to_device;
    r->open.host_to_device_bytes += r->next.host_to_device_bytes;
    r->open.device_to_host += r->next.device_to_host;
    r->open.device_to_host_bytes += r->next.device_to_host_bytes;
    r->next = (entry){0};
    r->marked_steps++;
    close_open(r, MARKED_RHYTHM);
}

void rk_rhythm_flush(rk_rhythm *r) {
    settle(r);
    emit_range(r);
}

void rk_rhythm_get_state(const rk_rhythm *r, rk_rhythm_state *out_state) {
    uint64_t steps = 0;
    if (r->is_marked)
        steps = r->marked_steps;
    else if (r->current)
        steps = r->current->steps;
    *out_state = (rk_rhythm_state){
        .executions = r->executions + r->repeats,
        .programs = r->programs,
        .steps = steps + r->repeats,
        .flat_steps = r->flat_steps + r->repeats,
    };
}
