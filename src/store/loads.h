// Protects jobs from crashing entries: entries whose load crashes the plugin, and so the process,
// at every start. A process records each load in its own file, the load note, before the load
// begins. A later process finds the note of a dead process, and writes a verdict on each key in the
// note:
//
// - The process died of a crash signal during one load: the key is set aside. No entry of the key
//   is loaded or stored, and the entry is moved to quarantine/.
// - The process died of a crash signal during several loads, or it died of an unknown cause during
//   any load: each of the entries is suspected. A suspected entry is not loaded; its program is
//   compiled again, and the new entry replaces it. The new entry is on trial: it is not prefetched,
//   and only a process that starts later loads it. If the load kills that process too, the key is
//   set aside. If the load succeeds, the verdict is removed. (Only the parent of a process can find
//   out how the process ended. Other processes cannot distinguish SIGKILL, out of memory and
//   _exit.)
// - The process ended in another known way: no verdict.
//
// A verdict is valid for 30 days. A process on another host, or of another boot or pid namespace,
// never counts as dead. The note is written with write(2) and not mapped, because a write to a
// mapping kills the process (SIGBUS) if the file system fails or is full.
#pragma once

#include "base/process.h"
#include "store/store.h"

#define RK_LOADS_FOLDER "loads"

typedef struct rk_loads rk_loads;

typedef enum rk_load_state {
    RK_LOAD_FREE = 0,
    RK_LOAD_LOADING = 1,
    RK_LOAD_COMPILED = 2, // compiled instead of loaded, because the entry is suspected
} rk_load_state;

typedef enum rk_load_doubt {
    RK_LOAD_TRUSTED = 0,
    RK_LOAD_SUSPECT, // this entry is not loaded: compile and replace it
    RK_LOAD_TRIAL,   // an earlier entry of the key was suspected: this one may be loaded
    RK_LOAD_ASIDE,   // no entry of this key is loaded or stored
} rk_load_doubt;

// How a process ended.
typedef enum rk_load_death { RK_DEATH_UNKNOWN, RK_DEATH_HARMLESS, RK_DEATH_CRASH } rk_load_death;

// Judges the notes of dead processes, and reads the verdicts. `tag`, letters only, distinguishes
// several rk_loads in one process. Writes nothing if the store is readonly, and no note if
// rk_process_is_known is false for this process. `store` is borrowed for the life of `out_loads`,
// which is owned: rk_loads_free.
RK_NODISCARD rk_err *rk_loads_open(rk_store *store, const char *tag, rk_loads **out_loads);
void rk_loads_free(rk_loads *loads); // closes; NULL is fine

// Removes the note of this process, and writes no more. Call before the process ends. Loads that
// have not ended then lead to no verdict.
void rk_loads_close(rk_loads *loads);

// Return the doubt about a key, before its entry is read, and the doubt about an entry.
// rk_loads_doubt_key returns RK_LOAD_SUSPECT also if the entry may be on trial, because only the
// entry shows that. `*out_signal` is the signal that killed the process; 0: not known. `out_signal`
// may be NULL. Cheap if there are no verdicts. NULL `loads`: RK_LOAD_TRUSTED.
rk_load_doubt rk_loads_doubt_key(rk_loads *loads, const rk_digest *key, int *out_signal);
rk_load_doubt rk_loads_doubt_entry(rk_loads *loads, const rk_digest *key, uint64_t created_ns);

// Record that a load begins (or that the entry was compiled instead), and that it has ended. Best
// effort. NULL `loads` is fine. rk_loads_begin returns a slot, or -1 if nothing was recorded;
// rk_loads_end accepts both. A few system calls each.
int rk_loads_begin(rk_loads *loads, const rk_digest *key, uint64_t created_ns, rk_load_state state);
void rk_loads_end(rk_loads *loads, int slot);

// Removes the verdict, after an entry on trial was loaded. Keys that are set aside stay so.
void rk_loads_acquit(rk_loads *loads, const rk_digest *key);

// Judges the notes of dead processes, writes the verdicts, and removes the notes and expired
// verdicts. If `only` is not NULL, judges only the notes of this dead process, which ended by
// `death`, and does not remove expired verdicts. `signal` is used only with RK_DEATH_CRASH. No
// error if there are no notes or the store cannot be written.
RK_NODISCARD rk_err *rk_loads_judge(rk_store *store, const rk_process *only, rk_load_death death,
                                    int signal);
