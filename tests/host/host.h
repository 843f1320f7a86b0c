// pjrt_host: a minimal framework. It opens a PJRT plugin as frameworks do (dlopen, dlsym of
// "GetPjrtApi"), runs the words of its command line, and prints one JSON object per word on stdout.
// It contains nothing specific to rekindle except the words `step` and `mark-warm`
// (pjrt/rekindle.h). README.md lists the words.
#pragma once

#include <pthread.h>

#include <pjrt_c_api.h>

#include "base/json.h"

enum {
    HOST_MAX_CLIENTS = 64,
    HOST_MAX_EXECUTABLES = 256,
    HOST_MAX_OUTPUTS = 64,
    HOST_MAX_OPTIONS = 8
};

// The state on which the words act. A thread of thread=N{…} starts with a copy that has no
// executables and no outputs. It does not destroy what it creates.
typedef struct host {
    const char *path; // of the plugin; borrowed from the command line
    void *handle;     // from dlopen
    const PJRT_Api *api;
    PJRT_Client *clients[HOST_MAX_CLIENTS];
    size_t client_count;
    size_t client;                      // index of the client in use
    PJRT_TopologyDescription *topology; // made by topology=NAME, or NULL
    PJRT_LoadedExecutable *executables[HOST_MAX_EXECUTABLES];
    size_t executable_count;
    PJRT_Buffer *outputs[HOST_MAX_OUTPUTS];
    size_t output_count;
    rk_buf serialized;         // result of the last `serialize`
    const char *extensions[3]; // extension types for a compilation, a program and a client
    const char *options[HOST_MAX_OPTIONS]; // options of new clients
    size_t option_count;
    int minor;                 // API version that the host uses; 0: the header's
    const char *call_location; // passed to each execution, or NULL
    int thread;
    int round;
    bool failed; // some word returned an error
} host;

// Begins the JSON line of one word. The caller adds members, then must call host_end.
typedef struct host_line {
    rk_buf text;
    rk_json json;
} host_line;
void host_begin(host_line *line, const host *h, const char *action);
// Adds "ok". If `error` is not NULL, adds its code and message through the plugin's functions and
// destroys the error. Writes the line. False if there was an error.
bool host_end(host_line *line, host *h, PJRT_Error *error);
// The same for a failure before the call of the plugin.
void host_end_failed(host_line *line, host *h, const char *why);

// Prints a message to stderr and exits with 2. For mistakes in the words, not in the code under
// test.
_Noreturn void host_usage(const char *format, ...) RK_PRINTF(1, 2);

// Runs words[0…count). May not return (exit=…).
void host_run(host *h, char *const *words, size_t count);

// One function per word. `value` is the text after '=', or "".
void host_lib(host *h, const char *value);
void host_again(host *h, const char *value);
void host_dlclose(host *h, const char *value);
void host_init(host *h, const char *value);
void host_attributes(host *h, const char *value);
void host_table(host *h, const char *value);
void host_extra(host *h, const char *value);
void host_transform(host *h, const char *value);
void host_minor(host *h, const char *value);
void host_location(host *h, const char *value);
void host_memories(host *h, const char *value);
void host_device_stats(host *h, const char *value);
void host_view(host *h, const char *value);
void host_memory_stats(host *h, const char *value);
void host_option(host *h, const char *value);
void host_client_extension(host *h, const char *value);
void host_client(host *h, const char *value);
void host_use_client(host *h, const char *value);
void host_destroy_client(host *h, const char *value);
void host_destroy_at_exit(host *h, const char *value);
void host_topology(host *h, const char *value);
void host_destroy_topology(host *h, const char *value);
void host_extension(host *h, const char *value);
void host_program_extension(host *h, const char *value);
void host_compile(host *h, const char *value);
void host_compile_topology(host *h, const char *value);
void host_inspect(host *h, const char *value);
void host_optimized(host *h, const char *value);
void host_serialize(host *h, const char *value);
void host_load(host *h, const char *value);
void host_destroy_exec(host *h, const char *value);
void host_execute(host *h, const char *value);
void host_tohost(host *h, const char *value);
void host_destroy_buffers(host *h, const char *value);
void host_misuse(host *h, const char *value);

// Index of the executable that a value like "3" names; "" names the last one. Calls host_usage if
// there is none.
size_t host_pick_executable(const host *h, const char *value);
PJRT_Client *host_current_client(const host *h);

// Calls an entry with a struct of the size that the host's API version has. `args` has `capacity`
// bytes, which may be fewer or more; missing bytes are 0. `name` is the struct's name without
// "_Args".
typedef PJRT_Error *host_entry(void *args);
PJRT_Error *host_call(const host *h, const char *name, host_entry *entry, void *args,
                      size_t capacity);
#define HOST_CALL(h, entry, args)                                                                  \
    host_call((h), #entry, (host_entry *)(h)->api->entry, (args), sizeof *(args))

// The same for a struct to which another struct points. Returns a copy. Owned: host_struct_free.
void *host_struct_new(const host *h, const char *name, const void *from, size_t capacity);
void host_struct_free(const char *name, void *copy);

// A zeroed argument struct with its size set.
#define HOST_ARGS(type, ...) ((type){.struct_size = (size_t)type##_STRUCT_SIZE, __VA_ARGS__})
#define HOST_NO_ARGS(type)   ((type){.struct_size = (size_t)type##_STRUCT_SIZE})
