// A growable byte buffer with a maximum size. A failed append sets `failed`, so a writer can append
// many times and check once at the end with rk_buf_status.
#pragma once

#include <stdarg.h>

#include "base/span.h"
#include "base/status.h"

typedef struct rk_buf {
    uint8_t *data; // owned; unless NULL, a NUL follows the `len` bytes
    size_t len;
    size_t capacity;
    size_t max;  // 0 means RK_BUF_DEFAULT_MAX
    bool failed; // an append ran out of memory or exceeded `max`; later appends do nothing
} rk_buf;

#define RK_BUF_DEFAULT_MAX ((size_t)1 << 30)

#define RK_BUF_INIT(max_bytes) ((rk_buf){.max = (max_bytes)})

void rk_buf_cleanup(rk_buf *buf); // frees the bytes; RK_AUTO(rk_buf) buf = RK_BUF_INIT(…)
void rk_buf_clear(rk_buf *buf);   // makes the buffer empty and resets `failed`; keeps the memory

// Allocates memory for `extra` more bytes, and sets `failed` like an append.
void rk_buf_reserve(rk_buf *buf, size_t extra);

// Append to the buffer. A failure sets `failed`.
void rk_buf_add(rk_buf *buf, const void *data, size_t len);
void rk_buf_add_span(rk_buf *buf, rk_span span);
void rk_buf_add_text(rk_buf *buf, const char *text);
void rk_buf_add_byte(rk_buf *buf, uint8_t byte);
void rk_buf_add_u32le(rk_buf *buf, uint32_t value);
void rk_buf_add_u64le(rk_buf *buf, uint64_t value);
void rk_buf_add_format(rk_buf *buf, const char *format, ...) RK_PRINTF(2, 3);
void rk_buf_add_hex(rk_buf *buf, rk_span span); // lower case

static inline rk_span rk_buf_span(const rk_buf *buf) {
    return (rk_span){buf->data, buf->len};
}

// The content as a C string, "" if empty. Borrowed until the next append.
const char *rk_buf_text(const rk_buf *buf);

// NULL if every append succeeded, else RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_buf_status(const rk_buf *buf);

// Returns the bytes, owned by the caller (rk_free), and empties the buffer. NULL if nothing was
// added.
uint8_t *rk_buf_detach(rk_buf *buf, size_t *out_len);

// Return little-endian numbers. The caller checks that the bytes exist.
uint32_t rk_load_u32le(const uint8_t *data);
uint64_t rk_load_u64le(const uint8_t *data);

// Write little-endian numbers: 4 and 8 bytes.
static inline void rk_store_u32le(uint8_t *data, uint32_t value) {
    for (unsigned i = 0; i < 4; i++)
        data[i] = (uint8_t)(value >> (8 * i));
}

static inline void rk_store_u64le(uint8_t *data, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        data[i] = (uint8_t)(value >> (8 * i));
}
