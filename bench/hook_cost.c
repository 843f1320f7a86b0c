// Measures the execute hook: executes the same executable through the plugin's own table and
// through rekindle's, batch by batch in turn, in one process.
//
//     hook_cost PLUGIN LIBREKINDLE_PJRT BATCHES CALLS-A-BATCH THREADS
//
// REKINDLE_PLUGIN must name PLUGIN. Prints one JSON object: nanoseconds per call, as median and
// quartiles over the batches. A call executes, waits for the result, and destroys the output.
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pjrt_c_api.h>

#define ARGS(type, ...) ((type){.struct_size = (size_t)type##_STRUCT_SIZE, __VA_ARGS__})

enum { MAX_THREADS = 64, MAX_BATCHES = 100000 };

static const char program_text[] =
    "module @add {\n"
    "  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
    "    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";
// CompileOptionsProto { executable_build_options (3) { num_replicas (4): 1, num_partitions (5): 1 }
// }
static const char compile_options[] = {0x1a, 4, 0x20, 1, 0x28, 1};

__attribute__((format(printf, 1, 2))) _Noreturn static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static void check(const PJRT_Api *api, PJRT_Error *error, const char *what) {
    if (!error)
        return;
    PJRT_Error_Message_Args message = ARGS(PJRT_Error_Message_Args, .error = error);
    api->PJRT_Error_Message(&message);
    fail("%s: %.*s", what, (int)message.message_size, message.message);
}
#define CHECK(api, entry, args) check((api), (api)->entry(args), #entry)

static const PJRT_Api *load_api(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail("%s", dlerror());
    const PJRT_Api *(*get_api)(void) = NULL;
    *(void **)&get_api = dlsym(handle, "GetPjrtApi");
    const PJRT_Api *api = get_api ? get_api() : NULL;
    if (!api)
        fail("%s: no PJRT plugin", path);
    return api;
}

static PJRT_LoadedExecutable *compile(const PJRT_Api *api, PJRT_Client *client) {
    char code[sizeof program_text];
    memcpy(code, program_text, sizeof code);
    PJRT_Program program = ARGS(PJRT_Program, .code = code, .code_size = sizeof code - 1,
                                .format = "mlir", .format_size = 4);
    PJRT_Client_Compile_Args args =
        ARGS(PJRT_Client_Compile_Args, .client = client, .program = &program,
             .compile_options = compile_options, .compile_options_size = sizeof compile_options);
    CHECK(api, PJRT_Client_Compile, &args);
    return args.executable;
}

static void await(const PJRT_Api *api, PJRT_Event *event) {
    PJRT_Event_Await_Args args = ARGS(PJRT_Event_Await_Args, .event = event);
    CHECK(api, PJRT_Event_Await, &args);
    PJRT_Event_Destroy_Args destroy = ARGS(PJRT_Event_Destroy_Args, .event = event);
    CHECK(api, PJRT_Event_Destroy, &destroy);
}

