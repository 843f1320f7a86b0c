// The steps of decoding an entry; private to src/store.
#pragma once

#include "store/entry_head_internal.h"

// Checks magic, version, and that `data` is long enough for a head.
RK_HIDDEN rk_entry_fault rk_entry_check_prefix(rk_span data);

// Checks that head, sections, digest and signature fill the file exactly. `*out_content_bytes` is
// the size of head and sections.
RK_HIDDEN rk_entry_fault rk_entry_check_extent(const rk_entry_head *head, size_t file_bytes,
                                               size_t *out_content_bytes);

// Checks the other fields of the head.
RK_HIDDEN RK_NODISCARD bool rk_entry_head_is_sound(const rk_entry_head *head);

// Fills a view. `data` is the entry, or with RK_WANT_HEAD at least its head, components and
// metadata. `view->stored_bytes` is the size of `data`.
RK_HIDDEN RK_NODISCARD rk_err *rk_entry_fill_view(rk_span data, const rk_entry_head *head,
                                                  rk_entry_want want, rk_entry_view *view,
                                                  rk_entry_fault *out_fault);
