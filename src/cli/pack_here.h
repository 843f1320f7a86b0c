// What this machine has that the packs of a family depend on: versions of one Python's packages,
// devices, the CPU; for JAX also the path of its directory.
#pragma once

#include "identity/components.h"
#include "pack/module.h"

// `python` is a path or a command; NULL: the first "python3" or "python" of PATH that has the
// framework. `*out_python` is the path that was looked at, owned: rk_free; NULL: there is none.
// `*out_found` is false if it does not have the framework. `directory` is the cache directory;
// NULL: that of JAX_COMPILATION_CACHE_DIR counts. `out_components` must be zeroed; owned:
// rk_components_cleanup.
RK_NODISCARD rk_err *rk_pack_here_read(rk_pack_family family, const char *python,
                                       const char *directory, rk_components *out_components,
                                       char **out_python, bool *out_found);

// True if it is known with which path JAX makes its keys here, or that they have none.
bool rk_pack_here_knows_path(const char *directory);

// The framework for people: "torch", "JAX"; static.
const char *rk_pack_here_framework(rk_pack_family family);
// The cache directory for people: "torch.compile's caches"; static.
const char *rk_pack_here_caches(rk_pack_family family);
