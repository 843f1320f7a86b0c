#include "pjrt/strict_explain_internal.h"

#include <pthread.h>

#include "diagnose/diff/framework.h"
#include "diagnose/diff/quick.h"
#include "pjrt/programs.h"
#include "pjrt/steps.h"

enum { SEEN_MAX = 64 }; // number of programs remembered, the latest ones

typedef struct seen_program {
    rk_quick_program *program; // owned
    rk_key key;
    bool has_key;
    bool is_recent; // came after the latest rk_late_settle
} seen_program;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // guards all below
static seen_program seen[SEEN_MAX];                       // used as a ring
static size_t seen_count;                                 // programs ever added
// The programs of the process at the latest rk_late_settle; without a call, all programs.
static uint32_t settled_programs = UINT32_MAX;

void rk_late_cleanup(rk_late *late) {
    rk_buf_cleanup(&late->name);
    rk_buf_cleanup(&late->place);
    rk_buf_cleanup(&late->cause);
    rk_buf_cleanup(&late->words);
    rk_buf_cleanup(&late->remedy);
}

static rk_quick_program *read_program(const rk_request *r) {
    rk_quick_program *program = NULL;
    rk_err *err = rk_quick_program_make(r->code, r->format, &program);
    rk_err_drop(err, "then less is said about it");
    return program;
}

// Called with the mutex held.
static bool is_remembered(const rk_request *r) {
    for (size_t i = 0; i < SEEN_MAX && r->has_key; i++)
        if (seen[i].has_key && rk_digest_equal(&seen[i].key.digest, &r->key.digest))
            return true;
    return false;
}

void rk_late_remember(const rk_request *r) {
    rk_quick_program *program = read_program(r), *forgotten = program;
    (void)pthread_mutex_lock(&mutex);
    if (program && !is_remembered(r)) {
        seen_program *slot = &seen[seen_count++ % SEEN_MAX];
        forgotten = slot->program;
        *slot = (seen_program){.program = program,
                               .key = r->key,
                               .has_key = r->has_key,
                               .is_recent = settled_programs != UINT32_MAX};
    }
    (void)pthread_mutex_unlock(&mutex);
    rk_quick_program_free(forgotten);
}

void rk_late_settle(uint32_t programs) {
    (void)pthread_mutex_lock(&mutex);
    settled_programs = programs;
    for (size_t i = 0; i < SEEN_MAX; i++)
        seen[i].is_recent = false;
    (void)pthread_mutex_unlock(&mutex);
}

static const char *remedy_of(rk_cause cause) {
    switch (cause) {
    case RK_CAUSE_SHAPE:
        return "if this size belongs to the job (a smaller last batch, an evaluation), also make "
               "this call during warm-up; otherwise pad the input to a size that was seen "
               "(`rekindle shapes` recommends sizes)";
    case RK_CAUSE_DTYPE:
        return "convert the input to one type before the call";
    case RK_CAUSE_CONSTANT:
        return "pass the value as an argument of the jitted function, as an array, so that it is "
               "an input, not a constant";
    case RK_CAUSE_PARAMETERS:
        return "call the function with the same inputs each time";
    case RK_CAUSE_OPTIONS:
        return "compile the function with the same options each time";
    default:
        return "run this code during warm-up as well, or set a later end of warm-up "
               "(REKINDLE_WARMUP)";
    }
}

// Explains a program that this process had before: the options or the store must be the reason.
// False if the program is new.
static bool explain_known(const rk_request *r, rk_late *late) {
    for (size_t i = 0; i < SEEN_MAX && r->has_key; i++) {
        if (!seen[i].has_key || !rk_digest_equal(&seen[i].key.program, &r->key.program))
            continue;
        bool other_options = !rk_digest_equal(&seen[i].key.options, &r->key.options);
        rk_cause cause = other_options ? RK_CAUSE_OPTIONS : RK_CAUSE_DUPLICATE;
        rk_buf_add_text(&late->cause, rk_cause_words(cause));
        rk_buf_add_text(&late->words, other_options ? "the same program with other compile options"
                                                    : "this process requested this program before, "
                                                      "and the program is not in the store");
        rk_buf_add_text(&late->remedy, remedy_of(cause));
        return true;
    }
    return false;
}

