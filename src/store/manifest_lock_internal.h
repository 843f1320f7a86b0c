// A lock for the manifests of a job, so that one process at a time updates them; private to
// src/store.
#pragma once

#include <sys/types.h>

#include "store/store.h"

typedef struct rk_manifest_lock {
    int fd; // owned; of the job's folder; -1: not held
    dev_t device;
    ino_t inode;
} rk_manifest_lock;

// Creates the folder jobs/<job> and waits for its lock, about one second at most. The lock is not
// held if the file system has no locks, or if another process holds it longer. The caller may
// publish without the lock, since a manifest is a hint and is published as a whole. Always call
// rk_manifest_unlock afterwards.
RK_HIDDEN rk_manifest_lock rk_manifest_lock_take(rk_store *store, const char *job);

RK_HIDDEN void rk_manifest_unlock(rk_manifest_lock *lock);
