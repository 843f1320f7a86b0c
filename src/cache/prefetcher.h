// Loading ahead: what a job used when it last ran is loaded before it asks, on threads of our own,
// and handed over when it does. Knows no plugin: loading and destroying are callbacks.
//
// Each owner (a client) has one list, given as it begins. What is wanted early goes first, and one
// thread is kept for what is quick, so that it never waits behind something big. A request takes
// what is loaded; waits for what is being loaded, for that alone; and takes what was not begun off
// the list, to load it itself. No more is held than the budget allows; what nobody asks for is
// destroyed after a while, and so is all of an owner's that asks for other things.
//
// No thread of ours is inside the plugin for an owner once rk_prefetcher_drain has returned true.
#pragma once

#include "cache/cache.h"

typedef struct rk_prefetcher rk_prefetcher; // thread-safe

// What became of an owner's list.
typedef struct rk_prefetcher_total {
    uint64_t number; // of the owner, as it was given
    uint64_t listed;
    uint64_t loaded;         // before somebody asked, or while somebody waited
    uint64_t claimed;        // of those: handed over
    uint64_t waited;         // of those: somebody waited for it
    uint64_t taken;          // asked for before they were begun
    uint64_t wasted;         // loaded for nothing
    uint64_t failed;         // could not be loaded
    uint64_t dropped;        // not begun, and not asked for
    uint64_t load_ns;        // of all that was loaded
    uint64_t wasted_load_ns; // of that: for nothing
    bool departed;           // it asked for too many things that were not on its list
    bool relieved;           // memory was short
    bool measured;           // the framework asked how much memory is in use
} rk_prefetcher_total;

typedef struct rk_prefetcher_options {
    unsigned threads; // at least 2
    bool gentle; // few processors: the quick thread loads other things only while a request waits
    uint64_t quick_ns;  // what loads in so short a time is for the quick thread
    uint64_t max_bytes; // of what is loaded, or being loaded, and not claimed
    size_t max_held;    // how many of them
    uint64_t early_ns;  // how long before it is wanted one is begun
    uint64_t keep_ns;   // how long one is kept after it was loaded, or wanted, if that is later
    // All of an owner's list is dealt with: called once, with a lock held, and before a drain
    // returns. Must not call the prefetch. NULL is fine.
    void (*settled)(const rk_prefetcher_total *total);
} rk_prefetcher_options;

typedef struct rk_prefetcher_item {
    rk_key key;
    uint64_t wanted_ns; // when it is likely to be asked for, by rk_steady_ns
    uint64_t load_ns;   // what loading is likely to take; 0: not known
    uint64_t bytes;     // and hold; 0: not known
    bool stale;         // not used by the last run: after all others
    void *context;      // the caller's, over with `release`
} rk_prefetcher_item;

// What is the same for all items. All may be called by several threads at once.
typedef struct rk_prefetcher_actions {
    // Loads, as rk_cache_lookup does, and says how many bytes it was; on a thread of ours.
    void (*load)(void *context, rk_answer *out_answer, uint64_t *out_bytes);
    void (*destroy)(void *context, void *handle); // of what was loaded and is not claimed
    void (*release)(void *context);               // the end of an item that is not claimed
} rk_prefetcher_actions;

// Its threads start with the first list. Owned: rk_prefetcher_free.
RK_NODISCARD rk_err *rk_prefetcher_new(const rk_prefetcher_options *options,
                                       const rk_prefetcher_actions *actions,
                                       rk_prefetcher **out_prefetch);

// Forgets all lists, waits without limit, ends the threads, frees. For tests; a process that exits
// closes and finishes. NULL is fine.
void rk_prefetcher_free(rk_prefetcher *prefetch);

// The list of an owner that has none, which is compared and never followed. Consumes the items,
// but not the array, whatever the outcome. Errors: memory, or no thread.
RK_NODISCARD rk_err *rk_prefetcher_add(rk_prefetcher *prefetch, const void *owner, uint64_t number,
                                       const rk_prefetcher_item *items, size_t count);

typedef struct rk_prefetcher_claim {
    rk_answer answer;   // owned by whoever claims: a handle, or what spoke against the entry
    void *context;      // of the item; the caller's from here on
    uint64_t bytes;     // of the serialized executable
    uint64_t load_ns;   // what loading took, ahead
    uint64_t waited_ns; // for it to be loaded
} rk_prefetcher_claim;

// Asks for an executable of exactly that key. False: the caller has to load it itself. May block
// for as long as one load takes.
RK_NODISCARD bool rk_prefetcher_take(rk_prefetcher *prefetch, const void *owner, const rk_key *key,
                                     rk_prefetcher_claim *out_claim);

// The owner has got something for that key from elsewhere that its next list may name. After many
// in a row that were never on this one the owner's run is another, and the rest of it is let go.
void rk_prefetcher_meet(rk_prefetcher *prefetch, const void *owner, const rk_key *key);

// Destroys what is loaded and not claimed, and begins nothing further, of that owner, or, for NULL,
// of all.
void rk_prefetcher_let_go(rk_prefetcher *prefetch, const void *owner);

// The same for what has that key, of all owners: its entry is not to be trusted.
void rk_prefetcher_distrust(rk_prefetcher *prefetch, const rk_key *key);

// The same for all, since memory is short. How many were destroyed.
size_t rk_prefetcher_relieve(rk_prefetcher *prefetch);

// The same for all: the framework reads how much memory is in use, and must see only what it asked
// for.
size_t rk_prefetcher_step_aside(rk_prefetcher *prefetch);

// Waits, at most `timeout_ns`, until all that was forgotten is destroyed: also what other threads
// are destroying, and what was still being loaded.
void rk_prefetcher_await_relief(rk_prefetcher *prefetch, uint64_t timeout_ns);

// The same for one owner, which ends. Waits for what is being loaded, at most `timeout_ns`; false
// if one is still inside the plugin then, which is not waited for again.
RK_NODISCARD bool rk_prefetcher_drain(rk_prefetcher *prefetch, const void *owner,
                                      uint64_t timeout_ns);

// The process ends: the same for all owners, and for those to come. Ends the threads if they are
// not inside the plugin. On one of those threads, where the plugin has called exit(), waits for
// nothing.
RK_NODISCARD bool rk_prefetcher_close(rk_prefetcher *prefetch, uint64_t timeout_ns);
