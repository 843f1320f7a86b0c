// Loads that killed their process. Some entries crash the plugin that loads them, and would do so
// at every start. So a process notes in a file of its own, before each load, what it loads; the
// next process finds the note of one that died, and from it follows a verdict on the key:
//
// - Died of a signal that says crash, with this load alone in flight: the key is set aside. Nothing
//   of it is loaded or stored; the entry goes to quarantine/.
// - Died, and nobody knows of what (kill -9, out of memory and _exit look the same from outside):
//   the entry is suspected. It is compiled and replaced; the new one is loaded only when it is
//   asked for, by a process that starts later. If that one dies as well, the key is set aside; if
//   it loads, the verdict goes.
// - Died otherwise, as far as is known: nothing.
//
// A verdict counts for 30 days. A process that cannot be judged from here (of another host, boot or
// pid namespace) is never called dead. The note is written with write(2), not mapped: a store to a
// mapping would kill the job where the file system fails or is full.
#pragma once

#include "base/process.h"
#include "store/store.h"

#define RK_LOADS_FOLDER "loads"

typedef struct rk_loads rk_loads;

typedef enum rk_load_state {
    RK_LOAD_FREE = 0,
    RK_LOAD_LOADING = 1,
    RK_LOAD_COMPILED = 2, // compiled instead, since the entry is suspected
} rk_load_state;

typedef enum rk_load_doubt {
    RK_LOAD_TRUSTED = 0,
    RK_LOAD_SUSPECT, // this entry is not loaded; it is compiled and replaced
    RK_LOAD_TRIAL,   // another entry of the key was suspected: this one may be loaded
    RK_LOAD_ASIDE,   // nothing of this key is loaded or stored
} rk_load_doubt;

// How a process ended.
typedef enum rk_load_death { RK_DEATH_UNKNOWN, RK_DEATH_HARMLESS, RK_DEATH_CRASH } rk_load_death;

// Judges what dead processes left, and reads the verdicts. `tag`, letters, tells apart several of
// these in one process. Nothing is written where the store is readonly, and nothing noted where
// this process is not fully known. `store` is borrowed; `out_loads` is owned: rk_loads_free.
RK_NODISCARD rk_err *rk_loads_open(rk_store *store, const char *tag, rk_loads **out_loads);
void rk_loads_free(rk_loads *loads); // closes it; NULL is fine

// The process ends, or does not want to note any more: its note is removed. Loads that are still
// in flight then blame nobody.
void rk_loads_close(rk_loads *loads);

// What is known of a key before its entry is read (RK_LOAD_ASIDE, RK_LOAD_SUSPECT for any doubt
// else), and of an entry. `out_signal` may be NULL: what killed the process, 0 if not known.
// Cheap where there are no verdicts. NULL `loads`: RK_LOAD_TRUSTED.
rk_load_doubt rk_loads_doubt_key(rk_loads *loads, const rk_digest *key, int *out_signal);
rk_load_doubt rk_loads_doubt_entry(rk_loads *loads, const rk_digest *key, uint64_t created_ns);

// Notes that a load begins (or that it was compiled instead), and that it has ended. Best effort.
// NULL `loads` is fine. -1 is not noted; rk_loads_end takes it. Some system calls each.
int rk_loads_begin(rk_loads *loads, const rk_digest *key, uint64_t created_ns, rk_load_state state);
void rk_loads_end(rk_loads *loads, int slot);

// An entry on trial was loaded and the process lives: the verdict goes.
void rk_loads_acquit(rk_loads *loads, const rk_digest *key);

// Judges notes of the dead; with `only`, those of this process alone, which is dead, by how it
// ended. `signal` is 0 unless `death` is RK_DEATH_CRASH. Removes verdicts whose time is over. Fine
// where there is nothing, or the store takes nothing.
RK_NODISCARD rk_err *rk_loads_judge(rk_store *store, const rk_process *only, rk_load_death death,
                                    int signal);
