// A small PJRT plugin for tests. Environment variables select its behaviour (README.md). It checks
// its caller. On misuse it writes a line to the trace and aborts: use of a destroyed handle, a call
// into a destroyed client, a call while the process tears down the plugin.
//
// It uses nothing of rekindle, only pjrt_c_api.h and libc.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pjrt_c_api.h>

#include "entries.h"

// live.c: the registry of objects, which checks every incoming handle.

typedef enum fake_kind {
    FAKE_ERROR,
    FAKE_EVENT,
    FAKE_CLIENT,
    FAKE_DEVICE,
    FAKE_DESCRIPTION,
    FAKE_MEMORY,
    FAKE_TOPOLOGY,
    FAKE_EXECUTABLE,
    FAKE_LOADED,
    FAKE_SERIALIZED,
    FAKE_BUFFER,
    FAKE_CONTEXT,
    FAKE_KIND_COUNT,
} fake_kind;

// The first member of every object that has a handle. Objects are marked as dead, never freed. A
// handle that is used after its destruction is therefore always detected and never taken for a
// newer object (unless FAKE_PJRT_REUSE is set).
typedef struct fake_object {
    fake_kind kind;
    uint64_t number;               // among its kind, from 1
    bool dead;                     // guarded by the registry's lock, like `users`
    int users;                     // number of calls that currently use it
    PJRT_Client *client;           // client that must be alive, or NULL
    struct fake_object *next;      // in the hash bucket
    struct fake_object *next_dead; // of its kind, for FAKE_PJRT_REUSE
} fake_object;

uint64_t fake_object_count(fake_kind kind); // live objects of the kind
uint64_t fake_object_made(fake_kind kind);  // all objects of the kind so far
// A zeroed object of `size` bytes. Aborts if memory is short.
void *fake_object_new(fake_kind kind, size_t size, PJRT_Client *client);
// Aborts unless `handle` is a live object of that kind and its client is alive.
void fake_object_check(fake_kind kind, const void *handle);
// Like fake_object_check. Also prevents the destruction of the object and of its client until
// fake_object_leave.
void fake_object_enter(fake_kind kind, const void *handle);
void fake_object_leave(const void *handle);
// Marks the object as dead. Aborts if it is not a live object of that kind, or if another call uses
// it.
void fake_object_kill(fake_kind kind, const void *handle);
// Writes "error=0 event=1 …", the counts of live objects of one client, or of all if NULL.
void fake_object_census(const PJRT_Client *client, char *out_text, size_t size);

// trace.c: the trace, begin and end of entries, teardown.

typedef struct fake_call {
    const char *entry;
    PJRT_Error *error; // not NULL: the arguments were refused
    uint64_t start_ns;
} fake_call;

// Every entry begins and ends with these. `args` is NULL if the entry has no struct. `header_size`
// is the size of the struct in the header.
fake_call fake_enter(const char *entry, const void *args, size_t header_size);
void fake_leave(const fake_call *call, const PJRT_Error *error);

