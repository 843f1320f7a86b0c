#include "pjrt/optimized.h"

#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/heap_reserve.h"
#include "base/older_libc.h"
#include "pjrt/executable.h"
#include "pjrt/runtime.h"

// How often a program is handed out (JAX requests it twice), and the limits for all records
// together.
enum { TIMES = 2, KEPT_MAX = 4096 };
#define KEPT_MAX_BYTES ((size_t)64 << 20)
// Heap that jaxlib allocates in small pieces to read a program, per byte of the program (measured:
// 33 with 48 layers). Smaller programs than RESERVE_FROM_BYTES are read quickly without a
// reservation.
enum { READER_BYTES_A_BYTE = 32, RESERVE_FROM_BYTES = 256 << 10 };

typedef struct kept {
    struct kept *next;
    const void *handle; // a PJRT_Executable, or the PJRT_LoadedExecutable whose PJRT_Executable
                        // will be requested
    rk_buf code;        // empty after it was handed out; then the plugin answers
    const char *format; // static
    unsigned times;     // how often it was handed out
    rk_heap_reservation *reservation; // heap for the reader; owned; NULL: none
} kept;

static struct {
    pthread_mutex_t mutex; // guards all below
    kept *first;           // newest first
    size_t bytes;
    atomic_size_t count;        // also read without the mutex, as a hint
    atomic_size_t reservations; // likewise
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// False in a forked child, which has no runtime. The child must not use the mutex: a thread of the
// parent may have held it at the fork.
static bool is_on(void) {
    return rk_runtime_get() != NULL;
}

static const char *const formats[] = {"hlo_with_config", "hlo", "mlir"};

// Returns a static copy of the format, because the plugin's text may be freed with its handle. NULL
// if the format is not one of XLA's; then the program is not kept.
static const char *static_format(const PJRT_Program *program) {
    for (size_t i = 0; program->format && i < RK_ARRAY_LEN(formats); i++)
        if (rk_span_is(rk_span_of(program->format, program->format_size), formats[i]))
            return formats[i];
    return NULL;
}

static bool can_be_kept(const PJRT_Program *program) {
    return program->code_size && program->code_size <= KEPT_MAX_BYTES && static_format(program);
}

// The following functions are called with the mutex held.

static kept **find(const void *handle) {
    kept **link = &all.first;
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static bool has_slot(void) {
    return atomic_load_explicit(&all.count, memory_order_relaxed) < KEPT_MAX;
}

static void drop_reservation(kept *one) {
    rk_heap_reservation *reservation = RK_TAKE(one->reservation);
    if (!reservation)
        return;
    rk_heap_release(reservation);
    rk_free(reservation);
    (void)atomic_fetch_sub_explicit(&all.reservations, 1, memory_order_relaxed);
}

static void drop_code(kept *one) {
    all.bytes -= one->code.len;
    rk_buf_cleanup(&one->code);
    drop_reservation(one);
}

static void remove_at(kept **link) {
    kept *one = *link;
    *link = one->next;
    drop_code(one);
    rk_free(one);
    (void)atomic_fetch_sub_explicit(&all.count, 1, memory_order_relaxed);
}

static bool has_space(size_t bytes) {
    return bytes <= KEPT_MAX_BYTES && all.bytes <= KEPT_MAX_BYTES - bytes;
}

// Evicts the oldest programs until `bytes` fit.
static void evict_for(size_t bytes) {
    while (!has_space(bytes)) {
        kept **oldest = NULL;
        for (kept **link = &all.first; *link; link = &(*link)->next)
            oldest = (*link)->code.len ? link : oldest;
        if (!oldest)
            break;
        remove_at(oldest);
    }
}

// Consumes `code`. If it is empty, the record only notes that the program was requested.
static void add(const void *handle, const char *format, rk_buf *code) {
    kept *one = has_slot() && has_space(code->len) ? rk_calloc(1, sizeof *one) : NULL;
    if (!one)
        return;
    *one = (kept){.next = all.first, .handle = handle, .code = *code, .format = format};
    *code = (rk_buf){0};
    all.first = one;
    all.bytes += one->code.len;
    (void)atomic_fetch_add_explicit(&all.count, 1, memory_order_relaxed);
}

// The following functions take the mutex themselves.

void rk_optimized_forget(const void *handle) {
    if (atomic_load_explicit(&all.count, memory_order_relaxed) == 0 || !is_on())
        return;
    (void)pthread_mutex_lock(&all.mutex);
    kept **link = find(handle);
    if (*link)
        remove_at(link);
    (void)pthread_mutex_unlock(&all.mutex);
}

// Consumes `code`. A prefetched program evicts nothing: the programs that were kept before it are
// needed earlier.
static void keep(const void *handle, const char *format, rk_buf *code, bool prefetched) {
    (void)pthread_mutex_lock(&all.mutex);
    if (!prefetched)
        evict_for(code->len);
    if (!*find(handle)) // otherwise another thread was faster
        add(handle, format, code);
    (void)pthread_mutex_unlock(&all.mutex);
    rk_buf_cleanup(code);
}

// Answers from the kept program. `*out_known`: the handle has a record, so the program need not be
// kept again.
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

// Reads the code, after the plugin has reported its size. Leaves `out_code` empty if the plugin
// does not give it or it cannot be kept.
static void read_code(const rk_plugin *plugin, PJRT_Executable *executable,
                      const PJRT_Program *program, rk_buf *out_code) {
    if (!can_be_kept(program) || !has_slot())
        return;
    rk_err *err = rk_executable_optimized_code(plugin->real, executable, program, out_code);
    if (err) // its reserved memory would stay in the record, but not count
        rk_buf_cleanup(out_code);
    rk_err_drop(err, "then the plugin answers");
}

// Gives the reservation to the record. False if there is no program to read, or the record already
// has a reservation. With NULL, it only checks this.
static bool give_reservation(const void *handle, rk_heap_reservation *reservation) {
    (void)pthread_mutex_lock(&all.mutex);
    kept *one = *find(handle);
    bool wanted = one && one->code.len && !one->reservation;
    if (wanted && reservation) {
        one->reservation = reservation;
        (void)atomic_fetch_add_explicit(&all.reservations, 1, memory_order_relaxed);
    }
    (void)pthread_mutex_unlock(&all.mutex);
    return wanted;
}

// Reserves heap for the content that this thread will read after the size. Not on the main thread:
// its heap grows by more than a page at a time.
static void reserve_for_reader(const void *handle, size_t bytes) {
    if (bytes < RESERVE_FROM_BYTES || rk_gettid() == getpid() || !give_reservation(handle, NULL))
        return;
    rk_heap_reservation *reservation = rk_calloc(1, sizeof *reservation);
    if (!reservation)
        return;
    rk_heap_reserve(bytes * READER_BYTES_A_BYTE, reservation);
    if (give_reservation(handle, reservation))
        return;
    rk_heap_release(reservation);
    rk_free(reservation);
}

// Releases the reservations of programs that were handed out: a framework that continues with
// another executable has read them.
static void drop_used_reservations(void) {
    if (atomic_load_explicit(&all.reservations, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&all.mutex);
    for (kept *one = all.first; one; one = one->next)
        if (one->times > 0)
            drop_reservation(one);
    (void)pthread_mutex_unlock(&all.mutex);
}

static PJRT_Error *ask(const rk_plugin *plugin, PJRT_Executable_OptimizedProgram_Args *args) {
    bool known;
    if (answer(args->executable, args->program, &known)) {
        if (!args->program->code)
            reserve_for_reader(args->executable, args->program->code_size);
        return NULL;
    }
    PJRT_Error *error = plugin->real->PJRT_Executable_OptimizedProgram(args);
    if (error || known || args->program->code)
        return error;
    rk_buf code = {0};
    read_code(plugin, args->executable, args->program, &code);
    keep(args->executable, static_format(args->program), &code, false);
    reserve_for_reader(args->executable, args->program->code_size);
    return NULL;
}

// A struct of another version, or an extension, may request more than is kept.
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

// Moves the record of a loaded executable to its PJRT_Executable handle.
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
    drop_used_reservations();
    rk_optimized_forget(args->executable);
    move(args->loaded_executable, args->executable);
    return NULL;
}

PJRT_Error *rk_optimized_destroy_hook(rk_plugin *plugin, PJRT_Executable_Destroy_Args *args) {
    rk_optimized_forget(args->executable);
    return plugin->real->PJRT_Executable_Destroy(args);
}

// True if another program of that size would be kept without eviction.
static bool would_fit(size_t bytes) {
    (void)pthread_mutex_lock(&all.mutex);
    bool fits = has_slot() && has_space(bytes);
    (void)pthread_mutex_unlock(&all.mutex);
    return fits;
}

static void prefetch_code(const rk_plugin *plugin, PJRT_LoadedExecutable *loaded,
                          PJRT_Executable *executable) {
    PJRT_Program program;
    rk_buf code = {0};
    rk_err *err = rk_executable_optimized(plugin->real, executable, &program);
    if (!err && would_fit(program.code_size))
        read_code(plugin, executable, &program, &code);
    rk_optimized_forget(loaded); // removes a stale record of this address
    if (code.len)
        keep(loaded, static_format(&program), &code, true);
    rk_buf_cleanup(&code);
    rk_err_drop(err, "then the plugin answers");
}

void rk_optimized_prefetch(const rk_plugin *plugin, PJRT_LoadedExecutable *loaded) {
    if (!is_on() || !RK_PJRT_HAS(plugin->real, PJRT_Executable_OptimizedProgram) || !would_fit(0))
        return;
    PJRT_Executable *executable = rk_executable_of(plugin->real, loaded);
    if (!executable)
        return;
    prefetch_code(plugin, loaded, executable);
    rk_executable_destroy(plugin->real, executable);
}

// The stored form: one line, then the code.
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

// Returns the code of a stored program; empty if `stored` does not have this form.
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

bool rk_optimized_read(PJRT_LoadedExecutable *loaded, rk_span stored, bool prefetched) {
    if (!stored.len || !is_on())
        return false;
    const char *format = NULL;
    rk_span code = find_code(stored, &format);
    if (!code.len || code.len > KEPT_MAX_BYTES || (prefetched && !would_fit(code.len)))
        return false;
    rk_buf copy = {0};
    rk_buf_add_span(&copy, code);
    bool copied = !copy.failed;
    rk_optimized_forget(loaded); // removes a stale record of this address
    if (copied)
        keep(loaded, format, &copy, prefetched);
    rk_buf_cleanup(&copy);
    return copied;
}
