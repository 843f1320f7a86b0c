// The client, its devices and memories.
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *fake_platform_name(void) {
    return fake_setting("FAKE_PJRT_PLATFORM", "fake");
}

const char *fake_platform_version(void) {
    return fake_setting("FAKE_PJRT_VERSION", "fake 1.0");
}

static void *new_list(size_t count) {
    void *list = calloc(count + 1, sizeof(void *));
    if (!list)
        abort();
    return list;
}

// The other devices belong to other processes, as in a multi-process job.
size_t fake_addressable_count(size_t count) {
    int64_t wanted = fake_setting_int("FAKE_PJRT_ADDRESSABLE_DEVICES", (int64_t)count);
    return wanted >= 0 && (size_t)wanted < count ? (size_t)wanted : count;
}

static void add_device(PJRT_Client *client, int id) {
    PJRT_Device *device = fake_object_new(FAKE_DEVICE, sizeof *device, client);
    device->id = id;
    device->client = client;
    device->description = fake_description_new(id, fake_addressable_count(client->count), client);
    device->memory = fake_object_new(FAKE_MEMORY, sizeof *device->memory, client);
    device->memory->id = id;
    device->memory->device = device;
    (void)snprintf(device->memory->text, sizeof device->memory->text, "FakeMemory(id=%d)", id);
    client->devices[id] = device;
    client->memories[id] = device->memory;
}

