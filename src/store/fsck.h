// Checks the whole store: every byte of every entry, unexpected files, permissions, and the usage
// account.
#pragma once

#include "store/store.h"

typedef enum rk_fsck_kind {
    // Damage: the file cannot be used, or must not be trusted.
    RK_FSCK_DAMAGED,     // an entry that is not sound, or filed under another key
    RK_FSCK_NOT_A_FILE,  // a link, a folder, … where an entry should be
    RK_FSCK_PERMISSIONS, // another user owns it or may write to it
    // Untidiness: the file costs at most space.
    RK_FSCK_OTHER_VERSION, // an entry of another format version: left alone
    RK_FSCK_LEFTOVER,      // a temporary file of a dead writer
    RK_FSCK_UNKNOWN,       // a name that rekindle does not use: left alone
    RK_FSCK_ORPHAN,        // a pin of a key that has no entry
    RK_FSCK_ACCOUNT,       // the usage account is damaged, or differs from the count
    RK_FSCK_KINDS,
} rk_fsck_kind;

const char *rk_fsck_kind_name(rk_fsck_kind kind); // "damaged", …; static
static inline bool rk_fsck_is_damage(rk_fsck_kind kind) {
    return kind <= RK_FSCK_PERMISSIONS;
}

typedef struct rk_fsck_finding {
    rk_fsck_kind kind;
    const char *path;   // relative to the store; borrowed for the call
    const char *detail; // for people; borrowed for the call
    bool repaired;      // quarantined, removed, or corrected; only with `repair`
} rk_fsck_finding;

typedef struct rk_fsck_options {
    bool repair;
    void (*found)(void *context, const rk_fsck_finding *finding); // called per finding; or NULL
    // Called before each entry with the number of entries checked and expected; or NULL.
    void (*progress)(void *context, uint64_t done, uint64_t all);
    void *context;
} rk_fsck_options;

typedef struct rk_fsck_report {
    uint64_t entries, bytes; // read and checked
    uint64_t found[RK_FSCK_KINDS], repaired[RK_FSCK_KINDS];
} rk_fsck_report;

// Checks the store. With `repair`, moves damaged entries to quarantine/, removes leftovers and
// orphans, removes write permission for other users, and recounts the usage account. Files that
// another process adds or removes meanwhile are no findings. Blocks until the whole store is read.
// RK_PERMISSION_DENIED for `repair` of a readonly store.
RK_NODISCARD rk_err *rk_store_fsck(rk_store *store, const rk_fsck_options *options,
                                   rk_fsck_report *out_report);
