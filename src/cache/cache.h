// Looks up a key in the store and loads its entry. Reaches the plugin through two small callbacks,
// so that tests need no plugin. Depends on identity and store.
#pragma once

#include "store/store.h"

// Turns an entry's bytes into a handle. Called on the thread that calls rk_cache_lookup.
typedef struct rk_loader {
    void *context;
    // Returns the executable for the entry. Errors come from the plugin; RK_UNIMPLEMENTED means
    // that the plugin cannot load executables. If `load` is NULL, nothing is loaded, and
    // RK_MISS_NONE means only that a sound entry exists.
    rk_err *(*load)(void *context, const rk_entry *entry, void **out_handle);
    // Called before `load`. False: the entry is not loaded (RK_MISS_REFRESH). NULL: every entry is
    // accepted.
    bool (*accepts)(void *context, const rk_entry *entry);
} rk_loader;

// Why a request missed. The names go into the journal.
typedef enum rk_miss {
    RK_MISS_NONE = 0,        // a hit
    RK_MISS_ABSENT,          // no such entry
    RK_MISS_DAMAGED,         // the entry is damaged
    RK_MISS_UNKNOWN_VERSION, // the entry has another format version
    RK_MISS_OTHER_KEY,       // the entry is filed under a key that is not its own
    RK_MISS_READ_FAILED,     // the file system failed
    RK_MISS_REFUSED,         // the plugin refused to load the entry
    RK_MISS_UNIMPLEMENTED,   // the plugin cannot load executables, or not this one
    RK_MISS_REFRESH, // `accepts` rejected the entry, for example because of REKINDLE_MODE=refresh
    RK_MISS_LOAD_KILLED, // loading it killed a process (store/loads.h); not from rk_cache_lookup
} rk_miss;
const char *rk_miss_name(rk_miss miss); // "absent", "damaged", …; static

typedef struct rk_answer {
    void *handle; // from the loader; NULL on a miss
    rk_miss miss;
    bool quarantined;  // the entry was moved to quarantine/
    uint64_t load_ns;  // read, verify, decompress and load; 0 for RK_MISS_ABSENT
    uint64_t saved_ns; // hit: how long the compilation took when the entry was made
    rk_err *problem;   // owned; the error of a failed read or load; NULL if there was none
} rk_answer;
void rk_answer_cleanup(rk_answer *answer); // does not touch the handle

// Looks `key` up and loads its entry. Never fails: errors are part of the answer. Moves an entry to
// quarantine/ if the plugin rejects its bytes. Blocks on the file system and on the loader.
void rk_cache_lookup(rk_store *store, const rk_key *key, const rk_loader *loader,
                     rk_answer *out_answer);
