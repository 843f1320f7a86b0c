#include "pjrt/bridge_table.h"

#include <limits.h>

enum {
    // Up to this version, plugins demand their own version's size of every struct. Later plugins
    // read some fields only if the struct contains them, which is better than unset fields. If a
    // later plugin demands a size, its refusal contains it.
    LAST_STRICT_MINOR = 81,
};

// PJRT_KeyValueTryGetCallback for a framework that has none. Returns an error to a plugin that
// calls it.
static PJRT_Error *try_get_substitute(void *args) {
    static const char message[] =
        "rekindle: this plugin calls PJRT_KeyValueTryGetCallback, but the framework's PJRT API is "
        "older than 0.61 and has no such callback; use a newer framework";
    const PJRT_KeyValueTryGetCallback_Args *asked = args;
    return (*asked->callback_error)(PJRT_Error_Code_UNIMPLEMENTED, message, sizeof message - 1);
}

// Sources: the API's change log; the STRUCT_SIZE constants of pjrt_c_api.h in versions 0.31, 0.54,
// 0.57, 0.60, 0.67, 0.68, 0.75, 0.78, 0.81, 0.90, 0.97, 0.98, 0.103, 0.106, 0.110, 0.113, 0.114;
// and the refusals of plugins of 0.81 and 0.117. If a change lies between two of these versions,
// the change log decides; without an answer there, the earliest possible version counts.
const rk_struct_facts rk_structs[RK_STRUCT_COUNT] = {
    // Callers before 0.69 declare 24 bytes and have 32.
    [RK_STRUCT_PLUGIN_ATTRIBUTES] = {.name = "PJRT_Plugin_Attributes_Args", .steps = {{0, 32}}},
    // A key-value store lacks kv_try_get_callback before 0.61. Only jobs of several processes use
    // the store, but JAX passes one in every job.
    [RK_STRUCT_CLIENT_CREATE] = {.name = "PJRT_Client_Create_Args",
                                 .steps = {{0, 72}, {61, 88}},
                                 .substitute = try_get_substitute,
                                 .needs_at = offsetof(PJRT_Client_Create_Args, kv_get_callback),
                                 .substitute_at =
                                     offsetof(PJRT_Client_Create_Args, kv_try_get_callback)},
    [RK_STRUCT_CLIENT_DESTROY] = {.name = "PJRT_Client_Destroy_Args", .steps = {{0, 24}}},
    [RK_STRUCT_CLIENT_COMPILE] = {.name = "PJRT_Client_Compile_Args", .steps = {{0, 56}}},
    [RK_STRUCT_COMPILE] = {.name = "PJRT_Compile_Args", .steps = {{0, 64}}},
    [RK_STRUCT_CLIENT_BUFFER_FROM_HOST_BUFFER] = {.name = "PJRT_Client_BufferFromHostBuffer_Args",
                                                  .steps = {{0, 120}}},
    [RK_STRUCT_CLIENT_CREATE_VIEW_OF_DEVICE_BUFFER] =
        {.name = "PJRT_Client_CreateViewOfDeviceBuffer_Args", .steps = {{0, 104}, {66, 112}}},
    [RK_STRUCT_CLIENT_CREATE_ERROR_BUFFER] = {.name = "PJRT_Client_CreateErrorBuffer_Args",
                                              .steps = {{0, 96}, {103, 112}}},
    // Callers before 0.46 declare 32 bytes and have 40.
    [RK_STRUCT_DEVICE_ADDRESSABLE_MEMORIES] = {.name = "PJRT_Device_AddressableMemories_Args",
                                               .steps = {{0, 40}}},
    [RK_STRUCT_DEVICE_MEMORY_STATS] = {.name = "PJRT_Device_MemoryStats_Args",
                                       .steps = {{0, 185}, {111, 201}},
                                       .results_only = true},
    [RK_STRUCT_DEVICE_POISON_EXECUTION] = {.name = "PJRT_Device_PoisonExecution_Args",
                                           .steps = {{0, 49}, {100, 72}}},
    [RK_STRUCT_EXECUTABLE_GET_COMPILED_MEMORY_STATS] =
        {.name = "PJRT_Executable_GetCompiledMemoryStats_Args",
         .steps = {{0, 64}, {43, 104}, {72, 112}, {90, 120}, {104, 144}},
         .results_only = true},
    [RK_STRUCT_EXECUTABLE_DESERIALIZE_AND_LOAD] = {.name =
                                                       "PJRT_Executable_DeserializeAndLoad_Args",
                                                   .steps = {{0, 48}, {71, 64}, {111, 72}}},
    [RK_STRUCT_LOADED_EXECUTABLE_DESTROY] = {.name = "PJRT_LoadedExecutable_Destroy_Args",
                                             .steps = {{0, 24}}},
    [RK_STRUCT_LOADED_EXECUTABLE_DELETE] = {.name = "PJRT_LoadedExecutable_Delete_Args",
                                            .steps = {{0, 24}}},
    [RK_STRUCT_LOADED_EXECUTABLE_EXECUTE] = {.name = "PJRT_LoadedExecutable_Execute_Args",
                                             .steps = {{0, 80}},
                                             .inner = RK_STRUCT_EXECUTE_OPTIONS,
                                             .inner_at = offsetof(
                                                 PJRT_LoadedExecutable_Execute_Args, options)},
    // Callers before 0.46 declare 52 bytes and have 72. The default of the field of 0.107,
    // use_major_to_minor_data_layout_for_callbacks, is the behaviour of plugins without the field.
    [RK_STRUCT_EXECUTE_OPTIONS] =
        {.name = "PJRT_ExecuteOptions",
         .steps = {{0, 72}, {64, 80}, {76, 88}, {78, 112}, {97, 120}, {107, 121}, {111, 144}},
         .default_at = 120,
         .default_value = 1},
    [RK_STRUCT_BUFFER_TO_HOST_BUFFER] = {.name = "PJRT_Buffer_ToHostBuffer_Args",
                                         .steps = {{0, 56}}},
    [RK_STRUCT_BUFFER_COPY_RAW_TO_HOST] = {.name = "PJRT_Buffer_CopyRawToHost_Args",
                                           .steps = {{0, 56}}},
    [RK_STRUCT_TRANSFER_DATA] = {.name = "PJRT_AsyncHostToDeviceTransferManager_TransferData_Args",
                                 .steps = {{0, 72}}},
};

