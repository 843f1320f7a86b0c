// The steps that need a device: create a client; compile, run, serialize and load a program.
#include "pjrt/error.h"
#include "probe/report.h"

// A program that adds two f32[4], as text of the StableHLO dialect.
static char program_text[] = // not const, because PJRT_Program.code is not
    "module @rekindle_probe {\n"
    "  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {\n"
    "    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";
// CompileOptionsProto: executable_build_options (3) {num_replicas (4) 1, num_partitions (5) 1}.
static const char program_options[] = {0x1a, 4, 0x20, 1, 0x28, 1};
enum { ELEMENTS = 4, INPUTS = 2 };

#define ARGS(type, ...) ((type){.struct_size = (size_t)type##_STRUCT_SIZE, __VA_ARGS__})
// Calls an entry whose argument struct never grew, so it needs no bridge.
#define ASK(s, entry, args) rk_pjrt_error_take((s)->real, (s)->real->entry(args))

// The client.

static rk_err *kind_of(rk_subject *s, PJRT_Device *device, rk_span *out_kind, int *out_id) {
    PJRT_Device_GetDescription_Args of = ARGS(PJRT_Device_GetDescription_Args, .device = device);
    RK_TRY(ASK(s, PJRT_Device_GetDescription, &of));
    PJRT_DeviceDescription_Id_Args id =
        ARGS(PJRT_DeviceDescription_Id_Args, .device_description = of.device_description);
    RK_TRY(ASK(s, PJRT_DeviceDescription_Id, &id));
    PJRT_DeviceDescription_Kind_Args kind =
        ARGS(PJRT_DeviceDescription_Kind_Args, .device_description = of.device_description);
    RK_TRY(ASK(s, PJRT_DeviceDescription_Kind, &kind));
    *out_kind = rk_span_of(kind.device_kind, kind.device_kind_size);
    *out_id = id.id;
    return NULL;
}

static rk_err *add_devices(rk_subject *s, rk_json *json, size_t *out_count, size_t *out_here) {
    PJRT_Client_Devices_Args all = ARGS(PJRT_Client_Devices_Args, .client = s->client);
    PJRT_Client_AddressableDevices_Args here =
        ARGS(PJRT_Client_AddressableDevices_Args, .client = s->client);
    RK_TRY(ASK(s, PJRT_Client_Devices, &all));
    RK_TRY(ASK(s, PJRT_Client_AddressableDevices, &here));
    rk_json_key(json, "devices");
    rk_json_begin_array(json);
    for (size_t i = 0; i < all.num_devices; i++) {
        rk_span kind;
        int id;
        PJRT_Device_IsAddressable_Args is =
            ARGS(PJRT_Device_IsAddressable_Args, .device = all.devices[i]);
        RK_TRY(kind_of(s, all.devices[i], &kind, &id));
        RK_TRY(ASK(s, PJRT_Device_IsAddressable, &is));
        rk_json_begin_object(json);
        rk_json_key(json, "id");
        rk_json_int(json, id);
        rk_json_member_text(json, "kind", kind);
        rk_json_member_bool(json, "addressable", is.is_addressable);
        rk_json_end_object(json);
    }
    rk_json_end_array(json);
    *out_count = all.num_devices;
    *out_here = here.num_addressable_devices;
    s->device = here.num_addressable_devices ? here.addressable_devices[0] : NULL;
    return NULL;
}

static rk_err *describe_client(rk_subject *s, rk_buf *members, rk_buf *detail) {
    PJRT_Client_PlatformName_Args name = ARGS(PJRT_Client_PlatformName_Args, .client = s->client);
    PJRT_Client_PlatformVersion_Args version =
        ARGS(PJRT_Client_PlatformVersion_Args, .client = s->client);
    RK_TRY(ASK(s, PJRT_Client_PlatformName, &name));
    RK_TRY(ASK(s, PJRT_Client_PlatformVersion, &version));
    rk_json json = rk_json_on(members);
    rk_json_member_text(&json, "platform", rk_span_of(name.platform_name, name.platform_name_size));
    rk_json_member_text(&json, "platform_version",
                        rk_span_of(version.platform_version, version.platform_version_size));
    size_t count = 0, here = 0;
    RK_TRY(add_devices(s, &json, &count, &here));
    rk_buf_add_format(detail, "%.*s, %zu device%s, %zu of them here", (int)name.platform_name_size,
                      name.platform_name, count, count == 1 ? "" : "s", here);
    return here ? NULL : rk_error(RK_UNAVAILABLE, "the client has no device in this process");
}

