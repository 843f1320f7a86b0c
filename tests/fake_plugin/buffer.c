// Buffers and execution. Every output is the sum of all inputs, plus the program's `add`, plus the
// number of the output.
#include "fake.h"

#include <stdlib.h>
#include <string.h>

size_t fake_type_size(PJRT_Buffer_Type type) {
    switch (type) {
    case PJRT_Buffer_Type_PRED:
    case PJRT_Buffer_Type_S8:
    case PJRT_Buffer_Type_U8:
        return 1;
    case PJRT_Buffer_Type_S16:
    case PJRT_Buffer_Type_U16:
    case PJRT_Buffer_Type_F16:
    case PJRT_Buffer_Type_BF16:
        return 2;
    case PJRT_Buffer_Type_S32:
    case PJRT_Buffer_Type_U32:
    case PJRT_Buffer_Type_F32:
        return 4;
    case PJRT_Buffer_Type_S64:
    case PJRT_Buffer_Type_U64:
    case PJRT_Buffer_Type_F64:
        return 8;
    default:
        return 0;
    }
}

static size_t element_count(const int64_t *dims, size_t num_dims) {
    size_t count = 1;
    for (size_t i = 0; i < num_dims; i++)
        count *= (size_t)dims[i];
    return count;
}

PJRT_Buffer *fake_buffer_new(PJRT_Device *device, PJRT_Buffer_Type type, const int64_t *dims,
                             size_t num_dims, const void *data) {
    PJRT_Buffer *buffer = fake_object_new(FAKE_BUFFER, sizeof *buffer, device->client);
    buffer->device = device;
    buffer->type = type;
    buffer->num_dims = num_dims;
    buffer->dims = calloc(num_dims + 1, sizeof *dims);
    buffer->size = element_count(dims, num_dims) * fake_type_size(type);
    buffer->data = calloc(1, buffer->size + 1);
    if (!buffer->dims || !buffer->data)
        abort();
    if (num_dims)
        memcpy(buffer->dims, dims, num_dims * sizeof *dims);
    if (data && buffer->size)
        memcpy(buffer->data, data, buffer->size);
    return buffer;
}

FAKE_ENTRY(PJRT_Client_BufferFromHostBuffer) {
    fake_object_check(FAKE_CLIENT, args->client);
    PJRT_Device *device = args->device;
    if (!device && args->memory) {
        fake_object_check(FAKE_MEMORY, args->memory);
        device = args->memory->device;
    }
    fake_object_check(FAKE_DEVICE, device);
    if (fake_type_size(args->type) == 0)
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: element type %d", (int)args->type);
    args->buffer = fake_buffer_new(device, args->type, args->dims, args->num_dims, args->data);
    args->done_with_host_buffer = fake_event_ready();
    return NULL;
}

// The new buffer holds a copy of the data.
FAKE_ENTRY(PJRT_Client_CreateViewOfDeviceBuffer) {
    enum { WITH_MEMORY = 66 };
    fake_object_check(FAKE_CLIENT, args->client);
    bool in_memory = fake_api_minor() >= WITH_MEMORY && args->memory;
    if (in_memory)
        fake_object_check(FAKE_MEMORY, args->memory);
    PJRT_Device *device = in_memory ? args->memory->device : args->device;
    fake_object_check(FAKE_DEVICE, device);
    args->buffer = fake_buffer_new(device, args->element_type, args->dims, args->num_dims,
                                   args->device_buffer_ptr);
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_Destroy) {
    fake_object_kill(FAKE_BUFFER, args->buffer);
    free(args->buffer->dims);
    free(args->buffer->data);
    args->buffer->dims = NULL;
    args->buffer->data = NULL;
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_ToHostBuffer) {
    fake_object_check(FAKE_BUFFER, args->src);
    if (!args->dst) {
        args->dst_size = args->src->size;
        return NULL;
    }
    if (args->dst_size < args->src->size)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "the host buffer is too small");
    memcpy(args->dst, args->src->data, args->src->size);
    args->event = fake_event_ready();
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_ElementType) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->type = args->buffer->type;
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_Dimensions) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->dims = args->buffer->dims;
    args->num_dims = args->buffer->num_dims;
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_UnpaddedDimensions) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->unpadded_dims = args->buffer->dims;
    args->num_dims = args->buffer->num_dims;
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_OnDeviceSizeInBytes) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->on_device_size_in_bytes = args->buffer->size;
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_Device) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->device = args->buffer->device;
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_Memory) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->memory = args->buffer->device->memory;
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_Delete) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    atomic_store(&args->buffer->deleted, true);
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_IsDeleted) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->is_deleted = atomic_load(&args->buffer->deleted);
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_IsOnCpu) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->is_on_cpu = true;
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_ReadyEvent) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    args->event = fake_event_ready();
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_CopyToDevice) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    fake_object_check(FAKE_DEVICE, args->dst_device);
    args->dst_buffer = fake_buffer_new(args->dst_device, args->buffer->type, args->buffer->dims,
                                       args->buffer->num_dims, args->buffer->data);
    return NULL;
}

