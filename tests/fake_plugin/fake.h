// A small real PJRT plugin whose behaviour tests choose through environment variables (README.md).
// It checks how it is used and aborts on misuse, after a line in the trace: a destroyed handle, a
// call into a destroyed client, a call while the process tears the plugin down.
//
// It knows nothing of rekindle: only pjrt_c_api.h and libc.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pjrt_c_api.h>

#include "entries.h"

// live.c: objects, so that every handle that comes in can be checked.

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

// The head of everything that a handle points to. Objects are never freed, only marked: a handle
// used after its destruction is then always recognised, never mistaken for a newer object (unless
// FAKE_PJRT_REUSE is set).
typedef struct fake_object {
    fake_kind kind;
    uint64_t number;               // of its kind, from 1
    bool dead;                     // guarded by the registry's lock, as is users
    int users;                     // calls that are working on it right now
    PJRT_Client *client;           // that it needs alive, or NULL
    struct fake_object *next;      // in its bucket
    struct fake_object *next_dead; // of its kind, with FAKE_PJRT_REUSE
} fake_object;

// A zeroed object of `size` bytes; aborts when memory is short.
uint64_t fake_object_count(fake_kind kind); // live ones
void *fake_object_new(fake_kind kind, size_t size, PJRT_Client *client);
// Aborts unless `handle` is a live object of that kind whose client lives.
void fake_object_check(fake_kind kind, const void *handle);
// As fake_object_check, and keeps others from destroying it (or its client) until
// fake_object_leave.
void fake_object_enter(fake_kind kind, const void *handle);
void fake_object_leave(const void *handle);
// Marks it dead. Aborts if it is no such live object, or in use by another call.
void fake_object_kill(fake_kind kind, const void *handle);
// "error=0 event=1 …": live objects, of one client or (NULL) all.
void fake_object_census(const PJRT_Client *client, char *out_text, size_t size);

// trace.c: the trace, entering and leaving, teardown.

typedef struct fake_call {
    const char *entry;
    PJRT_Error *error; // non-NULL: the arguments were refused
    uint64_t start_ns;
} fake_call;

// Every entry begins and ends with these. `args` is NULL for what has none; `header_size` is the
// size of its struct in the header.
fake_call fake_enter(const char *entry, const void *args, size_t header_size);
void fake_leave(const fake_call *call, const PJRT_Error *error);

// One more line in the trace (JSON), if there is one.
void fake_trace(const char *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Writes a MISUSE line to the trace and to stderr, then aborts.
_Noreturn void fake_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fake_sleep_ms(int64_t milliseconds);

// Returns as soon as that file exists; at once if `path` is NULL.
void fake_wait_for_file(const char *path);
// A real fault: unlike raise(), it cannot be held back by a signal mask.
void fake_crash(void);
// In a forked child: forgets the calls that threads of the parent were in.
void fake_trace_begin_as_child(void);

// settings.c

const char *fake_setting(const char *name, const char *fallback);
int64_t fake_setting_int(const char *name, int64_t fallback);
// What the plugin goes by of XLA_FLAGS, which it reads when FAKE_PJRT_READ_FLAGS says: the first
// "client" is made, the first program is compiled ("compile"), or "always"; "" before, and without.
const char *fake_flags(const char *moment);
// True if FAKE_PJRT_FAIL lists `what` ("what", or "what:N" for the first N times).
bool fake_fails(const char *what);
int fake_api_minor(void); // FAKE_PJRT_API_MINOR, fixed at the first use
// The size that a struct of this name has in the API version in force, given its size in the
// header.
size_t fake_args_size(const char *struct_name, size_t header_size);
// The refusal of a struct of the wrong size, as XLA words it, or NULL. With FAKE_PJRT_STRICT also
// of one that is longer than this version knows it.
PJRT_Error *fake_check_size(const char *name, const char *ending, const void *args,
                            size_t header_size);
// With FAKE_PJRT_CALLER_MINOR: aborts if a field is set that a caller of that version does not
// have.
void fake_check_unset(const char *name, const void *args, size_t header_size);

// errors.c

PJRT_Error *fake_error(PJRT_Error_Code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
PJRT_Event *fake_event_ready(void);
PJRT_Error_Code fake_error_code(const PJRT_Error *error);
const char *fake_error_message(const PJRT_Error *error);
// Entry of API 0.99, which the header does not have.
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
    size_t of_a_process; // how many of them belong to each process
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

// For the lifetime of the process.
const char *fake_platform_name(void);
const char *fake_platform_version(void);
size_t fake_addressable_count(size_t count); // how many of a client's devices are this process's
PJRT_DeviceDescription *fake_description_new(int id, size_t of_a_process, PJRT_Client *client);
PJRT_TopologyDescription *fake_topology_new(size_t count, size_t of_a_process, PJRT_Client *client);
void fake_topology_kill(PJRT_TopologyDescription *topology);
// Entry of API 0.101.
PJRT_Error *fake_topology_fingerprint(void *args);

// program.c: what a program says, and executables as bytes.

enum { FAKE_MAX_OUTPUTS = 8, FAKE_NAME_SIZE = 128 };

// A compiled program: shared by PJRT_Executable and PJRT_LoadedExecutable, by a count.
typedef struct fake_program {
    atomic_int references;
    char name[FAKE_NAME_SIZE];
    size_t outputs;
    int64_t elements; // of each output, when the program has no inputs
    float add;
    int64_t sleep_ms; // how long the compiler takes
    char *code;       // as it came
    size_t code_size;
    char *options; // as they came
    size_t options_size;
    bool deserialized;
    char codegen[64]; // what the compiler made of it: FAKE_PJRT_CODEGEN when it was compiled
    uint64_t fingerprint;
    char fingerprint_text[32];
    // Metadata, in the shapes that the entries hand out.
    int64_t dims[FAKE_MAX_OUTPUTS];
    size_t dim_sizes[FAKE_MAX_OUTPUTS];
    PJRT_Buffer_Type types[FAKE_MAX_OUTPUTS];
    const char *memory_kinds[FAKE_MAX_OUTPUTS];
    size_t memory_kind_sizes[FAKE_MAX_OUTPUTS];
    PJRT_NamedValue cost;
} fake_program;

// Reads "name=… outputs=… …". An error says what is wrong, as a compiler would.
PJRT_Error *fake_program_parse(const char *code, size_t code_size, const char *options,
                               size_t options_size, fake_program **out_program);
// Says what the compiler made of it, which shows in the fingerprint and is kept in the bytes.
void fake_program_set_codegen(fake_program *program, const char *text, size_t size);
fake_program *fake_program_share(fake_program *program);
void fake_program_release(fake_program *program);
// The bytes of an executable: malloc'ed.
char *fake_program_encode(const fake_program *program, size_t *out_size);
// `override` NULL: the options that were serialized.
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
size_t fake_type_size(PJRT_Buffer_Type type); // 0 for types the plugin does not know

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
