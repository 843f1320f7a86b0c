// Reads one blob and checks it; private to src/bundle.
#pragma once

#include "bundle/bundle.h"

// Reads exactly `len` bytes at `offset`. RK_DATA_LOSS if the file is shorter.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_pread(int fd, const char *shown, void *out, size_t len,
                                               uint64_t offset);

// Passes the content of a blob to `sink`, and checks the content, the stored bytes and the padding
// after them. `where` is for messages: file, module and item. `watcher` may be NULL.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_blob_read(int fd, const rk_bundle_blob *blob,
                                                   const char *where,
                                                   const rk_bundle_watcher *watcher,
                                                   rk_bundle_sink_fn sink, void *context);
