#include "journal/line_internal.h"

// Upper bound of the JSON bytes for one byte of text, as written by base/json.h: \u001f takes 6;
// U+FFFD, for a byte that is not UTF-8, takes 3.
static size_t json_cost(uint8_t byte) {
    if (byte < 0x20 || byte == 0x7F)
        return 6;
    if (byte >= 0x80)
        return 3;
    return byte == '"' || byte == '\\' ? 2 : 1;
}

// Returns the length of the longest prefix of `text` that fits and ends between two characters.
static size_t fitting_len(rk_span text, size_t max_bytes) {
    size_t len = 0, cost = 0;
    while (len < text.len && cost + json_cost(text.data[len]) <= max_bytes)
        cost += json_cost(text.data[len++]);
    if (len < text.len)
        while (len && (text.data[len] & 0xC0) == 0x80)
            len--;
    return len;
}

void rk_line_add_item(rk_json *json, rk_span text, size_t max_bytes) {
    enum { MARK_BYTES = 32 };
    size_t len = fitting_len(text, max_bytes);
    if (len == text.len) {
        rk_json_text(json, text);
        return;
    }
    len = fitting_len(text, max_bytes > MARK_BYTES ? max_bytes - MARK_BYTES : 0);
    rk_json_text(json, rk_span_of(text.data, len));
    // Replaces the closing quote that was just written.
    if (!json->out->failed) {
        json->out->len--;
        rk_buf_add_format(json->out, "…[%zu]\"", text.len);
    }
}

void rk_line_add_text(rk_json *json, const char *key, rk_span text, size_t max_bytes) {
    rk_json_key(json, key);
    rk_line_add_item(json, text, max_bytes);
}

void rk_line_add_name(rk_json *json, const char *key, const char *text) {
    rk_line_add_text(json, key, rk_span_text(text ? text : ""), RK_LINE_NAME_BYTES);
}

void rk_line_add_digest(rk_json *json, const char *key, const rk_digest *digest) {
    if (!digest)
        return;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(digest, hex);
    rk_json_member_string(json, key, hex);
}
