#include "pjrt/optimized.h"

#include <pthread.h>

#include "base/alloc.h"
#include "pjrt/error.h"
#include "pjrt/executable.h"
#include "pjrt/runtime.h"

// JAX asks twice. What is kept at most, of all executables, and how many of them are remembered.
enum { TIMES = 2, KEPT_MAX = 4096 };
#define KEPT_MAX_BYTES ((size_t)64 << 20)

typedef struct kept {
    struct kept *next;
    const void *handle; // a PJRT_Executable, or the PJRT_LoadedExecutable that it will be asked for
    rk_buf code;        // empty once it was handed out: from then on the plugin answers
    const char *format; // the plugin's own
    size_t format_size;
    unsigned times; // that it was handed out
} kept;

static struct {
    pthread_mutex_t mutex; // for all below
    kept *first;           // the newest first
    size_t bytes;
    atomic_size_t count; // read without the mutex as a hint
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// In the child of a fork, where somebody may have had the mutex, there is no runtime.
static bool is_on(void) {
    return rk_runtime_get() != NULL;
}

// The rest is called with the mutex held.

static kept **find(const void *handle) {
    kept **link = &all.first;
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static void drop_code(kept *one) {
    all.bytes -= one->code.len;
    rk_buf_cleanup(&one->code);
    one->code = (rk_buf){0};
}

static void remove_at(kept **link) {
    kept *one = *link;
    *link = one->next;
    drop_code(one);
    rk_free(one);
    (void)atomic_fetch_sub_explicit(&all.count, 1, memory_order_relaxed);
}

// The oldest go first. False: it is more than may be kept.
static bool make_room(size_t bytes) {
    while (all.bytes > KEPT_MAX_BYTES - bytes) {
        kept *oldest = NULL;
        for (kept *one = all.first; one; one = one->next)
            oldest = one->code.len ? one : oldest;
        if (!oldest)
            return false;
        drop_code(oldest);
    }
    return true;
}

// Consumes `code`, which may be empty: then it is only remembered that this one was asked for.
static void add(const void *handle, const PJRT_Program *program, rk_buf *code) {
    kept *one = atomic_load_explicit(&all.count, memory_order_relaxed) < KEPT_MAX
                    ? rk_calloc(1, sizeof *one)
                    : NULL;
    if (!one || !make_room(code->len)) {
        rk_free(one);
        rk_buf_cleanup(code);
        return;
    }
    *one = (kept){.next = all.first,
                  .handle = handle,
                  .code = *code,
                  .format = program->format,
                  .format_size = program->format_size};
    *code = (rk_buf){0};
    all.first = one;
    all.bytes += one->code.len;
    (void)atomic_fetch_add_explicit(&all.count, 1, memory_order_relaxed);
}

// Until here.

void rk_optimized_forget(const void *handle) {
    if (atomic_load_explicit(&all.count, memory_order_relaxed) == 0 || !is_on())
        return;
    (void)pthread_mutex_lock(&all.mutex);
    kept **link = find(handle);
    if (*link)
        remove_at(link);
    (void)pthread_mutex_unlock(&all.mutex);
}

static void keep(const void *handle, const PJRT_Program *program, rk_buf *code) {
    (void)pthread_mutex_lock(&all.mutex);
    kept **link = find(handle);
    if (*link) // another thread was faster
        rk_buf_cleanup(code);
    else
        add(handle, program, code);
    (void)pthread_mutex_unlock(&all.mutex);
}

// Answers from what is kept. `*out_known`: it was asked for before, and need not be kept again.
static bool answer(const void *handle, PJRT_Program *program, bool *out_known) {
    (void)pthread_mutex_lock(&all.mutex);
    kept *one = *find(handle);
    *out_known = one != NULL;
    bool answered = one && one->code.len && (!program->code || program->code_size >= one->code.len);
    if (answered) {
        program->format = one->format;
        program->format_size = one->format_size;
        program->code_size = one->code.len;
        if (program->code)
            memcpy(program->code, one->code.data, one->code.len);
        if (program->code && ++one->times == TIMES)
            drop_code(one);
    }
    (void)pthread_mutex_unlock(&all.mutex);
    return answered;
}

// The content, after the plugin was asked for its size; empty where it is not to be had.
static void read_code(const rk_plugin *plugin, PJRT_Executable *executable,
                      const PJRT_Program *sized, rk_buf *out_code) {
    *out_code = (rk_buf){0};
    if (!sized->code_size || sized->code_size > KEPT_MAX_BYTES)
        return;
    rk_buf_reserve(out_code, sized->code_size);
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = (char *)out_code->data,
                            .code_size = sized->code_size};
    PJRT_Executable_OptimizedProgram_Args args = {
        .struct_size = PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE,
        .executable = executable,
        .program = &program};
    if (out_code->failed)
        return;
    PJRT_Error *error = plugin->real->PJRT_Executable_OptimizedProgram(&args);
    if (!error && program.code_size == sized->code_size)
        out_code->len = program.code_size;
    rk_pjrt_error_drop(plugin->real, error);
}

static PJRT_Error *ask(const rk_plugin *plugin, PJRT_Executable_OptimizedProgram_Args *args) {
    bool known;
    if (answer(args->executable, args->program, &known))
        return NULL;
    PJRT_Error *error = plugin->real->PJRT_Executable_OptimizedProgram(args);
    if (error || known || args->program->code)
        return error;
    rk_buf code;
    read_code(plugin, args->executable, args->program, &code);
    keep(args->executable, args->program, &code);
    return NULL;
}

PJRT_Error *rk_optimized_hook(rk_plugin *plugin, PJRT_Executable_OptimizedProgram_Args *args) {
    if (!is_on() || args->struct_size < PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE ||
        !args->executable || !args->program ||
        args->program->struct_size < PJRT_Program_STRUCT_SIZE)
        return plugin->real->PJRT_Executable_OptimizedProgram(args);
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    PJRT_Error *error = ask(plugin, args);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return error;
}

// The record of a loaded executable becomes that of the handle for its description.
static void move(const void *loaded, const void *executable) {
    (void)pthread_mutex_lock(&all.mutex);
    kept *one = *find(loaded);
    if (one)
        one->handle = executable;
    (void)pthread_mutex_unlock(&all.mutex);
}

PJRT_Error *rk_optimized_get_hook(rk_plugin *plugin,
                                  PJRT_LoadedExecutable_GetExecutable_Args *args) {
    PJRT_Error *error = plugin->real->PJRT_LoadedExecutable_GetExecutable(args);
    if (error || atomic_load_explicit(&all.count, memory_order_relaxed) == 0 || !is_on())
        return error;
    rk_optimized_forget(args->executable);
    move(args->loaded_executable, args->executable);
    return NULL;
}

PJRT_Error *rk_optimized_destroy_hook(rk_plugin *plugin, PJRT_Executable_Destroy_Args *args) {
    rk_optimized_forget(args->executable);
    return plugin->real->PJRT_Executable_Destroy(args);
}

void rk_optimized_read_ahead(const rk_plugin *plugin, PJRT_LoadedExecutable *loaded) {
    const PJRT_Api *api = plugin->real;
    if (!is_on() || !RK_PJRT_HAS(api, PJRT_Executable_OptimizedProgram))
        return;
    PJRT_Executable *executable = rk_executable_of(api, loaded);
    if (!executable)
        return;
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE};
    PJRT_Executable_OptimizedProgram_Args args = {
        .struct_size = PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE,
        .executable = executable,
        .program = &program};
    rk_buf code = {0};
    PJRT_Error *error = api->PJRT_Executable_OptimizedProgram(&args);
    if (!error)
        read_code(plugin, executable, &program, &code);
    if (code.len)
        keep(loaded, &program, &code);
    rk_buf_cleanup(&code);
    rk_pjrt_error_drop(api, error);
    rk_executable_destroy(api, executable);
}
