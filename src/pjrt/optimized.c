#include "pjrt/optimized.h"

#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/heap_reserve.h"
#include "pjrt/executable.h"
#include "pjrt/runtime.h"

// JAX asks twice. What is kept at most, of all executables, and how many of them are remembered.
enum { TIMES = 2, KEPT_MAX = 4096 };
#define KEPT_MAX_BYTES ((size_t)64 << 20)
// jaxlib allocates so much in small pieces when it reads a program (measured: 33 with 48 layers).
// What is smaller than the second is soon read.
enum { READER_BYTES_A_BYTE = 32, ROOM_FROM_BYTES = 256 << 10 };

typedef struct kept {
    struct kept *next;
    const void *handle; // a PJRT_Executable, or the PJRT_LoadedExecutable that it will be asked for
    rk_buf code;        // empty once it was handed out: from then on the plugin answers
    const char *format; // static
    unsigned times;     // that it was handed out
    rk_heap_reservation *room; // for whoever reads it; owned; NULL: none
} kept;

static struct {
    pthread_mutex_t mutex; // for all below
    kept *first;           // the newest first
    size_t bytes;
    atomic_size_t count; // read without the mutex as a hint
    atomic_size_t rooms; // the same
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// In the child of a fork, where somebody may have had the mutex, there is no runtime.
static bool is_on(void) {
    return rk_runtime_get() != NULL;
}

static const char *const formats[] = {"hlo_with_config", "hlo", "mlir"};

// The plugin's own text may go with the handle that it came from. NULL: not one of those that XLA
// knows, and not to be kept.
static const char *static_format(const PJRT_Program *program) {
    for (size_t i = 0; program->format && i < RK_ARRAY_LEN(formats); i++)
        if (rk_span_is(rk_span_of(program->format, program->format_size), formats[i]))
            return formats[i];
    return NULL;
}

static bool can_be_kept(const PJRT_Program *program) {
    return program->code_size && program->code_size <= KEPT_MAX_BYTES && static_format(program);
}

// The rest is called with the mutex held.

static kept **find(const void *handle) {
    kept **link = &all.first;
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static bool has_slot(void) {
    return atomic_load_explicit(&all.count, memory_order_relaxed) < KEPT_MAX;
}

static void drop_room(kept *one) {
    rk_heap_reservation *room = RK_TAKE(one->room);
    if (!room)
        return;
    rk_heap_release(room);
    rk_free(room);
    (void)atomic_fetch_sub_explicit(&all.rooms, 1, memory_order_relaxed);
}

static void drop_code(kept *one) {
    all.bytes -= one->code.len;
    rk_buf_cleanup(&one->code);
    drop_room(one);
}

static void remove_at(kept **link) {
    kept *one = *link;
    *link = one->next;
    drop_code(one);
    rk_free(one);
    (void)atomic_fetch_sub_explicit(&all.count, 1, memory_order_relaxed);
}

static bool has_room(size_t bytes) {
    return bytes <= KEPT_MAX_BYTES && all.bytes <= KEPT_MAX_BYTES - bytes;
}

// The oldest go first.
static void make_room(size_t bytes) {
    while (!has_room(bytes)) {
        kept **oldest = NULL;
        for (kept **link = &all.first; *link; link = &(*link)->next)
            oldest = (*link)->code.len ? link : oldest;
        if (!oldest)
            break;
        remove_at(oldest);
    }
}

// Takes `code`, which may be empty: then it is only remembered that this one was asked for.
static void add(const void *handle, const char *format, rk_buf *code) {
    kept *one = has_slot() && has_room(code->len) ? rk_calloc(1, sizeof *one) : NULL;
    if (!one)
        return;
    *one = (kept){.next = all.first, .handle = handle, .code = *code, .format = format};
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

// Consumes `code`. What is kept ahead puts nothing out that was kept before it: it is wanted later.
static void keep(const void *handle, const char *format, rk_buf *code, bool ahead) {
    (void)pthread_mutex_lock(&all.mutex);
    if (!ahead)
        make_room(code->len);
    if (!*find(handle)) // or another thread was faster
        add(handle, format, code);
    (void)pthread_mutex_unlock(&all.mutex);
    rk_buf_cleanup(code);
}

// Answers from what is kept. `*out_known`: it was asked for before, and need not be kept again.
static bool answer(const void *handle, PJRT_Program *program, bool *out_known) {
    (void)pthread_mutex_lock(&all.mutex);
    kept *one = *find(handle);
    *out_known = one != NULL;
    bool answered = one && one->code.len && (!program->code || program->code_size >= one->code.len);
    if (answered) {
        program->format = one->format;
        program->format_size = strlen(one->format);
        program->code_size = one->code.len;
        if (program->code)
            memcpy(program->code, one->code.data, one->code.len);
        if (program->code && ++one->times == TIMES)
            drop_code(one);
    }
    (void)pthread_mutex_unlock(&all.mutex);
    return answered;
}

// The code, after the plugin was asked for its size; empty where it is not to be had, or not to be
// kept.
static void read_code(const rk_plugin *plugin, PJRT_Executable *executable,
                      const PJRT_Program *program, rk_buf *out_code) {
    if (!can_be_kept(program) || !has_slot())
        return;
    rk_err *err = rk_executable_optimized_code(plugin->real, executable, program, out_code);
    if (err) // the room for it would be kept with the record, and counted nowhere
        rk_buf_cleanup(out_code);
    rk_err_drop(err, "then the plugin answers");
}

// Gives it to who reads this one; false if there is nothing to read, or one was given. NULL asks
// only.
static bool give_room(const void *handle, rk_heap_reservation *room) {
    (void)pthread_mutex_lock(&all.mutex);
    kept *one = *find(handle);
    bool wanted = one && one->code.len && !one->room;
    if (wanted && room) {
        one->room = room;
        (void)atomic_fetch_add_explicit(&all.rooms, 1, memory_order_relaxed);
    }
    (void)pthread_mutex_unlock(&all.mutex);
    return wanted;
}

// Who asks for the size will read the content next, on this thread. The first one's heap grows by
// more than a page at a time.
static void make_room_to_read(const void *handle, size_t bytes) {
    if (bytes < ROOM_FROM_BYTES || gettid() == getpid() || !give_room(handle, NULL))
        return;
    rk_heap_reservation *room = rk_calloc(1, sizeof *room);
    if (!room)
        return;
    rk_heap_reserve(bytes * READER_BYTES_A_BYTE, room);
    if (give_room(handle, room))
        return;
    rk_heap_release(room);
    rk_free(room);
}

// Whoever goes on to another executable has read what was handed out.
static void drop_rooms_that_were_used(void) {
    if (atomic_load_explicit(&all.rooms, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&all.mutex);
    for (kept *one = all.first; one; one = one->next)
        if (one->times > 0)
            drop_room(one);
    (void)pthread_mutex_unlock(&all.mutex);
}

static PJRT_Error *ask(const rk_plugin *plugin, PJRT_Executable_OptimizedProgram_Args *args) {
    bool known;
    if (answer(args->executable, args->program, &known)) {
        if (!args->program->code)
            make_room_to_read(args->executable, args->program->code_size);
        return NULL;
    }
    PJRT_Error *error = plugin->real->PJRT_Executable_OptimizedProgram(args);
    if (error || known || args->program->code)
        return error;
    rk_buf code = {0};
    read_code(plugin, args->executable, args->program, &code);
    keep(args->executable, static_format(args->program), &code, false);
    make_room_to_read(args->executable, args->program->code_size);
    return NULL;
}

// A struct of another version, or an extension, may ask for more than is kept.
static bool is_understood(const PJRT_Executable_OptimizedProgram_Args *args) {
    return args->struct_size == PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE &&
           !args->extension_start && args->executable && args->program &&
           args->program->struct_size == PJRT_Program_STRUCT_SIZE &&
           !args->program->extension_start;
}

PJRT_Error *rk_optimized_hook(rk_plugin *plugin, PJRT_Executable_OptimizedProgram_Args *args) {
    if (!is_on() || !is_understood(args))
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
    drop_rooms_that_were_used();
    rk_optimized_forget(args->executable);
    move(args->loaded_executable, args->executable);
    return NULL;
}

PJRT_Error *rk_optimized_destroy_hook(rk_plugin *plugin, PJRT_Executable_Destroy_Args *args) {
    rk_optimized_forget(args->executable);
    return plugin->real->PJRT_Executable_Destroy(args);
}

// Whether one more of that size would be kept.
static bool is_welcome(size_t bytes) {
    (void)pthread_mutex_lock(&all.mutex);
    bool welcome = has_slot() && has_room(bytes);
    (void)pthread_mutex_unlock(&all.mutex);
    return welcome;
}

static void read_ahead(const rk_plugin *plugin, PJRT_LoadedExecutable *loaded,
                       PJRT_Executable *executable) {
    PJRT_Program program;
    rk_buf code = {0};
    rk_err *err = rk_executable_optimized(plugin->real, executable, &program);
    if (!err && is_welcome(program.code_size))
        read_code(plugin, executable, &program, &code);
    rk_optimized_forget(loaded); // of one that is gone
    if (code.len)
        keep(loaded, static_format(&program), &code, true);
    rk_buf_cleanup(&code);
    rk_err_drop(err, "then the plugin answers");
}

void rk_optimized_prefetch(const rk_plugin *plugin, PJRT_LoadedExecutable *loaded) {
    if (!is_on() || !RK_PJRT_HAS(plugin->real, PJRT_Executable_OptimizedProgram) || !is_welcome(0))
        return;
    PJRT_Executable *executable = rk_executable_of(plugin->real, loaded);
    if (!executable)
        return;
    read_ahead(plugin, loaded, executable);
    rk_executable_destroy(plugin->real, executable);
}

// In the store: one line, and then the code.
static void write_line(const char *format, rk_buf *out) {
    rk_buf_add_format(out, "optimized 1 %s\n", format);
}

void rk_optimized_write(const PJRT_Api *api, PJRT_Executable *executable, rk_buf *out_stored) {
    PJRT_Program program;
    rk_err *err = rk_executable_optimized(api, executable, &program);
    size_t start = out_stored->len;
    if (!err && can_be_kept(&program)) {
        write_line(static_format(&program), out_stored);
        err = rk_executable_optimized_code(api, executable, &program, out_stored);
    }
    if (err)
        out_stored->len = start;
    rk_err_drop(err, "then the plugin is asked after each load");
}

// The code in it; empty if that is not how it was written.
static rk_span find_code(rk_span stored, const char **out_format) {
    for (size_t i = 0; i < RK_ARRAY_LEN(formats); i++) {
        RK_AUTO(rk_buf) line = {0};
        write_line(formats[i], &line);
        if (line.failed || stored.len <= line.len || memcmp(stored.data, line.data, line.len) != 0)
            continue;
        *out_format = formats[i];
        return rk_span_of(stored.data + line.len, stored.len - line.len);
    }
    return (rk_span){0};
}

bool rk_optimized_read(PJRT_LoadedExecutable *loaded, rk_span stored, bool ahead) {
    if (!stored.len || !is_on())
        return false;
    const char *format = NULL;
    rk_span code = find_code(stored, &format);
    if (!code.len || code.len > KEPT_MAX_BYTES || (ahead && !is_welcome(code.len)))
        return false;
    rk_buf copy = {0};
    rk_buf_add_span(&copy, code);
    bool copied = !copy.failed;
    rk_optimized_forget(loaded); // of one that is gone
    if (copied)
        keep(loaded, format, &copy, ahead);
    rk_buf_cleanup(&copy);
    return copied;
}
