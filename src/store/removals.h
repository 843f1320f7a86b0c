// The record of removed executables: which one, when, and what removed it. `rekindle explain` reads
// it to tell an evicted executable from one that somebody removed. One file, usage/removals
// (docs/format.md). Writing is best effort: a removal never fails because of its record.
#pragma once

#include "store/store.h"

typedef enum rk_removal {
    RK_REMOVAL_NONE,      // not recorded: rekindle did not remove it, or could not record it
    RK_REMOVAL_EVICTED,   // by a put, to keep the store below its limit
    RK_REMOVAL_COLLECTED, // by `rekindle gc`
    RK_REMOVAL_BY_HAND,   // by `rekindle rm`
    RK_REMOVAL_SET_ASIDE, // damaged, or refused by the plugin: moved to quarantine/
    RK_REMOVAL_COUNT,
} rk_removal;

// Appends a line for an executable, now, to `record`. `hex` is the key's digest.
void rk_removals_add(rk_buf *record, rk_removal removal, const char *hex);

// Appends `record` to the file. Keeps the latest lines if the file is too long.
void rk_removals_note(rk_store *store, const rk_buf *record);

// Appends one line.
void rk_removals_note_one(rk_store *store, rk_removal removal, const char *hex);

// Moves a faulty entry to quarantine/, and records that if it is an executable. Returns whether it
// was moved.
bool rk_removals_set_aside(rk_store *store, rk_entry_kind kind, const char *hex);

// Reads the file; empty if there is none. `out_record` is owned: rk_buf_cleanup.
RK_NODISCARD rk_err *rk_removals_read(const rk_store *store, rk_buf *out_record);

// Returns the latest removal of an executable between the two times (nanoseconds since 1970).
rk_removal rk_removals_find(const rk_buf *record, const char *hex, uint64_t after_ns,
                            uint64_t before_ns);
