// Topologies and the descriptions of devices.
#include "fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PJRT_DeviceDescription *fake_description_new(int id, size_t of_a_process, PJRT_Client *client) {
    PJRT_DeviceDescription *description =
        fake_object_new(FAKE_DESCRIPTION, sizeof *description, client);
    description->id = id;
    description->process = of_a_process ? id / (int)of_a_process : 0;
    description->coords[0] = id;
    (void)snprintf(description->kind, sizeof description->kind, "%s",
                   fake_setting("FAKE_PJRT_DEVICE_KIND", "fake-device"));
    (void)snprintf(description->text, sizeof description->text, "FakeDevice(id=%d)", id);
    description->attribute = (PJRT_NamedValue){
        .struct_size = (size_t)PJRT_NamedValue_STRUCT_SIZE,
        .name = "coords",
        .name_size = 6,
        .type = PJRT_NamedValue_kInt64List,
        .int64_array_value = description->coords,
        .value_size = 1,
    };
    return description;
}

PJRT_TopologyDescription *fake_topology_new(size_t count, size_t of_a_process,
                                            PJRT_Client *client) {
    PJRT_TopologyDescription *topology = fake_object_new(FAKE_TOPOLOGY, sizeof *topology, client);
    topology->count = count;
    topology->of_a_process = of_a_process;
    topology->descriptions = calloc(count + 1, sizeof(void *));
    if (!topology->descriptions)
        abort();
    for (size_t i = 0; i < count; i++)
        topology->descriptions[i] = fake_description_new((int)i, of_a_process, client);
    topology->attribute = (PJRT_NamedValue){
        .struct_size = (size_t)PJRT_NamedValue_STRUCT_SIZE,
        .name = "devices",
        .name_size = 7,
        .type = PJRT_NamedValue_kInt64,
        .int64_value = (int64_t)count,
        .value_size = 1,
    };
    return topology;
}

void fake_topology_kill(PJRT_TopologyDescription *topology) {
    fake_object_kill(FAKE_TOPOLOGY, topology);
    for (size_t i = 0; i < topology->count; i++)
        fake_object_kill(FAKE_DESCRIPTION, topology->descriptions[i]);
    free(topology->descriptions);
    topology->descriptions = NULL;
}

// Names have the form "fake:<devices>" or "fake:<devices>/<devices of each process>".
FAKE_ENTRY(PJRT_TopologyDescription_Create) {
    static const char prefix[] = "fake:";
    char name[32] = "";
    if (args->topology_name_size < sizeof name)
        memcpy(name, args->topology_name, args->topology_name_size);
    char *end = name;
    bool known = strncmp(name, prefix, strlen(prefix)) == 0;
    int64_t count = known ? strtoll(name + strlen(prefix), &end, 10) : 0;
    int64_t of_a_process = *end == '/' ? strtoll(end + 1, NULL, 10) : count;
    if (count < 1 || count > 4096 || of_a_process < 1 || of_a_process > count)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT,
                          "\"%s\" is no topology of fake:<devices>", name);
    args->topology = fake_topology_new((size_t)count, (size_t)of_a_process, NULL);
    return NULL;
}

FAKE_ENTRY(PJRT_TopologyDescription_Destroy) {
    if (!args->topology)
        return NULL;
    fake_object_check(FAKE_TOPOLOGY, args->topology);
    if (args->topology->owned_by_client)
        fake_misuse("a topology that belongs to a client was destroyed by its user");
    fake_topology_kill(args->topology);
    return NULL;
}

FAKE_ENTRY(PJRT_TopologyDescription_PlatformName) {
    fake_object_check(FAKE_TOPOLOGY, args->topology);
    args->platform_name = fake_platform_name();
    args->platform_name_size = strlen(args->platform_name);
    return NULL;
}

FAKE_ENTRY(PJRT_TopologyDescription_PlatformVersion) {
    fake_object_check(FAKE_TOPOLOGY, args->topology);
    args->platform_version = fake_platform_version();
    args->platform_version_size = strlen(args->platform_version);
    return NULL;
}

