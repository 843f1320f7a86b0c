// The trace (one JSON object per line, each in one write), misuse, and the plugin's teardown.
#include "fake.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_once_t trace_once = PTHREAD_ONCE_INIT;
static int trace_fd = -1;
static char copy_name[128] = "?"; // the file name of this copy of the plugin

static atomic_bool torn_down;
static atomic_int in_flight;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void trace_open(void) {
    Dl_info info;
    if (dladdr(copy_name, &info) && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        (void)snprintf(copy_name, sizeof copy_name, "%s", slash ? slash + 1 : info.dli_fname);
    }
    const char *path = fake_setting("FAKE_PJRT_TRACE", NULL);
    if (path)
        trace_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static void trace_line(const char *call, const char *detail) {
    pthread_once(&trace_once, trace_open);
    if (trace_fd < 0)
        return;
    char clean[768];
    size_t len = 0;
    for (; detail[len] && len < sizeof clean - 1; len++) {
        unsigned char c = (unsigned char)detail[len];
        clean[len] = c < 0x20 || c > 0x7e || c == '"' || c == '\\' ? '?' : (char)c;
    }
    clean[len] = '\0';
    char line[1280];
    int written = snprintf(line, sizeof line,
                           "{\"t\":%" PRIu64 ",\"pid\":%d,\"tid\":%ld,\"copy\":\"%s\","
                           "\"call\":\"%s\",\"detail\":\"%s\"}\n",
                           now_ns(), (int)getpid(), syscall(SYS_gettid), copy_name, call, clean);
    if (written > 0 && (size_t)written < sizeof line && write(trace_fd, line, (size_t)written) < 0)
        abort();
}

void fake_trace(const char *call, const char *format, ...) {
    char detail[640];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    trace_line(call, detail);
}

void fake_misuse(const char *format, ...) {
    char detail[640];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    trace_line("MISUSE", detail);
    (void)fprintf(stderr, "fake_pjrt_plugin: MISUSE: %s\n", detail);
    abort();
}

void fake_crash(void) {
    volatile uintptr_t nowhere = 16; // volatile hides the null access from the compiler
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    *(volatile int *)nowhere = 1;
}

static void unlock(void *mutex) {
    (void)pthread_mutex_unlock(mutex);
}

// Waits on a condition that is never signalled. nanosleep is not used: if a thread is cancelled in
// nanosleep, ThreadSanitizer misses the locks of the thread's cleanup handlers.
void fake_sleep_ms(int64_t milliseconds) {
    if (milliseconds <= 0)
        return;
    uint64_t end_ns = now_ns() + (uint64_t)milliseconds * 1000000;
    struct timespec end = {(time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000)};
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    (void)pthread_cond_init(&never, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    while (pthread_cond_timedwait(&never, &mutex, &end) == 0)
        continue;
    pthread_cleanup_pop(1);
    (void)pthread_cond_destroy(&never);
}

void fake_wait_for_file(const char *path) {
    while (path && access(path, F_OK) != 0)
        fake_sleep_ms(5);
}

// Teardown.

// Reports a call during or after the teardown. FAKE_PJRT_TEARDOWN=note only writes a line, for
// tests of calls that cannot be waited for.
static void teardown_violated(const char *what) {
    if (strcmp(fake_setting("FAKE_PJRT_TEARDOWN", "abort"), "note") == 0)
        trace_line("TEARDOWN_VIOLATED", what);
    else
        fake_misuse("%s", what);
}

// Like the static destructors of a real plugin: no entry may be called afterwards.
static void tear_down(void) {
    atomic_store(&torn_down, true);
    if (atomic_load(&in_flight) > 0)
        teardown_violated("a call is inside the plugin while the process tears it down");
    char census[256];
    fake_object_census(NULL, census, sizeof census);
    trace_line("teardown", census);
}

__attribute__((constructor)) static void watch_exit(void) {
    if (atexit(tear_down) != 0)
        abort();
}

void fake_trace_begin_as_child(void) {
    atomic_store(&in_flight, 0);
}

// Begin and end of entries.

fake_call fake_enter(const char *entry, const void *args, size_t header_size) {
    fake_call call = {entry, NULL, now_ns()};
    atomic_fetch_add(&in_flight, 1);
    if (atomic_load(&torn_down)) {
        char what[192];
        (void)snprintf(what, sizeof what, "%s was called after the plugin's teardown", entry);
        teardown_violated(what);
    }
    fake_trace(entry, "begin");
    if (args)
        call.error = fake_check_size(entry, "_Args", args, header_size);
    if (args && !call.error)
        fake_check_unset(entry, args, header_size);
    return call;
}

void fake_leave(const fake_call *call, const PJRT_Error *error) {
    if (error)
        fake_trace(call->entry, "end code=%d %s", (int)fake_error_code(error),
                   fake_error_message(error));
    else
        fake_trace(call->entry, "end ok us=%" PRIu64, (now_ns() - call->start_ns) / 1000);
    atomic_fetch_sub(&in_flight, 1);
}
