// Policy between a key and an executable: look it up, load it or say why not; publish what was
// compiled in the background. Talks to the plugin through two small callbacks, so that it is
// tested without one. Knows identity and store.
#pragma once

#include "store/store.h"

// How an executable's bytes become a handle. Called on the thread of the request.
typedef struct rk_loader {
    void *context;
    // An error is the plugin's own: RK_UNIMPLEMENTED means that it cannot load at all. NULL: an
    // entry is only looked for, and an answer without a miss says that a sound one is there.
    rk_err *(*load)(void *context, const rk_entry *entry, void **out_handle);
    // Sees the entry first, and says whether it is wanted at all (RK_MISS_REFRESH where it is not);
    // NULL: any is.
    bool (*wants)(void *context, const rk_entry *entry);
} rk_loader;

// Why a request was not answered from the store. The names go into the journal.
typedef enum rk_miss {
    RK_MISS_NONE = 0,        // it was a hit
    RK_MISS_ABSENT,          // no such entry
    RK_MISS_DAMAGED,         // an entry was there, but not sound
    RK_MISS_UNKNOWN_VERSION, // an entry of another format version
    RK_MISS_OTHER_KEY,       // an entry filed under a key that is not its own
    RK_MISS_READ_FAILED,     // the file system failed
    RK_MISS_REFUSED,         // the plugin would not load it
    RK_MISS_UNIMPLEMENTED,   // the plugin cannot load executables, or not this one
    RK_MISS_REFRESH,         // one was there that was not wanted: REKINDLE_MODE=refresh
    RK_MISS_LOAD_KILLED,     // loading it killed a process (store/loads.h); never of a look-up
} rk_miss;
const char *rk_miss_name(rk_miss miss); // "absent", "damaged", …; static

typedef struct rk_answer {
    void *handle; // the loader's; NULL on a miss
    rk_miss miss;
    bool quarantined;  // an entry was set aside
    uint64_t load_ns;  // read, verify, decompress, load; also on a miss that got that far
    uint64_t saved_ns; // on a hit: what the compilation once took
    rk_err
        *problem; // what went wrong on the way (read failed, refused); owned; NULL if nothing did
} rk_answer;
void rk_answer_cleanup(rk_answer *answer); // does not touch the handle

// Looks `key` up and loads it. Never fails: whatever happens is in the answer. May block on the
// file system and for as long as the loader takes.
void rk_cache_lookup(rk_store *store, const rk_key *key, const rk_loader *loader,
                     rk_answer *out_answer);
