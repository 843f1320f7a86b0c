// A wrapper of the plugin $OLDER_CALLER_PLUGIN for a framework that uses an older PJRT version. If
// the framework's execute options are shorter than the plugin's, the wrapper fills them with zeros.
// It changes nothing else. Tests run PyTorch/XLA on it without rekindle. rekindle has its own
// bridge (src/pjrt).
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt_c_api.h"

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void);

static const PJRT_Api *real;

static PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
    PJRT_ExecuteOptions options = {.struct_size = 0};
    PJRT_ExecuteOptions *given = args->options;
    size_t have = given->struct_size;
    memcpy(&options, given, have < sizeof options ? have : sizeof options);
    options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
    args->options = &options;
    PJRT_Error *error = real->PJRT_LoadedExecutable_Execute(args);
    args->options = given;
    return error;
}

const PJRT_Api *GetPjrtApi(void) {
    static PJRT_Api table;
    if (real)
        return &table;
    const char *path = getenv("OLDER_CALLER_PLUGIN");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const PJRT_Api *(*get)(void) = NULL;
    if (library)
        *(void **)&get = dlsym(library, "GetPjrtApi");
    real = get ? get() : NULL;
    if (!real || real->struct_size > sizeof table)
        abort();
    memcpy(&table, real, real->struct_size);
    table.PJRT_LoadedExecutable_Execute = execute;
    return &table;
}
