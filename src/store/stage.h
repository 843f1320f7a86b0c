// Adds many entries to the store at once: their files are written and synced under temporary names
// first, checked by the caller, and published only when all of them are known to be good.
//
//     rk_stage_begin(store);
//     for each entry: rk_staged_create, rk_staged_add…, rk_staged_sync
//     for each entry: rk_staged_publish
//     rk_stage_end(store, …);                 // syncs the folders
//     for each entry: rk_staged_drop          // removes what was not published
//
// A killed process leaves temporary files, which the next rk_stage_begin and gc remove. For one
// thread. May block on the file system.
#pragma once

#include "store/store.h"

typedef struct rk_staged {
    char *name; // owned; below the store's directory; NULL if there is no file
    int fd;     // owned; -1 if closed
    uint64_t bytes, behind_bytes;
} rk_staged;

// Removes the temporary files of dead processes. The errors are those of rk_store_put for a store
// that cannot be written.
RK_NODISCARD rk_err *rk_stage_begin(rk_store *store);

// Creates an empty temporary file. `out_staged` is owned: rk_staged_drop, also after an error.
RK_NODISCARD rk_err *rk_staged_create(rk_store *store, rk_staged *out_staged);
RK_NODISCARD rk_err *rk_staged_add(rk_store *store, rk_staged *staged, rk_span data);

// Lets the disk begin with the rest of the file, after the last rk_staged_add.
void rk_staged_write_behind(rk_staged *staged);

// Waits until the file is on the disk, and closes it.
RK_NODISCARD rk_err *rk_staged_sync(rk_store *store, rk_staged *staged);

// Gives the file its place. `entry` is its head; its bytes have been checked. Evicts other entries
// if the limit requires it. `*out_published` is false, without an error, if the store has a file
// there already; with `replaces`, that file is replaced. Other errors as rk_store_put.
RK_NODISCARD rk_err *rk_staged_publish(rk_store *store, rk_staged *staged, const rk_entry *entry,
                                       bool replaces, bool *out_published);

// The folders with published entries, as bits: by kind and first byte of the key.
typedef struct rk_stage_folders {
    uint8_t bits[2][32];
} rk_stage_folders;
void rk_stage_note_folder(rk_stage_folders *folders, const rk_entry *entry);

// Syncs these folders: what was published survives a power cut.
RK_NODISCARD rk_err *rk_stage_end(rk_store *store, const rk_stage_folders *folders);

void rk_staged_drop(rk_store *store, rk_staged *staged);
