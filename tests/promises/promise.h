// Shared code of the tests in this folder: results in one format, a selectable amount of work,
// entries that can be verified, and child processes that end with the test.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store.h"

// Begins a test. The test is quick unless the first argument is --full. A number as next or only
// argument sets the size of the work; its unit depends on the test. End the test with promise_end,
// which removes the test's directory and returns the exit status: 1 if a promise was broken.
void promise_begin(int argc, char **argv);
int promise_end(void);

bool promise_full(void);
unsigned promise_size(unsigned quick, unsigned whole); // the given size, if there is one

// Prints "promise: ROW: REACHED (asked: ASKED)", and " MISSED" if `kept` is false.
void promise_report(const char *row, const char *asked, bool kept, const char *reached_format, ...)
    __attribute__((format(printf, 4, 5)));

// Checks a requirement of the test itself, not a promise. On failure, ends the test or the child.
_Noreturn void promise_give_up(const char *what);
static inline void promise_need(bool holds, const char *what) {
    if (!holds)
        promise_give_up(what);
}
void promise_ok(rk_err *err, const char *what);

// A new empty directory for one store. Borrowed until the next call. Lies in /dev/shm if there is
// one, unless `on_disk`: apart from the cost of fsync, the file system does not change the results.
const char *promise_directory(const char *name, bool on_disk);
void promise_remove_directory(const char *path);

// Zeroed memory that all processes of the test share.
void *promise_share(size_t bytes);

// A child process that ends with the test. `body` returns its exit status.
pid_t promise_child(int (*body)(void *context), void *context);
int promise_wait(pid_t child); // returns the exit status, or 128 plus the signal

double promise_seconds(void); // monotonic
uint64_t promise_random(uint64_t *state);
int promise_compare_doubles(const void *a, const void *b);
double promise_median(double *values, unsigned count);

// Entry `variant` of key number `key`. The two numbers determine every byte, so that a read can be
// compared with all contents that can have been written. `bytes` is the size of the payload and
// must be the same for all writers of a key; half of the payload is compressible. The spans are
// borrowed from a buffer of the calling thread until its next call.
rk_key promise_key(unsigned key);
rk_entry promise_entry(unsigned key, unsigned variant, size_t bytes);
bool promise_entry_is_right(const rk_entry *found, unsigned key, unsigned variants, size_t bytes);

// Sums of the results of look-ups.
typedef struct promise_reads {
    atomic_uint reads, hits, misses, damaged, wrong, failed;
} promise_reads;
void promise_read(rk_store *store, unsigned key, unsigned variants, size_t bytes,
                  promise_reads *reads);

// Counts of the files below a directory, and their sizes.
typedef struct promise_files {
    unsigned files, temporary, entries;
    uint64_t bytes, temporary_bytes;
} promise_files;
promise_files promise_count_files(const char *path);

// Writes DIRECTORY/objects/ab/….rkx of the key into `out`.
void promise_path(const char *directory, const rk_key *key, char out[4096]);
// Overwrites the file in place, without a temporary file. rekindle itself never does this.
void promise_write_file(const char *path, const void *data, size_t len);
// Owned: free.
uint8_t *promise_read_file(const char *path, size_t *out_len);
