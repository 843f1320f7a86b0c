#include "identity/options_fields.h"

enum { MAX_VALUE_BYTES = 64 << 10 }; // a longer value is shown as its digest

// Faster than vsnprintf, which takes most of the time to name the hundreds of numbers of a real
// message.
static void add_decimal(rk_buf *out, uint64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    rk_buf_add(out, digits + at, sizeof digits - at);
}

void rk_field_list_cleanup(rk_field_list *list) {
    rk_buf_cleanup(&list->path);
    rk_buf_cleanup(&list->text);
}

size_t rk_field_list_enter(rk_field_list *list, const char *name) {
    size_t mark = list->path.len;
    if (mark)
        rk_buf_add_byte(&list->path, '.');
    rk_buf_add_text(&list->path, name);
    return mark;
}

size_t rk_field_list_enter_number(rk_field_list *list, uint32_t number) {
    size_t mark = list->path.len;
    rk_buf_add_text(&list->path, mark ? ".field_" : "field_");
    add_decimal(&list->path, number);
    return mark;
}

size_t rk_field_list_enter_index(rk_field_list *list, size_t index) {
    size_t mark = list->path.len;
    rk_buf_add_byte(&list->path, '[');
    add_decimal(&list->path, index);
    rk_buf_add_byte(&list->path, ']');
    return mark;
}

size_t rk_field_list_enter_key(rk_field_list *list, rk_span key) {
    size_t mark = list->path.len;
    rk_buf_add_byte(&list->path, '[');
    // Component names are C strings: a NUL would truncate the name.
    for (size_t i = 0; i < key.len && i < 256; i++)
        rk_buf_add_byte(&list->path, key.data[i] ? key.data[i] : ' ');
    rk_buf_add_byte(&list->path, ']');
    return mark;
}

void rk_field_list_leave(rk_field_list *list, size_t mark) {
    if (mark >= list->path.len)
        return;
    list->path.len = mark;
    list->path.data[mark] = '\0';
}

const char *rk_field_list_path(const rk_field_list *list) {
    return rk_buf_text(&list->path);
}

static double as_double(rk_schema_kind kind, uint64_t value) {
    if (kind == RK_SCHEMA_DOUBLE) {
        double result;
        memcpy(&result, &value, sizeof result);
        return result;
    }
    uint32_t bits = (uint32_t)value;
    float result;
    memcpy(&result, &bits, sizeof result);
    return (double)result;
}

void rk_field_list_text(rk_field_list *list, rk_schema_kind kind, uint64_t value) {
    rk_buf *text = &list->text;
    if (list->muted || list->full || text->len >= MAX_VALUE_BYTES)
        return;
    if (text->len)
        rk_buf_add_byte(text, ',');
    if (kind == RK_SCHEMA_BOOL) {
        rk_buf_add_text(text, value ? "true" : "false");
    } else if (kind == RK_SCHEMA_FLOAT || kind == RK_SCHEMA_DOUBLE) {
        rk_json json = rk_json_on(text); // writes numbers independently of the locale
        rk_json_double(&json, as_double(kind, value));
    } else if (kind != RK_SCHEMA_UINT && value >> 63) {
        rk_buf_add_byte(text, '-');
        add_decimal(text, 0 - value);
    } else {
        add_decimal(text, value);
    }
}

static rk_err *add(rk_field_list *list, rk_span value) {
    rk_err *err =
        rk_components_add(list->components, RK_COMPONENT_OPTION, rk_field_list_path(list), value);
    if (rk_err_code(err) != RK_OUT_OF_RANGE)
        return err;
    rk_err_drop(err, "the canonical bytes hold every field; only the naming of later ones is lost");
    list->full = true;
    return NULL;
}

rk_err *rk_field_list_add_text(rk_field_list *list) {
    rk_err *err = rk_buf_status(&list->text);
    if (!err)
        err = rk_buf_status(&list->path);
    if (!err && !list->muted && !list->full)
        err = add(list, rk_buf_span(&list->text));
    list->text.len = 0;
    return err;
}

rk_err *rk_field_list_add_bytes(rk_field_list *list, rk_span bytes) {
    RK_TRY(rk_buf_status(&list->path));
    if (list->muted || list->full)
        return NULL;
    if (bytes.len <= MAX_VALUE_BYTES)
        return add(list, bytes);
    rk_digest digest;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_of(bytes, &digest);
    rk_digest_to_hex(&digest, hex);
    rk_buf_add_format(&list->text, "%zu bytes, BLAKE2b %s", bytes.len, hex);
    return rk_field_list_add_text(list);
}