FAKE_ENTRY(PJRT_Client_Create) {
    for (size_t i = 0; i < args->num_options; i++) {
        if (args->create_options[i].struct_size < (size_t)PJRT_NamedValue_STRUCT_SIZE)
            return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "option %zu is no PJRT_NamedValue",
                              i);
    }
    (void)fake_flags("client");
    if (fake_fails("client_create"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail client_create");
    if (fake_fails("crash_client"))
        fake_crash();
    if (fake_fails("exit_client"))
        _exit(3); // as a library that gives up does; exit() inside a call would be misuse
    int64_t count = fake_setting_int("FAKE_PJRT_DEVICES", 2);
    PJRT_Client *client = fake_object_new(FAKE_CLIENT, sizeof *client, NULL);
    client->count = count > 0 ? (size_t)count : 0;
    client->devices = new_list(client->count);
    client->memories = new_list(client->count);
    for (size_t i = 0; i < client->count; i++)
        add_device(client, (int)i);
    client->topology =
        fake_topology_new(client->count, fake_addressable_count(client->count), client);
    client->topology->owned_by_client = true;
    args->client = client;
    return NULL;
}

// The framework's executables, buffers and events may outlive the client but must not be used
// afterwards. Devices, memories, descriptions and the topology belong to the client and are
// destroyed with it.
FAKE_ENTRY(PJRT_Client_Destroy) {
    PJRT_Client *client = args->client;
    fake_object_check(FAKE_CLIENT, client);
    fake_topology_kill(client->topology);
    for (size_t i = 0; i < client->count; i++) {
        fake_object_kill(FAKE_MEMORY, client->memories[i]);
        fake_object_kill(FAKE_DESCRIPTION, client->devices[i]->description);
        fake_object_kill(FAKE_DEVICE, client->devices[i]);
    }
    char census[256];
    fake_object_census(client, census, sizeof census);
    fake_trace("client_left", "%s", census);
    fake_object_kill(FAKE_CLIENT, client);
    free(client->devices);
    free(client->memories);
    client->devices = NULL;
    client->memories = NULL;
    return NULL;
}

FAKE_ENTRY(PJRT_Client_PlatformName) {
    fake_object_check(FAKE_CLIENT, args->client);
    if (fake_fails("platform_name"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail platform_name");
    args->platform_name = fake_platform_name();
    args->platform_name_size = strlen(args->platform_name);
    return NULL;
}

FAKE_ENTRY(PJRT_Client_PlatformVersion) {
    fake_object_check(FAKE_CLIENT, args->client);
    if (fake_fails("platform_version"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail platform_version");
    args->platform_version = fake_platform_version();
    args->platform_version_size = strlen(args->platform_version);
    return NULL;
}

FAKE_ENTRY(PJRT_Client_ProcessIndex) {
    fake_object_check(FAKE_CLIENT, args->client);
    args->process_index = 0;
    return NULL;
}

FAKE_ENTRY(PJRT_Client_TopologyDescription) {
    fake_object_check(FAKE_CLIENT, args->client);
    if (fake_fails("topology"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail topology");
    if (fake_fails("topology_unimplemented"))
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: has no topology");
    args->topology = fake_fails("null_topology") ? NULL : args->client->topology;
    return NULL;
}

FAKE_ENTRY(PJRT_Client_Devices) {
    fake_object_check(FAKE_CLIENT, args->client);
    args->devices = args->client->devices;
    args->num_devices = args->client->count;
    return NULL;
}

FAKE_ENTRY(PJRT_Client_AddressableDevices) {
    fake_object_check(FAKE_CLIENT, args->client);
    args->addressable_devices = args->client->devices;
    args->num_addressable_devices = fake_addressable_count(args->client->count);
    return NULL;
}

static PJRT_Error *find_device(PJRT_Client *client, int id, PJRT_Device **out_device) {
    fake_object_check(FAKE_CLIENT, client);
    if (id < 0 || (size_t)id >= client->count)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "there is no device %d", id);
    *out_device = client->devices[id];
    return NULL;
}

FAKE_ENTRY(PJRT_Client_LookupDevice) {
    return find_device(args->client, args->id, &args->device);
}

FAKE_ENTRY(PJRT_Client_LookupAddressableDevice) {
    return find_device(args->client, args->local_hardware_id, &args->addressable_device);
}

FAKE_ENTRY(PJRT_Client_AddressableMemories) {
    fake_object_check(FAKE_CLIENT, args->client);
    args->addressable_memories = args->client->memories;
    args->num_addressable_memories = args->client->count;
    return NULL;
}

FAKE_ENTRY(PJRT_Client_DefaultDeviceAssignment) {
    fake_object_check(FAKE_CLIENT, args->client);
    size_t wanted = (size_t)args->num_replicas * (size_t)args->num_partitions;
    if (args->default_assignment_size < wanted || wanted > args->client->count)
        return fake_error(PJRT_Error_Code_FAILED_PRECONDITION, "not %zu devices", wanted);
    for (size_t i = 0; i < wanted; i++)
        args->default_assignment[i] = (int)i;
    return NULL;
}

FAKE_ENTRY_UNIMPLEMENTED(PJRT_Client_UpdateGlobalProcessInfo)
FAKE_ENTRY_UNIMPLEMENTED(PJRT_Client_DmaMap)
FAKE_ENTRY_UNIMPLEMENTED(PJRT_Client_DmaUnmap)

// Devices and memories.

FAKE_ENTRY(PJRT_Device_GetDescription) {
    fake_object_check(FAKE_DEVICE, args->device);
    args->device_description = args->device->description;
    return NULL;
}

FAKE_ENTRY(PJRT_Device_IsAddressable) {
    fake_object_check(FAKE_DEVICE, args->device);
    args->is_addressable =
        (size_t)args->device->id < fake_addressable_count(args->device->client->count);
    return NULL;
}

FAKE_ENTRY(PJRT_Device_LocalHardwareId) {
    fake_object_check(FAKE_DEVICE, args->device);
    args->local_hardware_id = args->device->id;
    return NULL;
}

FAKE_ENTRY(PJRT_Device_AddressableMemories) {
    fake_object_check(FAKE_DEVICE, args->device);
    args->memories = &args->device->client->memories[args->device->id];
    args->num_memories = 1;
    return NULL;
}

FAKE_ENTRY(PJRT_Device_DefaultMemory) {
    fake_object_check(FAKE_DEVICE, args->device);
    args->memory = args->device->memory;
    return NULL;
}

// The value of each figure is its position, from 1, so that tests can distinguish them.
FAKE_ENTRY(PJRT_Device_MemoryStats) {
    enum { STRIDE = 2 * sizeof(int64_t) }; // a figure and its is_set flag
    fake_object_enter(FAKE_DEVICE, args->device);
    fake_sleep_ms(fake_setting_int("FAKE_PJRT_MEMORY_MS", 0));
    fake_object_leave(args->device);
    if (fake_fails("memory"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail memory");
    if (fake_fails("memory_unimplemented"))
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: has no memory statistics");
    size_t size =
        fake_args_size("PJRT_Device_MemoryStats", PJRT_Device_MemoryStats_Args_STRUCT_SIZE);
    int64_t each = fake_setting_int("FAKE_PJRT_BYTES_OF_EXECUTABLE", 0);
    args->bytes_in_use = 1000 + each * (int64_t)fake_object_count(FAKE_LOADED);
    char *first = (char *)&args->peak_bytes_in_use;
    for (size_t i = 0; (size_t)(first - (char *)args) + i * STRIDE < size; i++) {
        int64_t figure = (int64_t)i + 1;
        if (first + i * STRIDE == (const char *)&args->bytes_limit)
            figure = fake_setting_int("FAKE_PJRT_BYTES_LIMIT", figure);
        if (first + i * STRIDE == (const char *)&args->num_allocs && each != 0)
            figure += (int64_t)fake_object_made(FAKE_LOADED);
        memcpy(first + i * STRIDE, &figure, sizeof figure);
        first[i * STRIDE + sizeof figure] = true;
    }
    return NULL;
}

FAKE_ENTRY(PJRT_Memory_Id) {
    fake_object_check(FAKE_MEMORY, args->memory);
    args->id = args->memory->id;
    return NULL;
}

FAKE_ENTRY(PJRT_Memory_Kind) {
    fake_object_check(FAKE_MEMORY, args->memory);
    args->kind = "device";
    args->kind_size = strlen(args->kind);
    return NULL;
}

FAKE_ENTRY(PJRT_Memory_Kind_Id) {
    fake_object_check(FAKE_MEMORY, args->memory);
    args->kind_id = 1;
    return NULL;
}

FAKE_ENTRY(PJRT_Memory_DebugString) {
    fake_object_check(FAKE_MEMORY, args->memory);
    args->debug_string = args->memory->text;
    args->debug_string_size = strlen(args->memory->text);
    return NULL;
}

FAKE_ENTRY(PJRT_Memory_ToString) {
    fake_object_check(FAKE_MEMORY, args->memory);
    args->to_string = args->memory->text;
    args->to_string_size = strlen(args->memory->text);
    return NULL;
}

FAKE_ENTRY(PJRT_Memory_AddressableByDevices) {
    fake_object_check(FAKE_MEMORY, args->memory);
    PJRT_Device *device = args->memory->device;
    args->devices = &device->client->devices[device->id];
    args->num_devices = 1;
    return NULL;
}
