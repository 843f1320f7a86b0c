// Allocation, through one table that tests replace to make the n-th allocation fail.
#pragma once

#include <stddef.h>

#include "base/macros.h"

typedef struct rk_alloc_table {
    void *(*malloc_fn)(size_t size_bytes);
    void *(*realloc_fn)(void *ptr, size_t size_bytes);
    void (*free_fn)(void *ptr);
} rk_alloc_table;

// Replaces the table for the whole process; NULL restores libc's. Not thread-safe: for tests,
// before any thread exists.
void rk_alloc_replace(const rk_alloc_table *table);

// All return NULL when memory is short; the caller turns that into rk_err_no_memory(). Thread-safe.
// Results are owned: free with rk_free.
RK_NODISCARD void *rk_malloc(size_t size_bytes);
RK_NODISCARD void *rk_calloc(size_t count, size_t size_bytes);
RK_NODISCARD void *rk_realloc(void *ptr, size_t size_bytes);
RK_NODISCARD char *rk_strdup(const char *text);
RK_NODISCARD char *rk_strndup(const char *text, size_t len); // exactly `len` bytes, and a NUL
void rk_free(void *ptr);

void rk_autofree_cleanup(void *ptr_to_ptr);
// rk_autofree char *name = rk_strdup(…);
#define rk_autofree __attribute__((cleanup(rk_autofree_cleanup)))
