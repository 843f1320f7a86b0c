// Structs of another API version: each struct has the size that it has in that version. Marker
// bytes follow the struct. A write to them is detected. A read from them gives a value that no
// field ever has.
#include "host/host.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "fake_plugin/fake_extension.h"
#include "fake_plugin/versions.h"

enum { MARK = 0xc5, MARK_BYTES = 64 };

// Precedes every copy.
typedef struct copy_head {
    size_t bytes, pad;
} copy_head;

static size_t size_in(const void *args) {
    size_t size;
    memcpy(&size, args, sizeof size);
    return size;
}

void *host_struct_new(const host *h, const char *name, const void *from, size_t capacity) {
    int minor = h->minor ? h->minor : PJRT_API_MINOR;
    size_t declared = pjrt_struct_declared(name, minor, size_in(from));
    size_t real = pjrt_struct_real(name, minor, size_in(from));
    copy_head *head = rk_malloc(sizeof *head + real + MARK_BYTES);
    if (!head)
        host_usage("no memory");
    *head = (copy_head){.bytes = real};
    unsigned char *copy = (unsigned char *)(head + 1);
    memset(copy, 0, real);
    memset(copy + real, MARK, MARK_BYTES);
    memcpy(copy, from, capacity < real ? capacity : real);
    memcpy(copy, &declared, sizeof declared);
    return copy;
}

void host_struct_free(const char *name, void *copy) {
    copy_head *head = (copy_head *)copy - 1;
    const unsigned char *mark = (const unsigned char *)copy + head->bytes;
    for (size_t i = 0; i < MARK_BYTES; i++)
        if (mark[i] != MARK)
            host_usage("byte %zu was written, which is behind %s", head->bytes + i, name);
    rk_free(head);
}

PJRT_Error *host_call(const host *h, const char *name, host_entry *entry, void *args,
                      size_t capacity) {
    void *copy = host_struct_new(h, name, args, capacity);
    size_t size = size_in(args), real = ((copy_head *)copy - 1)->bytes;
    PJRT_Error *error = entry(copy);
    memcpy(args, copy, capacity < real ? capacity : real);
    memcpy(args, &size, sizeof size);
    host_struct_free(name, copy);
    return error;
}

void host_minor(host *h, const char *value) {
    h->minor = (int)strtol(value, NULL, 10);
    if (h->minor < PJRT_VERSIONS_FIRST || h->minor > PJRT_VERSIONS_LAST)
        host_usage("minor=%s: %d to %d are known", value, PJRT_VERSIONS_FIRST, PJRT_VERSIONS_LAST);
}

void host_location(host *h, const char *value) {
    h->call_location = value;
}

// Words that call the entries whose structs grew.

// A union large enough for every version of a struct, with access by machine words.
typedef union any_args {
    size_t words[64];
    PJRT_Device_AddressableMemories_Args memories;
    PJRT_Device_MemoryStats_Args device_stats;
    PJRT_Executable_GetCompiledMemoryStats_Args memory_stats;
    PJRT_Client_CreateViewOfDeviceBuffer_Args view;
} any_args;

static PJRT_Error *first_device(const host *h, PJRT_Device **out_device) {
    PJRT_Client_AddressableDevices_Args args =
        HOST_ARGS(PJRT_Client_AddressableDevices_Args, .client = host_current_client(h));
    PJRT_Error *error = h->api->PJRT_Client_AddressableDevices(&args);
    *out_device = error ? NULL : args.addressable_devices[0];
    return error;
}

static void add_figures(rk_json *json, const any_args *args, size_t from, size_t step, size_t end) {
    rk_json_key(json, "figures");
    rk_json_begin_array(json);
    for (size_t at = from; at + sizeof(size_t) <= end; at += step)
        rk_json_uint(json, args->words[at / sizeof(size_t)]);
    rk_json_end_array(json);
}

void host_memories(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "memories");
    any_args args = {.memories = HOST_NO_ARGS(PJRT_Device_AddressableMemories_Args)};
    PJRT_Error *error = first_device(h, &args.memories.device);
    if (!error)
        error = HOST_CALL(h, PJRT_Device_AddressableMemories, &args.memories);
    rk_json_member_uint(&line.json, "count", args.memories.num_memories);
    (void)host_end(&line, h, error);
}

void host_device_stats(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "device-stats");
    any_args args = {.device_stats = HOST_NO_ARGS(PJRT_Device_MemoryStats_Args)};
    size_t from = offsetof(PJRT_Device_MemoryStats_Args, peak_bytes_in_use);
    PJRT_Error *error = first_device(h, &args.device_stats.device);
    if (!error)
        error = host_call(h, "PJRT_Device_MemoryStats",
                          (host_entry *)h->api->PJRT_Device_MemoryStats, &args, sizeof args);
    int minor = h->minor ? h->minor : PJRT_API_MINOR;
    size_t end = pjrt_struct_real("PJRT_Device_MemoryStats", minor, args.words[0]);
    add_figures(&line.json, &args, from, 2 * sizeof(int64_t), end);
    rk_json_member_uint(&line.json, "bytes_in_use", (uint64_t)args.device_stats.bytes_in_use);
    (void)host_end(&line, h, error);
}

void host_memory_stats(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "memory-stats");
    PJRT_LoadedExecutable_GetExecutable_Args get =
        HOST_ARGS(PJRT_LoadedExecutable_GetExecutable_Args,
                  .loaded_executable = h->executables[host_pick_executable(h, value)]);
    any_args args = {.memory_stats = HOST_NO_ARGS(PJRT_Executable_GetCompiledMemoryStats_Args)};
    size_t from =
        offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, generated_code_size_in_bytes);
    static const char name[] = "PJRT_Executable_GetCompiledMemoryStats";
    PJRT_Error *error = h->api->PJRT_LoadedExecutable_GetExecutable(&get);
    args.memory_stats.executable = get.executable;
    if (!error)
        error = host_call(h, name, (host_entry *)h->api->PJRT_Executable_GetCompiledMemoryStats,
                          &args, sizeof args);
    int minor = h->minor ? h->minor : PJRT_API_MINOR;
    add_figures(&line.json, &args, from, sizeof(int64_t),
                pjrt_struct_real(name, minor, args.words[0]));
    PJRT_Executable_Destroy_Args destroy =
        HOST_ARGS(PJRT_Executable_Destroy_Args, .executable = get.executable);
    if (get.executable && h->api->PJRT_Executable_Destroy(&destroy))
        host_usage("PJRT_Executable_Destroy failed");
    (void)host_end(&line, h, error);
}

// Adds a buffer f32[4] with (1, 2, 3, 4) to the outputs.
void host_view(host *h, const char *value) {
    (void)value;
    static float values[] = {1, 2, 3, 4};
    static const int64_t dims[] = {RK_ARRAY_LEN(values)};
    host_line line;
    host_begin(&line, h, "view");
    any_args args = {.view = HOST_ARGS(PJRT_Client_CreateViewOfDeviceBuffer_Args,
                                       .client = host_current_client(h),
                                       .device_buffer_ptr = values, .dims = dims, .num_dims = 1,
                                       .element_type = PJRT_Buffer_Type_F32)};
    PJRT_Error *error = first_device(h, &args.view.device);
    if (!error)
        error = HOST_CALL(h, PJRT_Client_CreateViewOfDeviceBuffer, &args.view);
    if (!error && h->output_count == HOST_MAX_OUTPUTS)
        host_usage("too many outputs: destroy-buffers first");
    if (!error)
        h->outputs[h->output_count++] = args.view.buffer;
    (void)host_end(&line, h, error);
}
