#include "program/text.h"

#include <inttypes.h>
#include <math.h>

enum { DEPTH_MAX = 64 };

static void print_node(const rk_model *m, uint32_t id, size_t elements_max, unsigned depth,
                       rk_buf *out);

static int64_t load_i64(const uint8_t *data) {
    return (int64_t)rk_load_u64le(data);
}

static void print_quoted(rk_span text, rk_buf *out) {
    rk_buf_add_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '"' || c == '\\')
            rk_buf_add_format(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7F)
            rk_buf_add_format(out, "\\%02X", c);
        else
            rk_buf_add_byte(out, c);
    }
    rk_buf_add_byte(out, '"');
}

static int64_t signed_value(const rk_node *node) {
    if (node->width == 0 || node->width >= 64)
        return (int64_t)node->value;
    uint64_t sign = (uint64_t)1 << (node->width - 1);
    return (int64_t)((node->value ^ sign) - sign);
}

static rk_span type_name(const rk_model *m, uint32_t type) {
    return type == RK_NO_ID ? (rk_span){0} : rk_model_string(m, m->nodes.items[type].name);
}

static bool is_unsigned(rk_span name) {
    return name.len > 1 && name.data[0] == 'u';
}

static void print_int(const rk_model *m, const rk_node *node, rk_buf *out) {
    uint32_t type = node->field_count ? m->fields.items[node->first_field].node : RK_NO_ID;
    if (node->bytes.len) { // wider than 64 bits
        rk_buf_add_text(out, "0x");
        for (size_t i = node->bytes.len; i-- > 0;)
            rk_buf_add_format(out, "%02X", node->bytes.data[i]);
    } else if (is_unsigned(type_name(m, type))) {
        rk_buf_add_format(out, "%" PRIu64, node->value);
    } else {
        rk_buf_add_format(out, "%" PRId64, signed_value(node));
    }
}

// Prints the value of a float if its type is f64, f32 or bf16 and the value is finite, else its
// bits.
static void print_float_bits(uint64_t bits, unsigned width, rk_span type, rk_buf *out) {
    float f32 = 0;
    double f64 = 0;
    uint32_t low = (uint32_t)bits;
    if (width == 64) {
        memcpy(&f64, &bits, sizeof f64);
    } else if (width == 32) {
        memcpy(&f32, &low, sizeof f32);
        f64 = (double)f32;
    } else if (rk_span_is(type, "bf16")) {
        low <<= 16;
        memcpy(&f32, &low, sizeof f32);
        f64 = (double)f32;
    } else {
        rk_buf_add_format(out, "0x%0*" PRIX64, (int)(width + 3) / 4, bits);
        return;
    }
    if (isfinite(f64))
        rk_buf_add_format(out, width == 64 ? "%.17g" : "%.9g", f64);
    else
        rk_buf_add_format(out, "0x%0*" PRIX64, (int)(width + 3) / 4, bits);
}

static void print_dims(rk_span dims, rk_buf *out) {
    for (size_t i = 0; i + 8 <= dims.len; i += 8) {
        int64_t dim = load_i64(dims.data + i);
        if (dim == INT64_MIN)
            rk_buf_add_text(out, "?x");
        else
            rk_buf_add_format(out, "%" PRId64 "x", dim);
    }
}

static void print_fields(const rk_model *m, const rk_node *node, const char *separator,
                         size_t elements_max, unsigned depth, rk_buf *out) {
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_field *field = &m->fields.items[node->first_field + i];
        if (i)
            rk_buf_add_text(out, separator);
        if (field->name != RK_NO_ID) {
            rk_buf_add_span(out, rk_model_string(m, field->name));
            rk_buf_add_text(out, " = ");
        }
        print_node(m, field->node, elements_max, depth + 1, out);
    }
}

static void print_type(const rk_model *m, const rk_node *node, unsigned depth, rk_buf *out) {
    rk_buf_add_span(out, rk_model_string(m, node->name));
    bool is_shaped = rk_span_is(rk_model_string(m, node->name), "tensor") || node->bytes.len;
    if (!node->field_count && !is_shaped)
        return;
    rk_buf_add_byte(out, '<');
    print_dims(node->bytes, out);
    print_fields(m, node, ", ", 0, depth, out);
    rk_buf_add_byte(out, '>');
}

// Returns the bytes of one element of a constant on the host; 0 if unknown.
static size_t element_bytes(rk_span type) {
    static const struct {
        const char *name;
        size_t bytes;
    } sizes[] = {
        {"i1", 1},   {"pred", 1}, {"i8", 1},  {"ui8", 1}, {"s8", 1},  {"u8", 1},
        {"i16", 2},  {"ui16", 2}, {"s16", 2}, {"u16", 2}, {"f16", 2}, {"bf16", 2},
        {"i32", 4},  {"ui32", 4}, {"s32", 4}, {"u32", 4}, {"f32", 4}, {"i64", 8},
        {"ui64", 8}, {"s64", 8},  {"u64", 8}, {"f64", 8},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(sizes); i++)
        if (rk_span_is(type, sizes[i].name))
            return sizes[i].bytes;
    return 0;
}

static void print_element(const uint8_t *data, size_t bytes, rk_span type, rk_buf *out) {
    uint64_t bits = 0;
    for (size_t i = 0; i < bytes; i++)
        bits |= (uint64_t)data[i] << (8 * i);
    if (type.data[0] == 'f' || type.data[0] == 'b') {
        print_float_bits(bits, (unsigned)(8 * bytes), type, out);
    } else if (is_unsigned(type) || rk_span_is(type, "i1") || rk_span_is(type, "pred")) {
        rk_buf_add_format(out, "%" PRIu64, bits);
    } else {
        rk_node as_int = {.width = (uint16_t)(8 * bytes), .value = bits};
        rk_buf_add_format(out, "%" PRId64, signed_value(&as_int));
    }
}

