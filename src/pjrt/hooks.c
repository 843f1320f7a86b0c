#include "pjrt/hooks.h"

#include <pthread.h>

#include "pjrt/buffer_size.h"
#include "pjrt/changes_internal.h"
#include "pjrt/compile.h"
#include "pjrt/counts.h"
#include "pjrt/error.h"
#include "pjrt/lifecycle.h"
#include "pjrt/memory.h"
#include "pjrt/optimized.h"
#include "pjrt/origin.h"
#include "pjrt/prefetch_internal.h"
#include "pjrt/steps.h"

// The hooks' behaviour, for any plugin.

static void error_destroy(const rk_plugin *plugin, PJRT_Error_Destroy_Args *args) {
    if (rk_pjrt_error_is_ours(args->error))
        rk_pjrt_error_destroy(args->error);
    else
        plugin->real->PJRT_Error_Destroy(args);
}

static void error_message(rk_plugin *plugin, PJRT_Error_Message_Args *args) {
    if (rk_pjrt_error_is_ours(args->error)) {
        rk_pjrt_error_message(args->error, &args->message, &args->message_size);
        return;
    }
    plugin->real->PJRT_Error_Message(args);
    const char *better = rk_bridge_explain(&plugin->bridge, args->message, args->message_size);
    if (better) {
        args->message = better;
        args->message_size = strlen(better);
    }
}

static PJRT_Error *error_get_code(const rk_plugin *plugin, PJRT_Error_GetCode_Args *args) {
    if (!rk_pjrt_error_is_ours(args->error))
        return plugin->real->PJRT_Error_GetCode(args);
    args->code = rk_pjrt_error_code(args->error);
    return NULL;
}

static PJRT_Error *error_for_each_payload(const rk_plugin *plugin,
                                          rk_pjrt_for_each_payload_args *args) {
    if (rk_pjrt_error_is_ours(args->error))
        return NULL;
    return rk_pjrt_later(plugin->real, RK_PJRT_ERROR_FOR_EACH_PAYLOAD)(args);
}

// Thread cancellation is disabled in these functions: a thread that is cancelled while it waits or
// writes would keep a lock.

static void add_client(rk_plugin *plugin, const PJRT_Client_Create_Args *args) {
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    rk_lifecycle_add_client(plugin, args);
    (void)pthread_setcancelstate(cancel_state, NULL);
}

// Writes the reason for a missing client into the journal. The framework gets and reports the
// plugin's error.
static void note_failure(rk_plugin *plugin, const char *what, const PJRT_Error *error) {
    if (!rk_runtime_enabled() || atomic_exchange(&plugin->has_failed, true))
        return;
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    enum { REASON_MAX_BYTES = 1024 };
    RK_AUTO(rk_buf) reason = RK_BUF_INIT(0);
    rk_span text = {0};
    if (rk_pjrt_error_is_ours(error)) {
        const char *message;
        size_t message_len;
        rk_pjrt_error_message(error, &message, &message_len);
        text = rk_span_of(message, message_len);
    } else {
        text = rk_pjrt_error_text(plugin->real, error);
    }
    rk_buf_add_text(&reason, what);
    rk_buf_add(&reason, text.data, text.len < REASON_MAX_BYTES ? text.len : REASON_MAX_BYTES);
    if (!reason.failed)
        rk_lifecycle_note_unwatched((const void *)(uintptr_t)plugin->real->PJRT_Client_Create,
                                    rk_buf_text(&reason));
    (void)pthread_setcancelstate(cancel_state, NULL);
}

static bool remove_client(rk_plugin *plugin, PJRT_Client *client) {
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    bool removed = rk_lifecycle_remove_client(plugin, client);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return removed;
}

static PJRT_Error *initialize(rk_plugin *plugin, PJRT_Plugin_Initialize_Args *args) {
    PJRT_Error *error = plugin->real->PJRT_Plugin_Initialize(args);
    if (error)
        note_failure(plugin, "it cannot be initialized: ", error);
    return error;
}

