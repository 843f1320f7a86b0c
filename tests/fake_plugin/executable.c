// Compiling, serializing, loading.
#include "fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static PJRT_Error *compile(const PJRT_Program *from, const char *options, size_t options_size,
                           fake_program **out_program) {
    PJRT_Error *refusal =
        fake_check_size("PJRT_Program", "", from, (size_t)PJRT_Program_STRUCT_SIZE);
    if (refusal)
        return refusal;
    bool known = (from->format_size == 4 && memcmp(from->format, "mlir", 4) == 0) ||
                 (from->format_size == 3 && memcmp(from->format, "hlo", 3) == 0);
    if (!known)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT,
                          "fake compiler: unknown format \"%.*s\"", (int)from->format_size,
                          from->format);
    if (fake_fails("compile"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail compile");
    PJRT_Error *error =
        fake_program_parse(from->code, from->code_size, options, options_size, out_program);
    if (error)
        return error;
    static atomic_int compilations;
    const char *codegen = fake_setting("FAKE_PJRT_CODEGEN", fake_flags("compile"));
    char number[16];
    if (fake_fails("unstable_compile")) {
        (void)snprintf(number, sizeof number, "%d", atomic_fetch_add(&compilations, 1));
        codegen = number;
    }
    fake_program_set_codegen(*out_program, codegen, strlen(codegen));
    fake_trace("compiled", "name=%s", (*out_program)->name);
    fake_sleep_ms((*out_program)->sleep_ms + fake_setting_int("FAKE_PJRT_COMPILE_MS", 0));
    fake_wait_for_file(fake_setting("FAKE_PJRT_COMPILE_UNTIL", NULL));
    return NULL;
}

static PJRT_LoadedExecutable *new_loaded(fake_program *program, PJRT_Client *client) {
    PJRT_LoadedExecutable *loaded = fake_object_new(FAKE_LOADED, sizeof *loaded, client);
    loaded->program = program;
    loaded->client = client;
    return loaded;
}

// Refuses a new executable if the devices have FAKE_PJRT_MAX_EXECUTABLES already.
static PJRT_Error *refuse_if_full(void) {
    int64_t most = fake_setting_int("FAKE_PJRT_MAX_EXECUTABLES", 0);
    if (most > 0 && fake_object_count(FAKE_LOADED) >= (uint64_t)most)
        return fake_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "fake: no room for an executable");
    return NULL;
}

FAKE_ENTRY(PJRT_Client_Compile) {
    fake_program *program = NULL;
    PJRT_Error *full = refuse_if_full();
    if (full)
        return full;
    fake_object_enter(FAKE_CLIENT, args->client);
    PJRT_Error *error =
        compile(args->program, args->compile_options, args->compile_options_size, &program);
    fake_object_leave(args->client);
    if (error)
        return error;
    args->executable = new_loaded(program, args->client);
    return NULL;
}

FAKE_ENTRY(PJRT_Compile) {
    fake_program *program = NULL;
    fake_object_enter(FAKE_TOPOLOGY, args->topology);
    if (args->client)
        fake_object_check(FAKE_CLIENT, args->client);
    PJRT_Error *error =
        compile(args->program, args->compile_options, args->compile_options_size, &program);
    fake_object_leave(args->topology);
    if (error)
        return error;
    PJRT_Executable *executable = fake_object_new(FAKE_EXECUTABLE, sizeof *executable, NULL);
    executable->program = program;
    args->executable = executable;
    return NULL;
}

// Ends the process if FAKE_PJRT_LOAD_ENDS is "NAME:HOW" and the program has that name.
static void end_in_load(const char *name) {
    const char *setting = fake_setting("FAKE_PJRT_LOAD_ENDS", "");
    const char *colon = strrchr(setting, ':');
    if (!colon || strlen(name) != (size_t)(colon - setting) ||
        strncmp(setting, name, strlen(name)) != 0)
        return;
    const char *how = colon + 1;
    fake_trace("ends", "%s", how);
    if (strcmp(how, "segv") == 0)
        fake_crash();
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "hang") != 0)
        fake_misuse("FAKE_PJRT_LOAD_ENDS=%s: segv, abort, _exit, hang", setting);
    for (;;)
        (void)pause();
}

