#include "test_read_bytecode_maker.h"

#include "program/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const STRINGS[STRING_COUNT] = {
    [STRING_BUILTIN] = "builtin", [STRING_VHLO] = "vhlo",  [STRING_OTHER] = "other",
    [STRING_MODULE] = "module",   [STRING_OP] = "op",      [STRING_CONSTANT] = "constant_v1",
    [STRING_TEXT] = "some text",  [STRING_PAD] = "pad_v1",
};

void maker_cleanup(maker *m) {
    rk_buf *const all[] = {&m->attr_offsets, &m->attrs,      &m->type_offsets,     &m->types,
                           &m->ir,           &m->properties, &m->resource_offsets, &m->resources};
    for (size_t i = 0; i < RK_ARRAY_LEN(all); i++)
        rk_buf_cleanup(all[i]);
}

void add_varint(rk_buf *out, uint64_t value) {
    unsigned more = 0;
    while (more < 8 && value >> (7 * (more + 1)))
        more++;
    if (more == 8) {
        rk_buf_add_byte(out, 0);
        rk_buf_add_u64le(out, value);
        return;
    }
    uint64_t word = (value << 1 | 1) << more;
    for (unsigned i = 0; i <= more; i++)
        rk_buf_add_byte(out, (uint8_t)(word >> (8 * i)));
}

void add_svarint(rk_buf *out, int64_t value) {
    add_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

void add_flagged(rk_buf *out, uint64_t value, bool flag) {
    add_varint(out, value << 1 | flag);
}

static void add_all(rk_buf *out, va_list numbers) {
    for (int number; (number = va_arg(numbers, int)) != END;)
        add_varint(out, (uint64_t)number);
}

static void add_entry(rk_buf *offsets, rk_buf *data, unsigned dialect, bool is_binary,
                      rk_span bytes) {
    add_varint(offsets, dialect);
    add_varint(offsets, 1);
    add_flagged(offsets, bytes.len, is_binary);
    rk_buf_add_span(data, bytes);
}

unsigned make_attr_bytes(maker *m, unsigned dialect, bool is_binary, rk_span bytes) {
    add_entry(&m->attr_offsets, &m->attrs, dialect, is_binary, bytes);
    return m->attr_count++;
}

unsigned make_attr(maker *m, unsigned dialect, ...) {
    RK_AUTO(rk_buf) bytes = {0};
    va_list numbers;
    va_start(numbers, dialect);
    add_all(&bytes, numbers);
    va_end(numbers);
    return make_attr_bytes(m, dialect, true, rk_buf_span(&bytes));
}

unsigned make_type(maker *m, unsigned dialect, ...) {
    RK_AUTO(rk_buf) bytes = {0};
    va_list numbers;
    va_start(numbers, dialect);
    add_all(&bytes, numbers);
    va_end(numbers);
    add_entry(&m->type_offsets, &m->types, dialect, true, rk_buf_span(&bytes));
    return m->type_count++;
}

unsigned make_properties(maker *m, ...) {
    RK_AUTO(rk_buf) bytes = {0};
    va_list numbers;
    va_start(numbers, m);
    add_all(&bytes, numbers);
    va_end(numbers);
    add_varint(&m->properties, bytes.len);
    rk_buf_add_span(&m->properties, rk_buf_span(&bytes));
    return m->property_count++;
}

void make_op(maker *m, unsigned op, unsigned mask) {
    add_varint(&m->ir, op);
    rk_buf_add_byte(&m->ir, (uint8_t)mask);
    add_varint(&m->ir, 0);
}

static void add_section(rk_buf *file, uint8_t id, rk_buf *payload) {
    rk_buf_add_byte(file, id);
    add_varint(file, payload->len);
    rk_buf_add_span(file, rk_buf_span(payload));
    rk_buf_cleanup(payload);
}

static void add_strings(rk_buf *file) {
    rk_buf section = {0};
    add_varint(&section, STRING_COUNT);
    for (size_t i = STRING_COUNT; i-- > 0;)
        add_varint(&section, strlen(STRINGS[i]) + 1);
    for (size_t i = 0; i < STRING_COUNT; i++)
        rk_buf_add(&section, STRINGS[i], strlen(STRINGS[i]) + 1);
    add_section(file, 0, &section);
}

static void add_dialects(rk_buf *file) {
    static const struct {
        unsigned dialect, name;
        bool is_registered;
    } ops[OP_COUNT] = {[OP_MODULE] = {DIALECT_BUILTIN, STRING_MODULE, true},
                       [OP_OTHER] = {DIALECT_OTHER, STRING_OP, false},
                       [OP_CONSTANT] = {DIALECT_VHLO, STRING_CONSTANT, true},
                       [OP_PAD] = {DIALECT_VHLO, STRING_PAD, true}};
    rk_buf section = {0};
    add_varint(&section, DIALECT_COUNT);
    for (unsigned i = 0; i < DIALECT_COUNT; i++)
        add_flagged(&section, STRING_BUILTIN + i, false);
    add_varint(&section, OP_COUNT);
    for (unsigned i = 0; i < OP_COUNT; i++) {
        add_varint(&section, ops[i].dialect);
        add_varint(&section, 1);
        add_flagged(&section, ops[i].name, ops[i].is_registered);
    }
    add_section(file, 1, &section);
}

static void add_module(maker *m, rk_buf *file, unsigned ops, unsigned values) {
    rk_buf section = {0}, inner = {0};
    add_varint(&inner, 1); // number of blocks
    add_varint(&inner, values);
    add_flagged(&inner, ops, false);
    rk_buf_add_span(&inner, rk_buf_span(&m->ir));
    add_flagged(&section, 1, false);
    add_varint(&section, OP_MODULE);
    rk_buf_add_byte(&section, REGIONS);
    add_varint(&section, 0);
    add_flagged(&section, 1, true);
    add_section(&section, 4, &inner);
    add_section(file, 4, &section);
}

rk_buf make_file(maker *m, unsigned ops, unsigned values) {
    rk_buf file = {0}, offsets = {0}, entries = {0}, properties = {0};
    if (!m->attr_count)
        (void)make_attr(m, DIALECT_BUILTIN, 15, END); // an unknown location
    rk_buf_add(&file, "ML\xEFR", 4);
    add_varint(&file, m->version ? m->version : 6);
    rk_buf_add(&file, "by hand", sizeof "by hand");
    add_strings(&file);
    add_dialects(&file);
    add_varint(&offsets, m->attr_count);
    add_varint(&offsets, m->type_count);
    rk_buf_add_span(&offsets, rk_buf_span(&m->attr_offsets));
    rk_buf_add_span(&offsets, rk_buf_span(&m->type_offsets));
    rk_buf_add_span(&entries, rk_buf_span(&m->attrs));
    rk_buf_add_span(&entries, rk_buf_span(&m->types));
    add_section(&file, 3, &offsets);
    add_section(&file, 2, &entries);
    add_module(m, &file, ops, values);
    if (m->resource_offsets.len) {
        add_section(&file, 5, &m->resources);
        add_section(&file, 6, &m->resource_offsets);
    }
    add_varint(&properties, m->property_count);
    rk_buf_add_span(&properties, rk_buf_span(&m->properties));
    add_section(&file, 8, &properties);
    maker_cleanup(m);
    *m = (maker){0};
    return file;
}

rk_model *read_made(const rk_buf *file, unsigned flags, char **out_reason) {
    rk_model *model;
    rk_err *err = rk_model_read(rk_buf_span(file), rk_span_text("mlir"), flags, &model, out_reason);
    if (err)
        fail_msg("%s", rk_err_message(err));
    return model;
}
