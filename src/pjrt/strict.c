#include "pjrt/strict.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sys.h"
#include "pjrt/error.h"
#include "pjrt/programs.h"
#include "pjrt/steps.h"
#include "pjrt/strict_explain_internal.h"

#define NS_PER_S UINT64_C(1000000000)

static atomic_bool is_warm; // never reset
// Warm-up was ended by the kind "auto", which cannot foresee functions that come later.
static atomic_bool is_guessed;
static atomic_bool has_begun; // a program came when warm-up seemed to be over
// The time without anything new, when a program came, that was closest to the end of warm-up.
static pthread_mutex_t quiet_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct quiet { uint64_t steps, ns; } quiet; // guarded by the mutex

// How much of the end of warm-up a time without anything new reaches, in thousandths.
static uint64_t reached_by(uint64_t steps, uint64_t ns) {
    uint64_t by_steps = 1000 * steps / RK_STRICT_FLAT_STEPS,
             by_time = ns / (RK_STRICT_FLAT_SECONDS * NS_PER_S / 1000);
    return by_steps < by_time ? by_steps : by_time;
}

static struct quiet note_quiet(const rk_steps_state *state) {
    (void)pthread_mutex_lock(&quiet_mutex);
    if (state->flat_steps > 0 &&
        reached_by(state->flat_steps, state->since_growth_ns) >= reached_by(quiet.steps, quiet.ns))
        quiet = (struct quiet){state->flat_steps, state->since_growth_ns};
    struct quiet best = quiet;
    (void)pthread_mutex_unlock(&quiet_mutex);
    return best;
}

static void become_warm(const rk_runtime *runtime, const char *because, uint64_t executions) {
    if (!atomic_exchange(&is_warm, true))
        rk_journal_add_warm(runtime->journal, because, executions);
}

void rk_strict_mark_warm(void) {
    const rk_runtime *runtime = rk_runtime_get();
    rk_steps_state state;
    if (!runtime)
        return;
    rk_steps_get_state(&state);
    atomic_store(&is_guessed, false);
    become_warm(runtime, "mark", state.executions);
}

// Returns the reason why warm-up is over; NULL if it is not.
static const char *reason_to_be_warm(const rk_runtime *runtime, const rk_steps_state *state) {
    const rk_warmup *warmup = &runtime->settings->warmup;
    switch (warmup->kind) {
    case RK_WARMUP_AUTO:
        return state->flat_steps >= RK_STRICT_FLAT_STEPS &&
                       state->since_growth_ns >= RK_STRICT_FLAT_SECONDS * NS_PER_S
                   ? "auto"
                   : NULL;
    case RK_WARMUP_STEPS:
        return state->steps >= warmup->count ? "steps" : NULL;
    case RK_WARMUP_COMPILES:
        return state->compiles >= warmup->count ? "compiles" : NULL;
    case RK_WARMUP_SECONDS:
        return rk_monotonic_ns() - runtime->started_ns >= warmup->count ? "seconds" : NULL;
    case RK_WARMUP_MARK:
        break;
    }
    return NULL;
}

static void write_headline(const rk_late *late, const rk_steps_state *state, const char *verb,
                           rk_buf *out) {
    rk_buf_add_format(out, "%s %s after warm-up", rk_buf_text(&late->name), verb);
    if (state->steps > 0)
        rk_buf_add_format(out, ", after %" PRIu64 " step%s", state->steps,
                          state->steps == 1 ? "" : "s");
}

static void write_cause(const rk_late *late, const char *between, rk_buf *out) {
    if (late->cause.len > 0 || late->words.len > 0)
        rk_buf_add_format(out, "%scause: %s%s%s", between, rk_buf_text(&late->cause),
                          late->cause.len > 0 && late->words.len > 0 ? ", " : "",
                          rk_buf_text(&late->words));
}

// Writes one line at once, because the compilation may take an hour.
static void warn(const rk_late *late, const rk_steps_state *state) {
    enum { LINES_MAX = 100 };
    static atomic_uint lines;
    unsigned before = atomic_fetch_add(&lines, 1);
    RK_AUTO(rk_buf) line = {0};
    if (before >= LINES_MAX)
        return;
    if (late->place.len > 0)
        rk_buf_add_format(&line, "%s: ", rk_buf_text(&late->place));
    write_headline(late, state, "is compiled", &line);
    write_cause(late, "; ", &line);
    if (before + 1 == LINES_MAX)
        rk_buf_add_text(&line,
                        "; further compilations after warm-up are written to the journal only");
    rk_log_warn("%s", rk_buf_text(&line));
}

