// Checking everything: every byte of every entry, what lies where it should not, who may write, and
// whether the account is right.
#pragma once

#include "store/store.h"

typedef enum rk_fsck_kind {
    // Damage: it cannot be used, or must not be trusted.
    RK_FSCK_DAMAGED,     // an entry that is not sound, or not of its key
    RK_FSCK_NOT_A_FILE,  // a link, a folder, … where an entry should be
    RK_FSCK_PERMISSIONS, // of somebody else, or writable by others
    // Untidiness: it costs space, or nothing.
    RK_FSCK_OTHER_VERSION, // an entry of another version of the format: left alone
    RK_FSCK_LEFTOVER,      // of a writer that died
    RK_FSCK_UNKNOWN,       // a name that nobody of us gave: left alone
    RK_FSCK_ORPHAN,        // a pin of a key that is not kept
    RK_FSCK_ACCOUNT,       // the sum is not what was found
    RK_FSCK_KINDS,
} rk_fsck_kind;

const char *rk_fsck_kind_name(rk_fsck_kind kind); // "damaged", …; static
static inline bool rk_fsck_is_damage(rk_fsck_kind kind) {
    return kind <= RK_FSCK_PERMISSIONS;
}

typedef struct rk_fsck_finding {
    rk_fsck_kind kind;
    const char *path;   // below the store; borrowed for the visit
    const char *detail; // in words; borrowed for the visit
    bool repaired;      // with repair: quarantined, removed, or made right
} rk_fsck_finding;

typedef struct rk_fsck_options {
    bool repair;
    void (*found)(void *context, const rk_fsck_finding *finding); // NULL is fine
    // Told how many entries of how many were checked; NULL is fine.
    void (*progress)(void *context, uint64_t done, uint64_t all);
    void *context;
} rk_fsck_options;

typedef struct rk_fsck_report {
    uint64_t entries, bytes; // that were read and checked
    uint64_t found[RK_FSCK_KINDS], repaired[RK_FSCK_KINDS];
} rk_fsck_report;

// Checks. Repairing moves what is damaged to quarantine/, removes leftovers and orphans, takes
// others' permissions away and makes a new account. What another process adds or removes meanwhile
// is no finding. Blocks for as long as reading the whole store takes.
RK_NODISCARD rk_err *rk_store_fsck(rk_store *store, const rk_fsck_options *options,
                                   rk_fsck_report *out_report);