FAKE_ENTRY(PJRT_Buffer_CopyRawToHost) {
    fake_object_check(FAKE_BUFFER, args->buffer);
    if (args->offset < 0 || args->transfer_size < 0 ||
        (size_t)args->offset + (size_t)args->transfer_size > args->buffer->size)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "outside the buffer");
    memcpy(args->dst, (char *)args->buffer->data + args->offset, (size_t)args->transfer_size);
    args->event = fake_event_ready();
    return NULL;
}

// Execution.

static PJRT_Buffer *run_output(const fake_program *program, PJRT_Device *device,
                               PJRT_Buffer *const *inputs, size_t num_inputs, size_t output) {
    PJRT_Buffer *result =
        num_inputs ? fake_buffer_new(device, PJRT_Buffer_Type_F32, inputs[0]->dims,
                                     inputs[0]->num_dims, NULL)
                   : fake_buffer_new(device, PJRT_Buffer_Type_F32, &program->elements, 1, NULL);
    float *values = result->data;
    for (size_t i = 0; i < result->size / sizeof *values; i++) {
        values[i] = program->add + (float)output;
        for (size_t k = 0; k < num_inputs; k++) {
            if (inputs[k]->type == PJRT_Buffer_Type_F32 && inputs[k]->size == result->size)
                values[i] += ((const float *)inputs[k]->data)[i];
        }
    }
    return result;
}

static PJRT_Error *check_options(const PJRT_ExecuteOptions *options) {
    static const char name[] = "PJRT_ExecuteOptions";
    enum { WITH_CALL_LOCATION = 76 };
    size_t header_size = (size_t)PJRT_ExecuteOptions_STRUCT_SIZE;
    PJRT_Error *refusal = fake_check_size(name, "", options, header_size);
    if (refusal)
        return refusal;
    fake_check_unset(name, options, header_size);
    bool located = fake_api_minor() >= WITH_CALL_LOCATION && options->call_location;
    fake_trace("options", "size=%zu launch_id=%d call_location=%s", options->struct_size,
               options->launch_id, located ? options->call_location : "");
    return NULL;
}

static PJRT_Error *check_execute(const PJRT_LoadedExecutable_Execute_Args *args) {
    PJRT_Error *refusal = check_options(args->options);
    if (refusal)
        return refusal;
    if (atomic_load(&args->executable->deleted))
        return fake_error(PJRT_Error_Code_FAILED_PRECONDITION, "the executable was deleted");
    if (args->num_devices > args->executable->client->count)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "there are not %zu devices",
                          args->num_devices);
    int64_t most = fake_setting_int("FAKE_PJRT_MAX_TO_EXECUTE", 0);
    if (most > 0 && fake_object_count(FAKE_LOADED) > (uint64_t)most)
        return fake_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "fake: no room to execute");
    if (fake_fails("execute"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail execute");
    for (size_t i = 0; i < args->num_devices; i++) {
        for (size_t k = 0; k < args->num_args; k++)
            fake_object_check(FAKE_BUFFER, args->argument_lists[i][k]);
    }
    return NULL;
}

FAKE_ENTRY(PJRT_LoadedExecutable_Execute) {
    fake_object_enter(FAKE_LOADED, args->executable);
    PJRT_Error *error = check_execute(args);
    const fake_program *program = args->executable->program;
    for (size_t i = 0; !error && i < args->num_devices; i++) {
        PJRT_Device *device =
            args->execute_device ? args->execute_device : args->executable->client->devices[i];
        for (size_t output = 0; output < program->outputs; output++)
            args->output_lists[i][output] =
                run_output(program, device, args->num_args ? args->argument_lists[i] : NULL,
                           args->num_args, output);
        if (args->device_complete_events)
            args->device_complete_events[i] = fake_event_ready();
    }
    fake_object_leave(args->executable);
    return error;
}

// Execute contexts, and unsupported entries.

struct PJRT_ExecuteContext {
    fake_object head;
};

FAKE_ENTRY(PJRT_ExecuteContext_Create) {
    args->context = fake_object_new(FAKE_CONTEXT, sizeof(PJRT_ExecuteContext), NULL);
    return NULL;
}

FAKE_ENTRY(PJRT_ExecuteContext_Destroy) {
    fake_object_kill(FAKE_CONTEXT, args->context);
    return NULL;
}
