#include "pjrt/steps.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/sys.h"
#include "diagnose/steps/detect.h"
#include "pjrt/programs.h"
#include "pjrt/runtime.h"

#define NS_PER_S UINT64_C(1000000000)

rk_steps_ring rk_the_ring;

// Guards all below; the tail is also read without it.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint_fast64_t tail;  // words processed so far
static rk_step_detector *detector; // created with the first word
static rk_programs programs;
static uint64_t round_number = 1; // grows with each program that is no framework operation
static uint64_t last_handle;      // the last handle that was looked up, and its program
static uint32_t last_program;
static uint64_t compiles, grown_ns, next_flush_ns, flush_after_ns = NS_PER_S;

static void write_range(void *context, const rk_step_range *range) {
    (void)context;
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime)
        return;
    const rk_step_sums *sums = &range->sums;
    rk_journal_add_steps(runtime->journal,
                         &(rk_journal_steps){
                             .rhythm = range->rhythm,
                             .marked = range->is_marked,
                             .first_execution = range->first_execution,
                             .executions = sums->executions,
                             .steps = range->steps,
                             .programs = sums->programs,
                             .new_programs = sums->new_programs,
                             .programs_before = range->programs_before,
                             .compiles = sums->compiles,
                             .work = sums->work,
                             .transfers = {.host_to_device = sums->host_to_device,
                                           .host_to_device_bytes = sums->host_to_device_bytes,
                                           .device_to_host = sums->device_to_host,
                                           .device_to_host_bytes = sums->device_to_host_bytes},
                         });
}

// Returns the program of an executable. An executable that rekindle did not see being made gets a
// new program.
static uint32_t program_of(uint64_t handle) {
    if (handle == last_handle)
        return last_program;
    uint32_t program = rk_programs_of(&programs, handle);
    if (program == RK_NO_PROGRAM) {
        program = rk_programs_add(&programs, NULL, "", NULL);
        grown_ns = rk_monotonic_ns();
        if (program == RK_NO_PROGRAM || !rk_programs_bind(&programs, handle, program))
            return RK_NO_PROGRAM;
    }
    last_handle = handle;
    last_program = program;
    return program;
}

static void take_execution(uint64_t handle) {
    uint32_t program = program_of(handle);
    if (program == RK_NO_PROGRAM) {
        rk_step_detector_skip(detector, 1);
        return;
    }
    rk_known_program *known = &programs.items[program];
    known->executions++;
    round_number += !known->step.is_operation;
    known->rounds += known->last_round != round_number;
    known->last_round = round_number;
    rk_step_detector_execute(detector, &known->step);
}

static void take_word(uint64_t word) {
    switch (word & 3) {
    case RK_WORD_EXECUTE:
        take_execution(word);
        break;
    case RK_WORD_MARK:
        rk_step_detector_mark(detector);
        break;
    default:
        rk_step_detector_transfer(detector, (word & 3) == RK_WORD_TO_DEVICE, word >> 2);
    }
}

// The tail is loaded first and with its order, so that the head is not older than it.
static bool is_half_full(void) {
    uint64_t at = atomic_load_explicit(&tail, memory_order_acquire);
    return atomic_load_explicit(&rk_the_ring.head, memory_order_relaxed) - at > RK_STEPS_RING / 2;
}

static void set_tail(uint64_t at) {
    atomic_store_explicit(&tail, at, memory_order_release);
}

// Called if the ring was overwritten before it was processed. Lost words count as executions.
// Returns the new tail.
static uint64_t pass_over_lost(uint64_t at, uint64_t head) {
    uint64_t next = head - RK_STEPS_RING / 2;
    rk_step_detector_skip(detector, next - at);
    set_tail(next);
    return next;
}

static void read_ring(void) {
    if (!detector) {
        rk_err *err = rk_step_detector_new(write_range, NULL, &detector);
        if (err) {
            rk_err_drop(err, "then there are no steps; it is tried again");
            return;
        }
    }
    uint64_t at = atomic_load_explicit(&tail, memory_order_relaxed), head = at;
    for (;;) {
        if (at == head) // all threads write the head, so it is loaded once for many words
            head = atomic_load_explicit(&rk_the_ring.head, memory_order_relaxed);
        if (head - at > RK_STEPS_RING)
            at = pass_over_lost(at, head);
        if (at == head)
            return;
        atomic_uint_fast64_t *slot = &rk_the_ring.words[at & (RK_STEPS_RING - 1)];
        uint64_t word = atomic_load_explicit(slot, memory_order_acquire);
        if (word == 0)
            return; // its thread has reserved the word, but not written it yet
        atomic_store_explicit(slot, 0, memory_order_relaxed);
        set_tail(++at);
        take_word(word);
    }
}

static void flush_now_and_then(void) {
    enum { LONGEST_S = 300 };
    uint64_t now_ns = rk_monotonic_ns();
    if (now_ns < next_flush_ns)
        return;
    if (next_flush_ns > 0) {
        rk_step_detector_flush(detector, false);
        flush_after_ns *= flush_after_ns < LONGEST_S * NS_PER_S ? 2 : 1;
    }
    next_flush_ns = now_ns + flush_after_ns;
}

