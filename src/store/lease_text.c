#include "store/lease_text_internal.h"

static const char magic[] = "rekindle lease 1 ";
static const char held[] = "held ";
static const char not_kept[] = "not-kept ";
static const char compiled[] = "compiled ";

void rk_lease_text_add(const rk_lease_view *view, const char *random, rk_buf *out) {
    rk_buf_add_text(out, magic);
    rk_buf_add_text(out, view->state == RK_LEASE_NOT_KEPT ? not_kept : held);
    rk_buf_add_format(out, "%llu %llu %.16s ", (unsigned long long)view->created_ns,
                      (unsigned long long)view->valid_ns, random);
    rk_process_add_text(&view->holder, out);
    rk_buf_add_byte(out, '\n');
}

static bool take_text(rk_span *rest, const char *expected) {
    size_t len = strlen(expected);
    if (rest->len < len || memcmp(rest->data, expected, len) != 0)
        return false;
    *rest = rk_span_of(rest->data + len, rest->len - len);
    return true;
}

// Takes a decimal number and the byte `end` after it.
static bool take_number(rk_span *rest, char end, uint64_t *out_value) {
    uint64_t value = 0;
    size_t len = 0;
    for (; len < rest->len && rest->data[len] >= '0' && rest->data[len] <= '9'; len++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(rest->data[len] - '0'), &value))
            return false;
    if (len == 0 || len == rest->len || rest->data[len] != (uint8_t)end)
        return false;
    *rest = rk_span_of(rest->data + len + 1, rest->len - len - 1);
    *out_value = value;
    return true;
}

static bool take_random(rk_span *rest) {
    enum { DIGITS = 16 };
    for (size_t i = 0; i < DIGITS; i++)
        if (i >= rest->len || !memchr("0123456789abcdef", rest->data[i], 16))
            return false;
    *rest = rk_span_of(rest->data + DIGITS, rest->len - DIGITS);
    return take_text(rest, " ");
}

static rk_span first_line(rk_span text) {
    const uint8_t *newline = text.len ? memchr(text.data, '\n', text.len) : NULL;
    return rk_span_of(text.data, newline ? (size_t)(newline - text.data) : text.len);
}

static bool parse_first_line(rk_span line, rk_lease_view *out) {
    if (!take_text(&line, magic))
        return false;
    if (take_text(&line, not_kept))
        out->state = RK_LEASE_NOT_KEPT;
    else if (!take_text(&line, held))
        return false;
    return take_number(&line, ' ', &out->created_ns) && take_number(&line, ' ', &out->valid_ns) &&
           take_random(&line) && rk_process_parse(line, &out->holder);
}

uint64_t rk_lease_text_identity(rk_span text) {
    rk_span line = first_line(text);
    rk_digest digest;
    rk_digest_of(rk_span_of(line.data, line.len + (line.len < text.len)), &digest);
    uint64_t identity = rk_load_u64le(digest.bytes);
    return identity ? identity : 1;
}

void rk_lease_text_parse(rk_span text, rk_lease_view *out_view) {
    *out_view = (rk_lease_view){
        .state = RK_LEASE_HELD, .identity = rk_lease_text_identity(text), .size_bytes = text.len};
    rk_span line = first_line(text);
    if (line.len == text.len || !parse_first_line(line, out_view)) {
        *out_view = (rk_lease_view){
            .state = RK_LEASE_HELD, .identity = out_view->identity, .size_bytes = text.len};
        return;
    }
    rk_span rest = rk_span_of(text.data + line.len + 1, text.len - line.len - 1);
    while (take_text(&rest, "."))
        continue;
    if (take_text(&rest, compiled))
        out_view->compiled = take_number(&rest, '\n', &out_view->compile_ns);
}
