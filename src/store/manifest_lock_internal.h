// One writer of a job's manifests at a time. Inside src/store only.
#pragma once

#include <sys/types.h>

#include "store/store.h"

typedef struct rk_manifest_lock {
    int fd; // of the job's folder; -1: not held
    dev_t device;
    ino_t inode;
} rk_manifest_lock;

// Waits for the lock of jobs/<job>, which it makes, about a second at most. Not held where the file
// system has no locks, or somebody holds it longer: the manifest is a hint, and is published whole
// without the lock too. Always follow with rk_manifest_unlock.
RK_HIDDEN rk_manifest_lock rk_manifest_lock_take(rk_store *store, const char *job);

RK_HIDDEN void rk_manifest_unlock(rk_manifest_lock *lock);
