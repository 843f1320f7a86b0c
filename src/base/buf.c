#include "base/buf.h"

#include <stdio.h>

#include "base/alloc.h"

enum { SMALLEST_CAPACITY = 64 };

void rk_buf_cleanup(rk_buf *buf) {
    rk_free(buf->data);
    *buf = (rk_buf){.max = buf->max};
}

void rk_buf_clear(rk_buf *buf) {
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = 0;
}

// The largest size that can be doubled without overflow.
static const size_t MAX_EVER = PTRDIFF_MAX / 2;

// Makes space for `extra` bytes and a NUL. False if it fails.
static bool grow(rk_buf *buf, size_t extra) {
    size_t max = buf->max ? buf->max : RK_BUF_DEFAULT_MAX;
    if (max > MAX_EVER)
        max = MAX_EVER;
    size_t needed = 0;
    if (buf->failed)
        return false;
    if (__builtin_add_overflow(buf->len, extra, &needed) || needed > max) {
        buf->failed = true;
        return false;
    }
    if (buf->data && needed + 1 <= buf->capacity)
        return true;
    size_t capacity = buf->capacity < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : buf->capacity;
    while (capacity < needed + 1)
        capacity += capacity;
    uint8_t *data = rk_realloc(buf->data, capacity);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void rk_buf_reserve(rk_buf *buf, size_t extra) {
    if (grow(buf, extra))
        buf->data[buf->len] = 0;
}

void rk_buf_add(rk_buf *buf, const void *data, size_t len) {
    if (!grow(buf, len))
        return;
    if (len)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = 0;
}

void rk_buf_add_span(rk_buf *buf, rk_span span) {
    rk_buf_add(buf, span.data, span.len);
}

void rk_buf_add_text(rk_buf *buf, const char *text) {
    rk_buf_add(buf, text, strlen(text));
}

void rk_buf_add_byte(rk_buf *buf, uint8_t byte) {
    rk_buf_add(buf, &byte, 1);
}

void rk_buf_add_u32le(rk_buf *buf, uint32_t value) {
    uint8_t bytes[4];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    rk_buf_add(buf, bytes, sizeof bytes);
}

void rk_buf_add_u64le(rk_buf *buf, uint64_t value) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    rk_buf_add(buf, bytes, sizeof bytes);
}

void rk_buf_add_format(rk_buf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len >= 0 && grow(buf, (size_t)len)) {
        (void)vsnprintf((char *)buf->data + buf->len, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

void rk_buf_add_hex(rk_buf *buf, rk_span span) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < span.len; i++) {
        rk_buf_add_byte(buf, (uint8_t)digits[span.data[i] >> 4]);
        rk_buf_add_byte(buf, (uint8_t)digits[span.data[i] & 15]);
    }
}

const char *rk_buf_text(const rk_buf *buf) {
    return buf->data ? (const char *)buf->data : "";
}

rk_err *rk_buf_status(const rk_buf *buf) {
    if (!buf->failed)
        return NULL;
    return rk_error(RK_RESOURCE_EXHAUSTED,
                    "a buffer ran out of memory or exceeded its maximum of %zu bytes",
                    buf->max ? buf->max : RK_BUF_DEFAULT_MAX);
}

uint8_t *rk_buf_detach(rk_buf *buf, size_t *out_len) {
    uint8_t *data = buf->data;
    *out_len = buf->len;
    *buf = (rk_buf){.max = buf->max};
    return data;
}

uint32_t rk_load_u32le(const uint8_t *data) {
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)data[i] << (8 * i);
    return value;
}

uint64_t rk_load_u64le(const uint8_t *data) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)data[i] << (8 * i);
    return value;
}
