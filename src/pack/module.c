#include "pack/module.h"

#include <string.h>

#include "base/macros.h"

enum { PART_MAX_BYTES = 255 };

static const char *const names[RK_PACK_MODULES] = {"inductor", "aotautograd", "triton",
                                                   "autotune", "pgo",         "headers"};

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

static bool is_one_of(rk_span text, const char *const *list) {
    for (; *list; list++)
        if (rk_span_is(text, *list))
            return true;
    return false;
}

// Letters, digits, "_" and "-": a digest, and never a name of a temporary file.
static bool is_plain(rk_span text) {
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return text.len > 0;
}

// Inductor puts "cq5xyz….py" into the folder "q5".
static bool is_pair(rk_span part) {
    return part.len == 2 && is_plain(part);
}

// Generated code and kernels. Code and libraries of AOTInductor (".wrapper.so", ".pt2", ".bin")
// are results of the job and hold weights.
static bool is_code(rk_span name, rk_pack_module *out_module) {
    static const char *const endings[] = {
        "py", "cpp", "h", "so", "cu", "hip", "main.cpp", "main.so", "optimized.cpp", NULL};
    const uint8_t *dot = memchr(name.data, '.', name.len);
    if (!dot || !is_plain(rk_span_of(name.data, (size_t)(dot - name.data))))
        return false;
    size_t stem = (size_t)(dot + 1 - name.data);
    rk_span ending = rk_span_of(dot + 1, name.len - stem);
    bool is_choice = rk_span_is(ending, "best_config");
    *out_module = is_choice ? RK_PACK_AUTOTUNE : RK_PACK_INDUCTOR;
    return is_choice || is_one_of(ending, endings);
}

static bool is_digest(rk_span name, rk_pack_module *out_module) {
    (void)out_module;
    return is_plain(name);
}

static bool is_kernel(rk_span name, rk_pack_module *out_module) {
    static const char *const endings[] = {".json",   ".cubin", ".ptx",    ".ttir",
                                          ".ttgir",  ".llir",  ".source", ".hsaco",
                                          ".amdgcn", ".spv",   ".zebin",  ".so"};
    (void)out_module;
    for (size_t i = 0; i < RK_ARRAY_LEN(endings); i++)
        if (name.data[0] != '.' && ends(name, endings[i]))
            return true;
    return false;
}

static bool is_choice(rk_span name, rk_pack_module *out_module) {
    (void)out_module;
    return is_plain(name) || ends(name, ".json") || ends(name, ".best_config");
}

static bool is_sizes(rk_span name, rk_pack_module *out_module) {
    (void)out_module;
    return starts(name, "code_state_") && ends(name, ".pkl");
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
           rk_span_is(part, "__pycache__") || starts(part, "tmp");
}

bool rk_pack_keeps_folder(const char *path) {
    if (!find_folder(take_part(&path)))
        return false;
    while (*path)
        if (is_left_out(take_part(&path)))
            return false;
    return true;
}

bool rk_pack_module_of(const char *path, rk_pack_module *out_module) {
    const struct folder *folder = find_folder(take_part(&path));
    if (!folder || !*path)
        return false;
    *out_module = folder->module;
    for (;;) {
        rk_span part = take_part(&path);
        if (!*path)
            return part.len > 0 && folder->keeps(part, out_module);
        if (is_left_out(part))
            return false;
    }
}

bool rk_pack_is_header(const char *name) {
    rk_span text = rk_span_text(name);
    return name[0] != '.' && !strchr(name, '/') && (ends(text, ".h") || ends(text, ".h.gch"));
}

bool rk_pack_module_has(rk_pack_module module, const char *path) {
    rk_pack_module found = module;
    if (module == RK_PACK_HEADERS)
        return rk_pack_is_header(path);
    return rk_pack_module_of(path, &found) && found == module;
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
    } endings[] = {{".so", 1000},   {".gch", 15000}, {".best_config", 1000},
                   {".cubin", 300}, {".hsaco", 300}, {".spv", 300}};
    static const struct {
        const char *folder;
        unsigned milliseconds;
    } places[] = {{"fxgraph/", 500}, {"aotautograd/", 300}, {"dynamo/", 100}};
    const uint64_t ns_per_ms = 1000000;
    rk_span name = rk_span_text(path);
    for (size_t i = 0; i < RK_ARRAY_LEN(endings); i++)
        if (ends(name, endings[i].ending))
            return endings[i].milliseconds * ns_per_ms;
    for (size_t i = 0; i < RK_ARRAY_LEN(places); i++)
        if (starts(name, places[i].folder))
            return places[i].milliseconds * ns_per_ms;
    return ns_per_ms;
}
