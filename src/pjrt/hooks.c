#include "pjrt/hooks.h"

#include <pthread.h>

#include "pjrt/changes_internal.h"
#include "pjrt/compile.h"
#include "pjrt/error.h"
#include "pjrt/memory.h"
#include "pjrt/optimized.h"
#include "pjrt/origin.h"
#include "pjrt/prefetch_internal.h"
#include "pjrt/runtime.h"
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
    rk_runtime_add_client(plugin, args);
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
        rk_plugin_note_unwatched((const void *)(uintptr_t)plugin->real->PJRT_Client_Create,
                                 rk_buf_text(&reason));
    (void)pthread_setcancelstate(cancel_state, NULL);
}

static bool remove_client(rk_plugin *plugin, PJRT_Client *client) {
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    bool removed = rk_runtime_remove_client(plugin, client);
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
        rk_runtime_write_counts(false);
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

// Bits per element, by PJRT_Buffer_Type; 0 if there are none or the type is unknown.
static uint64_t element_bits(PJRT_Buffer_Type type) {
    static const uint8_t bits[] = {
        [PJRT_Buffer_Type_PRED] = 8,
        [PJRT_Buffer_Type_S8] = 8,
        [PJRT_Buffer_Type_S16] = 16,
        [PJRT_Buffer_Type_S32] = 32,
        [PJRT_Buffer_Type_S64] = 64,
        [PJRT_Buffer_Type_U8] = 8,
        [PJRT_Buffer_Type_U16] = 16,
        [PJRT_Buffer_Type_U32] = 32,
        [PJRT_Buffer_Type_U64] = 64,
        [PJRT_Buffer_Type_F16] = 16,
        [PJRT_Buffer_Type_F32] = 32,
        [PJRT_Buffer_Type_F64] = 64,
        [PJRT_Buffer_Type_BF16] = 16,
        [PJRT_Buffer_Type_C64] = 64,
        [PJRT_Buffer_Type_C128] = 128,
        [PJRT_Buffer_Type_F8E5M2] = 8,
        [PJRT_Buffer_Type_F8E4M3FN] = 8,
        [PJRT_Buffer_Type_F8E4M3B11FNUZ] = 8,
        [PJRT_Buffer_Type_F8E5M2FNUZ] = 8,
        [PJRT_Buffer_Type_F8E4M3FNUZ] = 8,
        // On the host, types of fewer than eight bits take one byte each.
        [PJRT_Buffer_Type_S4] = 8,
        [PJRT_Buffer_Type_U4] = 8,
        [PJRT_Buffer_Type_S2] = 8,
        [PJRT_Buffer_Type_U2] = 8,
        [PJRT_Buffer_Type_F8E4M3] = 8,
        [PJRT_Buffer_Type_F8E3M4] = 8,
        [PJRT_Buffer_Type_F8E8M0FNU] = 8,
        [PJRT_Buffer_Type_F4E2M1FN] = 8,
    };
    size_t index = (size_t)type;
    return index < sizeof bits ? bits[index] : 0;
}

static uint64_t array_bytes(PJRT_Buffer_Type type, const int64_t *dims, size_t num_dims) {
    uint64_t bytes = element_bits(type) / 8;
    for (size_t i = 0; i < num_dims; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)dims[i], &bytes))
            return 0;
    return bytes;
}

