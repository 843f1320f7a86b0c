#include "base/json.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"

static void before_value(rk_json *json) {
    if (json->needs_comma)
        rk_buf_add_byte(json->out, ',');
    json->needs_comma = true;
}

void rk_json_begin_object(rk_json *json) {
    before_value(json);
    rk_buf_add_byte(json->out, '{');
    json->needs_comma = false;
}

void rk_json_end_object(rk_json *json) {
    rk_buf_add_byte(json->out, '}');
    json->needs_comma = true;
}

void rk_json_begin_array(rk_json *json) {
    before_value(json);
    rk_buf_add_byte(json->out, '[');
    json->needs_comma = false;
}

void rk_json_end_array(rk_json *json) {
    rk_buf_add_byte(json->out, ']');
    json->needs_comma = true;
}

static void add_escaped(rk_buf *out, rk_span text) {
    while (text.len) {
        uint8_t c = text.data[0];
        size_t len = rk_utf8_len(text);
        if (c == '"' || c == '\\') {
            rk_buf_add_byte(out, '\\');
            rk_buf_add_byte(out, c);
        } else if (c == '\n') {
            rk_buf_add_text(out, "\\n");
        } else if (c < 0x20 || c == 0x7F) {
            rk_buf_add_format(out, "\\u%04x", c);
        } else if (len == 0) {
            rk_buf_add_text(out, "\xEF\xBF\xBD");
            len = 1;
        } else {
            rk_buf_add(out, text.data, len);
        }
        text.data += len;
        text.len -= len;
    }
}

void rk_json_key(rk_json *json, const char *key) {
    rk_json_key_text(json, rk_span_text(key));
}

void rk_json_key_text(rk_json *json, rk_span key) {
    rk_json_text(json, key);
    rk_buf_add_byte(json->out, ':');
    json->needs_comma = false;
}

void rk_json_text(rk_json *json, rk_span text) {
    before_value(json);
    rk_buf_add_byte(json->out, '"');
    add_escaped(json->out, text);
    rk_buf_add_byte(json->out, '"');
}

void rk_json_string(rk_json *json, const char *text) {
    if (text)
        rk_json_text(json, rk_span_text(text));
    else
        rk_json_null(json);
}

void rk_json_uint(rk_json *json, uint64_t value) {
    before_value(json);
    rk_buf_add_format(json->out, "%llu", (unsigned long long)value);
}

void rk_json_int(rk_json *json, int64_t value) {
    before_value(json);
    rk_buf_add_format(json->out, "%lld", (long long)value);
}

void rk_json_double(rk_json *json, double value) {
    if (!isfinite(value)) {
        rk_json_null(json);
        return;
    }
    before_value(json);
    char text[48];
    (void)snprintf(text, sizeof text, "%.17g", value);
    // The host process may have set a locale with another decimal separator, of one or more bytes.
    // JSON requires '.'.
    bool in_point = false;
    for (const char *c = text; *c; c++) {
        bool is_number = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
        if (is_number)
            rk_buf_add_byte(json->out, (uint8_t)*c);
        else if (!in_point)
            rk_buf_add_byte(json->out, '.');
        in_point = !is_number;
    }
}

void rk_json_seconds(rk_json *json, uint64_t nanoseconds) {
    before_value(json);
    uint64_t microseconds = nanoseconds / 1000 + (nanoseconds % 1000 >= 500);
    rk_buf_add_format(json->out, "%llu.%06llu", (unsigned long long)(microseconds / 1000000),
                      (unsigned long long)(microseconds % 1000000));
}

void rk_json_bool(rk_json *json, bool value) {
    before_value(json);
    rk_buf_add_text(json->out, value ? "true" : "false");
}

void rk_json_null(rk_json *json) {
    before_value(json);
    rk_buf_add_text(json->out, "null");
}

void rk_json_raw(rk_json *json, rk_span json_text) {
    before_value(json);
    rk_buf_add_span(json->out, json_text);
}

void rk_json_member_string(rk_json *json, const char *key, const char *text) {
    rk_json_key(json, key);
    rk_json_string(json, text);
}

void rk_json_member_text(rk_json *json, const char *key, rk_span text) {
    rk_json_key(json, key);
    rk_json_text(json, text);
}

void rk_json_member_uint(rk_json *json, const char *key, uint64_t value) {
    rk_json_key(json, key);
    rk_json_uint(json, value);
}

void rk_json_member_seconds(rk_json *json, const char *key, uint64_t nanoseconds) {
    rk_json_key(json, key);
    rk_json_seconds(json, nanoseconds);
}

void rk_json_member_bool(rk_json *json, const char *key, bool value) {
    rk_json_key(json, key);
    rk_json_bool(json, value);
}
