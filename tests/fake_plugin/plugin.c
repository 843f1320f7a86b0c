// GetPjrtApi and the table, cut to the selected API version.
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_extension.h"
#include "versions.h"

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

// Entries that are not in the header.

static const char *extra_name(int64_t slot) {
    switch (slot) {
    case FAKE_EXTRA_CREATE_ERROR_BUFFER:
        return "PJRT_Client_CreateErrorBuffer";
    case FAKE_EXTRA_POISON_EXECUTION:
        return "PJRT_Device_PoisonExecution";
    default:
        return "extra_slot";
    }
}

static PJRT_Error *extra_called(fake_extra_args *args, int64_t slot) {
    fake_call call = fake_enter(extra_name(slot), args, sizeof *args);
    if (!call.error)
        args->slot = slot;
    fake_leave(&call, call.error);
    return call.error;
}

#define EXTRA(n)                                                                                   \
    static PJRT_Error *extra_##n(void *args) {                                                     \
        return extra_called(args, n);                                                              \
    }
// All slots except 14 and 15, which have their own functions.
#define EXTRAS_0_TO_9(X)   X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define EXTRAS_10_TO_19(X) X(10) X(11) X(12) X(13) X(16) X(17) X(18) X(19)
EXTRAS_0_TO_9(EXTRA)
EXTRAS_10_TO_19(EXTRA)

// The table.

static PJRT_Error *register_transform(void *args) {
    (void)args;
    fake_trace("register_transform", "begin");
    return NULL;
}

static fake_transform transform_node = {
    .base = {.struct_size = sizeof transform_node,
             .type = (PJRT_Extension_Type)FAKE_EXTENSION_XLA_TRANSFORM},
    .register_transform = register_transform,
};
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
              extra_19},
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
    table.api.struct_size = pjrt_table_declared(minor);
    // Bytes after the end of the table are garbage, so that a read beyond the end fails.
    size_t end = pjrt_table_real(minor);
    memset((char *)&table + end, 0xa5, sizeof table - end);
    const char *absent = fake_setting("FAKE_PJRT_NULL_ENTRIES", "");
#define FAKE_REMOVE(name)                                                                          \
    if (offsetof(PJRT_Api, name) < end && is_listed(absent, #name))                                \
        table.api.name = NULL;
    FAKE_PJRT_ENTRIES(FAKE_REMOVE)
    example_node = (fake_extension){
        .base = {.struct_size = sizeof example_node,
                 .type = PJRT_Extension_Type_Example,
                 .next = fake_setting_int("FAKE_PJRT_TRANSFORM", 0) ? &transform_node.base : NULL},
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
