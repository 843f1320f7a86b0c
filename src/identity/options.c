#include "identity/options.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "identity/ignore.h"
#include "identity/options_fields.h"

enum {
    MAX_DEPTH = 32,               // of nested messages; real options need 6
    MAX_FIELDS = 1 << 20,         // in one message
    MAX_OPTIONS_BYTES = 64 << 20, // larger options are hashed unchanged
};

typedef struct walk {
    rk_field_list fields;
    const char *ignore;
    bool bad; // the bytes are not a message of this schema
} walk;

// The fields of one message, in ascending order of numbers. Fields with the same number keep the
// order of the wire.
typedef struct field_array {
    rk_proto_field *items; // `few`, or owned
    size_t count;
    size_t capacity;
    rk_proto_field few[8]; // most messages are small and need no allocation
} field_array;

static void field_array_init(field_array *array) {
    array->items = array->few;
    array->count = 0;
    array->capacity = RK_ARRAY_LEN(array->few);
}

static void field_array_cleanup(field_array *array) {
    if (array->items != array->few)
        rk_free(array->items);
}

static rk_err *canonicalize(walk *w, const rk_schema_message *schema, rk_span message, int depth,
                            rk_buf *out);

bool rk_schema_drops_flag(rk_span name) {
    const rk_schema_message *schema = &rk_schema_debug_options;
    for (uint16_t i = 0; i < schema->count; i++)
        if (rk_span_is(name, schema->fields[i].name))
            return (schema->fields[i].flags & RK_SCHEMA_DROP) != 0;
    return false;
}

static int compare_fields(const void *left, const void *right) {
    const rk_proto_field *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->whole.data < b->whole.data ? -1 : a->whole.data > b->whole.data;
}

static rk_err *field_array_push(field_array *array, const rk_proto_field *field) {
    if (array->count == array->capacity) {
        size_t capacity = array->capacity * 2;
        bool owned = array->items != array->few;
        rk_proto_field *items = rk_realloc(owned ? array->items : NULL, capacity * sizeof *items);
        if (!items)
            return rk_err_no_memory();
        if (!owned)
            memcpy(items, array->few, sizeof array->few);
        array->items = items;
        array->capacity = capacity;
    }
    array->items[array->count++] = *field;
    return NULL;
}

static rk_err *field_array_read(walk *w, rk_span message, field_array *array) {
    rk_proto_field field;
    bool sorted = true;
    while (rk_proto_next(&message, &field, &w->bad)) {
        if (array->count >= MAX_FIELDS) {
            w->bad = true;
            return NULL;
        }
        if (array->count && array->items[array->count - 1].number > field.number)
            sorted = false;
        RK_TRY(field_array_push(array, &field));
    }
    if (!w->bad && !sorted)
        qsort(array->items, array->count, sizeof *array->items, compare_fields);
    return NULL;
}

static rk_proto_wire wire_of(rk_schema_kind kind) {
    switch (kind) {
    case RK_SCHEMA_INT:
    case RK_SCHEMA_UINT:
    case RK_SCHEMA_BOOL:
    case RK_SCHEMA_ENUM:
        return RK_PROTO_VARINT;
    case RK_SCHEMA_FLOAT:
        return RK_PROTO_FIXED32;
    case RK_SCHEMA_DOUBLE:
        return RK_PROTO_FIXED64;
    case RK_SCHEMA_STRING:
    case RK_SCHEMA_BYTES:
    case RK_SCHEMA_MESSAGE:
    case RK_SCHEMA_MAP:
        break;
    }
    return RK_PROTO_BYTES;
}

static void add_number(rk_buf *out, rk_proto_wire wire, uint64_t value) {
    if (wire == RK_PROTO_VARINT)
        rk_proto_add_varint(out, value);
    else if (wire == RK_PROTO_FIXED32)
        rk_buf_add_u32le(out, (uint32_t)value);
    else
        rk_buf_add_u64le(out, value);
}

// Adds a field unchanged: one that is not in the schema, or has another wire type there.
static rk_err *add_unknown(walk *w, const rk_proto_field *field, rk_buf *out) {
    rk_buf_add_span(out, field->whole);
    size_t mark = rk_field_list_enter_number(&w->fields, field->number);
    rk_err *err;
    if (field->wire == RK_PROTO_BYTES) {
        err = rk_field_list_add_bytes(&w->fields, field->bytes);
    } else {
        rk_field_list_text(&w->fields, RK_SCHEMA_UINT, field->value);
        err = rk_field_list_add_text(&w->fields);
    }
    rk_field_list_leave(&w->fields, mark);
    return err;
}