static PJRT_Error *client_create(rk_plugin *plugin, PJRT_Client_Create_Args *args) {
    rk_changes_look_and_note(plugin, RK_USE_CLIENT);
    PJRT_Error *error = RK_BRIDGE(plugin, RK_STRUCT_CLIENT_CREATE, PJRT_Client_Create, args);
    if (!error && args->client)
        add_client(plugin, args);
    else if (error)
        note_failure(plugin, "it made no client: ", error);
    return error;
}

static PJRT_Error *client_destroy(rk_plugin *plugin, PJRT_Client_Destroy_Args *args) {
    // A client that is never freed is better than one that is freed while a thread works with it.
    if (args->client && !remove_client(plugin, args->client))
        return NULL;
    return RK_BRIDGE(plugin, RK_STRUCT_CLIENT_DESTROY, PJRT_Client_Destroy, args);
}

// Called before an execution. Serializes the executable if it waits for this. Some of XLA's CPU
// executables cannot be serialized after their first execution ("LessThan is not serializable"),
// and no plugin promises that both may happen at the same time.
static void finish_serializing(const PJRT_LoadedExecutable *executable) {
    const rk_runtime *runtime = rk_runtime_get();
    if (runtime && runtime->publisher)
        rk_publisher_serialize(runtime->publisher, executable);
}

// Called before an executable is destroyed or deleted. Finishes the background work that needs its
// handle: serialization, storing its optimized program, verification. The last two may run while
// the executable is executed, because frameworks request optimized programs at any time.
static void release_executable(const PJRT_LoadedExecutable *executable) {
    const rk_runtime *runtime = rk_runtime_get();
    if (runtime && runtime->publisher)
        rk_publisher_release(runtime->publisher, executable);
    rk_optimized_forget(executable);
    rk_steps_forget(executable);
    if (runtime && runtime->verifier)
        rk_verifier_release(runtime->verifier, executable);
}

static PJRT_Error *loaded_executable_destroy(rk_plugin *plugin,
                                             PJRT_LoadedExecutable_Destroy_Args *args) {
    release_executable(args->executable);
    rk_origin_forget_loaded(args->executable);
    return RK_BRIDGE(plugin, RK_STRUCT_LOADED_EXECUTABLE_DESTROY, PJRT_LoadedExecutable_Destroy,
                     args);
}

static PJRT_Error *loaded_executable_delete(rk_plugin *plugin,
                                            PJRT_LoadedExecutable_Delete_Args *args) {
    release_executable(args->executable);
    return RK_BRIDGE(plugin, RK_STRUCT_LOADED_EXECUTABLE_DELETE, PJRT_LoadedExecutable_Delete,
                     args);
}

static PJRT_Error *get_executable(rk_plugin *plugin,
                                  PJRT_LoadedExecutable_GetExecutable_Args *args) {
    PJRT_Error *error = rk_optimized_get_hook(plugin, args);
    if (!error)
        rk_origin_get(args);
    return error;
}

static PJRT_Error *executable_destroy(rk_plugin *plugin, PJRT_Executable_Destroy_Args *args) {
    rk_origin_forget(args->executable);
    return rk_optimized_destroy_hook(plugin, args);
}