static void print_elements(const rk_model *m, const rk_node *node, size_t elements_max,
                           unsigned depth, rk_buf *out) {
    uint32_t type = node->field_count ? m->fields.items[node->first_field].node : RK_NO_ID;
    const rk_node *shape = type == RK_NO_ID ? NULL : &m->nodes.items[type];
    rk_span element = {0};
    if (shape && shape->field_count)
        element = type_name(m, m->fields.items[shape->first_field].node);
    size_t bytes = element_bytes(element);
    rk_buf_add_text(out, "dense<");
    if (bytes == 0 || node->bytes.len % bytes != 0) {
        size_t shown = node->bytes.len < elements_max ? node->bytes.len : elements_max;
        rk_buf_add_text(out, "0x");
        rk_buf_add_hex(out, rk_span_of(node->bytes.data, shown));
        if (shown < node->bytes.len)
            rk_buf_add_format(out, "… %zu bytes", node->bytes.len);
    } else {
        size_t count = node->bytes.len / bytes;
        for (size_t i = 0; i < count && i < elements_max; i++) {
            if (i)
                rk_buf_add_text(out, ", ");
            print_element(node->bytes.data + i * bytes, bytes, element, out);
        }
        if (count > elements_max)
            rk_buf_add_format(out, ", … %zu elements", count);
    }
    rk_buf_add_text(out, "> : ");
    print_fields(m, node, ", ", elements_max, depth, out);
}

static void print_ints(rk_span bytes, rk_buf *out) {
    rk_buf_add_byte(out, '[');
    for (size_t i = 0; i + 8 <= bytes.len; i += 8)
        rk_buf_add_format(out, "%s%" PRId64, i ? ", " : "", load_i64(bytes.data + i));
    rk_buf_add_byte(out, ']');
}

static void print_enclosed(const rk_model *m, const rk_node *node, const char *brackets,
                           size_t elements_max, unsigned depth, rk_buf *out) {
    rk_buf_add_byte(out, (uint8_t)brackets[0]);
    print_fields(m, node, ", ", elements_max, depth, out);
    rk_buf_add_byte(out, (uint8_t)brackets[1]);
}

static bool is_printable(rk_span text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < 0x20 || text.data[i] == 0x7F)
            return false;
    return text.len > 0;
}

// Prints MLIR text as it is, and only the size of other opaque bytes.
static void print_opaque(const rk_model *m, const rk_node *node, rk_buf *out) {
    rk_span name = rk_model_string(m, node->name);
    if (rk_span_is(name, "text") && is_printable(node->bytes)) {
        rk_buf_add_span(out, node->bytes);
        return;
    }
    rk_buf_add_text(out, "opaque<");
    rk_buf_add_span(out, name);
    rk_buf_add_format(out, ", %zu bytes>", node->bytes.len);
}

static void print_node(const rk_model *m, uint32_t id, size_t elements_max, unsigned depth,
                       rk_buf *out) {
    const rk_node *node = &m->nodes.items[id];
    if (out->failed) // shared nodes are printed at each use, so the text has no other bound
        return;
    if (depth > DEPTH_MAX) {
        rk_buf_add_text(out, "…");
        return;
    }
    switch ((rk_node_kind)node->kind) {
    case RK_NODE_UNIT:
        rk_buf_add_text(out, "unit");
        break;
    case RK_NODE_BOOL:
        rk_buf_add_text(out, node->value ? "true" : "false");
        break;
    case RK_NODE_INT:
        print_int(m, node, out);
        break;
    case RK_NODE_FLOAT:
        print_float_bits(node->value, node->width,
                         node->field_count ? type_name(m, m->fields.items[node->first_field].node)
                                           : (rk_span){0},
                         out);
        break;
    case RK_NODE_STRING:
        print_quoted(node->bytes, out);
        break;
    case RK_NODE_SYMBOL:
        rk_buf_add_byte(out, '@');
        rk_buf_add_span(out, node->bytes);
        break;
    case RK_NODE_ENUM:
        rk_buf_add_span(out, node->bytes);
        break;
    case RK_NODE_LIST:
        print_enclosed(m, node, "[]", elements_max, depth, out);
        break;
    case RK_NODE_DICT:
        print_enclosed(m, node, "{}", elements_max, depth, out);
        break;
    case RK_NODE_INTS:
        print_ints(node->bytes, out);
        break;
    case RK_NODE_ELEMENTS:
        print_elements(m, node, elements_max, depth, out);
        break;
    case RK_NODE_STRUCT:
        rk_buf_add_byte(out, '#');
        rk_buf_add_span(out, rk_model_string(m, node->name));
        print_enclosed(m, node, "<>", elements_max, depth, out);
        break;
    case RK_NODE_TYPE:
        print_type(m, node, depth, out);
        break;
    case RK_NODE_OPAQUE:
        print_opaque(m, node, out);
        break;
    case RK_NODE_PROGRAM:
        rk_buf_add_text(out, "program");
        if (node->value != RK_NO_ID)
            rk_buf_add_format(out, "#%" PRIu64, node->value);
        break;
    case RK_NODE_LOC_UNKNOWN:
    case RK_NODE_LOC_FILE:
    case RK_NODE_LOC_NAME:
    case RK_NODE_LOC_CALL:
    case RK_NODE_LOC_FUSED:
        break; // text.c prints locations
    }
}

void rk_node_print(const rk_model *model, uint32_t node, size_t elements_max, rk_buf *out) {
    print_node(model, node, elements_max, 0, out);
}
