// A child process of a job. test_children.py builds it with several C libraries. Each argument is a
// command:
//   PATH          opens PATH and looks up GetPjrtApi twice; prints whether the plugin's own
//                 function was found, and whether dlerror has an error
//   threads=PATH  looks it up in eight threads at once; prints how many got the same function
//   core          prints whether rekindle's core is mapped
//   cd=PATH       changes the directory
// The static build has only the commands "core" and "cd".
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LOOK_UP_STATIC
#include <dlfcn.h>

static const char *error_text(void) {
    const char *text = dlerror();
    return text ? "an error" : "no error";
}

static void look_up(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return;
    }
    void *own = dlsym(library, "own_get_pjrt_api"), *first = dlsym(library, "GetPjrtApi");
    const char *after = error_text();
    void *again = dlsym(library, "GetPjrtApi");
    printf("%s, %s, %s",
           first == own ? "own"
           : first      ? "replaced"
                        : "missing",
           first == again ? "the same again" : "another one", after);
    printf("; no_such_name: %s", dlsym(library, "no_such_name") ? "found" : error_text());
    // This test's plugin returns no table.
    void *(*get)(void);
    memcpy(&get, &first, sizeof get);
    printf("; table: %s\n", first && get() ? "some" : "none");
}

static pthread_barrier_t barrier;
static void *the_library;

static void *look_up_with_others(void *unused) {
    (void)unused;
    (void)pthread_barrier_wait(&barrier);
    return dlsym(the_library, "GetPjrtApi");
}

static void look_up_in_threads(const char *path) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    void *found[THREADS];
    int same = 0;
    the_library = dlopen(path, RTLD_NOW);
    (void)pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, look_up_with_others, NULL) != 0)
            exit(3);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], &found[i]);
        same += found[i] && found[i] == found[0];
    }
    printf("%d of %d the same\n", same, THREADS);
}
#endif

static void report_core(void) {
    char line[4096];
    int mapped = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        mapped |= strstr(line, "librekindle_core") != NULL;
    if (maps)
        (void)fclose(maps);
    printf("core: %s\n", mapped ? "mapped" : "not mapped");
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "core") == 0)
            report_core();
        else if (strncmp(argv[i], "cd=", 3) == 0)
            printf("cd: %s\n", chdir(argv[i] + 3) == 0 ? "done" : "failed");
#ifndef LOOK_UP_STATIC
        else if (strncmp(argv[i], "threads=", 8) == 0)
            look_up_in_threads(argv[i] + 8);
        else
            look_up(argv[i]);
#endif
    }
    return 7;
}
