#include "pack/module.h"

#include <string.h>

#include "base/macros.h"
#include "pack/layout_internal.h"

enum { PART_MAX_BYTES = 255 };

static const char *const families[RK_PACK_FAMILIES] = {"torch.compile", "jax"};
static const char *const names[RK_PACK_MODULES] = {"inductor", "aotautograd", "triton", "autotune",
                                                   "pgo",      "headers",     "jax"};

const char *rk_pack_family_name(rk_pack_family family) {
    return families[family];
}

bool rk_pack_family_parse(const char *name, rk_pack_family *out_family) {
    for (size_t i = 0; i < RK_PACK_FAMILIES; i++) {
        *out_family = (rk_pack_family)i;
        if (strcmp(families[i], name) == 0)
            return true;
    }
    return false;
}

const char *rk_pack_module_name(rk_pack_module module) {
    return names[module];
}

bool rk_pack_module_parse(const char *name, rk_pack_module *out_module) {
    for (size_t i = 0; i < RK_PACK_MODULES; i++) {
        *out_module = (rk_pack_module)i;
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

bool rk_pack_keeps_folder(rk_pack_family family, const char *path) {
    return family == RK_FAMILY_JAX ? rk_layout_jax_keeps_folder(path)
                                   : rk_layout_torch_keeps_folder(path);
}

bool rk_pack_module_of(rk_pack_family family, const char *path, rk_pack_module *out_module) {
    return family == RK_FAMILY_JAX ? rk_layout_jax_module_of(path, out_module)
                                   : rk_layout_torch_module_of(path, out_module);
}

bool rk_pack_is_header(const char *name) {
    rk_span text = rk_span_text(name);
    return name[0] != '.' && !strchr(name, '/') &&
           (rk_span_ends(text, ".h") || rk_span_ends(text, ".h.gch"));
}

bool rk_pack_module_has(rk_pack_family family, rk_pack_module module, const char *path) {
    rk_pack_module found = module;
    if (family == RK_FAMILY_TORCH && module == RK_PACK_HEADERS)
        return rk_pack_is_header(path);
    return rk_pack_module_of(family, path, &found) && found == module;
}

bool rk_pack_name_is_valid(rk_span name) {
    size_t start = 0;
    if (name.len == 0 || name.len > RK_PACK_NAME_MAX_BYTES)
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

uint64_t rk_pack_cost_ns(const char *path) {
    static const struct {
        const char *ending;
        unsigned milliseconds;
    } endings[] = {{".so", 1000},   {".gch", 15000}, {".best_config", 1000}, {".cubin", 300},
                   {".hsaco", 300}, {".spv", 300},   {"-cache", 1000},       {".textproto", 100}};
    static const struct {
        const char *folder;
        unsigned milliseconds;
    } places[] = {{"fxgraph/", 500}, {"aotautograd/", 300}, {"dynamo/", 100}};
    const uint64_t ns_per_ms = 1000000;
    rk_span name = rk_span_text(path);
    for (size_t i = 0; i < RK_ARRAY_LEN(endings); i++)
        if (rk_span_ends(name, endings[i].ending))
            return endings[i].milliseconds * ns_per_ms;
    for (size_t i = 0; i < RK_ARRAY_LEN(places); i++)
        if (rk_span_starts(name, places[i].folder))
            return places[i].milliseconds * ns_per_ms;
    return ns_per_ms;
}