static rk_err *add_singular_number(walk *w, const rk_schema_field *schema,
                                   const rk_proto_field *field, rk_buf *out) {
    uint64_t value = schema->kind == RK_SCHEMA_BOOL ? field->value != 0 : field->value;
    if (!value && !(schema->flags & RK_SCHEMA_PRESENCE))
        return NULL;
    rk_proto_add_tag(out, schema->number, field->wire);
    add_number(out, field->wire, value);
    rk_field_list_text(&w->fields, (rk_schema_kind)schema->kind, value);
    return rk_field_list_add_text(&w->fields);
}

// Takes the next element of a packed field off the front.
static bool take_packed(rk_span *data, rk_proto_wire wire, uint64_t *out_value) {
    if (wire == RK_PROTO_VARINT)
        return rk_proto_take_varint(data, out_value);
    size_t width = wire == RK_PROTO_FIXED32 ? 4 : 8;
    if (data->len < width)
        return false;
    *out_value = width == 4 ? rk_load_u32le(data->data) : rk_load_u64le(data->data);
    data->data += width;
    data->len -= width;
    return true;
}

// The wire may mix packed and unpacked elements of one field. The output is packed.
static rk_err *add_repeated_number(walk *w, const rk_schema_field *schema,
                                   const rk_proto_field *fields, size_t count, rk_buf *out) {
    rk_proto_wire wire = wire_of((rk_schema_kind)schema->kind);
    RK_AUTO(rk_buf) packed = {0};
    for (size_t i = 0; i < count && !w->bad; i++) {
        rk_span rest = fields[i].wire == RK_PROTO_BYTES ? fields[i].bytes : (rk_span){0};
        bool more = fields[i].wire != RK_PROTO_BYTES || rest.len;
        uint64_t value = fields[i].value;
        while (more && !w->bad) {
            if (fields[i].wire == RK_PROTO_BYTES && !take_packed(&rest, wire, &value)) {
                w->bad = true;
                break;
            }
            if (schema->kind == RK_SCHEMA_BOOL)
                value = value != 0;
            add_number(&packed, wire, value);
            rk_field_list_text(&w->fields, (rk_schema_kind)schema->kind, value);
            more = rest.len != 0;
        }
    }
    RK_TRY(rk_buf_status(&packed));
    if (!packed.len)
        return NULL;
    rk_proto_add_bytes_field(out, schema->number, rk_buf_span(&packed));
    return rk_field_list_add_text(&w->fields);
}

static rk_err *add_bytes(walk *w, const rk_schema_field *schema, rk_span bytes, rk_buf *out) {
    if (!bytes.len && !(schema->flags & (RK_SCHEMA_PRESENCE | RK_SCHEMA_REPEATED)))
        return NULL;
    rk_proto_add_bytes_field(out, schema->number, bytes);
    return rk_field_list_add_bytes(&w->fields, bytes);
}

static rk_err *add_message(walk *w, const rk_schema_field *schema, rk_span message, int depth,
                           rk_buf *out) {
    RK_AUTO(rk_buf) inner = {0};
    RK_TRY(canonicalize(w, schema->message, message, depth + 1, &inner));
    RK_TRY(rk_buf_status(&inner));
    rk_proto_add_bytes_field(out, schema->number, rk_buf_span(&inner));
    // An empty message gets a name too: its presence can matter.
    return inner.len ? NULL : rk_field_list_add_bytes(&w->fields, rk_span_text("{}"));
}

// protobuf merges several occurrences of a singular message. Parsing their concatenation has the
// same result.
static rk_err *add_merged_message(walk *w, const rk_schema_field *schema,
                                  const rk_proto_field *fields, size_t count, int depth,
                                  rk_buf *out) {
    if (count == 1)
        return add_message(w, schema, fields[0].bytes, depth, out);
    RK_AUTO(rk_buf) merged = {0};
    for (size_t i = 0; i < count; i++)
        rk_buf_add_span(&merged, fields[i].bytes);
    RK_TRY(rk_buf_status(&merged));
    return add_message(w, schema, rk_buf_span(&merged), depth, out);
}

