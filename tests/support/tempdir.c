#include "support/tempdir.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

char *rk_test_tempdir(void) {
    const char *base = getenv("TMPDIR");
    char pattern[512];
    (void)snprintf(pattern, sizeof pattern, "%s/rekindle-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(pattern)) {
        perror("mkdtemp");
        abort();
    }
    return strdup(pattern);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

void rk_test_tempdir_remove(char *path) {
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

void rk_test_put(const char *directory, const char *path, const char *content) {
    char whole[1024], folder[1024];
    (void)snprintf(whole, sizeof whole, "%s/%s", directory, path);
    (void)snprintf(folder, sizeof folder, "%s", whole);
    *strrchr(folder, '/') = '\0';
    rk_err *err = rk_fs_make_dirs(folder, 0700);
    if (!err)
        err = rk_fs_publish(whole, content, strlen(content), 0700);
    if (err) {
        (void)fprintf(stderr, "%s\n", rk_err_message(err));
        abort();
    }
}

unsigned rk_test_count_entries(const char *path) {
    DIR *directory = opendir(path);
    if (!directory) {
        perror(path);
        abort();
    }
    unsigned count = 0;
    while (readdir(directory))
        count++;
    (void)closedir(directory);
    return count - 2; // "." and ".."
}
