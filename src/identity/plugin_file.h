// The digest of a plugin's file, for plugins without a build-id, such as jaxlib's CUDA and CPU
// plugins. Private to src/identity.
#pragma once

#include "base/digest.h"

// Returns the BLAKE2b digest of the file up to the end of its loaded segments. (Symbol tables and
// debug information follow them.) Hashing the CPU plugin takes a quarter of a second. So the
// process caches the digest by device, inode, size, mtime and ctime of the file. For later
// processes, the digest is also kept in a small file in the folder plugins/ of `memo_store`, unless
// `memo_store` is NULL or "". If that file cannot be used, the digest is computed. Thread-safe.
RK_NODISCARD rk_err *rk_plugin_digest(const char *path, const char *memo_store,
                                      rk_digest *out_digest);
