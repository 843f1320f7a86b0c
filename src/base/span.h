// A borrowed range of bytes, passed by value. The function that returns a span documents its
// lifetime.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct rk_span {
    const uint8_t *data;
    size_t len;
} rk_span;

static inline rk_span rk_span_of(const void *data, size_t len) {
    return (rk_span){(const uint8_t *)data, len};
}

static inline rk_span rk_span_text(const char *text) {
    return rk_span_of(text, strlen(text));
}

static inline bool rk_span_equal(rk_span a, rk_span b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool rk_span_is(rk_span a, const char *text) {
    return rk_span_equal(a, rk_span_text(text));
}

static inline bool rk_span_starts(rk_span a, const char *text) {
    size_t len = strlen(text);
    return a.len >= len && memcmp(a.data, text, len) == 0;
}

static inline bool rk_span_ends(rk_span a, const char *text) {
    size_t len = strlen(text);
    return a.len >= len && memcmp(a.data + a.len - len, text, len) == 0;
}

static inline bool rk_text_ends(const char *text, const char *ending) {
    return rk_span_ends(rk_span_text(text), ending);
}

// Returns -1, 0 or 1. Compares by bytes, then by length.
static inline int rk_span_compare(rk_span a, rk_span b) {
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
    if (order != 0)
        return order < 0 ? -1 : 1;
    return a.len < b.len ? -1 : a.len > b.len;
}
