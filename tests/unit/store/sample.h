// Sample entries, and helpers of the store tests.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/store.h"

// Fails the test with the error's message.
void sample_ok(rk_err *err);

// Fails the test unless the error has this code. Frees the error.
void sample_fails(rk_err *err, rk_code code);

// A key whose digests are derived from `seed`.
rk_key sample_key(unsigned seed);

// A small entry under sample_key(seed): static texts, and a payload that depends on the seed. The
// spans point into static storage of the calling thread, valid until its next call.
rk_entry sample_entry(rk_entry_kind kind, unsigned seed);

// `len` incompressible bytes. Owned: free.
uint8_t *sample_noise(size_t len, uint64_t seed);

// xorshift: the next number of a reproducible sequence.
uint64_t sample_random(uint64_t *state);

void sample_assert_same(const rk_entry *got, const rk_entry *expected);

// Writes the bytes to a file and creates its folder. Fails the test on error.
void sample_write_file(const char *path, const void *data, size_t len);

// A path like DIRECTORY/objects/ab/abc….rkx. Owned: free.
char *sample_path(const char *directory, rk_entry_kind kind, const rk_key *key);

// Number of files in a directory and all its subfolders, without the store's marker; 0 if the
// directory does not exist.
unsigned sample_count_files(const char *directory);
