// Records the process's executions and transfers in order, for step detection, the journal and
// strict mode.
//
// An execution costs one atomic addition and one store: a hook writes one word into a ring buffer,
// and the thread that completes a batch processes it. So the processed state lags behind. If the
// ring is half full, a thread that completes a batch waits until it is processed. Words are lost
// only if many other threads fill the ring meanwhile, or if a thread reserves a word and does not
// write it for long; lost words count as executions. Functions that need the exact state (for a
// compilation, or at the end of an executable or of the process) process the rest of the ring
// first.
#pragma once

#include "identity/key.h"
#include "pjrt/plugin.h"
#include "program/program.h"

enum {
    RK_STEPS_RING = 4096, // words; a power of two
    RK_STEPS_BATCH = 256,
};

// Used only by the hooks and steps.c.
typedef struct rk_steps_ring {
    _Alignas(64) atomic_uint_fast64_t head;                 // words written so far
    _Alignas(64) atomic_uint_fast64_t words[RK_STEPS_RING]; // 0: processed, or not yet written
} rk_steps_ring;
extern rk_steps_ring rk_the_ring;

// Processes the words in the ring. If another thread is doing so, it returns, or waits if the ring
// is half full. From time to time, it also writes the journal. Thread-safe. May block while another
// thread processes the ring and writes the journal.
void rk_steps_catch_up(void);

// The two lowest bits of a word are its kind. In the address of an executable, these bits are zero.
enum { RK_WORD_EXECUTE = 0, RK_WORD_TO_DEVICE = 1, RK_WORD_TO_HOST = 2, RK_WORD_MARK = 3 };

// Appends a word. Returns the number of words before it.
static inline uint64_t rk_steps_put(uint64_t word) {
    uint64_t at = atomic_fetch_add_explicit(&rk_the_ring.head, 1, memory_order_relaxed);
    atomic_store_explicit(&rk_the_ring.words[at & (RK_STEPS_RING - 1)], word, memory_order_release);
    if (RK_UNLIKELY((at & (RK_STEPS_BATCH - 1)) == RK_STEPS_BATCH - 1))
        rk_steps_catch_up();
    return at;
}

static inline uint64_t rk_steps_execute(const PJRT_LoadedExecutable *executable) {
    return rk_steps_put((uint64_t)(uintptr_t)executable & ~(uint64_t)3);
}

static inline uint64_t rk_steps_transfer(bool to_device, uint64_t bytes) {
    return rk_steps_put(bytes << 2 | (to_device ? RK_WORD_TO_DEVICE : RK_WORD_TO_HOST));
}

// Returns the number of executions so far: the number of all words, minus `transfers`, minus the
// step marks.
uint64_t rk_steps_count_executions(uint64_t transfers);

// Marks the end of a step, as the program reports it.
void rk_steps_mark(void);

// Called after a compile request was answered. `executable` is the result; NULL if there is none.
// `key`, `code`, `name` and `role` are those of its program; `key` is NULL if the program has none.
// `is_real`: the plugin's compiler was called. Returns the number of executions before this call.
uint64_t rk_steps_add_executable(const PJRT_LoadedExecutable *executable, const rk_key *key,
                                 rk_span code, const char *name, const rk_program_role *role,
                                 bool is_real);

// True if one of the first `count` programs that the process compiled or loaded has that name, and
// the user gave it. `*out_is_users`: the user gave the name; other names distinguish no functions.
bool rk_steps_know_name(const char *name, uint32_t count, bool *out_is_users);

// Called before the executable is destroyed.
void rk_steps_forget(const PJRT_LoadedExecutable *executable);

// Writes the steps and execution counts that are not in the journal yet.
void rk_steps_write(void);

// The current totals of the process.
typedef struct rk_steps_state {
    uint64_t executions;
    uint64_t steps, flat_steps; // 0 if no steps are known, or if they carry little of the work
    bool is_training;           // these are training steps (diagnose/steps/detect.h)
    bool is_marked;             // the program marks its steps
    uint32_t score;             // the highest score of a program in a step
    uint64_t compiles;          // calls of the plugin's compiler
    uint32_t programs;          // distinct programs compiled, loaded or executed
    uint64_t since_growth_ns;   // since a program was last compiled, or used for the first time
} rk_steps_state;
void rk_steps_get_state(rk_steps_state *out_state);
