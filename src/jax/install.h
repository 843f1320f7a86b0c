// Finds the JAX that a Python would import, without starting that Python.
#pragma once

#include "python/packages.h"

// A plugin for a kind of device: "jax_cuda12_plugin", "libtpu".
typedef struct rk_jax_plugin {
    char *name, *version; // owned
} rk_jax_plugin;

typedef struct rk_jax_install {
    char *folder;           // owned; ".../site-packages"
    char *jax, *jaxlib;     // owned; their versions: "0.10.2"; jaxlib: "" if it is not beside jax
    rk_jax_plugin *plugins; // owned; that are installed beside jax
    size_t plugin_count;
    // How JAX compresses a file of its cache: "zstd" of Python 3.14 and later, the package
    // "zstandard", or "zlib". JAX's keys have "zstandard" or else "zlib", also for Python's zstd
    // (get_cache_key in jax/_src/compilation_cache.py).
    const char *compression; // static
    // JAX's keys leave out the folder of XLA's autotuning, which is in the cache directory, as
    // those of JAX 0.12 do (jax/_src/cache_key.py).
    bool ignores_folder_of_xla;
} rk_jax_install;
void rk_jax_install_cleanup(rk_jax_install *install);

// `*out_found` is false if that Python has no JAX, or if it cannot be told. Fails only with
// RK_RESOURCE_EXHAUSTED. `out_install` must be zeroed; owned: rk_jax_install_cleanup.
RK_NODISCARD rk_err *rk_jax_install_find(const rk_python_where *where, rk_jax_install *out_install,
                                         bool *out_found);