// A thread may have lost its processor between reserving a word and writing it. While it does, the
// words after it cannot be processed, so the thread that holds the mutex leaves it a processor.
static void make_room(void) {
    enum { TRIES = 1000 };
    for (int i = 0; detector && i < TRIES && is_half_full(); i++) {
        (void)sched_yield();
        read_ring();
    }
}

void rk_steps_catch_up(void) {
    if (!rk_runtime_get())
        return;
    int saved_errno = errno; // the hook's caller may read it
    if (pthread_mutex_trylock(&mutex) != 0) {
        if (!is_half_full())
            return;
        (void)pthread_mutex_lock(&mutex);
    }
    read_ring();
    make_room();
    if (detector)
        flush_now_and_then();
    errno = saved_errno;
    (void)pthread_mutex_unlock(&mutex);
}

static atomic_uint_fast64_t marks;

void rk_steps_mark(void) {
    if (!rk_runtime_get())
        return;
    (void)atomic_fetch_add(&marks, 1);
    (void)rk_steps_put(RK_WORD_MARK);
}

uint64_t rk_steps_count_executions(uint64_t transfers) {
    uint64_t others = transfers + atomic_load(&marks), words = atomic_load(&rk_the_ring.head);
    return words > others ? words - others : 0;
}

static void bind(const PJRT_LoadedExecutable *executable, const rk_key *key, rk_span code,
                 const char *name, const rk_program_role *role) {
    uint64_t handle = (uint64_t)(uintptr_t)executable;
    uint32_t before = programs.count;
    uint32_t program = rk_programs_add(&programs, key ? &key->digest : NULL, name, role);
    // More exact than the first execution, which is only seen when the ring is processed.
    if (programs.count > before) {
        grown_ns = rk_monotonic_ns();
        programs.items[program].step.is_operation = rk_programs_is_operation(code, name, role);
    }
    last_handle = 0;
    rk_programs_unbind(&programs, handle);
    if (program != RK_NO_PROGRAM && !rk_programs_bind(&programs, handle, program))
        program = RK_NO_PROGRAM; // it gets a program of its own at its first execution
}

uint64_t rk_steps_add_executable(const PJRT_LoadedExecutable *executable, const rk_key *key,
                                 rk_span code, const char *name, const rk_program_role *role,
                                 bool is_real) {
    rk_step_detector_state state = {0};
    (void)pthread_mutex_lock(&mutex);
    read_ring();
    if (executable)
        bind(executable, key, code, name, role);
    if (is_real) {
        compiles++;
        grown_ns = rk_monotonic_ns();
    }
    if (detector) {
        if (is_real)
            rk_step_detector_compile(detector);
        rk_step_detector_get_state(detector, &state);
    }
    (void)pthread_mutex_unlock(&mutex);
    return state.executions;
}

bool rk_steps_know_name(const char *name, uint32_t count, bool *out_is_users) {
    (void)pthread_mutex_lock(&mutex);
    bool known = rk_programs_know(&programs, count, name, out_is_users);
    (void)pthread_mutex_unlock(&mutex);
    return known;
}

void rk_steps_forget(const PJRT_LoadedExecutable *executable) {
    if (!rk_runtime_get())
        return;
    (void)pthread_mutex_lock(&mutex);
    read_ring();
    last_handle = 0;
    rk_programs_unbind(&programs, (uint64_t)(uintptr_t)executable);
    (void)pthread_mutex_unlock(&mutex);
}

static void write_executed(rk_journal *journal) {
    rk_journal_executed batch[RK_JOURNAL_EXECUTED_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < programs.count; i++) {
        rk_known_program *known = &programs.items[i];
        if (known->has_key && known->executions != known->written) {
            batch[count++] = (rk_journal_executed){known->key, known->executions, known->rounds};
            known->written = known->executions;
        }
        if (count == RK_JOURNAL_EXECUTED_MAX || (count > 0 && i + 1 == programs.count)) {
            rk_journal_add_executed(journal, batch, count);
            count = 0;
        }
    }
}

void rk_steps_write(void) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime)
        return;
    (void)pthread_mutex_lock(&mutex);
    read_ring();
    if (detector)
        rk_step_detector_flush(detector, true);
    write_executed(runtime->journal);
    (void)pthread_mutex_unlock(&mutex);
}

void rk_steps_get_state(rk_steps_state *out_state) {
    rk_step_detector_state state = {0};
    (void)pthread_mutex_lock(&mutex);
    read_ring();
    if (detector)
        rk_step_detector_get_state(detector, &state);
    *out_state = (rk_steps_state){
        .executions = state.executions,
        .steps = state.steps,
        .flat_steps = state.flat_steps,
        .is_training = state.is_training,
        .is_marked = state.is_marked,
        .score = state.score,
        .compiles = compiles,
        .programs = programs.count,
        .since_growth_ns = rk_monotonic_ns() - grown_ns,
    };
    (void)pthread_mutex_unlock(&mutex);
}
