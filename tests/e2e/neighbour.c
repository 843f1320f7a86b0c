// A third-party preloaded library, as profilers and allocators use. It interposes malloc and open,
// finds the real functions with dlsym(RTLD_NEXT), counts the calls, and writes the counts into
// $NEIGHBOUR_DIR at exit. Built twice under two names, so that the test has a chain of two of them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef NEIGHBOUR_NAME
#error "compile with -DNEIGHBOUR_NAME=\"name\""
#endif

static atomic_ulong mallocs, opens;

void *malloc(size_t size_bytes) {
    static void *(*_Atomic next)(size_t);
    if (next == NULL)
        next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    atomic_fetch_add(&mallocs, 1);
    return next(size_bytes);
}

int open(const char *path, int flags, ...) {
    static int (*_Atomic next)(const char *, int, ...);
    if (next == NULL)
        next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int); // undefined if no mode was passed, and then unused
    va_end(arguments);
    atomic_fetch_add(&opens, 1);
    return next(path, flags, mode);
}

__attribute__((destructor)) static void write_counts(void) {
    const char *directory = getenv("NEIGHBOUR_DIR");
    if (directory == NULL)
        return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d." NEIGHBOUR_NAME, directory, (int)getpid());
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return;
    fprintf(file, "%lu %lu\n", atomic_load(&mallocs), atomic_load(&opens));
    fclose(file);
}
