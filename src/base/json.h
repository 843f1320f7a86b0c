// A writer of JSON (RFC 8259) into a buffer. The writer places the commas; the caller balances the
// begin and end calls. Each byte that is not valid UTF-8 is written as U+FFFD. (The CLI reads JSON
// with jansson.)
#pragma once

#include "base/buf.h"

typedef struct rk_json {
    rk_buf *out;      // borrowed while the writer is in use
    bool needs_comma; // the next key or value follows another one
} rk_json;

static inline rk_json rk_json_on(rk_buf *out) {
    return (rk_json){out, false};
}

void rk_json_begin_object(rk_json *json);
void rk_json_end_object(rk_json *json);
void rk_json_begin_array(rk_json *json);
void rk_json_end_array(rk_json *json);
void rk_json_key(rk_json *json, const char *key);
void rk_json_key_text(rk_json *json, rk_span key);

void rk_json_text(rk_json *json, rk_span text);
void rk_json_string(rk_json *json, const char *text); // NULL becomes null
void rk_json_uint(rk_json *json, uint64_t value);
void rk_json_int(rk_json *json, int64_t value);
void rk_json_double(rk_json *json, double value);          // NaN and infinities become null
void rk_json_seconds(rk_json *json, uint64_t nanoseconds); // as seconds, to the microsecond
void rk_json_bool(rk_json *json, bool value);
void rk_json_null(rk_json *json);
void rk_json_raw(rk_json *json, rk_span json_text); // a value that is already JSON

// Write a key and its value.
void rk_json_member_string(rk_json *json, const char *key, const char *text);
void rk_json_member_text(rk_json *json, const char *key, rk_span text);
void rk_json_member_uint(rk_json *json, const char *key, uint64_t value);
void rk_json_member_seconds(rk_json *json, const char *key, uint64_t nanoseconds);
void rk_json_member_bool(rk_json *json, const char *key, bool value);
