// Entries to test with, and what the tests of the store share.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/store.h"

// Fails the test with the error's message.
void sample_ok(rk_err *err);

// Fails the test unless the error has this code, and frees it.
void sample_fails(rk_err *err, rk_code code);

// A key whose digests all follow from `seed`.
rk_key sample_key(unsigned seed);

// A small entry under sample_key(seed): static texts, a payload that differs with the seed. The
// spans point into static storage of the calling thread, valid until its next call.
rk_entry sample_entry(rk_entry_kind kind, unsigned seed);

// `raw` bytes that zstd cannot shrink. Owned: free.
uint8_t *sample_noise(size_t len, uint64_t seed);

// xorshift: the next of a reproducible row of numbers.
uint64_t sample_random(uint64_t *state);

void sample_assert_same(const rk_entry *got, const rk_entry *expected);

// Writes bytes to a file as they are, making its folder. Fails the test if it cannot.
void sample_write_file(const char *path, const void *data, size_t len);

// DIRECTORY/objects/ab/abc….rkx and the like. Owned: free.
char *sample_path(const char *directory, rk_entry_kind kind, const rk_key *key);

// The number of files under a directory with all its folders, less a store's marker; 0 if it does
// not exist.
unsigned sample_count_files(const char *directory);
