// The digest of a plugin's file, for plugins without a build-id (jaxlib's CUDA and CPU plugins have
// none). Internal to this room.
#pragma once

#include "base/digest.h"

// BLAKE2b of the file as far as it is loaded (symbol tables and debug information lie behind). A
// quarter of a second for the CPU plugin, so it is remembered by device, inode, size, mtime and
// ctime while the process lives, and, where `memo_store` is not NULL or "", in a small file in its
// folder plugins/ for later processes; whatever goes wrong with that file, the digest is computed.
// Thread-safe.
RK_NODISCARD rk_err *rk_plugin_digest(const char *path, const char *memo_store,
                                      rk_digest *out_digest);
