#include "cli/out.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/fail.h"

json_t *rk_out_object(void) {
    return rk_need(json_object());
}

json_t *rk_out_array(void) {
    return rk_need(json_array());
}

void rk_out_set(json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, rk_need(value)) != 0)
        (void)rk_need(NULL);
}

void rk_out_append(json_t *array, json_t *value) {
    if (json_array_append_new(array, rk_need(value)) != 0)
        (void)rk_need(NULL);
}

json_t *rk_out_text(rk_span text) {
    json_t *value = json_stringn((const char *)text.data, text.len);
    if (value)
        return value;
    // Not UTF-8: the JSON writer of src/base replaces the invalid bytes.
    RK_AUTO(rk_buf) mended = RK_BUF_INIT(0);
    rk_json json = rk_json_on(&mended);
    rk_json_text(&json, text);
    (void)rk_need_text(&mended);
    return rk_need(
        json_loadb((const char *)mended.data, mended.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
}

json_t *rk_out_string(const char *text) {
    return text && text[0] ? rk_out_text(rk_span_text(text)) : rk_need(json_null());
}

json_t *rk_out_nullable(const char *text) {
    return text ? rk_out_text(rk_span_text(text)) : json_null();
}

json_t *rk_out_uint(uint64_t value) {
    return rk_need(json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

json_t *rk_out_seconds(uint64_t nanoseconds) {
    uint64_t microseconds = (nanoseconds + 500) / 1000;
    return rk_need(json_real((double)microseconds / 1e6));
}

json_t *rk_out_bool(bool value) {
    return rk_need(json_boolean(value));
}

json_t *rk_out_parsed(rk_span json_text) {
    json_t *value = NULL;
    if (json_text.len > 0)
        value = json_loadb((const char *)json_text.data, json_text.len,
                           JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    return value ? value : rk_need(json_null());
}

char *rk_out_flat(const json_t *value) {
    if (json_is_string(value))
        return rk_need(rk_strdup(json_string_value(value)));
    char *text =
        rk_need(json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)));
    char *copy = rk_need(rk_strdup(text));
    free(text); // jansson's allocator is libc's
    return copy;
}

void rk_out_print(json_t *value) {
    // A failure sets ferror(stdout), which main checks once, at the end.
    (void)json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    (void)fputc('\n', stdout);
    json_decref(value);
}
