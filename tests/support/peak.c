#include "support/peak.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/alloc.h"

static size_t in_use_bytes, most_bytes;

static void *counting_realloc(void *ptr, size_t size_bytes) {
    size_t before = ptr ? malloc_usable_size(ptr) : 0;
    void *block = realloc(ptr, size_bytes);
    if (!block)
        return NULL;
    in_use_bytes += malloc_usable_size(block) - before;
    most_bytes = in_use_bytes > most_bytes ? in_use_bytes : most_bytes;
    return block;
}

static void *counting_malloc(size_t size_bytes) {
    return counting_realloc(NULL, size_bytes);
}

static void counting_free(void *ptr) {
    in_use_bytes -= ptr ? malloc_usable_size(ptr) : 0;
    free(ptr);
}

void rk_peak_begin(void) {
    static const rk_alloc_table counting = {counting_malloc, counting_realloc, counting_free};
    in_use_bytes = most_bytes = 0;
    rk_alloc_replace(&counting);
}

size_t rk_peak_bytes(void) {
    return most_bytes;
}

size_t rk_peak_left_bytes(void) {
    return in_use_bytes;
}

void rk_peak_end(void) {
    rk_alloc_replace(NULL);
}
