// What the files of JAX's persistent compilation cache depend on: versions, the CPU, devices. Files
// of different environments are in different packs.
//
// JAX finds a file by a key that has the version of jaxlib, the version of the platform (with that
// of its plugin), the devices, the compile options (jax/_src/cache_key.py), and whether the package
// zstandard compresses the file.
//
// Features of the CPU are in it only as far as the plugin's fingerprint of its topology has them:
// that of jaxlib 0.10.2 does; that of an older build of the CPU plugin is the same for two sets of
// features. A backend without a fingerprint has the kind of its device alone in the key, "cpu".
//
// The path of the directory is in it, on all devices, since JAX 0.4.36: it is the compile option
// xla_gpu_per_fusion_autotune_cache_dir (get_compile_options in jax/_src/compiler.py), unless
// jax_persistent_cache_enable_xla_caches names no cache of XLA. Newer keys leave this option out:
// not those of JAX 0.10.2, but those of 0.12.0 (rk_jax_install).
#pragma once

#include "identity/components.h"
#include "jax/install.h"

#define RK_JAX_DIRECTORY "JAX_COMPILATION_CACHE_DIR" // name of the component of the path

// True if keys may have the path. `xla_caches`: JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES; NULL: not
// set.
bool rk_jax_keys_have_path(const char *xla_caches);

// Appends the path as it is in keys: what pathlib makes of it. Empty parts and "." are left out,
// but not two slashes at the start.
void rk_jax_path_add(const char *path, rk_buf *out);

// Lists the components, sorted. Names: jax, jaxlib, jax.compression, the names of plugins, gpu,
// host.cpu_features, host.machine, and RK_JAX_DIRECTORY if `path` is not NULL. `out_components`
// must be zeroed; owned: rk_components_cleanup.
RK_NODISCARD rk_err *rk_jax_environment_read(const rk_jax_install *install, const char *path,
                                             rk_components *out_components);