size_t rk_struct_size_demanded(rk_struct_id id, int minor) {
    const rk_struct_step *steps = rk_structs[id].steps;
    size_t size = 0;
    if (minor < RK_BRIDGE_OLDEST_MINOR)
        return 0;
    for (size_t i = 0; i < RK_STRUCT_STEPS && steps[i].size; i++)
        if (steps[i].since_minor <= minor && steps[i].since_minor <= LAST_STRICT_MINOR)
            size = steps[i].size;
    return size;
}

rk_minor_range rk_struct_minors(rk_struct_id id, size_t size) {
    const rk_struct_step *steps = rk_structs[id].steps;
    rk_minor_range range = {0, INT_MAX};
    for (size_t i = 0; i < RK_STRUCT_STEPS && steps[i].size; i++) {
        if (steps[i].size <= size)
            range.from = steps[i].since_minor;
        else if (i > 0 &&
                 range.to ==
                     INT_MAX) // a size below the first step's says nothing about the version
            range.to = steps[i].since_minor - 1;
    }
    return range;
}

rk_struct_id rk_struct_named(const char *name, size_t len) {
    static const char ending[] = "_Args";
    const size_t ending_len = sizeof ending - 1;
    for (int id = 0; id < RK_STRUCT_COUNT; id++) {
        const char *known = rk_structs[id].name;
        size_t known_len = strlen(known);
        if (known_len == len + ending_len && strcmp(known + len, ending) == 0)
            known_len = len;
        if (known_len == len && memcmp(known, name, len) == 0)
            return (rk_struct_id)id;
    }
    return RK_STRUCT_NONE;
}
