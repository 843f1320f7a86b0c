// The ABI bridge: a framework and a plugin of different PJRT minor versions.
//
// Every argument struct of the PJRT C API begins with its size, and later versions append fields.
// XLA's plugins refuse a struct that is shorter than they know it (`Unexpected PJRT_ExecuteOptions
// size: expected 112, got 80`), and accept a longer one. So a struct that is too short is copied
// into a longer one whose further fields are unset, the plugin gets that, and what it wrote is
// copied back. Where a plugin refuses a struct that is too long, the same is done the other way
// round, unless the fields that would be lost are in use.
//
// Which size a plugin wants is known from its version (bridge_table.c) or learned from its refusal,
// which comes before it has done anything. Where caller and plugin agree, a call costs one
// comparison more.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/macros.h"
#include "pjrt/abi.h"

// The structs of watched entries, and those that they point to.
typedef enum rk_struct_id {
    RK_STRUCT_PLUGIN_ATTRIBUTES,
    RK_STRUCT_CLIENT_CREATE,
    RK_STRUCT_CLIENT_DESTROY,
    RK_STRUCT_CLIENT_COMPILE,
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
    RK_STRUCT_MAX_BYTES = 512,   // longer ones are left to the plugin
    RK_BRIDGE_OLDEST_MINOR = 40, // earlier versions moved fields about
};

// The sizes that a plugin accepts. Written by any thread that learns better.
typedef struct rk_struct_range {
    atomic_uint fits_from; // all of these need no look: `least`, or none where there is a `most`
    atomic_uint least, most;
} rk_struct_range;

// A plugin's part of the bridge.
typedef struct rk_bridge {
    const PJRT_Api *api; // the plugin's own table
    int minor;           // of the plugin
    rk_struct_range accepted[RK_STRUCT_COUNT];
    atomic_int caller_from, caller_to; // what its structs tell about the caller's minor version
} rk_bridge;

// Fills in what the plugin's version tells.
void rk_bridge_open(rk_bridge *bridge, const PJRT_Api *api);

static inline bool rk_bridge_fits(rk_bridge *bridge, rk_struct_id id, const void *args) {
    return RK_LIKELY(*(const size_t *)args >=
                     atomic_load_explicit(&bridge->accepted[id].fits_from, memory_order_relaxed));
}

// The call of a struct that does not fit (`refusal` NULL), or that the plugin answered with
// `refusal`, which is consumed: bridged where that is what it was about, else its own answer.
PJRT_Error *rk_bridge_mend(rk_bridge *bridge, rk_struct_id id, rk_pjrt_any_fn *function, void *args,
                           PJRT_Error *refusal);

// Calls an entry of the plugin with the caller's struct, bridged where it must be. The plugin's
// error, or one of ours that names both versions. Thread-safe.
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

// The same for PJRT_LoadedExecutable_Execute, whose own struct never grew, but the options that it
// points to did.
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

// An entry of the plugin's table by name.
#define RK_BRIDGE(plugin, id, entry, args)                                                         \
    rk_bridge_call(&(plugin)->bridge, (id), (rk_pjrt_any_fn *)(plugin)->real->entry, (args))

// What to show instead of a plugin's message that is about the size of a struct, which also says
// what each side speaks; NULL where the message is about something else. Lives as long as the
// process. Thread-safe.
const char *rk_bridge_explain(rk_bridge *bridge, const char *message, size_t message_size);
