// A third-party library that interposes dlsym, as some profilers do, and finds the next dlsym with
// dlvsym(RTLD_NEXT). At exit it writes the number of its calls for GetPjrtApi and for other names
// into $DLSYM_COUNTS.NEIGHBOUR_NAME.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned plugins, others;

void *dlsym(void *handle, const char *name) {
    static void *(*next)(void *, const char *);
    // The symbol versions of dlsym on x86-64 and aarch64.
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (unsigned i = 0; i < sizeof versions / sizeof *versions && !next; i++) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        memcpy(&next, &found, sizeof next);
    }
    ++*(strcmp(name, "GetPjrtApi") == 0 ? &plugins : &others);
    return next(handle, name);
}

__attribute__((destructor)) static void write_counts(void) {
    const char *path = getenv("DLSYM_COUNTS");
    char whole[4096];
    if (!path)
        return;
    snprintf(whole, sizeof whole, "%s." NEIGHBOUR_NAME, path);
    FILE *file = fopen(whole, "w");
    if (file) {
        fprintf(file, "%u %u\n", plugins, others);
        fclose(file);
    }
}
