// The layout of torch/_inductor/codecache.py, torch/_functorch/_aot_autograd, Triton's
// runtime/cache.py and torch/_dynamo/pgo.py, in PyTorch 2.9 to 2.15.
#include "base/macros.h"
#include "pack/layout_internal.h"

static bool is_one_of(rk_span text, const char *const *list) {
    for (; *list; list++)
        if (rk_span_is(text, *list))
            return true;
    return false;
}

// Inductor puts "cq5xyz….py" into the folder "q5".
static bool is_pair(rk_span part) {
    return part.len == 2 && rk_layout_is_plain(part);
}

// Generated code and kernels. Code and libraries of AOTInductor (".wrapper.so", ".pt2", ".bin")
// are results of the job and hold weights.
static bool is_code(rk_span name, rk_pack_module *out_module) {
    static const char *const endings[] = {
        "py", "cpp", "h", "so", "cu", "hip", "main.cpp", "main.so", "optimized.cpp", NULL};
    const uint8_t *dot = memchr(name.data, '.', name.len);
    if (!dot || !rk_layout_is_plain(rk_span_of(name.data, (size_t)(dot - name.data))))
        return false;
    size_t stem = (size_t)(dot + 1 - name.data);
    rk_span ending = rk_span_of(dot + 1, name.len - stem);
    bool is_choice = rk_span_is(ending, "best_config");
    *out_module = is_choice ? RK_PACK_AUTOTUNE : RK_PACK_INDUCTOR;
    return is_choice || is_one_of(ending, endings);
}

static bool is_digest(rk_span name, rk_pack_module *out_module) {
    (void)out_module;
    return rk_layout_is_plain(name);
}

static bool is_kernel(rk_span name, rk_pack_module *out_module) {
    static const char *const endings[] = {".json",   ".cubin", ".ptx",    ".ttir",
                                          ".ttgir",  ".llir",  ".source", ".hsaco",
                                          ".amdgcn", ".spv",   ".zebin",  ".so"};
    (void)out_module;
    for (size_t i = 0; i < RK_ARRAY_LEN(endings); i++)
        if (name.data[0] != '.' && rk_span_ends(name, endings[i]))
            return true;
    return false;
}

static bool is_choice(rk_span name, rk_pack_module *out_module) {
    (void)out_module;
    return rk_layout_is_plain(name) || rk_span_ends(name, ".json") ||
           rk_span_ends(name, ".best_config");
}

static bool is_sizes(rk_span name, rk_pack_module *out_module) {
    (void)out_module;
    return rk_span_starts(name, "code_state_") && rk_span_ends(name, ".pkl");
}

// The folders at the top, and which files below them are kept.
static const struct folder {
    const char *name;
    rk_pack_module module;
    bool (*keeps)(rk_span name, rk_pack_module *out_module);
} folders[] = {
    {"fxgraph", RK_PACK_INDUCTOR, is_digest},  {"aotautograd", RK_PACK_AOTAUTOGRAD, is_digest},
    {"triton", RK_PACK_TRITON, is_kernel},     {"cache", RK_PACK_AUTOTUNE, is_choice},
    {"autotune", RK_PACK_AUTOTUNE, is_choice}, {"dynamo", RK_PACK_PGO, is_sizes}};

static const struct folder *find_folder(rk_span part) {
    static const struct folder pair = {"", RK_PACK_INDUCTOR, is_code};
    for (size_t i = 0; i < RK_ARRAY_LEN(folders); i++)
        if (rk_span_is(part, folders[i].name))
            return &folders[i];
    return is_pair(part) ? &pair : NULL;
}

// Folders of locks, and those that are being written: "tmp.pid_<pid>_<random>" of Triton.
static bool is_left_out(rk_span part) {
    return part.len == 0 || part.data[0] == '.' || rk_span_is(part, "locks") ||
           rk_span_is(part, "__pycache__") || rk_span_starts(part, "tmp");
}

bool rk_layout_torch_keeps_folder(const char *path) {
    if (!find_folder(rk_layout_take_part(&path)))
        return false;
    while (*path)
        if (is_left_out(rk_layout_take_part(&path)))
            return false;
    return true;
}

bool rk_layout_torch_module_of(const char *path, rk_pack_module *out_module) {
    const struct folder *folder = find_folder(rk_layout_take_part(&path));
    if (!folder || !*path)
        return false;
    *out_module = folder->module;
    for (;;) {
        rk_span part = rk_layout_take_part(&path);
        if (!*path)
            return part.len > 0 && folder->keeps(part, out_module);
        if (is_left_out(part))
            return false;
    }
}
