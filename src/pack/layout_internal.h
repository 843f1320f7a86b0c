// The layouts of the cache directories; private to src/pack.
#pragma once

#include "base/macros.h"
#include "pack/module.h"

// As rk_pack_module_of and rk_pack_keeps_folder, for one family.
RK_HIDDEN bool rk_layout_torch_module_of(const char *path, rk_pack_module *out_module);
RK_HIDDEN bool rk_layout_torch_keeps_folder(const char *path);
RK_HIDDEN bool rk_layout_jax_module_of(const char *path, rk_pack_module *out_module);
RK_HIDDEN bool rk_layout_jax_keeps_folder(const char *path);

// Takes the part of a path up to the next slash.
RK_HIDDEN rk_span rk_layout_take_part(const char **path);

// True for letters, digits, "_" and "-": a digest, and never a name of a temporary file.
RK_HIDDEN bool rk_layout_is_plain(rk_span text);
