// Words that run executables and fetch their outputs.
#include "host/host.h"

#include <stdlib.h>

enum { ELEMENTS = 4, MAX_INPUTS = 8 };

static PJRT_Error *await_and_destroy(const host *h, PJRT_Event *event) {
    PJRT_Event_Await_Args await = HOST_ARGS(PJRT_Event_Await_Args, .event = event);
    PJRT_Error *error = h->api->PJRT_Event_Await(&await);
    PJRT_Event_Destroy_Args destroy = HOST_ARGS(PJRT_Event_Destroy_Args, .event = event);
    PJRT_Error *failed = h->api->PJRT_Event_Destroy(&destroy);
    if (failed)
        host_usage("PJRT_Event_Destroy failed");
    return error;
}

static PJRT_Error *destroy_buffer(const host *h, PJRT_Buffer *buffer) {
    PJRT_Buffer_Destroy_Args args = HOST_ARGS(PJRT_Buffer_Destroy_Args, .buffer = buffer);
    return h->api->PJRT_Buffer_Destroy(&args);
}

// Input k is f32[4]: (1, 2, 3, 4) * (k + 1), on the client's first device.
static PJRT_Error *make_input(const host *h, size_t number, PJRT_Buffer **out_buffer) {
    PJRT_Client *client = host_current_client(h);
    PJRT_Client_AddressableDevices_Args devices =
        HOST_ARGS(PJRT_Client_AddressableDevices_Args, .client = client);
    PJRT_Error *error = h->api->PJRT_Client_AddressableDevices(&devices);
    if (error)
        return error;
    static const int64_t dims[] = {ELEMENTS};
    float values[ELEMENTS];
    for (size_t i = 0; i < ELEMENTS; i++)
        values[i] = (float)(i + 1) * (float)(number + 1);
    PJRT_Client_BufferFromHostBuffer_Args args =
        HOST_ARGS(PJRT_Client_BufferFromHostBuffer_Args, .client = client, .data = values,
                  .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1,
                  .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
                  .device = devices.addressable_devices[0]);
    error = h->api->PJRT_Client_BufferFromHostBuffer(&args);
    if (error)
        return error;
    *out_buffer = args.buffer;
    return await_and_destroy(h, args.done_with_host_buffer);
}

static PJRT_Error *count_outputs(const host *h, PJRT_LoadedExecutable *loaded, size_t *out_count) {
    PJRT_LoadedExecutable_GetExecutable_Args get =
        HOST_ARGS(PJRT_LoadedExecutable_GetExecutable_Args, .loaded_executable = loaded);
    PJRT_Error *error = h->api->PJRT_LoadedExecutable_GetExecutable(&get);
    if (error)
        return error;
    PJRT_Executable_NumOutputs_Args outputs =
        HOST_ARGS(PJRT_Executable_NumOutputs_Args, .executable = get.executable);
    error = h->api->PJRT_Executable_NumOutputs(&outputs);
    *out_count = outputs.num_outputs;
    PJRT_Executable_Destroy_Args destroy =
        HOST_ARGS(PJRT_Executable_Destroy_Args, .executable = get.executable);
    PJRT_Error *failed = h->api->PJRT_Executable_Destroy(&destroy);
    return error ? error : failed;
}

static PJRT_Error *execute(host *h, PJRT_LoadedExecutable *loaded, PJRT_Buffer *const *inputs,
                           size_t num_inputs) {
    size_t num_outputs = 0;
    PJRT_Error *error = count_outputs(h, loaded, &num_outputs);
    if (error)
        return error;
    if (num_outputs > HOST_MAX_OUTPUTS - h->output_count)
        host_usage("too many outputs: destroy-buffers first");
    PJRT_Buffer **outputs = &h->outputs[h->output_count];
    PJRT_Event *done = NULL;
    static const char options_name[] = "PJRT_ExecuteOptions";
    const PJRT_ExecuteOptions filled =
        HOST_ARGS(PJRT_ExecuteOptions, .launch_id = 7, .call_location = h->call_location);
    PJRT_ExecuteOptions *options = host_struct_new(h, options_name, &filled, sizeof filled);
    PJRT_LoadedExecutable_Execute_Args args =
        HOST_ARGS(PJRT_LoadedExecutable_Execute_Args, .executable = loaded, .options = options,
                  .argument_lists = &inputs, .num_devices = 1, .num_args = num_inputs,
                  .output_lists = &outputs, .device_complete_events = &done);
    error = HOST_CALL(h, PJRT_LoadedExecutable_Execute, &args);
    host_struct_free(options_name, options);
    if (error)
        return error;
    h->output_count += num_outputs;
    return await_and_destroy(h, done);
}

// execute[=EXECUTABLE[:INPUTS]]
void host_execute(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "execute");
    const char *colon = strchr(value, ':');
    size_t num_inputs = colon ? strtoul(colon + 1, NULL, 10) : 0;
    if (num_inputs > MAX_INPUTS)
        host_usage("at most %d inputs", MAX_INPUTS);
    size_t index = host_pick_executable(h, colon == value ? "" : value);
    PJRT_Buffer *inputs[MAX_INPUTS] = {NULL};
    PJRT_Error *error = NULL;
    for (size_t i = 0; !error && i < num_inputs; i++)
        error = make_input(h, i, &inputs[i]);
    if (!error)
        error = execute(h, h->executables[index], inputs, num_inputs);
    for (size_t i = 0; i < num_inputs; i++) {
        if (inputs[i] && destroy_buffer(h, inputs[i]))
            host_usage("PJRT_Buffer_Destroy failed");
    }
    rk_json_member_uint(&line.json, "outputs", h->output_count);
    (void)host_end(&line, h, error);
}

// Prints all current outputs as lists of f32.
void host_tohost(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "tohost");
    rk_json_key(&line.json, "values");
    rk_json_begin_array(&line.json);
    PJRT_Error *error = NULL;
    for (size_t i = 0; !error && i < h->output_count; i++) {
        PJRT_Buffer_ToHostBuffer_Args args =
            HOST_ARGS(PJRT_Buffer_ToHostBuffer_Args, .src = h->outputs[i]);
        error = h->api->PJRT_Buffer_ToHostBuffer(&args);
        if (error)
            break;
        float values[1024];
        if (args.dst_size > sizeof values)
            host_usage("an output of %zu bytes", args.dst_size);
        args.dst = values;
        error = h->api->PJRT_Buffer_ToHostBuffer(&args);
        if (!error)
            error = await_and_destroy(h, args.event);
        rk_json_begin_array(&line.json);
        for (size_t k = 0; !error && k < args.dst_size / sizeof values[0]; k++)
            rk_json_double(&line.json, (double)values[k]);
        rk_json_end_array(&line.json);
    }
    rk_json_end_array(&line.json);
    (void)host_end(&line, h, error);
}

void host_destroy_buffers(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "destroy-buffers");
    PJRT_Error *error = NULL;
    while (!error && h->output_count > 0)
        error = destroy_buffer(h, h->outputs[--h->output_count]);
    (void)host_end(&line, h, error);
}
