// Leases: who is compiling what, so that others wait for the result instead of compiling it too. A
// file a key, leases/<key> (docs/format.md), that names its holder.
//
// Correctness never rests on a lease. Two holders, or none where there should be one, mean a second
// compilation and nothing else; so there are no locks, and a clock or a file system that misbehaves
// does no harm. A lease is made and taken over by link(2) and rename(2), which are atomic on NFS
// too.
//
// What the file says is told here; who waits how long for whom is the matter of src/cache. All
// functions are thread-safe and block on the file system only.
#pragma once

#include "base/process.h"
#include "store/store.h"

// One's own lease: a plain value, nothing to free.
typedef struct rk_lease {
    rk_digest key;
    uint64_t identity; // what tells it from every other lease; 0: none is held
} rk_lease;

typedef enum rk_lease_state {
    RK_LEASE_NONE,     // nobody compiles it
    RK_LEASE_HELD,     // the holder compiles it, or is about to publish it
    RK_LEASE_NOT_KEPT, // the holder found that it cannot be kept: do not wait for anybody
} rk_lease_state;

typedef struct rk_lease_view {
    rk_lease_state state;
    rk_process holder;   // pid 0 where the file could not be understood
    uint64_t identity;   // as above
    uint64_t created_ns; // since 1970, by the holder's clock
    uint64_t valid_ns;   // not kept: for how long that counts
    bool compiled;       // it is being published: what follows is known
    uint64_t compile_ns; // how long compiling took
    size_t size_bytes;   // grows with every sign of life
} rk_lease_view;

// Reads the lease of `key`. No file is RK_LEASE_NONE; bytes that are no lease count as held by
// nobody known. Errors: what the system said; RK_OUT_OF_RANGE for what is no file at all.
RK_NODISCARD rk_err *rk_lease_read(const rk_store *store, const rk_digest *key,
                                   rk_lease_view *out_view);

// True if what was read no longer counts, for certain: its holder is dead, or its time is over.
bool rk_lease_is_over(const rk_lease_view *view);

// Takes the lease if nobody has it. Somebody had it: `out_lease->identity` is 0. Errors:
// RK_PERMISSION_DENIED and RK_UNIMPLEMENTED (this store never takes leases), or what the system
// said.
RK_NODISCARD rk_err *rk_lease_take(const rk_store *store, const rk_digest *key,
                                   const rk_process *self, rk_lease *out_lease);

// Takes the lease `judged` over, which the caller has seen to be dead, expired or late. Of all
// processes that judge one lease alike, one gets it; the others, and those whose judgement is
// outdated, get an identity of 0. Errors as for rk_lease_take.
RK_NODISCARD rk_err *rk_lease_take_over(const rk_store *store, const rk_lease_view *judged,
                                        const rk_digest *key, const rk_process *self,
                                        rk_lease *out_lease);

// A sign of life, to be given every few seconds. False if the lease is no longer ours.
bool rk_lease_beat(const rk_store *store, const rk_lease *lease);

// Notes that compiling took `compile_ns` and publishing has begun. Best effort.
void rk_lease_note_compiled(const rk_store *store, const rk_lease *lease, uint64_t compile_ns);

// Gives it back; nothing happens if it is no longer ours. Best effort: what stays behind is late
// soon. `lease` is empty afterwards.
void rk_lease_release(const rk_store *store, rk_lease *lease);

// As above, but leaves word for `valid_ns` that nothing will be published.
void rk_lease_release_not_kept(const rk_store *store, rk_lease *lease, const rk_process *self,
                               uint64_t valid_ns);

// Removes what dead processes left in leases/, and what is over. `out_removed` may be NULL.
RK_NODISCARD rk_err *rk_lease_sweep(const rk_store *store, uint64_t *out_removed);
