// The ABI bridge between a framework and a plugin of different PJRT minor versions.
//
// Every argument struct of the PJRT C API begins with its size, and later versions append fields.
// XLA's plugins refuse a struct that is shorter than their own version of it (`Unexpected
// PJRT_ExecuteOptions size: expected 112, got 80`) and accept a longer one. The bridge copies a
// short struct into a longer one, fills the additional fields (pjrt/bridge_table.h), passes the
// copy to the plugin, and copies the results back. If a plugin refuses a struct that is too long,
// the bridge shortens the struct in the same way, unless the caller uses a field that would be cut.
//
// The accepted sizes come from the plugin's version (bridge_table.c), or from its refusal: a plugin
// checks the size before it does anything else. If the caller and the plugin use the same sizes, a
// call costs one additional comparison.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/macros.h"
#include "pjrt/abi.h"

// The argument structs of the watched entries, and the structs that they point to.
typedef enum rk_struct_id {
    RK_STRUCT_PLUGIN_ATTRIBUTES,
    RK_STRUCT_CLIENT_CREATE,
    RK_STRUCT_CLIENT_DESTROY,
    RK_STRUCT_CLIENT_COMPILE,
    RK_STRUCT_COMPILE,
    RK_STRUCT_CLIENT_BUFFER_FROM_HOST_BUFFER,
    RK_STRUCT_CLIENT_CREATE_VIEW_OF_DEVICE_BUFFER,
    RK_STRUCT_CLIENT_CREATE_ERROR_BUFFER,
    RK_STRUCT_DEVICE_ADDRESSABLE_MEMORIES,
    RK_STRUCT_DEVICE_MEMORY_STATS,
    RK_STRUCT_DEVICE_POISON_EXECUTION,
    RK_STRUCT_EXECUTABLE_GET_COMPILED_MEMORY_STATS,
    RK_STRUCT_EXECUTABLE_DESERIALIZE_AND_LOAD,
    RK_STRUCT_LOADED_EXECUTABLE_DESTROY,
    RK_STRUCT_LOADED_EXECUTABLE_DELETE,
    RK_STRUCT_LOADED_EXECUTABLE_EXECUTE,
    RK_STRUCT_EXECUTE_OPTIONS,
    RK_STRUCT_BUFFER_TO_HOST_BUFFER,
    RK_STRUCT_BUFFER_COPY_RAW_TO_HOST,
    RK_STRUCT_TRANSFER_DATA,
    RK_STRUCT_COUNT,
    RK_STRUCT_NONE = RK_STRUCT_COUNT,
} rk_struct_id;

enum {
    RK_STRUCT_MAX_BYTES = 512,   // the bridge passes longer structs unchanged
    RK_BRIDGE_OLDEST_MINOR = 40, // earlier versions reordered fields
};

// The sizes of a struct that a plugin accepts. Any thread may update them after a refusal.
typedef struct rk_struct_range {
    atomic_uint fits_from; // smallest size that passes unchanged; UINT_MAX if `most` is limited
    atomic_uint least, most;
} rk_struct_range;

// The bridge state of one plugin.
typedef struct rk_bridge {
    const PJRT_Api *api; // the plugin's own table
    int minor;           // of the plugin
    rk_struct_range accepted[RK_STRUCT_COUNT];
    atomic_int caller_from,
        caller_to; // the caller's minor version, from its struct sizes
} rk_bridge;

// Initializes the bridge with the sizes that the plugin's version demands.
void rk_bridge_open(rk_bridge *bridge, const PJRT_Api *api);

static inline bool rk_bridge_fits(rk_bridge *bridge, rk_struct_id id, const void *args) {
    return RK_LIKELY(*(const size_t *)args >=
                     atomic_load_explicit(&bridge->accepted[id].fits_from, memory_order_relaxed));
}

// The slow path of rk_bridge_call. `refusal` is the plugin's error, which is consumed, or NULL if
// the struct does not fit and the plugin was not called yet. Repeats the call with a rebuilt struct
// if the struct's size is the problem. Otherwise returns the plugin's own error.
PJRT_Error *rk_bridge_mend(rk_bridge *bridge, rk_struct_id id, rk_pjrt_any_fn *function, void *args,
                           PJRT_Error *refusal);

// Calls an entry of the plugin with the caller's struct, rebuilt if necessary. Returns NULL, the
// plugin's error, or rekindle's own error, which names both versions. Thread-safe.
static inline PJRT_Error *rk_bridge_call(rk_bridge *bridge, rk_struct_id id,
                                         rk_pjrt_any_fn *function, void *args) {
    PJRT_Error *error = NULL;
    if (rk_bridge_fits(bridge, id, args)) {
        error = function(args);
        if (RK_LIKELY(!error))
            return NULL;
    }
    return rk_bridge_mend(bridge, id, function, args, error);
}

// Like rk_bridge_call, for PJRT_LoadedExecutable_Execute: its own struct never grew, but the
// options that it points to did.
static inline PJRT_Error *rk_bridge_execute(rk_bridge *bridge, rk_pjrt_any_fn *function,
                                            PJRT_LoadedExecutable_Execute_Args *args) {
    PJRT_Error *error = NULL;
    if (!args->options || rk_bridge_fits(bridge, RK_STRUCT_EXECUTE_OPTIONS, args->options)) {
        error = function(args);
        if (RK_LIKELY(!error))
            return NULL;
    }
    return rk_bridge_mend(bridge, RK_STRUCT_LOADED_EXECUTABLE_EXECUTE, function, args, error);
}

// Calls an entry of the plugin's table, given by name, through the bridge.
#define RK_BRIDGE(plugin, id, entry, args)                                                         \
    rk_bridge_call(&(plugin)->bridge, (id), (rk_pjrt_any_fn *)(plugin)->real->entry, (args))

// Returns a message to show instead of a plugin's message about the size of a struct. It adds the
// API versions of both sides. NULL if the plugin's message is about something else. Lives as long
// as the process. Thread-safe.
const char *rk_bridge_explain(rk_bridge *bridge, const char *message, size_t message_size);
