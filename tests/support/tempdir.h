// A temporary directory for one test.
#pragma once

// Owned: rk_test_tempdir_remove. Aborts the test program if no directory can be made.
char *rk_test_tempdir(void);
void rk_test_tempdir_remove(char *path); // removes the contents too, and frees `path`

// Writes a file below a directory, with mode 0700, and the folders above it. Aborts if it cannot.
void rk_test_put(const char *directory, const char *path, const char *content);

// Number of files and folders in a folder, including hidden ones. Aborts if the folder cannot be
// listed.
unsigned rk_test_count_entries(const char *path);