// Appends one JSON line to the trace, if there is one.
void fake_trace(const char *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Writes a MISUSE line to the trace and to stderr, then aborts.
_Noreturn void fake_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fake_sleep_ms(int64_t milliseconds);

// Blocks until the file exists. Returns at once if `path` is NULL.
void fake_wait_for_file(const char *path);
// Causes a real fault, which a signal mask cannot block, unlike raise().
void fake_crash(void);
// In a forked child: resets the count of running calls, which belong to the parent's threads.
void fake_trace_begin_as_child(void);

// settings.c

const char *fake_setting(const char *name, const char *fallback);
int64_t fake_setting_int(const char *name, int64_t fallback);
// The XLA_FLAGS that the compiler uses. FAKE_PJRT_READ_FLAGS selects when they are read: when the
// first client is created ("client"), when the first program is compiled ("compile"), or at each
// call ("always"). "" before that, or if the variable is not set. `moment` is the caller: "client"
// or "compile".
const char *fake_flags(const char *moment);
// True if FAKE_PJRT_FAIL lists `what`: as "what", "what:N" (the first N times) or "what:+N" (after
// the first N times).
bool fake_fails(const char *what);
int fake_api_minor(void); // FAKE_PJRT_API_MINOR, read once
// The size of the struct in the API version in use. `header_size` is its size in the header.
size_t fake_args_size(const char *struct_name, size_t header_size);
// Returns XLA's error for a struct that is too small, else NULL. With FAKE_PJRT_STRICT, also for a
// struct that is longer than in this version.
PJRT_Error *fake_check_size(const char *name, const char *ending, const void *args,
                            size_t header_size);
// With FAKE_PJRT_CALLER_MINOR: aborts if a field is set that does not exist in that version.
void fake_check_unset(const char *name, const void *args, size_t header_size);

// errors.c

PJRT_Error *fake_error(PJRT_Error_Code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
PJRT_Event *fake_event_ready(void);
PJRT_Error_Code fake_error_code(const PJRT_Error *error);
const char *fake_error_message(const PJRT_Error *error);
// An entry of API 0.99, which the header does not contain.
PJRT_Error *fake_for_each_payload(void *args);

// client.c, topology.c

struct PJRT_DeviceDescription {
    fake_object head;
    int id;
    int process;
    char kind[64];
    char text[96];
    int64_t coords[1];
    PJRT_NamedValue attribute;
};

struct PJRT_TopologyDescription {
    fake_object head;
    bool owned_by_client;
    size_t count;
    size_t of_a_process; // number of devices of each process
    PJRT_DeviceDescription **descriptions;
    PJRT_NamedValue attribute;
};

struct PJRT_Memory {
    fake_object head;
    int id;
    char text[64];
    PJRT_Device *device;
};

struct PJRT_Device {
    fake_object head;
    int id;
    PJRT_DeviceDescription *description;
    PJRT_Memory *memory;
    PJRT_Client *client;
};

struct PJRT_Client {
    fake_object head;
    size_t count;
    PJRT_Device **devices;
    PJRT_Memory **memories;
    PJRT_TopologyDescription *topology;
};

// Valid for the lifetime of the process.
const char *fake_platform_name(void);
const char *fake_platform_version(void);
size_t fake_addressable_count(size_t count); // number of a client's devices in this process
PJRT_DeviceDescription *fake_description_new(int id, size_t of_a_process, PJRT_Client *client);
PJRT_TopologyDescription *fake_topology_new(size_t count, size_t of_a_process, PJRT_Client *client);
void fake_topology_kill(PJRT_TopologyDescription *topology);
// An entry of API 0.101, which the header does not contain.
PJRT_Error *fake_topology_fingerprint(void *args);

// program.c: parsing of programs, and serialization of executables.

enum { FAKE_MAX_OUTPUTS = 8, FAKE_NAME_SIZE = 128 };

// A compiled program. PJRT_Executable and PJRT_LoadedExecutable share it by reference count.
typedef struct fake_program {
    atomic_int references;
    char name[FAKE_NAME_SIZE];
    size_t outputs;
    int64_t elements; // of each output, if the program has no inputs
    float add;
    int64_t sleep_ms; // duration of the compilation
    char *code;       // as received
    size_t code_size;
    char *options; // as received
    size_t options_size;
    bool deserialized;
    char codegen[64]; // code generated by the compiler: FAKE_PJRT_CODEGEN at compile time
    uint64_t fingerprint;
    char fingerprint_text[32];
    // Metadata, in the form in which the entries return it.
    int64_t dims[FAKE_MAX_OUTPUTS];
    size_t dim_sizes[FAKE_MAX_OUTPUTS];
    PJRT_Buffer_Type types[FAKE_MAX_OUTPUTS];
    const char *memory_kinds[FAKE_MAX_OUTPUTS];
    size_t memory_kind_sizes[FAKE_MAX_OUTPUTS];
    PJRT_NamedValue cost;
} fake_program;

// Parses "name=… outputs=… …". The error is a compile error that names the mistake.
PJRT_Error *fake_program_parse(const char *code, size_t code_size, const char *options,
                               size_t options_size, fake_program **out_program);
// Sets the generated code, which is part of the fingerprint and of the serialized bytes.
void fake_program_set_codegen(fake_program *program, const char *text, size_t size);
fake_program *fake_program_share(fake_program *program);
void fake_program_release(fake_program *program);
// Serializes an executable. Owned: free.
char *fake_program_encode(const fake_program *program, size_t *out_size);
// If `override` is NULL, uses the serialized options.
PJRT_Error *fake_program_decode(const char *data, size_t size, const char *override,
                                size_t override_size, fake_program **out_program);

// executable.c, buffer.c

struct PJRT_Executable {
    fake_object head;
    fake_program *program;
};

struct PJRT_LoadedExecutable {
    fake_object head;
    fake_program *program;
    PJRT_Client *client;
    atomic_bool deleted;
};

struct PJRT_Buffer {
    fake_object head;
    PJRT_Device *device;
    PJRT_Buffer_Type type;
    int64_t *dims;
    size_t num_dims;
    void *data;
    size_t size;
    atomic_bool deleted;
};

PJRT_Buffer *fake_buffer_new(PJRT_Device *device, PJRT_Buffer_Type type, const int64_t *dims,
                             size_t num_dims, const void *data);
size_t fake_type_size(PJRT_Buffer_Type type); // 0 for types that the plugin does not support

// The entries.

#define FAKE_DECLARE(name) name fake_##name;
FAKE_PJRT_ENTRIES(FAKE_DECLARE)
#undef FAKE_DECLARE

// Begins the definition of an entry: FAKE_ENTRY(PJRT_Client_Devices) { …uses args…; return NULL; }
#define FAKE_ENTRY(name)                                                                           \
    static PJRT_Error *body_##name(name##_Args *args);                                             \
    PJRT_Error *fake_##name(name##_Args *args) {                                                   \
        fake_call call = fake_enter(#name, args, (size_t)name##_Args_STRUCT_SIZE);                 \
        PJRT_Error *error = call.error ? call.error : body_##name(args);                           \
        fake_leave(&call, error);                                                                  \
        return error;                                                                              \
    }                                                                                              \
    static PJRT_Error *body_##name(name##_Args *args)

#define FAKE_ENTRY_UNIMPLEMENTED(name)                                                             \
    FAKE_ENTRY(name) {                                                                             \
        (void)args;                                                                                \
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "fake: %s is not implemented", #name);    \
    }