typedef struct map_entry {
    rk_span message;
    rk_span key;     // of a string key
    uint64_t number; // of a numeric key
} map_entry;

static int compare_keys(const map_entry *a, const map_entry *b) {
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return rk_span_compare(a->key, b->key);
}

static int compare_entries(const void *left, const void *right) {
    const map_entry *a = left, *b = right;
    int order = compare_keys(a, b);
    if (order)
        return order;
    return a->message.data < b->message.data ? -1 : a->message.data > b->message.data;
}

static map_entry read_entry(walk *w, rk_span message) {
    map_entry entry = {.message = message};
    rk_proto_field field;
    while (rk_proto_next(&message, &field, &w->bad)) {
        if (field.number == 1) {
            entry.key = field.bytes;
            entry.number = field.value;
        }
    }
    return entry;
}

static rk_err *add_entry(walk *w, const rk_schema_field *schema, const map_entry *entry, int depth,
                         rk_buf *out) {
    if (schema->flags & RK_SCHEMA_FLAG_NAMES) {
        if (rk_schema_drops_flag(entry->key))
            return NULL;
        const char *data = entry->key.len ? (const char *)entry->key.data : "";
        rk_autofree char *key = rk_strndup(data, entry->key.len);
        if (!key)
            return rk_err_no_memory();
        if (rk_ignore_matches(w->ignore, key))
            return NULL;
    }
    RK_AUTO(rk_buf) text = {0};
    if (!entry->key.data)
        rk_buf_add_format(&text, "%llu", (unsigned long long)entry->number);
    rk_span key = entry->key.data ? entry->key : rk_buf_span(&text);
    size_t mark = rk_field_list_enter_key(&w->fields, key);
    rk_err *err = add_message(w, schema, entry->message, depth, out);
    rk_field_list_leave(&w->fields, mark);
    return err;
}

// Adds the entries sorted by key. If entries have the same key, the last one counts, as in
// protobuf.
static rk_err *add_map(walk *w, const rk_schema_field *schema, const rk_proto_field *fields,
                       size_t count, int depth, rk_buf *out) {
    rk_autofree map_entry *entries = rk_calloc(count, sizeof *entries);
    if (!entries)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++) {
        entries[i] = read_entry(w, fields[i].bytes);
        if (w->bad)
            return NULL;
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count && !w->bad; i++) {
        if (i + 1 < count && compare_keys(&entries[i], &entries[i + 1]) == 0)
            continue;
        RK_TRY(add_entry(w, schema, &entries[i], depth, out));
    }
    return NULL;
}

static rk_err *add_repeated(walk *w, const rk_schema_field *schema, const rk_proto_field *fields,
                            size_t count, int depth, rk_buf *out) {
    for (size_t i = 0; i < count && !w->bad; i++) {
        size_t mark = rk_field_list_enter_index(&w->fields, i);
        rk_err *err = schema->kind == RK_SCHEMA_MESSAGE
                          ? add_message(w, schema, fields[i].bytes, depth, out)
                          : add_bytes(w, schema, fields[i].bytes, out);
        rk_field_list_leave(&w->fields, mark);
        RK_TRY(err);
    }
    return NULL;
}

// Adds all occurrences of one field of the schema. The caller has checked the wire types.
static rk_err *add_known(walk *w, const rk_schema_field *schema, const rk_proto_field *fields,
                         size_t count, int depth, rk_buf *out) {
    bool is_number = wire_of((rk_schema_kind)schema->kind) != RK_PROTO_BYTES;
    if (schema->kind == RK_SCHEMA_MAP)
        return add_map(w, schema, fields, count, depth, out);
    if (schema->flags & RK_SCHEMA_REPEATED)
        return is_number ? add_repeated_number(w, schema, fields, count, out)
                         : add_repeated(w, schema, fields, count, depth, out);
    if (schema->kind == RK_SCHEMA_MESSAGE)
        return add_merged_message(w, schema, fields, count, depth, out);
    const rk_proto_field *last = &fields[count - 1]; // as in protobuf, the last one counts
    return is_number ? add_singular_number(w, schema, last, out)
                     : add_bytes(w, schema, last->bytes, out);
}