FAKE_ENTRY(PJRT_Executable_DeserializeAndLoad) {
    fake_object_enter(FAKE_CLIENT, args->client);
    fake_sleep_ms(fake_setting_int("FAKE_PJRT_LOAD_MS", 0));
    fake_object_leave(args->client);
    PJRT_Error *full = refuse_if_full();
    if (full)
        return full;
    if (fake_fails("exit_deserialize"))
        exit(3);
    if (fake_fails("deserialize"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail deserialize");
    if (fake_fails("deserialize_unimplemented"))
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: cannot deserialize");
    if (args->struct_size > offsetof(PJRT_Executable_DeserializeAndLoad_Args,
                                     overridden_serialized_compile_options) &&
        args->overridden_serialized_compile_options && fake_fails("deserialize_override"))
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: options cannot be overridden");
    if (fake_fails("null_deserialize")) {
        args->loaded_executable = NULL;
        return NULL;
    }
    bool may_override = fake_api_minor() >= 71;
    const char *override = may_override ? args->overridden_serialized_compile_options : NULL;
    size_t override_size = may_override ? args->overridden_serialized_compile_options_size : 0;
    fake_program *program = NULL;
    PJRT_Error *error =
        fake_program_decode(args->serialized_executable, args->serialized_executable_size, override,
                            override_size, &program);
    if (error)
        return error;
    end_in_load(program->name);
    program->deserialized = true;
    fake_trace("loaded", "name=%s override=%s", program->name, override ? "yes" : "no");
    args->loaded_executable = new_loaded(program, args->client);
    return NULL;
}

// Serializing.

struct PJRT_SerializedExecutable {
    fake_object head;
    char *data;
};

static void serialized_delete(PJRT_SerializedExecutable *serialized) {
    fake_call call = fake_enter("serialized_executable_deleter", NULL, 0);
    fake_object_kill(FAKE_SERIALIZED, serialized);
    free(serialized->data);
    serialized->data = NULL;
    fake_leave(&call, NULL);
}

FAKE_ENTRY(PJRT_Executable_Serialize) {
    fake_object_enter(FAKE_EXECUTABLE, args->executable);
    fake_sleep_ms(fake_setting_int("FAKE_PJRT_SERIALIZE_MS", 0));
    fake_object_leave(args->executable);
    if (fake_fails("serialize"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail serialize");
    if (fake_fails("serialize_unimplemented"))
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: cannot serialize");
    if (fake_fails("crash_serialize"))
        fake_crash();
    args->serialized_bytes = NULL;
    args->serialized_bytes_size = 0;
    args->serialized_executable = NULL;
    args->serialized_executable_deleter = NULL;
    if (fake_fails("null_serialize"))
        return NULL;
    PJRT_SerializedExecutable *serialized =
        fake_object_new(FAKE_SERIALIZED, sizeof *serialized, NULL);
    size_t size = 0;
    serialized->data = fake_program_encode(args->executable->program, &size);
    args->serialized_bytes = serialized->data;
    args->serialized_bytes_size = fake_fails("empty_serialize") ? 0 : size;
    // XLA's CPU plugin does this: it omits half of the bytes and reports no error.
    if (args->executable->program->deserialized && fake_fails("reserialize"))
        args->serialized_bytes_size = size / 2;
    args->serialized_executable = serialized;
    args->serialized_executable_deleter = serialized_delete;
    return NULL;
}

// Loaded executables.

FAKE_ENTRY(PJRT_LoadedExecutable_Destroy) {
    fake_sleep_ms(fake_setting_int("FAKE_PJRT_DESTROY_MS", 0));
    fake_object_check(FAKE_LOADED, args->executable);
    fake_program *program = args->executable->program; // the next line allows reuse of its memory
    fake_object_kill(FAKE_LOADED, args->executable);
    fake_program_release(program);
    return NULL;
}

FAKE_ENTRY(PJRT_LoadedExecutable_GetExecutable) {
    fake_object_check(FAKE_LOADED, args->loaded_executable);
    if (fake_fails("get_executable"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail get_executable");
    args->executable = NULL;
    if (fake_fails("null_executable"))
        return NULL;
    // As in a real plugin, it shares memory with the loaded executable, so it requires the client.
    PJRT_Executable *executable =
        fake_object_new(FAKE_EXECUTABLE, sizeof *executable, args->loaded_executable->client);
    executable->program = fake_program_share(args->loaded_executable->program);
    args->executable = executable;
    return NULL;
}

FAKE_ENTRY(PJRT_LoadedExecutable_AddressableDevices) {
    fake_object_check(FAKE_LOADED, args->executable);
    args->addressable_devices = args->executable->client->devices;
    args->num_addressable_devices = args->executable->client->count ? 1 : 0;
    return NULL;
}

FAKE_ENTRY(PJRT_LoadedExecutable_Delete) {
    fake_object_check(FAKE_LOADED, args->executable);
    atomic_store(&args->executable->deleted, true);
    return NULL;
}

FAKE_ENTRY(PJRT_LoadedExecutable_IsDeleted) {
    fake_object_check(FAKE_LOADED, args->executable);
    args->is_deleted = atomic_load(&args->executable->deleted);
    return NULL;
}

FAKE_ENTRY(PJRT_LoadedExecutable_Fingerprint) {
    fake_object_check(FAKE_LOADED, args->executable);
    args->executable_fingerprint = args->executable->program->fingerprint_text;
    args->executable_fingerprint_size = strlen(args->executable_fingerprint);
    return NULL;
}

FAKE_ENTRY_UNIMPLEMENTED(PJRT_LoadedExecutable_GetDeviceAssignment)

// Queries of an executable.

FAKE_ENTRY(PJRT_Executable_Destroy) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    fake_program *program = args->executable->program;
    fake_object_kill(FAKE_EXECUTABLE, args->executable);
    fake_program_release(program);
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_Name) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->executable_name = args->executable->program->name;
    args->executable_name_size = strlen(args->executable_name);
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_NumReplicas) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->num_replicas = 1;
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_NumPartitions) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->num_partitions = 1;
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_NumOutputs) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->num_outputs = args->executable->program->outputs;
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_SizeOfGeneratedCodeInBytes) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->size_in_bytes = (int64_t)args->executable->program->code_size;
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_GetCostAnalysis) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->properties = &args->executable->program->cost;
    args->num_properties = 1;
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_GetCompiledMemoryStats) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    // The value of each figure is its position among the figures, from 1.
    size_t size = fake_args_size("PJRT_Executable_GetCompiledMemoryStats",
                                 PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE);
    char *first = (char *)&args->generated_code_size_in_bytes;
    size_t count = (size - (size_t)(first - (char *)args)) / sizeof(int64_t);
    for (size_t i = 0; i < count; i++) {
        int64_t figure = (int64_t)i + 1;
        memcpy(first + i * sizeof figure, &figure, sizeof figure);
    }
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_OutputElementTypes) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->output_types = args->executable->program->types;
    args->num_output_types = args->executable->program->outputs;
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_OutputDimensions) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->num_outputs = args->executable->program->outputs;
    args->dims = args->executable->program->dims;
    args->dim_sizes = args->executable->program->dim_sizes;
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_OutputMemoryKinds) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->num_outputs = args->executable->program->outputs;
    args->memory_kinds = args->executable->program->memory_kinds;
    args->memory_kind_sizes = args->executable->program->memory_kind_sizes;
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_Fingerprint) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    args->executable_fingerprint = args->executable->program->fingerprint_text;
    args->executable_fingerprint_size = strlen(args->executable_fingerprint);
    return NULL;
}

FAKE_ENTRY(PJRT_Executable_OptimizedProgram) {
    fake_object_check(FAKE_EXECUTABLE, args->executable);
    const fake_program *program = args->executable->program;
    args->program->format = "hlo";
    args->program->format_size = 3;
    if (args->program->code && fake_fails("optimized"))
        return fake_error(PJRT_Error_Code_INTERNAL, "fake: told to fail optimized");
    if (args->program->code && args->program->code_size < program->code_size)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "the buffer is too small");
    if (args->program->code)
        memcpy(args->program->code, program->code, program->code_size);
    args->program->code_size = program->code_size;
    return NULL;
}
