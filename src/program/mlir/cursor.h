// A cursor over a part of an MLIR bytecode file. Reading past the end sets `bad` and returns zeros,
// so that a caller reads a whole item and checks once.
// Source: llvm-project mlir/docs/BytecodeFormat.md, mlir/lib/Bytecode/Reader/BytecodeReader.cpp
#pragma once

#include <endian.h>

#include "base/macros.h"
#include "base/span.h"

typedef struct rk_cursor {
    const uint8_t *at, *end;
    bool bad;
} rk_cursor;

static inline rk_cursor rk_cursor_over(rk_span bytes) {
    return (rk_cursor){bytes.data, bytes.len ? bytes.data + bytes.len : bytes.data, false};
}

static inline size_t rk_cursor_left(const rk_cursor *cursor) {
    return (size_t)(cursor->end - cursor->at);
}

static inline uint8_t rk_cursor_byte(rk_cursor *cursor) {
    if (RK_UNLIKELY(cursor->at == cursor->end)) {
        cursor->bad = true;
        return 0;
    }
    return *cursor->at++;
}

// The slow path of rk_cursor_varint: nine bytes, or close to the end.
uint64_t rk_cursor_long_varint(rk_cursor *cursor);

// The number of trailing zero bits of the first byte is the number of bytes that follow. The code
// has no branch per length, because such a branch would be mispredicted.
static inline uint64_t rk_cursor_varint(rk_cursor *cursor) {
    const uint8_t *at = cursor->at;
    uint64_t word;
    if (RK_LIKELY(at < cursor->end && (*at & 1))) {
        cursor->at = at + 1;
        return *at >> 1;
    }
    if (RK_UNLIKELY(rk_cursor_left(cursor) < sizeof word || !*at))
        return rk_cursor_long_varint(cursor);
    memcpy(&word, at, sizeof word);
    unsigned bytes = (unsigned)__builtin_ctzll(le64toh(word)) + 1;
    cursor->at = at + bytes;
    return le64toh(word) << (64 - 8 * bytes) >> (64 - 7 * bytes);
}

// Zigzag encoding.
static inline int64_t rk_cursor_svarint(rk_cursor *cursor) {
    uint64_t value = rk_cursor_varint(cursor);
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

// The lowest bit is a flag.
static inline uint64_t rk_cursor_flagged(rk_cursor *cursor, bool *out_flag) {
    uint64_t value = rk_cursor_varint(cursor);
    *out_flag = value & 1;
    return value >> 1;
}

static inline rk_span rk_cursor_span(rk_cursor *cursor, uint64_t len) {
    if (RK_UNLIKELY(len > rk_cursor_left(cursor))) {
        cursor->bad = true;
        cursor->at = cursor->end;
        return (rk_span){0};
    }
    rk_span span = rk_span_of(cursor->at, (size_t)len);
    cursor->at += len;
    return span;
}

// Takes a number of items. Each item takes at least one byte, so a greater count is bad.
static inline uint64_t rk_cursor_count(rk_cursor *cursor) {
    uint64_t count = rk_cursor_varint(cursor);
    if (RK_UNLIKELY(count > rk_cursor_left(cursor))) {
        cursor->bad = true;
        cursor->at = cursor->end;
        return 0;
    }
    return count;
}

// Skips padding up to a multiple of `alignment` (a power of two), counted from the file's start.
void rk_cursor_skip_padding(rk_cursor *cursor, const uint8_t *start, uint64_t alignment);

static inline bool rk_cursor_done(const rk_cursor *cursor) {
    return cursor->at == cursor->end && !cursor->bad;
}
