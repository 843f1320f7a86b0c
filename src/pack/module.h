// The parts of a cache directory, by path. Each part is a module of a bundle.
//
// A family is a framework with such a directory. A module may have files of several families: both
// keep results of autotuning.
#pragma once

#include "base/span.h"

typedef enum rk_pack_family {
    RK_FAMILY_TORCH, // torch.compile's caches
    RK_FAMILY_JAX,   // JAX's persistent compilation cache
    RK_PACK_FAMILIES,
} rk_pack_family;

typedef enum rk_pack_module {
    RK_PACK_INDUCTOR,    // FX graphs, generated code, compiled kernels
    RK_PACK_AOTAUTOGRAD, // forward and backward graphs
    RK_PACK_TRITON,      // Triton's kernels
    RK_PACK_AUTOTUNE,    // results of autotuning
    RK_PACK_PGO,         // which sizes are dynamic
    RK_PACK_HEADERS,     // precompiled headers of kernels for the CPU (torch/headers.h)
    RK_PACK_JAX,         // functions that JAX compiled
    RK_PACK_MODULES,
} rk_pack_module;

enum { RK_PACK_NAME_MAX_BYTES = 1024 };

const char *rk_pack_family_name(rk_pack_family family); // "torch.compile"; static
// False if there is no such family.
bool rk_pack_family_parse(const char *name, rk_pack_family *out_family);

const char *rk_pack_module_name(rk_pack_module module); // "inductor"; static
// False if there is no such module.
bool rk_pack_module_parse(const char *name, rk_pack_module *out_module);

// The module of a file, by its path in the cache directory. False for files that are not kept: only
// known kinds are. Locks, temporary files, what AOTInductor writes (it holds weights), compilers
// and unknown kinds are left out, and so are precompiled headers, which lie elsewhere.
bool rk_pack_module_of(rk_pack_family family, const char *path, rk_pack_module *out_module);

// False if nothing below this folder is kept.
bool rk_pack_keeps_folder(rk_pack_family family, const char *path);

// True for the name of a precompiled header, or of its source.
bool rk_pack_is_header(const char *name);

// True if a file of this path may be in a pack of this module.
bool rk_pack_module_has(rk_pack_family family, rk_pack_module module, const char *path);

// True for a relative path of at most RK_PACK_NAME_MAX_BYTES without empty parts, ".", ".." and
// control characters.
bool rk_pack_name_is_valid(rk_span name);

// A guess of how long it takes to make the file, in nanoseconds. Eviction compares entries by such
// times, and the frameworks do not record them where they could be read.
uint64_t rk_pack_cost_ns(const char *path);