static PJRT_Error *buffer_from_host(rk_plugin *plugin,
                                    PJRT_Client_BufferFromHostBuffer_Args *args) {
    PJRT_Error *error =
        RK_PREFETCH_CALL(plugin, RK_BRIDGE(plugin, RK_STRUCT_CLIENT_BUFFER_FROM_HOST_BUFFER,
                                           PJRT_Client_BufferFromHostBuffer, args));
    if (!error) {
        count_to_device(plugin, array_bytes(args->type, args->dims, args->num_dims));
    }
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
// X(hook, entry, struct).
#define FOR_EACH_GROWN(X)                                                                          \
    X(plugin_attributes, PJRT_Plugin_Attributes, RK_STRUCT_PLUGIN_ATTRIBUTES)                      \
    X(create_view, PJRT_Client_CreateViewOfDeviceBuffer,                                           \
      RK_STRUCT_CLIENT_CREATE_VIEW_OF_DEVICE_BUFFER)                                               \
    X(addressable_memories, PJRT_Device_AddressableMemories,                                       \
      RK_STRUCT_DEVICE_ADDRESSABLE_MEMORIES)                                                       \
    X(compiled_memory_stats, PJRT_Executable_GetCompiledMemoryStats,                               \
      RK_STRUCT_EXECUTABLE_GET_COMPILED_MEMORY_STATS)

#define DEFINE_GROWN(name, entry, id)                                                              \
    static PJRT_Error *name(rk_plugin *plugin, entry##_Args *args) {                               \
        return RK_PREFETCH_CALL(plugin, RK_BRIDGE(plugin, id, entry, args));                       \
    }
FOR_EACH_GROWN(DEFINE_GROWN)

// Unclaimed prefetched executables do not belong to the framework and must not count.
static PJRT_Error *memory_stats(rk_plugin *plugin, PJRT_Device_MemoryStats_Args *args) {
    PJRT_Error *error =
        RK_BRIDGE(plugin, RK_STRUCT_DEVICE_MEMORY_STATS, PJRT_Device_MemoryStats, args);
    if (!error && rk_prefetch_clear())
        error = RK_BRIDGE(plugin, RK_STRUCT_DEVICE_MEMORY_STATS, PJRT_Device_MemoryStats, args);
    return error;
}

static PJRT_Error *deserialize_and_load(rk_plugin *plugin,
                                        PJRT_Executable_DeserializeAndLoad_Args *args) {
    rk_changes_look_and_note(plugin, RK_USE_LOAD);
    return RK_PREFETCH_CALL(plugin, RK_BRIDGE(plugin, RK_STRUCT_EXECUTABLE_DESERIALIZE_AND_LOAD,
                                              PJRT_Executable_DeserializeAndLoad, args));
}

// The same for entries that are newer than the header. X(hook, entry, struct).
#define FOR_EACH_GROWN_LATER(X)                                                                    \
    X(create_error_buffer, RK_PJRT_CLIENT_CREATE_ERROR_BUFFER,                                     \
      RK_STRUCT_CLIENT_CREATE_ERROR_BUFFER)                                                        \
    X(poison_execution, RK_PJRT_DEVICE_POISON_EXECUTION, RK_STRUCT_DEVICE_POISON_EXECUTION)

#define DEFINE_GROWN_LATER(name, entry, id)                                                        \
    static PJRT_Error *name(rk_plugin *plugin, void *args) {                                       \
        return rk_bridge_call(&plugin->bridge, id, rk_pjrt_later(plugin->real, entry), args);      \
    }
FOR_EACH_GROWN_LATER(DEFINE_GROWN_LATER)

// The set of hooks of each slot: the same names with the slot's number.

#define HOOK(n, result, name, args_type, call)                                                     \
    static result name##_##n(args_type *args) {                                                    \
        return call(&rk_plugin_slots[n], args);                                                    \
    }

