#include "pjrt/executable.h"

#include "base/alloc.h"
#include "pjrt/error.h"

PJRT_Executable *rk_executable_of(const PJRT_Api *api, PJRT_LoadedExecutable *loaded) {
    if (!RK_PJRT_HAS(api, PJRT_LoadedExecutable_GetExecutable))
        return NULL;
    PJRT_LoadedExecutable_GetExecutable_Args args = {
        .struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
        .loaded_executable = loaded};
    PJRT_Error *error = api->PJRT_LoadedExecutable_GetExecutable(&args);
    rk_pjrt_error_drop(api, error);
    return error ? NULL : args.executable;
}

void rk_executable_destroy(const PJRT_Api *api, PJRT_Executable *executable) {
    if (!executable || !RK_PJRT_HAS(api, PJRT_Executable_Destroy))
        return;
    PJRT_Executable_Destroy_Args args = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                         .executable = executable};
    rk_pjrt_error_drop(api, api->PJRT_Executable_Destroy(&args));
}

char *rk_executable_name(const PJRT_Api *api, PJRT_Executable *executable) {
    if (!RK_PJRT_HAS(api, PJRT_Executable_Name))
        return NULL;
    PJRT_Executable_Name_Args args = {.struct_size = PJRT_Executable_Name_Args_STRUCT_SIZE,
                                      .executable = executable};
    PJRT_Error *error = api->PJRT_Executable_Name(&args);
    rk_pjrt_error_drop(api, error);
    return error ? NULL : rk_strndup(args.executable_name, args.executable_name_size);
}

static rk_err *ask_optimized(const PJRT_Api *api, PJRT_Executable *executable,
                             PJRT_Program *program) {
    if (!RK_PJRT_HAS(api, PJRT_Executable_OptimizedProgram))
        return rk_error(RK_UNIMPLEMENTED, "the plugin has no PJRT_Executable_OptimizedProgram");
    PJRT_Executable_OptimizedProgram_Args args = {
        .struct_size = PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE,
        .executable = executable,
        .program = program};
    return rk_pjrt_error_take(api, api->PJRT_Executable_OptimizedProgram(&args));
}

rk_err *rk_executable_optimized(const PJRT_Api *api, PJRT_Executable *executable,
                                PJRT_Program *out_program) {
    *out_program = (PJRT_Program){.struct_size = PJRT_Program_STRUCT_SIZE};
    return ask_optimized(api, executable, out_program);
}

static bool same_format(const PJRT_Program *one, const PJRT_Program *other) {
    return one->format_size == other->format_size &&
           (one->format_size == 0 || memcmp(one->format, other->format, one->format_size) == 0);
}

rk_err *rk_executable_optimized_code(const PJRT_Api *api, PJRT_Executable *executable,
                                     const PJRT_Program *program, rk_buf *out_code) {
    rk_buf_reserve(out_code, program->code_size);
    RK_TRY(rk_buf_status(out_code));
    char *place = (char *)out_code->data + out_code->len;
    PJRT_Program whole = *program;
    whole.code = place;
    RK_TRY(ask_optimized(api, executable, &whole));
    if (whole.code != place || whole.code_size != program->code_size ||
        !same_format(&whole, program))
        return rk_error(RK_INTERNAL,
                        "the plugin returned another optimized program on the second call");
    out_code->len += whole.code_size;
    out_code->data[out_code->len] = 0;
    return NULL;
}

rk_err *rk_executable_serialize(const PJRT_Api *api, PJRT_Executable *executable,
                                rk_buf *out_bytes) {
    PJRT_Executable_Serialize_Args args = {
        .struct_size = PJRT_Executable_Serialize_Args_STRUCT_SIZE, .executable = executable};
    RK_TRY(rk_pjrt_error_take(api, api->PJRT_Executable_Serialize(&args)));
    rk_buf_add(out_bytes, args.serialized_bytes, args.serialized_bytes_size);
    if (args.serialized_executable_deleter)
        args.serialized_executable_deleter(args.serialized_executable);
    return rk_buf_status(out_bytes);
}