rk_err *rk_live_client(rk_subject *s, rk_buf *detail) {
    PJRT_Client_Create_Args args = ARGS(PJRT_Client_Create_Args, .client = NULL);
    RK_TRY(rk_pjrt_error_take(s->real,
                              RK_BRIDGE(s, RK_STRUCT_CLIENT_CREATE, PJRT_Client_Create, &args)));
    if (!args.client)
        return rk_error(RK_INTERNAL, "the plugin returned neither a client nor an error");
    s->client = args.client;
    RK_AUTO(rk_buf) members = RK_BUF_INIT(0);
    RK_TRY(describe_client(s, &members, detail));
    rk_report_set(s, &members);
    return NULL;
}

// A program.

rk_err *rk_live_compile(rk_subject *s, rk_buf *detail) {
    (void)detail;
    static const char format[] = "mlir";
    PJRT_Program program =
        ARGS(PJRT_Program, .code = program_text, .code_size = sizeof program_text - 1,
             .format = format, .format_size = sizeof format - 1);
    PJRT_Client_Compile_Args args =
        ARGS(PJRT_Client_Compile_Args, .client = s->client, .program = &program,
             .compile_options = program_options, .compile_options_size = sizeof program_options);
    RK_TRY(rk_pjrt_error_take(s->real,
                              RK_BRIDGE(s, RK_STRUCT_CLIENT_COMPILE, PJRT_Client_Compile, &args)));
    if (!args.executable)
        return rk_error(RK_INTERNAL, "the plugin gave no executable and no error");
    s->executable = args.executable;
    return NULL;
}

static rk_err *wait_for(rk_subject *s, PJRT_Event *event) {
    if (!event)
        return NULL;
    PJRT_Event_Await_Args wait = ARGS(PJRT_Event_Await_Args, .event = event);
    PJRT_Event_Destroy_Args destroy = ARGS(PJRT_Event_Destroy_Args, .event = event);
    rk_err *err = ASK(s, PJRT_Event_Await, &wait);
    rk_pjrt_error_drop(s->real, s->real->PJRT_Event_Destroy(&destroy));
    return err;
}

static rk_err *make_input(rk_subject *s, const float *values, PJRT_Buffer **out_buffer) {
    static const int64_t dims[] = {ELEMENTS};
    PJRT_Client_BufferFromHostBuffer_Args args =
        ARGS(PJRT_Client_BufferFromHostBuffer_Args, .client = s->client, .data = values,
             .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1,
             .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
             .device = s->device);
    RK_TRY(rk_pjrt_error_take(s->real, RK_BRIDGE(s, RK_STRUCT_CLIENT_BUFFER_FROM_HOST_BUFFER,
                                                 PJRT_Client_BufferFromHostBuffer, &args)));
    *out_buffer = args.buffer;
    return wait_for(s, args.done_with_host_buffer);
}

static rk_err *execute(rk_subject *s, PJRT_Buffer *const *inputs, PJRT_Buffer **out_output) {
    PJRT_Event *done = NULL;
    PJRT_ExecuteOptions options = ARGS(PJRT_ExecuteOptions, .launch_id = 0);
    PJRT_LoadedExecutable_Execute_Args args =
        ARGS(PJRT_LoadedExecutable_Execute_Args, .executable = s->executable, .options = &options,
             .argument_lists = &inputs, .num_devices = 1, .num_args = INPUTS,
             .output_lists = &out_output, .device_complete_events = &done);
    RK_TRY(rk_pjrt_error_take(
        s->real, rk_bridge_execute(
                     &s->bridge, (rk_pjrt_any_fn *)s->real->PJRT_LoadedExecutable_Execute, &args)));
    return wait_for(s, done);
}

static rk_err *fetch(rk_subject *s, PJRT_Buffer *output, float *out_values, size_t size) {
    PJRT_Buffer_ToHostBuffer_Args args =
        ARGS(PJRT_Buffer_ToHostBuffer_Args, .src = output, .dst = out_values, .dst_size = size);
    RK_TRY(rk_pjrt_error_take(
        s->real, RK_BRIDGE(s, RK_STRUCT_BUFFER_TO_HOST_BUFFER, PJRT_Buffer_ToHostBuffer, &args)));
    return wait_for(s, args.event);
}

static void destroy_buffer(rk_subject *s, PJRT_Buffer *buffer) {
    PJRT_Buffer_Destroy_Args args = ARGS(PJRT_Buffer_Destroy_Args, .buffer = buffer);
    if (buffer)
        rk_pjrt_error_drop(s->real, s->real->PJRT_Buffer_Destroy(&args));
}