static PJRT_Buffer *make_input(const PJRT_Api *api, PJRT_Client *client) {
    static const int64_t dims[] = {4};
    static const float values[] = {1, 2, 3, 4};
    PJRT_Client_AddressableDevices_Args devices =
        ARGS(PJRT_Client_AddressableDevices_Args, .client = client);
    CHECK(api, PJRT_Client_AddressableDevices, &devices);
    PJRT_Client_BufferFromHostBuffer_Args args =
        ARGS(PJRT_Client_BufferFromHostBuffer_Args, .client = client, .data = values,
             .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1,
             .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
             .device = devices.addressable_devices[0]);
    CHECK(api, PJRT_Client_BufferFromHostBuffer, &args);
    await(api, args.done_with_host_buffer);
    return args.buffer;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

typedef struct subject {
    PJRT_LoadedExecutable *executable;
    PJRT_Buffer *input;
    size_t calls; // per batch
} subject;

static double batch_ns(const PJRT_Api *api, const subject *s) {
    PJRT_Buffer *const inputs[] = {s->input};
    PJRT_Buffer *const *input_lists[] = {inputs};
    PJRT_ExecuteOptions options = ARGS(PJRT_ExecuteOptions, .launch_id = 0);
    uint64_t start_ns = now_ns();
    for (size_t i = 0; i < s->calls; i++) {
        PJRT_Buffer *output = NULL;
        PJRT_Buffer **outputs = &output;
        PJRT_Event *done = NULL;
        PJRT_LoadedExecutable_Execute_Args args =
            ARGS(PJRT_LoadedExecutable_Execute_Args, .executable = s->executable,
                 .options = &options, .argument_lists = input_lists, .num_devices = 1,
                 .num_args = 1, .output_lists = &outputs, .device_complete_events = &done);
        CHECK(api, PJRT_LoadedExecutable_Execute, &args);
        if (done)
            await(api, done);
        if (output) {
            PJRT_Buffer_Destroy_Args destroy = ARGS(PJRT_Buffer_Destroy_Args, .buffer = output);
            CHECK(api, PJRT_Buffer_Destroy, &destroy);
        }
    }
    return (double)(now_ns() - start_ns) / (double)s->calls;
}

// The work of one thread. All threads start together; only the first thread keeps its times.
typedef struct worker {
    const PJRT_Api *bare, *hooked;
    const subject *subject;
    size_t batches;
    pthread_barrier_t *barrier;
    double *bare_ns, *hooked_ns, *added_ns; // NULL: do not keep
} worker;

static double turn(const worker *w, const PJRT_Api *api) {
    pthread_barrier_wait(w->barrier);
    return batch_ns(api, w->subject);
}

static void *work(void *context) {
    const worker *w = context;
    for (size_t i = 0; i < w->batches; i++) {
        // Each table goes first in every other batch.
        double first = turn(w, i % 2 ? w->hooked : w->bare);
        double second = turn(w, i % 2 ? w->bare : w->hooked);
        if (!w->bare_ns)
            continue;
        w->bare_ns[i] = i % 2 ? second : first;
        w->hooked_ns[i] = i % 2 ? first : second;
        w->added_ns[i] = w->hooked_ns[i] - w->bare_ns[i];
    }
    return NULL;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_quartiles(const char *name, double *values, size_t count, const char *end) {
    qsort(values, count, sizeof *values, compare);
    printf("\"%s\":{\"median\":%.3f,\"q1\":%.3f,\"q3\":%.3f}%s", name, values[count / 2],
           values[count / 4], values[count * 3 / 4], end);
}

static double *allocate(size_t count) {
    double *values = calloc(count, sizeof *values);
    if (!values)
        fail("out of memory");
    return values;
}

static void measure(worker *first, size_t threads) {
    pthread_t others[MAX_THREADS];
    worker rest = *first;
    first->bare_ns = allocate(first->batches);
    first->hooked_ns = allocate(first->batches);
    first->added_ns = allocate(first->batches);
    for (size_t i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, &rest) != 0)
            fail("pthread_create failed");
    (void)work(first);
    for (size_t i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    printf("{\"threads\":%zu,\"batches\":%zu,\"calls\":%zu,", threads, first->batches,
           first->subject->calls);
    print_quartiles("bare_ns", first->bare_ns, first->batches, ",");
    print_quartiles("hooked_ns", first->hooked_ns, first->batches, ",");
    print_quartiles("added_ns", first->added_ns, first->batches, "}\n");
    free(first->bare_ns);
    free(first->hooked_ns);
    free(first->added_ns);
}

static size_t number(const char *text, size_t max) {
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 10);
    if (*end != '\0' || value == 0 || value > max)
        fail("%s: not a number from 1 to %zu", text, max);
    return value;
}

int main(int argc, char **argv) {
    if (argc != 6)
        fail("usage: hook_cost PLUGIN LIBREKINDLE_PJRT BATCHES CALLS-A-BATCH THREADS");
    const PJRT_Api *bare = load_api(argv[1]);
    const PJRT_Api *hooked = load_api(argv[2]);
    if (bare->PJRT_LoadedExecutable_Execute == hooked->PJRT_LoadedExecutable_Execute)
        fail("%s does not watch %s: is REKINDLE_PLUGIN right?", argv[2], argv[1]);
    PJRT_Plugin_Initialize_Args init = ARGS(PJRT_Plugin_Initialize_Args, .extension_start = NULL);
    CHECK(hooked, PJRT_Plugin_Initialize, &init);
    // Creates the client through rekindle's table, so that all of rekindle runs: store, journal,
    // counters.
    PJRT_Client_Create_Args create = ARGS(PJRT_Client_Create_Args, .num_options = 0);
    CHECK(hooked, PJRT_Client_Create, &create);

    subject add = {compile(hooked, create.client), make_input(hooked, create.client),
                   number(argv[4], SIZE_MAX)};
    size_t threads = number(argv[5], MAX_THREADS);
    pthread_barrier_t barrier;
    if (pthread_barrier_init(&barrier, NULL, (unsigned)threads) != 0)
        fail("pthread_barrier_init failed");
    worker first = {bare, hooked, &add, number(argv[3], MAX_BATCHES), &barrier, NULL, NULL, NULL};
    measure(&first, threads);

    PJRT_Buffer_Destroy_Args input = ARGS(PJRT_Buffer_Destroy_Args, .buffer = add.input);
    CHECK(hooked, PJRT_Buffer_Destroy, &input);
    PJRT_LoadedExecutable_Destroy_Args executable =
        ARGS(PJRT_LoadedExecutable_Destroy_Args, .executable = add.executable);
    CHECK(hooked, PJRT_LoadedExecutable_Destroy, &executable);
    PJRT_Client_Destroy_Args client = ARGS(PJRT_Client_Destroy_Args, .client = create.client);
    CHECK(hooked, PJRT_Client_Destroy, &client);
    return 0;
}
