// A temporary directory for one test, removed with all that is in it.
#pragma once

// Owned: rk_test_tempdir_remove. Aborts the test program if none can be made.
char *rk_test_tempdir(void);
void rk_test_tempdir_remove(char *path); // frees too

// How many files and folders lie in a folder, hidden ones too. Aborts if it cannot be listed.
unsigned rk_test_count_entries(const char *path);