// Called with the mutex held, like the functions below. Returns whether the name alone shows that
// the program is new.
static bool has_new_name(const rk_sketch *sketch) {
    bool is_users, known = rk_steps_know_name(sketch->module, settled_programs, &is_users);
    return is_users && (!known || rk_is_framework_operation(sketch));
}

// Returns whether earlier programs have that name, and all of them are other functions.
static bool is_other_function(const rk_quick_program *program) {
    const char *name = rk_quick_program_sketch(program)->module;
    bool is_found = false;
    for (size_t i = 0; i < SEEN_MAX; i++) {
        const rk_quick_program *other = seen[i].program;
        if (!other || seen[i].is_recent ||
            strcmp(rk_quick_program_sketch(other)->module, name) != 0)
            continue;
        if (!rk_quick_are_two_functions(other, program))
            return false;
        is_found = true;
    }
    return is_found;
}

// For a program whose name is not new. `nearest`: the most similar earlier program, or NULL.
static bool is_new_function(const rk_quick_program *program, rk_cause cause,
                            const seen_program *nearest) {
    const char *name = rk_quick_program_sketch(program)->module;
    bool is_users;
    (void)rk_steps_know_name(name, 0, &is_users);
    if (is_users && !rk_programs_is_anonymous(name))
        return is_other_function(program);
    // The name does not identify the function, but the cause does.
    return cause == RK_CAUSE_FIRST || cause == RK_CAUSE_STRUCTURE || cause == RK_CAUSE_PARAMETERS ||
           (nearest && nearest->is_recent);
}

static void add_verdict(const rk_quick_verdict *verdict, rk_late *late) {
    RK_AUTO(rk_buf) place = {0};
    rk_buf_add_text(&late->cause, rk_cause_words(verdict->cause));
    rk_buf_add_text(&late->words, verdict->words);
    if (verdict->file[0])
        rk_buf_add_format(&place, "%s:%u", verdict->file, verdict->line);
    if (place.len > 0 && strcmp(rk_buf_text(&place), rk_buf_text(&late->place)) != 0)
        rk_buf_add_format(&late->words,
                          verdict->is_rough ? "; most operations of the program come from %s"
                                            : " (%s)",
                          rk_buf_text(&place));
    rk_buf_add_text(&late->remedy, remedy_of(verdict->cause));
}

static void compare(const rk_request *r, const rk_quick_program *program, rk_late *late) {
    const rk_quick_program *latest_last[SEEN_MAX];
    (void)pthread_mutex_lock(&mutex);
    late->is_new = has_new_name(rk_quick_program_sketch(program));
    if (!explain_known(r, late)) {
        rk_quick_verdict verdict;
        for (size_t i = 0; i < SEEN_MAX; i++)
            latest_last[i] = seen[(seen_count + i) % SEEN_MAX].program;
        rk_quick_classify(program, latest_last, SEEN_MAX, &verdict);
        add_verdict(&verdict, late);
        const seen_program *nearest =
            verdict.nearest < SEEN_MAX ? &seen[(seen_count + verdict.nearest) % SEEN_MAX] : NULL;
        late->is_new |= is_new_function(program, verdict.cause, nearest);
    }
    (void)pthread_mutex_unlock(&mutex);
}

void rk_late_explain(const rk_request *r, rk_late *out_late) {
    rk_quick_program *program = read_program(r);
    if (program) {
        const rk_sketch *sketch = rk_quick_program_sketch(program);
        rk_buf_add_text(&out_late->name, sketch->module);
        if (sketch->call.line > 0)
            rk_buf_add_format(&out_late->place, "%s:%u", sketch->call.file, sketch->call.line);
        compare(r, program, out_late);
        rk_quick_program_free(program);
    }
    if (out_late->name.len == 0)
        rk_buf_add_format(&out_late->name, "a program of %zu bytes", r->code.len);
    if (out_late->remedy.len == 0)
        rk_buf_add_text(&out_late->remedy, remedy_of(RK_CAUSE_FIRST));
}