#define DEFINE_SLOT(n)                                                                             \
    static void error_destroy_##n(PJRT_Error_Destroy_Args *args) {                                 \
        error_destroy(&rk_plugin_slots[n], args);                                                  \
    }                                                                                              \
    static void error_message_##n(PJRT_Error_Message_Args *args) {                                 \
        error_message(&rk_plugin_slots[n], args);                                                  \
    }                                                                                              \
    static PJRT_Error *error_for_each_payload_##n(void *args) {                                    \
        return error_for_each_payload(&rk_plugin_slots[n], args);                                  \
    }                                                                                              \
    HOOK(n, PJRT_Error *, error_get_code, PJRT_Error_GetCode_Args, error_get_code)                 \
    HOOK(n, PJRT_Error *, initialize, PJRT_Plugin_Initialize_Args, initialize)                     \
    HOOK(n, PJRT_Error *, client_create, PJRT_Client_Create_Args, client_create)                   \
    HOOK(n, PJRT_Error *, client_destroy, PJRT_Client_Destroy_Args, client_destroy)                \
    HOOK(n, PJRT_Error *, client_compile, PJRT_Client_Compile_Args, rk_compile_hook)               \
    HOOK(n, PJRT_Error *, compile_aot, PJRT_Compile_Args, rk_compile_aot_hook)                     \
    HOOK(n, PJRT_Error *, loaded_executable_destroy, PJRT_LoadedExecutable_Destroy_Args,           \
         loaded_executable_destroy)                                                                \
    HOOK(n, PJRT_Error *, loaded_executable_delete, PJRT_LoadedExecutable_Delete_Args,             \
         loaded_executable_delete)                                                                 \
    HOOK(n, PJRT_Error *, execute, PJRT_LoadedExecutable_Execute_Args, execute)                    \
    HOOK(n, PJRT_Error *, get_executable, PJRT_LoadedExecutable_GetExecutable_Args,                \
         get_executable)                                                                           \
    HOOK(n, PJRT_Error *, executable_destroy, PJRT_Executable_Destroy_Args, executable_destroy)    \
    HOOK(n, PJRT_Error *, serialize, PJRT_Executable_Serialize_Args, rk_origin_serialize_hook)     \
    HOOK(n, PJRT_Error *, optimized_program, PJRT_Executable_OptimizedProgram_Args,                \
         rk_optimized_hook)                                                                        \
    HOOK(n, PJRT_Error *, buffer_from_host, PJRT_Client_BufferFromHostBuffer_Args,                 \
         buffer_from_host)                                                                         \
    HOOK(n, PJRT_Error *, buffer_to_host, PJRT_Buffer_ToHostBuffer_Args, buffer_to_host)           \
    HOOK(n, PJRT_Error *, copy_raw_to_host, PJRT_Buffer_CopyRawToHost_Args, copy_raw_to_host)      \
    HOOK(n, PJRT_Error *, transfer_data, PJRT_AsyncHostToDeviceTransferManager_TransferData_Args,  \
         transfer_data)                                                                            \
    HOOK(n, PJRT_Error *, plugin_attributes, PJRT_Plugin_Attributes_Args, plugin_attributes)       \
    HOOK(n, PJRT_Error *, create_view, PJRT_Client_CreateViewOfDeviceBuffer_Args, create_view)     \
    HOOK(n, PJRT_Error *, addressable_memories, PJRT_Device_AddressableMemories_Args,              \
         addressable_memories)                                                                     \
    HOOK(n, PJRT_Error *, memory_stats, PJRT_Device_MemoryStats_Args, memory_stats)                \
    HOOK(n, PJRT_Error *, compiled_memory_stats, PJRT_Executable_GetCompiledMemoryStats_Args,      \
         compiled_memory_stats)                                                                    \
    HOOK(n, PJRT_Error *, deserialize_and_load, PJRT_Executable_DeserializeAndLoad_Args,           \
         deserialize_and_load)                                                                     \
    HOOK(n, PJRT_Error *, create_error_buffer, void, create_error_buffer)                          \
    HOOK(n, PJRT_Error *, poison_execution, void, poison_execution)
RK_FOR_EACH_SLOT(DEFINE_SLOT)

typedef struct hook_set {
    PJRT_Error_Destroy *error_destroy;
    PJRT_Error_Message *error_message;
    PJRT_Error_GetCode *error_get_code;
    rk_pjrt_any_fn *error_for_each_payload;
    PJRT_Plugin_Initialize *initialize;
    PJRT_Client_Create *client_create;
    PJRT_Client_Destroy *client_destroy;
    PJRT_Client_Compile *client_compile;
    PJRT_Compile *compile_aot;
    PJRT_LoadedExecutable_Destroy *loaded_executable_destroy;
    PJRT_LoadedExecutable_Delete *loaded_executable_delete;
    PJRT_LoadedExecutable_Execute *execute;
    PJRT_LoadedExecutable_GetExecutable *get_executable;
    PJRT_Executable_Destroy *executable_destroy;
    PJRT_Executable_Serialize *serialize;
    PJRT_Executable_OptimizedProgram *optimized_program;
    PJRT_Client_BufferFromHostBuffer *buffer_from_host;
    PJRT_Buffer_ToHostBuffer *buffer_to_host;
    PJRT_Buffer_CopyRawToHost *copy_raw_to_host;
    PJRT_AsyncHostToDeviceTransferManager_TransferData *transfer_data;
    PJRT_Plugin_Attributes *plugin_attributes;
    PJRT_Client_CreateViewOfDeviceBuffer *create_view;
    PJRT_Device_AddressableMemories *addressable_memories;
    PJRT_Device_MemoryStats *memory_stats;
    PJRT_Executable_GetCompiledMemoryStats *compiled_memory_stats;
    PJRT_Executable_DeserializeAndLoad *deserialize_and_load;
    rk_pjrt_any_fn *create_error_buffer;
    rk_pjrt_any_fn *poison_execution;
} hook_set;

