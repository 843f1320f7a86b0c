// JAX's cache directory: writes the files of packs into it.
//
// With jax_compilation_cache_max_size, JAX removes the files that were not used for longest. The
// time of the last use of FUNCTION-cache is in FUNCTION-atime: 8 bytes, little endian, nanoseconds
// since 1970. If one is missing, JAX can remove and store nothing more (_evict_if_needed in
// jax/_src/lru_cache.py). So each file gets one, whether there is a limit or not: without a limit
// JAX does not look at it.
//
// Jobs with a limit hold a lock (flock) on ".lockfile" while they look at the directory.
#pragma once

#include "pack/restore.h"

// As rk_pack_restore, with a time of use beside each function, also if its file was there: that of
// this call, since the functions are to stay. A function whose time cannot be written is not
// written. Holds the lock for one file at a time. If a job holds it for 10 seconds, this is the
// last file that is tried, and the error is RK_UNAVAILABLE unless there was one before.
RK_NODISCARD rk_err *rk_jax_directory_restore(int directory_fd, const char *path,
                                              const rk_pack_item *items, size_t count,
                                              rk_pack_restored *sums);

// True for a name that JAX, XLA or rekindle gives to a file in the top folder of such a directory.
bool rk_jax_directory_has_name(const char *name);
