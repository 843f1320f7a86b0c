// Leases, which record that a process is compiling the entry of a key, so that other processes wait
// for the result instead of compiling it too. A lease is a file, leases/<key> (docs/format.md),
// that names its holder.
//
// Correctness does not depend on leases: two holders, or a missing lease, cause at most a second
// compilation. So leases need no locks, and a wrong clock or a faulty file system does no harm. A
// lease is created with link(2) and taken over with rename(2), which are atomic on NFS too.
//
// This module reads and writes leases. src/cache decides how long a request waits. All functions
// are thread-safe and block only on the file system.
#pragma once

#include "base/process.h"
#include "store/store.h"

// A lease that this process holds. A plain value: nothing to free.
typedef struct rk_lease {
    rk_digest key;
    uint64_t identity; // differs from that of every other lease; 0: no lease is held
} rk_lease;

typedef enum rk_lease_state {
    RK_LEASE_NONE,     // no process compiles the key
    RK_LEASE_HELD,     // the holder compiles the key, or publishes the entry
    RK_LEASE_NOT_KEPT, // the executable cannot be stored: do not wait
} rk_lease_state;

typedef struct rk_lease_view {
    rk_lease_state state;
    rk_process holder;   // pid 0: the file is no valid lease
    uint64_t identity;   // as in rk_lease
    uint64_t created_ns; // since 1970, by the holder's clock
    uint64_t valid_ns;   // for RK_LEASE_NOT_KEPT: how long that state is valid
    bool compiled;       // compiling is done, and the entry is being published
    uint64_t compile_ns; // valid if compiled: how long compiling took
    size_t size_bytes;   // of the file; every heartbeat makes it larger
} rk_lease_view;

// Reads the lease of `key`. RK_LEASE_NONE if there is no file. A file that is no valid lease counts
// as RK_LEASE_HELD with holder.pid 0. RK_OUT_OF_RANGE: not a regular file, or longer than 64 KiB.
// Otherwise the error of the system call.
RK_NODISCARD rk_err *rk_lease_read(const rk_store *store, const rk_digest *key,
                                   rk_lease_view *out_view);

// True if the lease is certainly over: its holder is dead, or its RK_LEASE_NOT_KEPT has expired.
bool rk_lease_is_over(const rk_lease_view *view);

// Takes the lease if it is free; otherwise `out_lease->identity` is 0. RK_PERMISSION_DENIED or
// RK_UNIMPLEMENTED: no lease can ever be taken in this store. Otherwise the error of the system
// call.
RK_NODISCARD rk_err *rk_lease_take(const rk_store *store, const rk_digest *key,
                                   const rk_process *self, rk_lease *out_lease);

// Takes over the lease `judged`, which the caller found to be dead, expired or late. If several
// processes try to take over the same lease, one gets it. For the others, `out_lease->identity` is
// 0. The same holds if `judged` is no longer the current lease. Errors as for rk_lease_take.
RK_NODISCARD rk_err *rk_lease_take_over(const rk_store *store, const rk_lease_view *judged,
                                        const rk_digest *key, const rk_process *self,
                                        rk_lease *out_lease);

// Writes a heartbeat; call every few seconds. Returns false if the caller no longer holds the
// lease. Also returns true if the heartbeat could not be written.
bool rk_lease_beat(const rk_store *store, const rk_lease *lease);

// Records that compiling took `compile_ns` and that publishing begins. Best effort.
void rk_lease_note_compiled(const rk_store *store, const rk_lease *lease, uint64_t compile_ns);

// Releases the lease, and empties `lease`. Does nothing to a lease that the caller no longer holds.
// Best effort: a file that stays behind expires, since it gets no heartbeats.
void rk_lease_release(const rk_store *store, rk_lease *lease);

// As rk_lease_release, but leaves a lease in the state RK_LEASE_NOT_KEPT, valid for `valid_ns`.
void rk_lease_release_not_kept(const rk_store *store, rk_lease *lease, const rk_process *self,
                               uint64_t valid_ns);

// Removes leases that are over, leases and claims that were not changed for an hour, and temporary
// files of dead processes. `out_removed` may be NULL.
RK_NODISCARD rk_err *rk_lease_sweep(const rk_store *store, uint64_t *out_removed);
