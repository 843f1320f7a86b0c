// What the process executes, in its order: for steps, the journal, and strict mode.
//
// On the way of an execution it costs an atomic addition and a store: hooks put a word each into
// a ring, and whoever fills a part of it reads that part. So it is known a little later what was
// executed; whatever needs it exactly (a compilation, the end of an executable or of the process)
// reads the rest first.
#pragma once

#include "identity/key.h"
#include "pjrt/plugin.h"

enum {
    RK_STEPS_RING = 1024, // words; a power of two
    RK_STEPS_BATCH = 256,
};

// Inside hooks and steps.c alone.
typedef struct rk_steps_ring {
    _Alignas(64) atomic_uint_fast64_t head;                 // words ever written
    _Alignas(64) atomic_uint_fast64_t words[RK_STEPS_RING]; // 0: read already, or not yet there
} rk_steps_ring;
extern rk_steps_ring rk_the_ring;

// Reads what is in the ring, unless another thread is at it. Thread-safe; writes the journal now
// and then.
void rk_steps_catch_up(void);

// The two lowest bits of a word say what it is; addresses of executables have none of them.
enum { RK_WORD_EXECUTE = 0, RK_WORD_TO_DEVICE = 1, RK_WORD_TO_HOST = 2, RK_WORD_MARK = 3 };

// Returns how many words there were before.
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

// How many words there were that are no transfers: executions.
uint64_t rk_steps_count_executions(uint64_t transfers);

// The program says that a step ends here.
void rk_steps_mark(void);

// A request for a compilation was answered: `executable` runs the program of that key (NULL: it has
// none) and name. `is_real`: the plugin's compiler was called. Returns how many executions there
// were before.
uint64_t rk_steps_add_executable(const PJRT_LoadedExecutable *executable, const rk_key *key,
                                 const char *name, bool is_real);

// It is about to be destroyed.
void rk_steps_forget(const PJRT_LoadedExecutable *executable);

// Writes what is not in the journal yet.
void rk_steps_write(void);

// Programs of the same name (less the number that a framework appends) that this process has, the
// latest first: their keys. At most `max`; how many.
size_t rk_steps_find_named(const char *name, rk_digest *out_keys, size_t max);

// Where the process stands, now.
typedef struct rk_steps_state {
    uint64_t executions, steps, flat_steps;
    uint64_t compiles;        // real ones
    uint64_t since_growth_ns; // since a program was compiled, or had for the first time
} rk_steps_state;
void rk_steps_get_state(rk_steps_state *out_state);
