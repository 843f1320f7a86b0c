// The steps that need no device: the library, its table, its initialization, its attributes.
#include <dlfcn.h>
#include <sys/stat.h>

#include "pjrt/error.h"
#include "pjrt/named_value.h"
#include "probe/report.h"

typedef const PJRT_Api *get_api_fn(void);

rk_err *rk_look_library(rk_subject *s, rk_buf *detail) {
    struct stat info;
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    // dlopen searches the library folders for a name without a slash, not the working directory.
    rk_buf_add_format(&path, "%s%s", strchr(s->path, '/') ? "" : "./", s->path);
    void *library = dlopen(rk_buf_text(&path), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return rk_error(RK_NOT_FOUND, "%s", reason ? reason : "it cannot be loaded");
    }
    void *found = dlsym(library, "GetPjrtApi");
    if (!found)
        return rk_error(RK_INVALID_ARGUMENT,
                        "a library, but not a PJRT plugin: it has no GetPjrtApi");
    get_api_fn *get_api;
    memcpy(&get_api, &found, sizeof get_api);
    s->real = get_api();
    if (!s->real)
        return rk_error(RK_INTERNAL, "GetPjrtApi returned no table");
    if (stat(s->path, &info) == 0)
        rk_buf_add_format(detail, "%lld bytes", (long long)info.st_size);
    return NULL;
}

// Returns the name of an extension, or NULL. Source: PJRT_Extension_Type in 0.113.
static const char *extension_name(int type) {
    static const char *const names[] = {
        "GpuCustomCall",
        "Profiler",
        "CustomPartitioner",
        "Stream",
        "Layouts",
        "FFI",
        "MemoryDescriptions",
        "Triton",
        "RawBuffer",
        "PhaseCompile",
        "Example",
        "Unknown",
        "CrossHostTransfers",
        "ExecutableMetadata",
        "Callback",
        "HostAllocator",
        "TpuTopology",
        "TpuExecutable",
        "Megascale",
        "Shardings",
        "AbiVersion",
        "Collectives",
        "MultiSlice",
        "HostMemoryAllocator",
        "XlaTransform",
        "ExecuteChain",
    };
    return type >= 0 && (size_t)type < RK_ARRAY_LEN(names) ? names[type] : NULL;
}

static void add_extensions(rk_json *json, const PJRT_Api *api) {
    enum { CHAIN_MAX = 64 };
    const PJRT_Extension_Base *node = api->extension_start;
    rk_json_key(json, "extensions");
    rk_json_begin_array(json);
    for (int i = 0; node && i < CHAIN_MAX; node = node->next, i++) {
        rk_json_begin_object(json);
        rk_json_member_uint(json, "type", (uint64_t)node->type);
        rk_json_member_string(json, "name", extension_name((int)node->type));
        rk_json_member_uint(json, "struct_size", node->struct_size);
        rk_json_end_object(json);
    }
    rk_json_end_array(json);
}

static void add_version(rk_json *json, const char *key, int major, int minor) {
    rk_json_key(json, key);
    rk_json_begin_object(json);
    rk_json_member_uint(json, "major", (uint64_t)major);
    rk_json_member_uint(json, "minor", (uint64_t)minor);
    rk_json_end_object(json);
}

rk_err *rk_look_table(rk_subject *s, rk_buf *detail) {
    const PJRT_Api *api = s->real;
    RK_AUTO(rk_buf) members = RK_BUF_INIT(0);
    rk_json json = rk_json_on(&members);
    int major = api->pjrt_api_version.major_version, minor = api->pjrt_api_version.minor_version;
    add_version(&json, "api", major, minor);
    rk_json_member_uint(&json, "struct_size", api->struct_size);
    rk_json_member_uint(&json, "entries",
                        api->struct_size > offsetof(PJRT_Api, PJRT_Error_Destroy)
                            ? (api->struct_size - offsetof(PJRT_Api, PJRT_Error_Destroy)) /
                                  sizeof(rk_pjrt_any_fn *)
                            : 0);
    add_extensions(&json, api);
    rk_report_set(s, &members);
    rk_buf_add_format(detail, "PJRT API %d.%d, %zu bytes", major, minor, api->struct_size);
    if (major != PJRT_API_MAJOR)
        return rk_error(RK_FAILED_PRECONDITION,
                        "its PJRT API is %d.%d, and rekindle supports the versions 0.x", major,
                        minor);
    if (!RK_PJRT_HAS(api, PJRT_LoadedExecutable_Execute))
        return rk_error(RK_FAILED_PRECONDITION,
                        "its function table lacks entries that frameworks need");
    rk_bridge_open(&s->bridge, api);
    return NULL;
}

rk_err *rk_look_initialize(rk_subject *s, rk_buf *detail) {
    (void)detail;
    if (!RK_PJRT_HAS(s->real, PJRT_Plugin_Initialize))
        return NULL;
    PJRT_Plugin_Initialize_Args args = {.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE};
    return rk_pjrt_error_take(s->real, s->real->PJRT_Plugin_Initialize(&args));
}

rk_err *rk_look_attributes(rk_subject *s, rk_buf *detail) {
    PJRT_Plugin_Attributes_Args args = {.struct_size = PJRT_Plugin_Attributes_Args_STRUCT_SIZE};
    if (!RK_PJRT_HAS(s->real, PJRT_Plugin_Attributes))
        return NULL;
    RK_TRY(rk_pjrt_error_take(
        s->real, RK_BRIDGE(s, RK_STRUCT_PLUGIN_ATTRIBUTES, PJRT_Plugin_Attributes, &args)));
    RK_AUTO(rk_buf) members = RK_BUF_INIT(0);
    rk_json json = rk_json_on(&members);
    rk_json_key(&json, "attributes");
    rk_named_values_to_json(&json, args.attributes, args.num_attributes);
    rk_report_set(s, &members);
    rk_buf_add_format(detail, "%zu", args.num_attributes);
    return NULL;
}
