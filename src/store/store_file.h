// Reads entries of the store in parts, in memory that does not depend on their size.
#pragma once

#include "store/entry_stream.h"
#include "store/store.h"

// Opens the file of an entry for reading; `hex` is the whole digest of its key. `out_fd` is owned.
// RK_NOT_FOUND if there is none; RK_OUT_OF_RANGE if it is larger than an entry or not regular.
RK_NODISCARD rk_err *rk_store_open_file(const rk_store *store, rk_entry_kind kind, const char *hex,
                                        int *out_fd, uint64_t *out_bytes);

// Decodes the start of an open entry without checking it (rk_entry_peek). `start` must be empty,
// and `out_view` borrows from it; both are owned by the caller.
RK_NODISCARD rk_err *rk_store_peek_file(int fd, uint64_t bytes, rk_buf *start,
                                        rk_entry_view *out_view, rk_entry_fault *out_fault);

// True if the store has a sound entry of that kind and key. Reads the whole entry, and moves no
// file. `*out_there`: there is a file or something else in its place; may be NULL.
RK_NODISCARD rk_err *rk_store_has_sound(const rk_store *store, rk_entry_kind kind, const char *hex,
                                        bool *out_has, bool *out_there);

// Returns why a sound entry cannot be the one of that kind and key; RK_ENTRY_OK if it can.
RK_NODISCARD rk_entry_fault rk_store_match(const rk_entry *entry, rk_entry_kind kind,
                                           const char *hex);
