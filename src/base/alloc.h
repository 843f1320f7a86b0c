// Memory allocation through a table. Tests replace the table to make the n-th allocation fail.
#pragma once

#include <stddef.h>

#include "base/macros.h"

typedef struct rk_alloc_table {
    void *(*malloc_fn)(size_t size_bytes);
    void *(*realloc_fn)(void *ptr, size_t size_bytes);
    void (*free_fn)(void *ptr);
} rk_alloc_table;

// Replaces the table for the whole process; NULL restores libc's functions. Not thread-safe: only
// for tests, before any thread exists.
void rk_alloc_replace(const rk_alloc_table *table);

// Each returns NULL if memory is short; the caller then returns rk_err_no_memory(). The memory is
// owned by the caller: rk_free. Thread-safe.
RK_NODISCARD void *rk_malloc(size_t size_bytes);
RK_NODISCARD void *rk_calloc(size_t count, size_t size_bytes);
RK_NODISCARD void *rk_realloc(void *ptr, size_t size_bytes);
RK_NODISCARD char *rk_strdup(const char *text);
RK_NODISCARD char *rk_strndup(const char *text, size_t len); // exactly `len` bytes plus a NUL
void rk_free(void *ptr);

void rk_autofree_cleanup(void *ptr_to_ptr);
// Frees a variable at the end of its scope: rk_autofree char *name = rk_strdup(…);
#define rk_autofree __attribute__((cleanup(rk_autofree_cleanup)))