static PJRT_Error *refuse(const rk_late *late, const rk_steps_state *state) {
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_text(&text, "rekindle (REKINDLE_STRICT=fail): ");
    write_headline(late, state, "would be compiled", &text);
    if (late->place.len > 0)
        rk_buf_add_format(&text, "\n  called at %s", rk_buf_text(&late->place));
    write_cause(late, "\n  ", &text);
    rk_buf_add_format(&text, "\n  remedy: %s", rk_buf_text(&late->remedy));
    rk_buf_add_text(&text, "\n  REKINDLE_STRICT=warn allows it; stored programs are loaded in "
                           "either mode; REKINDLE_WARMUP sets when warm-up ends");
    return rk_pjrt_error_give(rk_error(RK_FAILED_PRECONDITION, "%s", rk_buf_text(&text)));
}

// Returns whether warm-up is over. If `*out_doubtful` is set, the end of warm-up is a guess: then
// only a new version of a program that the process already had is late.
static bool is_over(const rk_runtime *runtime, const rk_steps_state *state, bool *out_doubtful) {
    rk_warmup_kind kind = runtime->settings->warmup.kind;
    // Read in this order, because is_guessed is set before is_warm.
    bool was_warm = atomic_load(&is_warm);
    *out_doubtful = atomic_load(&is_guessed);
    const char *because = reason_to_be_warm(runtime, state);
    // A function that comes after warm-up has its own warm-up. It ends when again nothing new came
    // for as many steps and seconds.
    if (because && kind == RK_WARMUP_AUTO)
        rk_late_settle(state->programs);
    if (was_warm)
        return true;
    bool by_steps = kind == RK_WARMUP_AUTO || kind == RK_WARMUP_STEPS;
    if (because)
        atomic_store(&has_begun, true);
    *out_doubtful = kind == RK_WARMUP_AUTO || (by_steps && !state->is_training);
    // An evaluation or an initialization before the training does not end warm-up.
    if (because && (!by_steps || state->is_training)) {
        atomic_store(&is_guessed, *out_doubtful);
        become_warm(runtime, because, state->executions);
    }
    return because != NULL;
}

// Returns whether a program may carry the work of steps to come: then the steps so far were only
// the preparation, or the first part. Marked steps are what the program says they are.
static bool may_carry_work(const rk_request *r, const rk_steps_state *state) {
    if (state->is_marked)
        return false;
    rk_step_program program = {.number = 0};
    rk_programs_set_role(&program, &r->info.role);
    return program.operations > 0 && 2 * (uint64_t)rk_step_program_score(&program) >= state->score;
}

// Returns whether a compilation after warm-up is allowed, because the program is a function that
// the process has not compiled before. Programs that are large or cannot be read are not compared:
// if the end of warm-up is doubtful, any of them may be such a function.
static bool is_allowed(const rk_request *r, const rk_steps_state *state, const rk_late *late,
                       bool is_doubtful) {
    bool is_compared = late->cause.len > 0;
    if (is_doubtful)
        return late->is_new || !is_compared;
    return late->is_new && r->runtime->settings->warmup.kind == RK_WARMUP_STEPS &&
           may_carry_work(r, state);
}

PJRT_Error *rk_strict_ask(rk_request *r) {
    rk_steps_state state;
    RK_AUTO(rk_late) late = {0};
    bool is_doubtful;
    rk_strict mode = r->runtime->settings->strict;
    if (RK_LIKELY(mode == RK_STRICT_OFF))
        return NULL;
    rk_steps_get_state(&state);
    (void)note_quiet(&state);
    if (!is_over(r->runtime, &state, &is_doubtful))
        return NULL;
    rk_late_explain(r, &late);
    if (is_allowed(r, &state, &late, is_doubtful))
        return NULL;
    r->outcome.late = true;
    if (mode == RK_STRICT_FAIL) {
        r->outcome.refused = r->outcome.failed = true;
        r->name = rk_strdup(rk_buf_text(&late.name));
        return refuse(&late, &state);
    }
    warn(&late, &state);
    return NULL;
}

void rk_strict_note(const rk_request *r) {
    enum { WORTH_WARNING_S = 1 };
    if (r->runtime->settings->strict == RK_STRICT_OFF || r->kind != RK_REQUEST_CLIENT ||
        r->outcome.failed)
        return;
    rk_late_remember(r);
    if (r->outcome.late && r->outcome.compile_ns >= WORTH_WARNING_S * NS_PER_S)
        rk_log_warn("%s took %" PRIu64 ".%" PRIu64 " s to compile, after warm-up",
                    r->name ? r->name : "a program", r->outcome.compile_ns / NS_PER_S,
                    r->outcome.compile_ns / (NS_PER_S / 10) % 10);
}