rk_err *rk_live_execute(rk_subject *s, rk_buf *detail) {
    static const float given[INPUTS][ELEMENTS] = {{1, 2, 3, 4}, {10, 20, 30, 40}};
    PJRT_Buffer *inputs[INPUTS] = {NULL}, *output = NULL;
    float sums[ELEMENTS] = {0};
    rk_err *err = NULL;
    for (size_t i = 0; !err && i < INPUTS; i++)
        err = make_input(s, given[i], &inputs[i]);
    if (!err)
        err = execute(s, inputs, &output);
    if (!err)
        err = fetch(s, output, sums, sizeof sums);
    for (size_t i = 0; !err && i < ELEMENTS; i++)
        if (sums[i] < given[0][i] + given[1][i] || sums[i] > given[0][i] + given[1][i])
            err = rk_error(RK_DATA_LOSS, "it computes %g + %g = %g", (double)given[0][i],
                           (double)given[1][i], (double)sums[i]);
    for (size_t i = 0; i < INPUTS; i++)
        destroy_buffer(s, inputs[i]);
    destroy_buffer(s, output);
    if (!err)
        rk_buf_add_text(detail, "the right result");
    return err;
}

// Serializing and loading.

rk_err *rk_live_serialize(rk_subject *s, rk_buf *detail) {
    if (!RK_PJRT_HAS(s->real, PJRT_Executable_Serialize))
        return rk_error(RK_UNIMPLEMENTED, "it has no PJRT_Executable_Serialize");
    PJRT_LoadedExecutable_GetExecutable_Args get =
        ARGS(PJRT_LoadedExecutable_GetExecutable_Args, .loaded_executable = s->executable);
    RK_TRY(ASK(s, PJRT_LoadedExecutable_GetExecutable, &get));
    PJRT_Executable_Serialize_Args args =
        ARGS(PJRT_Executable_Serialize_Args, .executable = get.executable);
    rk_err *err = ASK(s, PJRT_Executable_Serialize, &args);
    if (!err) {
        rk_buf_add(&s->serialized, args.serialized_bytes, args.serialized_bytes_size);
        rk_buf_add_format(detail, "%zu bytes", args.serialized_bytes_size);
        if (args.serialized_executable_deleter)
            args.serialized_executable_deleter(args.serialized_executable);
        err = rk_buf_status(&s->serialized);
    }
    PJRT_Executable_Destroy_Args destroy =
        ARGS(PJRT_Executable_Destroy_Args, .executable = get.executable);
    rk_pjrt_error_drop(s->real, s->real->PJRT_Executable_Destroy(&destroy));
    return err;
}

static void destroy_executable(rk_subject *s) {
    PJRT_LoadedExecutable_Destroy_Args args =
        ARGS(PJRT_LoadedExecutable_Destroy_Args, .executable = s->executable);
    if (RK_TAKE(s->executable))
        rk_pjrt_error_drop(s->real, s->real->PJRT_LoadedExecutable_Destroy(&args));
}

// Loads the serialized executable, replaces the compiled one with it, and runs it.
rk_err *rk_live_load(rk_subject *s, rk_buf *detail) {
    if (!RK_PJRT_HAS(s->real, PJRT_Executable_DeserializeAndLoad))
        return rk_error(RK_UNIMPLEMENTED, "it has no PJRT_Executable_DeserializeAndLoad");
    PJRT_Executable_DeserializeAndLoad_Args args = {
        .struct_size = RK_PJRT_SIZE_TO(PJRT_Executable_DeserializeAndLoad_Args, loaded_executable),
        .client = s->client,
        .serialized_executable = (const char *)s->serialized.data,
        .serialized_executable_size = s->serialized.len,
    };
    RK_TRY(rk_pjrt_error_take(s->real, RK_BRIDGE(s, RK_STRUCT_EXECUTABLE_DESERIALIZE_AND_LOAD,
                                                 PJRT_Executable_DeserializeAndLoad, &args)));
    if (!args.loaded_executable)
        return rk_error(RK_INTERNAL, "the plugin gave no executable and no error");
    destroy_executable(s);
    s->executable = args.loaded_executable;
    return rk_live_execute(s, detail);
}

rk_err *rk_live_end(rk_subject *s, rk_buf *detail) {
    (void)detail;
    destroy_executable(s);
    PJRT_Client_Destroy_Args args = ARGS(PJRT_Client_Destroy_Args, .client = s->client);
    return RK_TAKE(s->client) ? ASK(s, PJRT_Client_Destroy, &args) : NULL;
}
