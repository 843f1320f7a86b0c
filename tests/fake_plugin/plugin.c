// GetPjrtApi and the table, cut to the API version that the test asks for.
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_extension.h"

// The plugin.

FAKE_ENTRY(PJRT_Plugin_Initialize) {
    (void)args;
    if (fake_fails("initialize"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail initialize");
    return NULL;
}

static const int64_t stablehlo_current[3] = {1, 13, 0};
static const int64_t stablehlo_minimum[3] = {0, 9, 0};

FAKE_ENTRY(PJRT_Plugin_Attributes) {
    static const PJRT_NamedValue attributes[] = {
        {.struct_size = (size_t)PJRT_NamedValue_STRUCT_SIZE,
         .name = "xla_version",
         .name_size = 11,
         .type = PJRT_NamedValue_kInt64,
         .int64_value = 2,
         .value_size = 1},
        {.struct_size = (size_t)PJRT_NamedValue_STRUCT_SIZE,
         .name = "stablehlo_current_version",
         .name_size = 25,
         .type = PJRT_NamedValue_kInt64List,
         .int64_array_value = stablehlo_current,
         .value_size = 3},
        {.struct_size = (size_t)PJRT_NamedValue_STRUCT_SIZE,
         .name = "stablehlo_minimum_version",
         .name_size = 25,
         .type = PJRT_NamedValue_kInt64List,
         .int64_array_value = stablehlo_minimum,
         .value_size = 3},
    };
    if (fake_fails("attributes"))
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: told to fail attributes");
    args->attributes = attributes;
    args->num_attributes = sizeof attributes / sizeof attributes[0];
    return NULL;
}

// Entries that the header does not have.

static PJRT_Error *extra_called(fake_extra_args *args, int64_t slot) {
    fake_call call = fake_enter("extra_slot", args->struct_size, sizeof *args);
    args->slot = slot;
    fake_leave(&call, call.error);
    return call.error;
}

#define EXTRA(n)                                                                                   \
    static PJRT_Error *extra_##n(void *args) {                                                     \
        return extra_called(args, n);                                                              \
    }
// All but 14 and 15, which are entries of their own.
#define EXTRAS_0_TO_9(X)   X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define EXTRAS_10_TO_19(X) X(10) X(11) X(12) X(13) X(16) X(17) X(18) X(19)
#define EXTRAS_20_TO_28(X) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28)
EXTRAS_0_TO_9(EXTRA)
EXTRAS_10_TO_19(EXTRA)
EXTRAS_20_TO_28(EXTRA)

// The table.

static fake_extension example_node;
static PJRT_Extension_Base first_node = {
    .struct_size = sizeof(PJRT_Extension_Base),
    .type = PJRT_Extension_Type_Unknown,
    .next = &example_node.base,
};

#define FAKE_FIELD(name) .name = fake_##name,
static fake_long_table table = {
    .api = {.extension_start = &first_node,
            .pjrt_api_version = {.struct_size = (size_t)PJRT_Api_Version_STRUCT_SIZE,
                                 .major_version = PJRT_API_MAJOR},
            FAKE_PJRT_ENTRIES(FAKE_FIELD)},
    .extra = {extra_0,
              extra_1,
              extra_2,
              extra_3,
              extra_4,
              extra_5,
              extra_6,
              extra_7,
              extra_8,
              extra_9,
              extra_10,
              extra_11,
              extra_12,
              extra_13,
              fake_for_each_payload,
              fake_topology_fingerprint,
              extra_16,
              extra_17,
              extra_18,
              extra_19,
              extra_20,
              extra_21,
              extra_22,
              extra_23,
              extra_24,
              extra_25,
              extra_26,
              extra_27,
              extra_28},
};

// Where the table ends in each version: the size from `minor` on.
static const struct {
    int minor;
    size_t size;
} ends[] = {
#define END(name) offsetof(PJRT_Api, name) + sizeof(void *)
    {40, END(PJRT_Executable_GetCompiledMemoryStats)},
    {48, END(PJRT_Memory_Kind_Id)},
    {52, END(PJRT_ExecuteContext_Destroy)},
    {56, END(PJRT_Buffer_CopyRawToHost)},
    {60, END(PJRT_Client_CreateBuffersForAsyncHostToDevice)},
    {62, END(PJRT_AsyncHostToDeviceTransferManager_AddMetadata)},
    {67, END(PJRT_Client_DmaUnmap)},
    {69, END(PJRT_Client_CreateUninitializedBuffer)},
    {73, END(PJRT_Client_UpdateGlobalProcessInfo)},
    {75, END(PJRT_TopologyDescription_Deserialize)},
    {77, END(PJRT_Client_FulfillAliasBuffer)},
    {79, END(PJRT_LoadedExecutable_GetDeviceAssignment)},
#undef END
#define END(slots) offsetof(fake_long_table, extra) + (slots) * sizeof(void *)
    {82, END(1)},
    {83, END(2)},
    {84, END(3)},
    {85, END(4)},
    {86, END(6)},
    {87, END(7)},
    {88, END(8)},
    {89, END(10)},
    {92, END(11)},
    {95, END(12)},
    {96, END(13)},
    {98, END(14)},
    {99, END(15)},
    {101, END(16)},
    {102, END(17)},
    {105, END(18)},
    {106, END(19)},
    {107, END(20)},
    {108, END(21)},
    {109, END(22)},
    {110, END(23)},
    {111, END(24)},
    {112, END(25)},
    {113, END(26)},
    {114, END(27)},
    {115, END(28)},
    {116, END(29)},
#undef END
};

static bool is_listed(const char *list, const char *name) {
    size_t len = strlen(name);
    while (*list) {
        size_t item = strcspn(list, ",");
        if (item == len && strncmp(list, name, len) == 0)
            return true;
        list += item + (list[item] == ',');
    }
    return false;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_table(void) {
    int minor = fake_api_minor();
    table.api.pjrt_api_version.minor_version = minor;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0] && ends[i].minor <= minor; i++)
        table.api.struct_size = ends[i].size;
    // What lies behind the end belongs to nobody: whoever reads it there sees garbage.
    memset((char *)&table + table.api.struct_size, 0xa5, sizeof table - table.api.struct_size);
    const char *absent = fake_setting("FAKE_PJRT_NULL_ENTRIES", "");
#define FAKE_REMOVE(name)                                                                          \
    if (offsetof(PJRT_Api, name) < table.api.struct_size && is_listed(absent, #name))              \
        table.api.name = NULL;
    FAKE_PJRT_ENTRIES(FAKE_REMOVE)
    example_node = (fake_extension){
        .base = {.struct_size = sizeof example_node, .type = PJRT_Extension_Type_Example},
        .magic = FAKE_EXTENSION_MAGIC,
        .bare_table = &table.api,
    };
}

extern __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void);

const PJRT_Api *GetPjrtApi(void) {
    pthread_once(&once, make_table);
    fake_trace("GetPjrtApi", "table=%p extension_start=%p struct_size=%zu", (void *)&table,
               (void *)table.api.extension_start, table.api.struct_size);
    return fake_fails("api") ? NULL : &table.api;
}
