// The PJRT C API: the public header, and the few declarations of later versions that rekindle
// needs.
//
// The header (0.81) comes from the pinned plugin's wheel. A plugin may be older or newer. Check
// RK_PJRT_HAS before each use of an entry, and access nothing beyond the plugin's own struct_size.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pjrt_c_api.h"

#include "base/span.h"

// True if the table is long enough for the entry and the plugin sets it.
#define RK_PJRT_HAS(api, entry)                                                                    \
    ((api)->struct_size >= offsetof(PJRT_Api, entry) + sizeof((api)->entry) && (api)->entry)

// Size of an argument struct up to and including a field. A caller whose version ends with that
// field declares this size.
#define RK_PJRT_SIZE_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

// Entries that were added after PJRT_LoadedExecutable_GetDeviceAssignment (0.79), by their distance
// from it in the table. Sources: the API's change log, and the plugins of 0.117: if a struct is too
// short, their error names the called entry.
enum rk_pjrt_later_entry {
    RK_PJRT_CLIENT_CREATE_ERROR_BUFFER = 1, // 0.82
    RK_PJRT_DEVICE_POISON_EXECUTION = 4,    // 0.85
    RK_PJRT_ERROR_FOR_EACH_PAYLOAD = 15,    // 0.99
    RK_PJRT_TOPOLOGY_FINGERPRINT = 16,      // 0.101
};

typedef PJRT_Error *rk_pjrt_any_fn(void *args);

static inline size_t rk_pjrt_later_offset(enum rk_pjrt_later_entry entry) {
    return offsetof(PJRT_Api, PJRT_LoadedExecutable_GetDeviceAssignment) +
           (size_t)entry * sizeof(rk_pjrt_any_fn *);
}

// Returns the entry, or NULL if the table ends before it.
static inline rk_pjrt_any_fn *rk_pjrt_later(const PJRT_Api *api, enum rk_pjrt_later_entry entry) {
    size_t offset = rk_pjrt_later_offset(entry);
    rk_pjrt_any_fn *function = NULL;
    if (api->struct_size >= offset + sizeof function)
        memcpy(&function, (const char *)api + offset, sizeof function);
    return function;
}

// PJRT_Error_ForEachPayload_Args, 0.99.
typedef void rk_pjrt_payload_visitor(const char *key, size_t key_size, const char *value,
                                     size_t value_size, void *user_arg);
typedef struct rk_pjrt_for_each_payload_args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const PJRT_Error *error;
    rk_pjrt_payload_visitor *visitor;
    void *user_arg;
} rk_pjrt_for_each_payload_args;

// PJRT_TopologyDescription_Fingerprint_Args, 0.101.
typedef struct rk_pjrt_topology_fingerprint_args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const PJRT_TopologyDescription *topology;
    uint64_t fingerprint; // out
} rk_pjrt_topology_fingerprint_args;

// PJRT_Error_FunctionTable. Since 0.110 at the latest, an error begins with a pointer to this
// table, and frameworks of these versions call through it instead of the plugin's entries.
typedef struct rk_pjrt_error_functions {
    size_t struct_size;
    size_t instance_size;
    PJRT_Extension_Base *extension_start;
    void (*destroy)(PJRT_Error *error);
    void (*message)(const PJRT_Error *error, const char **out_message, size_t *out_message_size);
    PJRT_Error_Code (*get_code)(const PJRT_Error *error);
    void (*for_each_payload)(const PJRT_Error *error, rk_pjrt_payload_visitor *visitor,
                             void *user_arg);
} rk_pjrt_error_functions;

// The extensions through which a framework changes what the compiler does.
// Sources: xla/pjrt/c/pjrt_c_api_custom_partitioner_extension.h,
// xla/pjrt/c/pjrt_c_api_xla_transform_extension.h
enum {
    RK_PJRT_EXTENSION_CUSTOM_PARTITIONER = 2,
    RK_PJRT_EXTENSION_XLA_TRANSFORM = 24,
};
