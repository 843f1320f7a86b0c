#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const rk_alloc_table libc_table = {malloc, realloc, free};
static const rk_alloc_table *current_table = &libc_table;

void rk_alloc_replace(const rk_alloc_table *table) {
    current_table = table ? table : &libc_table;
}

void *rk_malloc(size_t size_bytes) {
    return current_table->malloc_fn(size_bytes ? size_bytes : 1);
}

void *rk_calloc(size_t count, size_t size_bytes) {
    size_t total = 0;
    if (__builtin_mul_overflow(count, size_bytes, &total))
        return NULL;
    void *ptr = rk_malloc(total);
    if (ptr)
        memset(ptr, 0, total);
    return ptr;
}

void *rk_realloc(void *ptr, size_t size_bytes) {
    return current_table->realloc_fn(ptr, size_bytes ? size_bytes : 1);
}

char *rk_strdup(const char *text) {
    return rk_strndup(text, strlen(text));
}

char *rk_strndup(const char *text, size_t len) {
    char *copy = rk_malloc(len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void rk_free(void *ptr) {
    if (ptr)
        current_table->free_fn(ptr);
}

void rk_autofree_cleanup(void *ptr_to_ptr) {
    void *ptr = NULL;
    memcpy(&ptr, ptr_to_ptr, sizeof ptr);
    rk_free(ptr);
}