static void add(atomic_uint_fast64_t *counter, uint64_t amount) {
    (void)atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

// Samples memory and writes the journal from time to time, in an execution or a transfer. They
// share one count, so any of them may do it.
static void look_now_and_then(rk_plugin *plugin, uint64_t before) {
    enum { BETWEEN_WRITES = 1024, BETWEEN_LOOKS = 16 }; // powers of two
    if (RK_UNLIKELY((before & (BETWEEN_LOOKS - 1)) == BETWEEN_LOOKS - 1))
        rk_memory_look(plugin);
    if (RK_UNLIKELY((before & (BETWEEN_WRITES - 1)) == BETWEEN_WRITES - 1))
        rk_counts_write(false);
}

static void count_to_device(rk_plugin *plugin, uint64_t bytes) {
    add(&plugin->counts.host_to_device, 1);
    add(&plugin->counts.host_to_device_bytes, bytes);
    look_now_and_then(plugin, rk_steps_transfer(true, bytes));
}

static void count_to_host(rk_plugin *plugin, uint64_t bytes) {
    add(&plugin->counts.device_to_host, 1);
    add(&plugin->counts.device_to_host_bytes, bytes);
    look_now_and_then(plugin, rk_steps_transfer(false, bytes));
}

static PJRT_Error *execute(rk_plugin *plugin, PJRT_LoadedExecutable_Execute_Args *args) {
    finish_serializing(args->executable);
    look_now_and_then(plugin, rk_steps_execute(args->executable));
    rk_pjrt_any_fn *function = (rk_pjrt_any_fn *)plugin->real->PJRT_LoadedExecutable_Execute;
    return RK_PREFETCH_CALL(plugin, rk_bridge_execute(&plugin->bridge, function, args));
}

static PJRT_Error *buffer_from_host(rk_plugin *plugin,
                                    PJRT_Client_BufferFromHostBuffer_Args *args) {
    PJRT_Error *error =
        RK_PREFETCH_CALL(plugin, RK_BRIDGE(plugin, RK_STRUCT_CLIENT_BUFFER_FROM_HOST_BUFFER,
                                           PJRT_Client_BufferFromHostBuffer, args));
    if (!error)
        count_to_device(plugin, rk_buffer_size_bytes(args->type, args->dims, args->num_dims));
    return error;
}

static PJRT_Error *transfer_data(rk_plugin *plugin,
                                 PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args) {
    PJRT_Error *error = RK_BRIDGE(plugin, RK_STRUCT_TRANSFER_DATA,
                                  PJRT_AsyncHostToDeviceTransferManager_TransferData, args);
    if (!error) {
        count_to_device(plugin, args->transfer_size > 0 ? (uint64_t)args->transfer_size : 0);
    }
    return error;
}

static PJRT_Error *buffer_to_host(rk_plugin *plugin, PJRT_Buffer_ToHostBuffer_Args *args) {
    bool copies = args->dst != NULL; // otherwise the call only queries the size
    PJRT_Error *error =
        RK_BRIDGE(plugin, RK_STRUCT_BUFFER_TO_HOST_BUFFER, PJRT_Buffer_ToHostBuffer, args);
    if (!error && copies) {
        count_to_host(plugin, args->dst_size);
        rk_memory_look(plugin);
    }
    return error;
}

static PJRT_Error *copy_raw_to_host(rk_plugin *plugin, PJRT_Buffer_CopyRawToHost_Args *args) {
    PJRT_Error *error =
        RK_BRIDGE(plugin, RK_STRUCT_BUFFER_COPY_RAW_TO_HOST, PJRT_Buffer_CopyRawToHost, args);
    if (!error) {
        count_to_host(plugin, args->transfer_size > 0 ? (uint64_t)args->transfer_size : 0);
    }
    return error;
}

// Entries that are watched only because their structs grew. Without the bridge, the plugin would
// refuse the struct of another version, or read beyond its end if it does not check the size.
#define GROWN(hook, entry, id)                                                                     \
    static PJRT_Error *hook(rk_plugin *plugin, entry##_Args *args) {                               \
        return RK_PREFETCH_CALL(plugin, RK_BRIDGE(plugin, id, entry, args));                       \
    }
GROWN(plugin_attributes, PJRT_Plugin_Attributes, RK_STRUCT_PLUGIN_ATTRIBUTES)
GROWN(create_view, PJRT_Client_CreateViewOfDeviceBuffer,
      RK_STRUCT_CLIENT_CREATE_VIEW_OF_DEVICE_BUFFER)
GROWN(addressable_memories, PJRT_Device_AddressableMemories, RK_STRUCT_DEVICE_ADDRESSABLE_MEMORIES)
GROWN(compiled_memory_stats, PJRT_Executable_GetCompiledMemoryStats,
      RK_STRUCT_EXECUTABLE_GET_COMPILED_MEMORY_STATS)

// The same for entries that are newer than the header.
#define GROWN_LATER(hook, entry, id)                                                               \
    static PJRT_Error *hook(rk_plugin *plugin, void *args) {                                       \
        return rk_bridge_call(&plugin->bridge, id, rk_pjrt_later(plugin->real, entry), args);      \
    }
GROWN_LATER(create_error_buffer, RK_PJRT_CLIENT_CREATE_ERROR_BUFFER,
            RK_STRUCT_CLIENT_CREATE_ERROR_BUFFER)
GROWN_LATER(poison_execution, RK_PJRT_DEVICE_POISON_EXECUTION, RK_STRUCT_DEVICE_POISON_EXECUTION)

// Unclaimed prefetched executables do not belong to the framework and must not count.
static PJRT_Error *memory_stats(rk_plugin *plugin, PJRT_Device_MemoryStats_Args *args) {
    PJRT_Error *error =
        RK_BRIDGE(plugin, RK_STRUCT_DEVICE_MEMORY_STATS, PJRT_Device_MemoryStats, args);
    if (!error && rk_prefetch_clear(plugin))
        error = RK_BRIDGE(plugin, RK_STRUCT_DEVICE_MEMORY_STATS, PJRT_Device_MemoryStats, args);
    return error;
}

static PJRT_Error *deserialize_and_load(rk_plugin *plugin,
                                        PJRT_Executable_DeserializeAndLoad_Args *args) {
    rk_changes_look_and_note(plugin, RK_USE_LOAD);
    return RK_PREFETCH_CALL(plugin, RK_BRIDGE(plugin, RK_STRUCT_EXECUTABLE_DESERIALIZE_AND_LOAD,
                                              PJRT_Executable_DeserializeAndLoad, args));
}

// All watched entries: X(kind, entry, hook, n). An entry of the kind VOID returns nothing, one of
// the kind ERROR returns an error, and one of the kind LATER is newer than the header. `n` is the
// slot, or empty if the use does not depend on it.
#define FOR_EACH_WATCHED(X, n)                                                                     \
    X(VOID, PJRT_Error_Destroy, error_destroy, n)                                                  \
    X(VOID, PJRT_Error_Message, error_message, n)                                                  \
    X(ERROR, PJRT_Error_GetCode, error_get_code, n)                                                \
    X(LATER, RK_PJRT_ERROR_FOR_EACH_PAYLOAD, error_for_each_payload, n)                            \
    X(ERROR, PJRT_Plugin_Initialize, initialize, n)                                                \
    X(ERROR, PJRT_Plugin_Attributes, plugin_attributes, n)                                         \
    X(ERROR, PJRT_Client_Create, client_create, n)                                                 \
    X(ERROR, PJRT_Client_Destroy, client_destroy, n)                                               \
    X(ERROR, PJRT_Client_Compile, rk_compile_hook, n)                                              \
    X(ERROR, PJRT_Compile, rk_compile_aot_hook, n)                                                 \
    X(ERROR, PJRT_LoadedExecutable_Destroy, loaded_executable_destroy, n)                          \
    X(ERROR, PJRT_LoadedExecutable_Delete, loaded_executable_delete, n)                            \
    X(ERROR, PJRT_LoadedExecutable_Execute, execute, n)                                            \
    X(ERROR, PJRT_LoadedExecutable_GetExecutable, get_executable, n)                               \
    X(ERROR, PJRT_Executable_Destroy, executable_destroy, n)                                       \
    X(ERROR, PJRT_Executable_Serialize, rk_origin_serialize_hook, n)                               \
    X(ERROR, PJRT_Executable_OptimizedProgram, rk_optimized_hook, n)                               \
    X(ERROR, PJRT_Executable_GetCompiledMemoryStats, compiled_memory_stats, n)                     \
    X(ERROR, PJRT_Executable_DeserializeAndLoad, deserialize_and_load, n)                          \
    X(ERROR, PJRT_Client_BufferFromHostBuffer, buffer_from_host, n)                                \
    X(ERROR, PJRT_Buffer_ToHostBuffer, buffer_to_host, n)                                          \
    X(ERROR, PJRT_Buffer_CopyRawToHost, copy_raw_to_host, n)                                       \
    X(ERROR, PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer_data, n)                 \
    X(ERROR, PJRT_Client_CreateViewOfDeviceBuffer, create_view, n)                                 \
    X(LATER, RK_PJRT_CLIENT_CREATE_ERROR_BUFFER, create_error_buffer, n)                           \
    X(ERROR, PJRT_Device_AddressableMemories, addressable_memories, n)                             \
    X(ERROR, PJRT_Device_MemoryStats, memory_stats, n)                                             \
    X(LATER, RK_PJRT_DEVICE_POISON_EXECUTION, poison_execution, n)

// The hooks of each slot: the hooks above, with the slot's number in the name.

#define DEFINE_VOID(entry, hook, n)                                                                \
    static void hook##_##n(entry##_Args *args) {                                                   \
        hook(&rk_plugin_slots[n], args);                                                           \
    }
