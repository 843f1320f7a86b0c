// The extension node in the fake plugin's table. It points to the plugin's own table, so that a
// test can see whether the framework got that table or a wrapped one.
#pragma once

#include <pjrt_c_api.h>

#define FAKE_EXTENSION_MAGIC 0x66616b65506c7567u

typedef struct fake_extension {
    PJRT_Extension_Base base; // type PJRT_Extension_Type_Example
    uint64_t magic;
    const PJRT_Api *bare_table; // the plugin's own table
} fake_extension;

// The part of PJRT_Xla_Transform_Extension that this plugin implements, through which a framework
// registers a compiler pass. It follows the node above if FAKE_PJRT_TRANSFORM=1.
enum { FAKE_EXTENSION_XLA_TRANSFORM = 24 };
typedef struct fake_transform {
    PJRT_Extension_Base base;
    PJRT_Error *(*register_transform)(void *args);
} fake_transform;

// The slots of API 0.82 to 0.117, after the last entry of the header's PJRT_Api. Slots 14 and 15
// have their own implementation. All others take fake_extra_args and report their number. For slots
// 0 and 3, struct_size must be that of the real struct, which grew.
enum {
    FAKE_EXTRA_CREATE_ERROR_BUFFER = 0,     // since 0.82
    FAKE_EXTRA_POISON_EXECUTION = 3,        // since 0.85
    FAKE_EXTRA_ERROR_FOR_EACH_PAYLOAD = 14, // since 0.99
    FAKE_EXTRA_TOPOLOGY_FINGERPRINT = 15,   // since 0.101
    FAKE_EXTRA_SLOTS = 20,
};

typedef struct fake_extra_args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    int64_t slot; // output
} fake_extra_args;

typedef PJRT_Error *fake_extra_entry(void *args);

// The header's table, followed by the later slots.
typedef struct fake_long_table {
    PJRT_Api api;
    fake_extra_entry *extra[FAKE_EXTRA_SLOTS];
} fake_long_table;
