#include "fuzz.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

static struct {
    size_t held_bytes, limit_bytes;
    fuzz_limit how;
} memory;

void fuzz_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

// Stored before every block: its requested size.
typedef union header {
    size_t size_bytes;
    max_align_t align;
} header;

static bool may_take(size_t size_bytes) {
    if (size_bytes <= memory.limit_bytes - memory.held_bytes)
        return true;
    if (memory.how == FUZZ_FAIL_ABOVE)
        fuzz_fail(__FILE__, __LINE__, "the memory is within the limit");
    return false;
}

static void *counted_malloc(size_t size_bytes) {
    if (!may_take(size_bytes))
        return NULL;
    header *block = malloc(sizeof *block + size_bytes);
    if (!block)
        return NULL;
    memory.held_bytes += size_bytes;
    block->size_bytes = size_bytes;
    return block + 1;
}

static void counted_free(void *ptr) {
    header *block = (header *)ptr - 1;
    memory.held_bytes -= block->size_bytes;
    free(block);
}

static void *counted_realloc(void *ptr, size_t size_bytes) {
    if (!ptr)
        return counted_malloc(size_bytes);
    header *block = (header *)ptr - 1;
    size_t old_bytes = block->size_bytes;
    if (size_bytes > old_bytes && !may_take(size_bytes - old_bytes))
        return NULL;
    block = realloc(block, sizeof *block + size_bytes);
    if (!block)
        return NULL;
    memory.held_bytes += size_bytes;
    memory.held_bytes -= old_bytes;
    block->size_bytes = size_bytes;
    return block + 1;
}

void fuzz_memory_begin(size_t limit_bytes, fuzz_limit how) {
    static const rk_alloc_table counted = {counted_malloc, counted_realloc, counted_free};
    memory.held_bytes = 0;
    memory.limit_bytes = limit_bytes;
    memory.how = how;
    rk_alloc_replace(&counted);
}

void fuzz_memory_end(void) {
    rk_alloc_replace(NULL);
    FUZZ_REQUIRE(memory.held_bytes == 0);
}

bool fuzz_ok(rk_err *err) {
    if (!err)
        return true;
    FUZZ_REQUIRE(rk_err_code(err) == RK_RESOURCE_EXHAUSTED);
    rk_err_free(err);
    return false;
}
