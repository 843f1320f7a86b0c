#include "identity/components.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "identity/ignore.h"

enum {
    MAX_COMPONENTS = 65536,
    MAX_VALUE_BYTES = 1 << 20,
    MAX_TEXT_BYTES = 256, // longer values are written as their digest
};

void rk_components_cleanup(rk_components *list) {
    for (size_t i = 0; i < list->count; i++) {
        rk_free(list->items[i].name);
        rk_free(list->items[i].value);
    }
    rk_free(list->items);
    *list = (rk_components){0};
}

static rk_err *grow(rk_components *list) {
    if (list->count < list->capacity)
        return NULL;
    size_t capacity = list->capacity ? list->capacity * 2 : 64;
    rk_component *items = rk_realloc(list->items, capacity * sizeof *items);
    if (!items)
        return rk_err_no_memory();
    list->items = items;
    list->capacity = capacity;
    return NULL;
}

rk_err *rk_components_add(rk_components *list, rk_component_kind kind, const char *name,
                          rk_span value) {
    if (list->count >= MAX_COMPONENTS)
        return rk_error(RK_OUT_OF_RANGE, "more than %d components in a key", MAX_COMPONENTS);
    if (value.len > MAX_VALUE_BYTES)
        return rk_error(RK_OUT_OF_RANGE, "component %s is %zu bytes long, more than %d", name,
                        value.len, MAX_VALUE_BYTES);
    RK_TRY(grow(list));
    rk_autofree char *name_copy = rk_strdup(name);
    rk_autofree char *value_copy = rk_malloc(value.len + 1);
    if (!name_copy || !value_copy)
        return rk_err_no_memory();
    if (value.len)
        memcpy(value_copy, value.data, value.len);
    value_copy[value.len] = '\0';
    list->items[list->count++] = (rk_component){
        .kind = kind,
        .name = RK_TAKE(name_copy),
        .value = RK_TAKE(value_copy),
        .value_len = value.len,
    };
    return NULL;
}

static rk_span value_of(const rk_component *item) {
    return rk_span_of(item->value, item->value_len);
}

static int compare(const void *left, const void *right) {
    const rk_component *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : rk_span_compare(value_of(a), value_of(b));
}

void rk_components_sort(rk_components *list) {
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare);
}

void rk_components_ignore(rk_components *list, const char *ignore) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (rk_ignore_matches(ignore, list->items[i].name)) {
            rk_free(list->items[i].name);
            rk_free(list->items[i].value);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

void rk_components_digest(const rk_components *list, rk_digest *out_digest) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_u64(&hasher, list->count);
    for (size_t i = 0; i < list->count; i++) {
        // The kind's name, not its number, which changes if an enumerator is inserted.
        rk_hasher_add_field(&hasher, rk_span_text(rk_component_kind_name(list->items[i].kind)));
        rk_hasher_add_field(&hasher, rk_span_text(list->items[i].name));
        rk_hasher_add_field(&hasher, value_of(&list->items[i]));
    }
    rk_hasher_finish(&hasher, out_digest);
}

// Lets the JSON writer validate the text. Good enough to choose between text and digest.
static bool is_utf8(rk_span text) {
    RK_AUTO(rk_buf) out = RK_BUF_INIT(8 * MAX_TEXT_BYTES);
    rk_json json = rk_json_on(&out);
    rk_json_text(&json, text);
    // The writer writes U+FFFD for each bad byte. A U+FFFD in the text itself counts as bad too.
    return out.len && !memmem(out.data, out.len, "\xEF\xBF\xBD", 3);
}

static void write_value(rk_span value, rk_json *json) {
    if (value.len <= MAX_TEXT_BYTES && is_utf8(value)) {
        rk_json_text(json, value);
        return;
    }
    rk_digest digest;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_of(value, &digest);
    rk_digest_to_hex(&digest, hex);
    rk_json_begin_object(json);
    rk_json_member_string(json, "digest", hex);
    rk_json_member_uint(json, "bytes", value.len);
    rk_json_end_object(json);
}

void rk_components_write(const rk_components *list, rk_json *json) {
    rk_json_begin_array(json);
    for (size_t i = 0; i < list->count; i++) {
        const rk_component *item = &list->items[i];
        rk_json_begin_object(json);
        rk_json_member_string(json, "kind", rk_component_kind_name(item->kind));
        rk_json_member_string(json, "name", item->name);
        rk_json_key(json, "value");
        write_value(value_of(item), json);
        rk_json_end_object(json);
    }
    rk_json_end_array(json);
}

const char *rk_component_kind_name(rk_component_kind kind) {
    switch (kind) {
    case RK_COMPONENT_OPTION:
        return "option";
    case RK_COMPONENT_FLAG:
        return "flag";
    case RK_COMPONENT_VARIABLE:
        return "variable";
    case RK_COMPONENT_VERSION:
        return "version";
    case RK_COMPONENT_TOPOLOGY:
        return "topology";
    case RK_COMPONENT_KIND_COUNT:
        break;
    }
    return "unknown";
}
