// Environment variables: read when they are needed, so that a test may choose for each process.
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char *fake_setting(const char *name, const char *fallback) {
    const char *value = getenv(name);
    return value && *value ? value : fallback;
}

int64_t fake_setting_int(const char *name, int64_t fallback) {
    const char *value = fake_setting(name, NULL);
    if (!value)
        return fallback;
    char *end = NULL;
    long long number = strtoll(value, &end, 10);
    if (*end != '\0')
        fake_misuse("%s=%s is not a number", name, value);
    return number;
}

// FAKE_PJRT_FAIL.

enum { MAX_COUNTED = 16 };

// How often each "what:N" has struck so far; `what` points into string literals of this plugin.
static struct {
    const char *what;
    int64_t times;
} struck[MAX_COUNTED];
static pthread_mutex_t struck_lock = PTHREAD_MUTEX_INITIALIZER;

static bool strikes_again(const char *what, int64_t limit) {
    bool again = false;
    pthread_mutex_lock(&struck_lock);
    for (size_t i = 0; i < MAX_COUNTED; i++) {
        if (!struck[i].what)
            struck[i].what = what;
        if (strcmp(struck[i].what, what) == 0) {
            again = struck[i].times++ < limit;
            break;
        }
    }
    pthread_mutex_unlock(&struck_lock);
    return again;
}

bool fake_fails(const char *what) {
    const char *list = fake_setting("FAKE_PJRT_FAIL", "");
    size_t len = strlen(what);
    while (*list) {
        size_t item = strcspn(list, ",");
        if (item >= len && strncmp(list, what, len) == 0) {
            if (item == len)
                return true;
            if (list[len] == ':')
                return strikes_again(what, strtoll(list + len + 1, NULL, 10));
        }
        list += item + (list[item] == ',');
    }
    return false;
}

// FAKE_PJRT_API_MINOR.

int fake_api_minor(void) {
    static atomic_int minor;
    int value = atomic_load(&minor);
    if (value == 0) {
        value = (int)fake_setting_int("FAKE_PJRT_API_MINOR", PJRT_API_MINOR);
        if (value < 40 || value > 116)
            fake_misuse("FAKE_PJRT_API_MINOR=%d: 40 to 116 are known", value);
        atomic_store(&minor, value);
    }
    return value;
}

// Structs that grew: up to which version they ended before a field of today's header. (XLA's
// changelog of the PJRT C API.)
static const struct {
    const char *name;
    int before_minor;
    size_t size;
} shorter[] = {
    {"PJRT_Client_Create", 61, offsetof(PJRT_Client_Create_Args, kv_try_get_callback)},
    {"PJRT_Executable_DeserializeAndLoad", 71,
     offsetof(PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options)},
    {"PJRT_Client_CreateViewOfDeviceBuffer", 66,
     offsetof(PJRT_Client_CreateViewOfDeviceBuffer_Args, memory)},
    {"PJRT_ExecuteOptions", 64, offsetof(PJRT_ExecuteOptions, context)},
    {"PJRT_ExecuteOptions", 76, offsetof(PJRT_ExecuteOptions, call_location)},
    {"PJRT_ExecuteOptions", 78, offsetof(PJRT_ExecuteOptions, num_tasks)},
    {"PJRT_Executable_GetCompiledMemoryStats", 43,
     offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, host_generated_code_size_in_bytes)},
    {"PJRT_Executable_GetCompiledMemoryStats", 72,
     offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes)},
};

// Structs that are longer in versions after the header's, and by how much.
static const struct {
    const char *name;
    int from_minor;
    size_t more;
} longer[] = {
    {"PJRT_ExecuteOptions", 97, 8},
    {"PJRT_Executable_GetCompiledMemoryStats", 90, 8},
    {"PJRT_Executable_GetCompiledMemoryStats", 104, 24},
};

size_t fake_args_size(const char *struct_name, size_t header_size) {
    int minor = fake_api_minor();
    for (size_t i = 0; i < sizeof shorter / sizeof shorter[0]; i++) {
        if (minor < shorter[i].before_minor && strcmp(struct_name, shorter[i].name) == 0)
            return shorter[i].size;
    }
    for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++) {
        if (minor >= longer[i].from_minor && strcmp(struct_name, longer[i].name) == 0)
            header_size += longer[i].more;
    }
    return header_size;
}
