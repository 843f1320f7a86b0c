// What the tests of this folder share: figures told in one form, work whose size is chosen, entries
// that prove themselves, and child processes that never outlive the test.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store.h"

// Begins a test. Quick unless the first argument is --full; a number after it, or alone, is the
// size of the work, whatever that is. Ends with promise_end, which removes the test's directory and
// gives the exit status: 1 if a promise was not kept.
void promise_begin(int argc, char **argv);
int promise_end(void);

bool promise_full(void);
unsigned promise_size(unsigned quick, unsigned whole); // or the one that was given

// "promise: ROW: REACHED (asked: ASKED)", and MISSED behind it where it was.
void promise_tell(const char *row, const char *asked, bool kept, const char *reached_format, ...)
    __attribute__((format(printf, 4, 5)));

// Something the test itself needs, not a promise: ends the test (or the child) if it fails.
_Noreturn void promise_give_up(const char *what);
static inline void promise_need(bool holds, const char *what) {
    if (!holds)
        promise_give_up(what);
}
void promise_ok(rk_err *err, const char *what);

// A directory for one store, made anew, inside the test's own; borrowed. In memory where there is
// a /dev/shm, unless `on_disk`: nothing here but the cost of fsync depends on what lies below.
const char *promise_directory(const char *name, bool on_disk);
void promise_remove_directory(const char *path);

// Counters that all processes of the test share, zeroed.
void *promise_share(size_t bytes);

// A child that dies with the test. `body` returns its exit status.
pid_t promise_child(int (*body)(void *context), void *context);
int promise_wait(pid_t child); // exit status, or 128 + signal

double promise_seconds(void); // monotonic
uint64_t promise_random(uint64_t *state);
int promise_compare_doubles(const void *a, const void *b);
double promise_median(double *values, unsigned count);

// Entry `variant` of key number `key`: every byte of it follows from the two, so that what is read
// can be checked against all that can have been written. About `bytes` long, which must be the same
// for all writers of a key; half of it can be compressed. The spans are borrowed from a buffer of
// the calling thread, until its next call.
rk_key promise_key(unsigned key);
rk_entry promise_entry(unsigned key, unsigned variant, size_t bytes);
bool promise_entry_is_right(const rk_entry *found, unsigned key, unsigned variants, size_t bytes);

// What a look-up told, added up.
typedef struct promise_reads {
    atomic_uint reads, hits, misses, damaged, wrong, failed;
} promise_reads;
void promise_read(rk_store *store, unsigned key, unsigned variants, size_t bytes,
                  promise_reads *reads);

// Files below a directory: all, temporary ones, and bytes.
typedef struct promise_files {
    unsigned files, temporary, entries;
    uint64_t bytes, temporary_bytes;
} promise_files;
promise_files promise_count_files(const char *path);

// DIRECTORY/objects/ab/….rkx of that key, into `out`.
void promise_path(const char *directory, const rk_key *key, char out[4096]);
// Replaces the file's content as no one of us would: in place, without a temporary file.
void promise_write_file(const char *path, const void *data, size_t len);
// Owned: free.
uint8_t *promise_read_file(const char *path, size_t *out_len);