#define HOOK_SET(n)                                                                                \
    {error_destroy_##n,                                                                            \
     error_message_##n,                                                                            \
     error_get_code_##n,                                                                           \
     error_for_each_payload_##n,                                                                   \
     initialize_##n,                                                                               \
     client_create_##n,                                                                            \
     client_destroy_##n,                                                                           \
     client_compile_##n,                                                                           \
     compile_aot_##n,                                                                              \
     loaded_executable_destroy_##n,                                                                \
     loaded_executable_delete_##n,                                                                 \
     execute_##n,                                                                                  \
     get_executable_##n,                                                                           \
     executable_destroy_##n,                                                                       \
     serialize_##n,                                                                                \
     optimized_program_##n,                                                                        \
     buffer_from_host_##n,                                                                         \
     buffer_to_host_##n,                                                                           \
     copy_raw_to_host_##n,                                                                         \
     transfer_data_##n,                                                                            \
     plugin_attributes_##n,                                                                        \
     create_view_##n,                                                                              \
     addressable_memories_##n,                                                                     \
     memory_stats_##n,                                                                             \
     compiled_memory_stats_##n,                                                                    \
     deserialize_and_load_##n,                                                                     \
     create_error_buffer_##n,                                                                      \
     poison_execution_##n},
static const hook_set hook_sets[RK_PLUGIN_SLOTS] = {RK_FOR_EACH_SLOT(HOOK_SET)};

static void replace_later(rk_plugin *plugin, enum rk_pjrt_later_entry entry, rk_pjrt_any_fn *hook) {
    if (rk_pjrt_later(plugin->real, entry))
        memcpy((char *)plugin->wrapped + rk_pjrt_later_offset(entry), &hook, sizeof hook);
}

void rk_hooks_install(rk_plugin *plugin) {
    const hook_set *hooks = &hook_sets[plugin->slot];
    PJRT_Api *table = plugin->wrapped;
#define REPLACE(entry, hook)                                                                       \
    do {                                                                                           \
        if (plugin->bytes >= RK_PJRT_SIZE_TO(PJRT_Api, entry) && plugin->real->entry)              \
            table->entry = hooks->hook;                                                            \
    } while (0)
    REPLACE(PJRT_Error_Destroy, error_destroy);
    REPLACE(PJRT_Error_Message, error_message);
    REPLACE(PJRT_Error_GetCode, error_get_code);
    REPLACE(PJRT_Plugin_Initialize, initialize);
    REPLACE(PJRT_Client_Create, client_create);
    REPLACE(PJRT_Client_Destroy, client_destroy);
    REPLACE(PJRT_Client_Compile, client_compile);
    REPLACE(PJRT_Compile, compile_aot);
    REPLACE(PJRT_LoadedExecutable_Destroy, loaded_executable_destroy);
    REPLACE(PJRT_LoadedExecutable_Delete, loaded_executable_delete);
    REPLACE(PJRT_LoadedExecutable_Execute, execute);
    REPLACE(PJRT_LoadedExecutable_GetExecutable, get_executable);
    REPLACE(PJRT_Executable_Destroy, executable_destroy);
    REPLACE(PJRT_Executable_Serialize, serialize);
    REPLACE(PJRT_Executable_OptimizedProgram, optimized_program);
    REPLACE(PJRT_Client_BufferFromHostBuffer, buffer_from_host);
    REPLACE(PJRT_Buffer_ToHostBuffer, buffer_to_host);
    REPLACE(PJRT_Buffer_CopyRawToHost, copy_raw_to_host);
    REPLACE(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer_data);
#define REPLACE_GROWN(name, entry, id) REPLACE(entry, name);
    FOR_EACH_GROWN(REPLACE_GROWN)
    REPLACE(PJRT_Device_MemoryStats, memory_stats);
    REPLACE(PJRT_Executable_DeserializeAndLoad, deserialize_and_load);
#undef REPLACE
    replace_later(plugin, RK_PJRT_ERROR_FOR_EACH_PAYLOAD, hooks->error_for_each_payload);
#define REPLACE_GROWN_LATER(name, entry, id) replace_later(plugin, entry, hooks->name);
    FOR_EACH_GROWN_LATER(REPLACE_GROWN_LATER)
}
