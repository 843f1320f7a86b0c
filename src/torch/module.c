#include "torch/module.h"

#include "base/macros.h"

enum { PART_MAX_BYTES = 255 };

static const char *const names[RK_TORCH_MODULES] = {"inductor", "aotautograd", "triton",
                                                    "autotune", "pgo",         "headers"};

const char *rk_torch_module_name(rk_torch_module module) {
    return names[module];
}

bool rk_torch_module_parse(const char *name, rk_torch_module *out_module) {
    for (size_t i = 0; i < RK_TORCH_MODULES; i++) {
        *out_module = (rk_torch_module)i;
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool starts(rk_span part, const char *text) {
    size_t len = strlen(text);
    return part.len >= len && memcmp(part.data, text, len) == 0;
}

static bool ends(rk_span part, const char *text) {
    size_t len = strlen(text);
    return part.len >= len && memcmp(part.data + part.len - len, text, len) == 0;
}

// Takes the part up to the next slash.
static rk_span take_part(const char **path) {
    size_t len = strcspn(*path, "/");
    rk_span part = rk_span_of(*path, len);
    *path += len + ((*path)[len] == '/');
    return part;
}

// Locks, and files and folders that are being written: ".<pid>.<thread>.tmp" of Inductor,
// "tmp.pid_<pid>_<random>" of Triton, and those of Python's tempfile.
static bool is_left_out(rk_span part) {
    static const char *const whole[] = {"locks", "precompiled_headers", "__pycache__"};
    static const char *const endings[] = {".tmp", ".lock", ".gch", ".pch", ".o"};
    for (size_t i = 0; i < RK_ARRAY_LEN(whole); i++)
        if (rk_span_is(part, whole[i]))
            return true;
    for (size_t i = 0; i < RK_ARRAY_LEN(endings); i++)
        if (ends(part, endings[i]))
            return true;
    return part.len == 0 || part.data[0] == '.' || starts(part, "tmp");
}

bool rk_torch_keeps_folder(const char *path) {
    while (*path)
        if (is_left_out(take_part(&path)))
            return false;
    return true;
}

bool rk_torch_module_of(const char *path, rk_torch_module *out_module) {
    static const struct {
        const char *folder;
        rk_torch_module module;
    } folders[] = {{"aotautograd", RK_TORCH_AOTAUTOGRAD},
                   {"triton", RK_TORCH_TRITON},
                   {"cache", RK_TORCH_AUTOTUNE},
                   {"autotune", RK_TORCH_AUTOTUNE},
                   {"dynamo", RK_TORCH_PGO}};
    const char *rest = path;
    if (!rk_torch_keeps_folder(path))
        return false;
    rk_span first = take_part(&rest);
    *out_module = ends(rk_span_text(path), ".best_config") ? RK_TORCH_AUTOTUNE : RK_TORCH_INDUCTOR;
    for (size_t i = 0; *rest && i < RK_ARRAY_LEN(folders); i++)
        if (rk_span_is(first, folders[i].folder))
            *out_module = folders[i].module;
    return true;
}

bool rk_torch_name_is_valid(rk_span name) {
    size_t start = 0;
    if (name.len == 0 || name.len > RK_TORCH_NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i <= name.len; i++) {
        if (i < name.len && name.data[i] != '/') {
            if (name.data[i] < 0x20 || name.data[i] == 0x7F || name.data[i] == '\\')
                return false;
            continue;
        }
        rk_span part = rk_span_of(name.data + start, i - start);
        if (part.len == 0 || part.len > PART_MAX_BYTES || rk_span_is(part, ".") ||
            rk_span_is(part, ".."))
            return false;
        start = i + 1;
    }
    return true;
}

uint64_t rk_torch_cost_ns(const char *path) {
    static const struct {
        const char *ending;
        unsigned milliseconds;
    } endings[] = {{".so", 1000},   {".gch", 15000}, {".best_config", 1000},
                   {".cubin", 300}, {".hsaco", 300}, {".spv", 300}};
    static const struct {
        const char *folder;
        unsigned milliseconds;
    } folders[] = {{"fxgraph/", 500}, {"aotautograd/", 300}, {"dynamo/", 100}};
    const uint64_t ns_per_ms = 1000000;
    rk_span name = rk_span_text(path);
    for (size_t i = 0; i < RK_ARRAY_LEN(endings); i++)
        if (ends(name, endings[i].ending))
            return endings[i].milliseconds * ns_per_ms;
    for (size_t i = 0; i < RK_ARRAY_LEN(folders); i++)
        if (starts(name, folders[i].folder))
            return folders[i].milliseconds * ns_per_ms;
    return ns_per_ms;
}
