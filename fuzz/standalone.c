// A main program for a fuzz target without libFuzzer: replays files, and all files in folders.
//
//     fuzz_TARGET FILE-OR-FOLDER…
//
// Exits with 0 if there was at least one input and every check held. A failed check ends the
// process.
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static size_t replayed;

_Noreturn static void give_up(const char *path) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(2);
}

// Reads the file into a block of exactly its size, so that a sanitizer reports any access outside.
static void replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (!file || fstat(fileno(file), &status) != 0)
        give_up(path);
    size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, file) != size)
        give_up(path);
    fclose(file);
    fprintf(stderr, "%s\n", path); // the last path is the failing input
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
}

static void replay_folder(const char *path) {
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        give_up(path);
    for (int i = 0; i < count; i++) {
        char *inner = NULL;
        if (asprintf(&inner, "%s/%s", path, entries[i]->d_name) < 0)
            give_up(path);
        if (entries[i]->d_name[0] != '.')
            replay_file(inner);
        free(inner);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        struct stat status;
        if (stat(argv[i], &status) != 0)
            give_up(argv[i]);
        if (S_ISDIR(status.st_mode))
            replay_folder(argv[i]);
        else
            replay_file(argv[i]);
    }
    printf("%zu inputs\n", replayed);
    return replayed ? 0 : 1;
}
