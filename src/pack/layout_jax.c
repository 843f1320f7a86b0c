// The layout of jax/_src/lru_cache.py, cache_key.py and compiler.py in JAX 0.10, and of the folder
// that XLA makes in it (xla/service/gpu/autotuning/autotuner_cache.cc).
//
// <function>-<64 digits>-cache  a compiled function
// <function>-<64 digits>-atime  when it was last used, only with a size limit: made again
// .lockfile                     the lock of a size limit
// xla_gpu_kernel_cache_file     XLA writes it anew with each kernel: not kept
// xla_gpu_per_fusion_autotune_cache_dir/<digest>.textproto
#include "pack/layout_internal.h"

static const char autotune[] = "xla_gpu_per_fusion_autotune_cache_dir";

static bool is_entry(rk_span name) {
    enum { DIGITS = 64, ENDING = sizeof "-cache" - 1 };
    if (name.len < 1 + 1 + DIGITS + ENDING || name.data[0] == '.' || !rk_span_ends(name, "-cache"))
        return false;
    const uint8_t *digits = name.data + name.len - ENDING - DIGITS;
    for (size_t i = 0; i < DIGITS; i++)
        if (!((digits[i] >= '0' && digits[i] <= '9') || (digits[i] >= 'a' && digits[i] <= 'f')))
            return false;
    return digits[-1] == '-';
}

static bool is_choice(rk_span name) {
    enum { ENDING = sizeof ".textproto" - 1 };
    return rk_span_ends(name, ".textproto") &&
           rk_layout_is_plain(rk_span_of(name.data, name.len - ENDING));
}

bool rk_layout_jax_keeps_folder(const char *path) {
    return strcmp(path, autotune) == 0;
}

bool rk_layout_jax_module_of(const char *path, rk_pack_module *out_module) {
    const char *rest = path;
    rk_span first = rk_layout_take_part(&rest);
    bool is_choices = rk_span_is(first, autotune) && *rest && !strchr(rest, '/');
    *out_module = is_choices ? RK_PACK_AUTOTUNE : RK_PACK_JAX;
    return is_choices ? is_choice(rk_span_text(rest)) : !strchr(path, '/') && is_entry(first);
}