static bool wire_fits(const rk_schema_field *schema, rk_proto_wire wire) {
    rk_proto_wire expected = wire_of((rk_schema_kind)schema->kind);
    return wire == expected || (wire == RK_PROTO_BYTES && schema->flags & RK_SCHEMA_REPEATED);
}

// Adds all occurrences of one field.
static rk_err *add_group(walk *w, const rk_schema_field *schema, const rk_proto_field *fields,
                         size_t count, int depth, rk_buf *out) {
    bool known = schema != NULL;
    for (size_t i = 0; i < count && known; i++)
        known = wire_fits(schema, fields[i].wire);
    if (!known) {
        for (size_t i = 0; i < count; i++)
            RK_TRY(add_unknown(w, &fields[i], out));
        return NULL;
    }
    if (schema->flags & RK_SCHEMA_DROP)
        return NULL;
    if (schema->flags & RK_SCHEMA_ENTRY_VALUE) // "options[key]", not "options[key].value"
        return add_known(w, schema, fields, count, depth, out);
    bool was_muted = w->fields.muted;
    w->fields.muted |= (schema->flags & RK_SCHEMA_ENTRY_KEY) != 0;
    size_t mark = rk_field_list_enter(&w->fields, schema->name);
    rk_err *err = NULL;
    if (!*w->ignore || !rk_ignore_matches(w->ignore, rk_field_list_path(&w->fields)))
        err = add_known(w, schema, fields, count, depth, out);
    rk_field_list_leave(&w->fields, mark);
    w->fields.muted = was_muted;
    return err;
}

static rk_err *canonicalize(walk *w, const rk_schema_message *schema, rk_span message, int depth,
                            rk_buf *out) {
    __attribute__((cleanup(field_array_cleanup))) field_array array;
    field_array_init(&array);
    if (depth > MAX_DEPTH) {
        w->bad = true;
        return NULL;
    }
    RK_TRY(field_array_read(w, message, &array));
    uint16_t at = 0;
    for (size_t i = 0, next; i < array.count && !w->bad; i = next) {
        uint32_t number = array.items[i].number;
        for (next = i + 1; next < array.count && array.items[next].number == number;)
            next++;
        while (at < schema->count && schema->fields[at].number < number)
            at++;
        bool found = at < schema->count && schema->fields[at].number == number;
        RK_TRY(add_group(w, found ? &schema->fields[at] : NULL, &array.items[i], next - i, depth,
                         out));
    }
    return NULL;
}

// Adds the bytes unchanged, if they are not a message of this schema.
static rk_err *keep_bytes(rk_span options, rk_buf *out, rk_field_list *fields) {
    rk_buf_add_span(out, options);
    size_t mark = rk_field_list_enter(fields, "compile_options");
    rk_err *err = rk_field_list_add_bytes(fields, options);
    rk_field_list_leave(fields, mark);
    return err;
}

static void forget_components(rk_components *list, size_t count) {
    while (list->count > count) {
        list->count--;
        rk_free(list->items[list->count].name);
        rk_free(list->items[list->count].value);
    }
}

static rk_err *walk_options(walk *w, rk_span options, rk_buf *out) {
    RK_AUTO(rk_buf) canonical = {0};
    size_t count = w->fields.components->count;
    w->bad = options.len > MAX_OPTIONS_BYTES;
    if (!w->bad)
        RK_TRY(canonicalize(w, &rk_schema_compile_options, options, 0, &canonical));
    RK_TRY(rk_buf_status(&canonical));
    if (!w->bad) {
        rk_buf_add_span(out, rk_buf_span(&canonical));
    } else {
        forget_components(w->fields.components, count);
        rk_field_list_leave(&w->fields, 0);
        w->fields.text.len = 0;
        w->fields.muted = w->fields.full = false;
        RK_TRY(keep_bytes(options, out, &w->fields));
    }
    return rk_buf_status(out);
}

rk_err *rk_options_canonicalize_without(rk_span options, const char *ignore, rk_buf *out_canonical,
                                        rk_components *out_fields) {
    walk w = {.fields = {.components = out_fields}, .ignore = ignore ? ignore : ""};
    rk_err *err = walk_options(&w, options, out_canonical);
    rk_field_list_cleanup(&w.fields);
    return err;
}

rk_err *rk_options_canonicalize(rk_span options, rk_buf *out_canonical, rk_components *out_fields) {
    return rk_options_canonicalize_without(options, "", out_canonical, out_fields);
}
