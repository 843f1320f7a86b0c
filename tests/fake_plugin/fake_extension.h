// The extension node that the fake plugin puts into its table's chain, so that a test can see from
// outside what became of the table: it points to the table as the plugin made it.
#pragma once

#include <pjrt_c_api.h>

#define FAKE_EXTENSION_MAGIC 0x66616b65506c7567u

typedef struct fake_extension {
    PJRT_Extension_Base base; // type PJRT_Extension_Type_Example
    uint64_t magic;
    const PJRT_Api *bare_table; // the plugin's own
} fake_extension;

// PJRT_Xla_Transform_Extension as far as it matters here, behind the node above with
// FAKE_PJRT_TRANSFORM=1: by which a framework registers a compiler pass of its own.
enum { FAKE_EXTENSION_XLA_TRANSFORM = 24 };
typedef struct fake_transform {
    PJRT_Extension_Base base;
    PJRT_Error *(*register_transform)(void *args);
} fake_transform;

// Slots that API 0.82 to 0.117 have after the last entry of the header's PJRT_Api. Those that the
// fake does not give a meaning of their own are called with fake_extra_args and report their
// number; so are those of the two whose structs grew.
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
    int64_t slot; // out
} fake_extra_args;

typedef PJRT_Error *fake_extra_entry(void *args);

// The header's table with the slots that came later behind it.
typedef struct fake_long_table {
    PJRT_Api api;
    fake_extra_entry *extra[FAKE_EXTRA_SLOTS];
} fake_long_table;