// The kind "auto" needs steps and seconds without anything new. Says only which of them are
// missing: the steps may be those of another pattern than the one that counts at the end.
static void write_quiet(const rk_steps_state *state, rk_buf *out) {
    struct quiet best = note_quiet(state);
    bool lacks_steps = best.steps < RK_STRICT_FLAT_STEPS;
    bool lacks_time = best.ns < RK_STRICT_FLAT_SECONDS * NS_PER_S;
    rk_buf_add_format(out, "it needs %d steps in a row and %d s without a new program; ",
                      RK_STRICT_FLAT_STEPS, RK_STRICT_FLAT_SECONDS);
    rk_buf_add_text(out, "as far as the steps were recognized, ");
    rk_buf_add_text(out, lacks_steps ? "there were at most " : "the longest such time was ");
    if (lacks_steps)
        rk_buf_add_format(out, "%" PRIu64 " steps", best.steps);
    if (lacks_steps && lacks_time)
        rk_buf_add_text(out, " and ");
    if (lacks_time || !lacks_steps)
        rk_buf_add_format(out, "%" PRIu64 ".%" PRIu64 " s", best.ns / NS_PER_S,
                          best.ns / (NS_PER_S / 10) % 10);
}

// What is missing for the end of warm-up.
static void write_missing(const rk_runtime *runtime, const rk_steps_state *state, rk_buf *out) {
    const rk_warmup *warmup = &runtime->settings->warmup;
    bool by_steps = warmup->kind == RK_WARMUP_AUTO || warmup->kind == RK_WARMUP_STEPS;
    uint64_t ran_ns = rk_monotonic_ns() - runtime->started_ns;
    if (by_steps && state->steps == 0)
        rk_buf_add_text(out, "the steps of this process are not known");
    else if (warmup->kind == RK_WARMUP_STEPS)
        rk_buf_add_format(out, "%" PRIu64 " of %" PRIu64 " steps", state->steps, warmup->count);
    else if (warmup->kind == RK_WARMUP_AUTO)
        write_quiet(state, out);
    else if (warmup->kind == RK_WARMUP_COMPILES)
        rk_buf_add_format(out, "%" PRIu64 " of %" PRIu64 " compilations", state->compiles,
                          warmup->count);
    else if (warmup->kind == RK_WARMUP_SECONDS)
        rk_buf_add_format(out, "%" PRIu64 " of %" PRIu64 " s", ran_ns / NS_PER_S,
                          warmup->count / NS_PER_S);
    else
        rk_buf_add_text(out, "the job did not call rekindle.mark_warm()");
}

static const char *remedy_of(const rk_runtime *runtime, const rk_steps_state *state) {
    switch (runtime->settings->warmup.kind) {
    case RK_WARMUP_AUTO:
    case RK_WARMUP_STEPS:
        if (state->steps == 0)
            return "mark the steps with rekindle.step(), or call rekindle.mark_warm() where "
                   "warm-up is over";
        return runtime->settings->warmup.kind == RK_WARMUP_AUTO
                   ? "set REKINDLE_WARMUP to a number of steps (\"N steps\"; then what the first "
                     "evaluation compiles is late), or call rekindle.mark_warm() where warm-up is "
                     "over"
                   : "set REKINDLE_WARMUP to fewer steps (\"N steps\"; then what the first "
                     "evaluation compiles is late), or call rekindle.mark_warm() where warm-up is "
                     "over";
    case RK_WARMUP_COMPILES:
        return "set REKINDLE_WARMUP to fewer compilations, or call rekindle.mark_warm() where "
               "warm-up is over";
    case RK_WARMUP_SECONDS:
        return "set REKINDLE_WARMUP to fewer seconds, or call rekindle.mark_warm() where warm-up "
               "is over";
    case RK_WARMUP_MARK:
        break;
    }
    return "call rekindle.mark_warm() where warm-up is over, or set REKINDLE_WARMUP to "
           "\"N steps\"";
}

void rk_strict_write_end(const rk_runtime *runtime, const rk_steps_state *state, rk_buf *out) {
    static const char *const modes[] = {"off", "warn", "fail"};
    if (state->compiles == 0 || reason_to_be_warm(runtime, state))
        return;
    rk_buf_add_format(out, "REKINDLE_STRICT=%s never began, because warm-up did not end: ",
                      modes[runtime->settings->strict]);
    write_missing(runtime, state, out);
    rk_buf_add_format(out, "; %s", remedy_of(runtime, state));
}

void rk_strict_end(const rk_runtime *runtime) {
    rk_steps_state state;
    RK_AUTO(rk_buf) line = {0};
    if (runtime->settings->strict == RK_STRICT_OFF || atomic_load(&is_warm) ||
        atomic_load(&has_begun))
        return;
    rk_steps_get_state(&state);
    rk_strict_write_end(runtime, &state, &line);
    if (line.len)
        rk_log_warn("%s", rk_buf_text(&line));
}
