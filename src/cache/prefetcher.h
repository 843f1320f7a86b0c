// Loads executables before the job requests them (prefetch). Background threads load a list of
// executables that the job used in its last run. A request then takes the loaded executable.
// Independent of the plugin: loading and destroying are callbacks.
//
// Each owner (a client) has one list, which is added once. Items whose requests are expected early
// are loaded first. The second thread prefers quick items, so that these do not wait behind large
// ones. A request
// - takes an item that is loaded,
// - waits for an item that is being loaded (but never for an item whose loading has not begun),
// - removes an item whose loading has not begun, and loads it itself.
// A budget limits the loaded items that no request has taken. These items are destroyed after
// `keep_ns`, or as soon as their owner's requests show that the run differs from the list.
//
// After rk_prefetcher_drain has returned true, no thread of the prefetcher is inside the plugin for
// that owner.
#pragma once

#include "cache/cache.h"

typedef struct rk_prefetcher rk_prefetcher; // thread-safe

// The final counts of an owner's list.
typedef struct rk_prefetcher_total {
    uint64_t number; // of the owner, as passed to rk_prefetcher_add
    uint64_t listed;
    uint64_t loaded;         // before a request, or while one waited
    uint64_t claimed;        // of `loaded`: handed to a request
    uint64_t waited;         // of `claimed`: a request waited for the load
    uint64_t taken;          // requested before loading began
    uint64_t wasted;         // loaded, and destroyed without a request
    uint64_t failed;         // could not be loaded
    uint64_t dropped;        // neither begun nor requested
    uint64_t load_ns;        // total for `loaded`
    uint64_t wasted_load_ns; // total for `wasted`
    bool departed;           // stopped: too many requests in a row were not on the list
    bool relieved;           // stopped: memory was short
    bool measured;           // stopped: the framework asked how much memory is in use
} rk_prefetcher_total;

typedef struct rk_prefetcher_options {
    unsigned threads; // 2 to 8; with 1, no thread is reserved for quick items
    bool gentle; // few processors: the quick thread loads other items only while a request waits
    uint64_t quick_ns;  // an item with at most this expected load time is quick
    uint64_t max_bytes; // limit for items being loaded, or loaded and not claimed
    size_t max_held;    // limit for their number
    uint64_t early_ns;  // loading begins at most this long before the expected request
    uint64_t keep_ns;   // kept this long after the load or the expected request, the later of both
    // Called once for each list, when no item of the list is queued, being loaded or unclaimed, and
    // before a drain returns. A lock is held: must not call the prefetcher. NULL is fine.
    void (*settled)(const rk_prefetcher_total *total);
} rk_prefetcher_options;

typedef struct rk_prefetcher_item {
    rk_key key;
    uint64_t wanted_ns; // when a request is expected, by rk_steady_ns
    uint64_t load_ns;   // expected load time; 0: unknown
    uint64_t bytes;     // expected size of the serialized executable; 0: unknown
    bool stale;         // not used by the last run: loaded after all others
    void *context;      // for the actions; freed by `release`
} rk_prefetcher_item;

// Callbacks for all items. Several threads may call them at once.
typedef struct rk_prefetcher_actions {
    // Loads, as rk_cache_lookup does. `*out_bytes`: size of the serialized executable; 0: unknown.
    // Called on a thread of the prefetcher.
    void (*load)(void *context, rk_answer *out_answer, uint64_t *out_bytes);
    void (*destroy)(void *context, void *handle); // a loaded handle that no request claimed
    void (*release)(void *context);               // the last call for an item that is not claimed
} rk_prefetcher_actions;

// The threads start with the first list. Owned: rk_prefetcher_free.
RK_NODISCARD rk_err *rk_prefetcher_new(const rk_prefetcher_options *options,
                                       const rk_prefetcher_actions *actions,
                                       rk_prefetcher **out_prefetch);

// Discards all lists, waits without limit, ends the threads and frees. For tests; a process that
// exits calls rk_prefetcher_close only. NULL is fine.
void rk_prefetcher_free(rk_prefetcher *prefetch);

// Adds the list of `owner`. The pointer `owner` is only compared. Consumes the items, but not the
// array, even on error. No items: does nothing. Errors: no memory, no thread, or
// RK_FAILED_PRECONDITION (the owner has a list already, or the prefetcher is closed).
RK_NODISCARD rk_err *rk_prefetcher_add(rk_prefetcher *prefetch, const void *owner, uint64_t number,
                                       const rk_prefetcher_item *items, size_t count);

typedef struct rk_prefetcher_claim {
    rk_answer answer;   // owned by the caller: a handle, or a miss that quarantined the entry
    void *context;      // of the item; owned by the caller
    uint64_t bytes;     // size of the serialized executable
    uint64_t load_ns;   // how long the load took, on the prefetcher's thread
    uint64_t waited_ns; // how long this call waited for the load
} rk_prefetcher_claim;

// Takes the loaded executable whose key equals `key` in all digests. False: the caller must load it
// itself. May block for one load.
RK_NODISCARD bool rk_prefetcher_take(rk_prefetcher *prefetch, const void *owner, const rk_key *key,
                                     rk_prefetcher_claim *out_claim);

// Reports a request of the owner that was answered without the prefetcher. Call it only for
// requests that the list of the next run can contain. After 16 such requests in a row for keys that
// were never on the list, the run differs from the last one, and the rest of the list is discarded.
void rk_prefetcher_note_request(rk_prefetcher *prefetch, const void *owner, const rk_key *key);

// Why a list is discarded; the list's total reports it.
typedef enum rk_prefetcher_reason {
    RK_PREFETCHER_NOT_NEEDED,      // no request will take its items
    RK_PREFETCHER_MEMORY_SHORT,    // the plugin ran out of memory
    RK_PREFETCHER_MEMORY_MEASURED, // the framework reads how much memory is in use; the figure must
                                   // not include prefetched executables
} rk_prefetcher_reason;

// Discards the list of `owner`; NULL: all lists. Destroys loaded items, and drops items whose
// loading has not begun. Items that are being loaded are destroyed after the load. Keeps an item
// that a request waits for. Returns how many executables it destroyed.
size_t rk_prefetcher_discard(rk_prefetcher *prefetch, const void *owner, rk_prefetcher_reason why);

// Discards the items of `key` in all lists in the same way, because its entry must not be used.
void rk_prefetcher_discard_key(rk_prefetcher *prefetch, const rk_key *key);

// Waits, at most `timeout_ns`, until all discarded executables are destroyed, also those that other
// threads destroy or that are still being loaded.
void rk_prefetcher_await_discards(rk_prefetcher *prefetch, uint64_t timeout_ns);

// Waits, at most `timeout_ns`, until one of the loads under way is over. Returns at once if there
// is none.
void rk_prefetcher_await_load(rk_prefetcher *prefetch, uint64_t timeout_ns);

// Discards the list of an owner that is about to end, and waits for its loads, at most
// `timeout_ns`. False: a thread is still inside the plugin. Later calls do not wait for that list
// again.
RK_NODISCARD bool rk_prefetcher_drain(rk_prefetcher *prefetch, const void *owner,
                                      uint64_t timeout_ns);

// Called when the process ends: drains all owners, at most `timeout_ns`, and refuses further lists.
// Ends the threads, unless one is still inside the plugin (then it returns false). If the plugin
// called exit() on a thread of the prefetcher, this function does not wait and returns true.
RK_NODISCARD bool rk_prefetcher_close(rk_prefetcher *prefetch, uint64_t timeout_ns);