FAKE_ENTRY(PJRT_TopologyDescription_GetDeviceDescriptions) {
    fake_object_check(FAKE_TOPOLOGY, args->topology);
    args->descriptions = args->topology->descriptions;
    args->num_descriptions = args->topology->count;
    return NULL;
}

FAKE_ENTRY(PJRT_TopologyDescription_Attributes) {
    fake_object_check(FAKE_TOPOLOGY, args->topology);
    args->attributes = &args->topology->attribute;
    args->num_attributes = 1;
    return NULL;
}

struct PJRT_SerializedTopology {
    fake_object head;
    char text[64];
};

static void serialized_topology_delete(PJRT_SerializedTopology *serialized) {
    fake_call call = fake_enter("serialized_topology_deleter", NULL, 0);
    fake_object_kill(FAKE_SERIALIZED, serialized);
    fake_leave(&call, NULL);
}

FAKE_ENTRY(PJRT_TopologyDescription_Serialize) {
    fake_object_check(FAKE_TOPOLOGY, args->topology);
    if (fake_fails("topology_serialize"))
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: told to fail topology_serialize");
    PJRT_SerializedTopology *serialized =
        fake_object_new(FAKE_SERIALIZED, sizeof *serialized, NULL);
    (void)snprintf(serialized->text, sizeof serialized->text, "fake:%zu/%zu", args->topology->count,
                   args->topology->of_a_process);
    args->serialized_topology = serialized;
    args->serialized_bytes = serialized->text;
    args->serialized_bytes_size = strlen(serialized->text);
    args->serialized_topology_deleter = serialized_topology_delete;
    return NULL;
}

FAKE_ENTRY_UNIMPLEMENTED(PJRT_TopologyDescription_Deserialize)

// PJRT_TopologyDescription_Fingerprint_Args of API 0.101.
typedef struct fingerprint_args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const PJRT_TopologyDescription *topology;
    uint64_t fingerprint;
} fingerprint_args;

PJRT_Error *fake_topology_fingerprint(void *untyped) {
    fingerprint_args *args = untyped;
    fake_call call = fake_enter("PJRT_TopologyDescription_Fingerprint", args, sizeof *args);
    if (!call.error) {
        fake_object_check(FAKE_TOPOLOGY, args->topology);
        args->fingerprint =
            0xfa4e000000000000u + (args->topology->of_a_process << 16) + args->topology->count;
    }
    fake_leave(&call, call.error);
    return call.error;
}

// Descriptions.

FAKE_ENTRY(PJRT_DeviceDescription_Id) {
    fake_object_check(FAKE_DESCRIPTION, args->device_description);
    args->id = args->device_description->id;
    return NULL;
}

FAKE_ENTRY(PJRT_DeviceDescription_ProcessIndex) {
    fake_object_check(FAKE_DESCRIPTION, args->device_description);
    args->process_index = args->device_description->process;
    return NULL;
}

FAKE_ENTRY(PJRT_DeviceDescription_Attributes) {
    fake_object_check(FAKE_DESCRIPTION, args->device_description);
    args->attributes = &args->device_description->attribute;
    args->num_attributes = 1;
    return NULL;
}

FAKE_ENTRY(PJRT_DeviceDescription_Kind) {
    fake_object_check(FAKE_DESCRIPTION, args->device_description);
    args->device_kind = args->device_description->kind;
    args->device_kind_size = strlen(args->device_kind);
    return NULL;
}

FAKE_ENTRY(PJRT_DeviceDescription_DebugString) {
    fake_object_check(FAKE_DESCRIPTION, args->device_description);
    args->debug_string = args->device_description->text;
    args->debug_string_size = strlen(args->debug_string);
    return NULL;
}

FAKE_ENTRY(PJRT_DeviceDescription_ToString) {
    fake_object_check(FAKE_DESCRIPTION, args->device_description);
    args->to_string = args->device_description->text;
    args->to_string_size = strlen(args->to_string);
    return NULL;
}