#define DEFINE_ERROR(entry, hook, n)                                                               \
    static PJRT_Error *hook##_##n(entry##_Args *args) {                                            \
        return hook(&rk_plugin_slots[n], args);                                                    \
    }
#define DEFINE_LATER(entry, hook, n)                                                               \
    static PJRT_Error *hook##_##n(void *args) {                                                    \
        return hook(&rk_plugin_slots[n], args);                                                    \
    }
#define DEFINE(kind, entry, hook, n) DEFINE_##kind(entry, hook, n)
#define DEFINE_SLOT(n)               FOR_EACH_WATCHED(DEFINE, n)
RK_FOR_EACH_SLOT(DEFINE_SLOT)

#define MEMBER_VOID(entry, hook)     entry *hook;
#define MEMBER_ERROR(entry, hook)    entry *hook;
#define MEMBER_LATER(entry, hook)    rk_pjrt_any_fn *hook;
#define MEMBER(kind, entry, hook, n) MEMBER_##kind(entry, hook)
typedef struct hook_set {
    FOR_EACH_WATCHED(MEMBER, )
} hook_set;

#define NAME(kind, entry, hook, n) .hook = hook##_##n,
#define HOOK_SET(n)                {FOR_EACH_WATCHED(NAME, n)},
static const hook_set hook_sets[RK_PLUGIN_SLOTS] = {RK_FOR_EACH_SLOT(HOOK_SET)};

static void replace_later(rk_plugin *plugin, enum rk_pjrt_later_entry entry, rk_pjrt_any_fn *hook) {
    if (rk_pjrt_later(plugin->real, entry))
        memcpy((char *)plugin->wrapped + rk_pjrt_later_offset(entry), &hook, sizeof hook);
}

#define REPLACE_VOID(entry, hook) REPLACE_ERROR(entry, hook)
#define REPLACE_ERROR(entry, hook)                                                                 \
    if (plugin->bytes >= RK_PJRT_SIZE_TO(PJRT_Api, entry) && plugin->real->entry)                  \
        plugin->wrapped->entry = hooks->hook;
#define REPLACE_LATER(entry, hook)    replace_later(plugin, entry, hooks->hook);
#define REPLACE(kind, entry, hook, n) REPLACE_##kind(entry, hook)
void rk_hooks_install(rk_plugin *plugin) {
    const hook_set *hooks = &hook_sets[plugin->slot];
    FOR_EACH_WATCHED(REPLACE, )
}
