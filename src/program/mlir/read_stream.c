// Writes the operations of MLIR bytecode into the canonical form while they are read.
#include <endian.h>

#include "program/mlir/read_internal.h"

typedef rk_ir_reader reader;
typedef rk_ir_frame frame;

bool rk_ir_open_stream(reader *r) {
    r->attrs = rk_bytecode_allocate(&r->file, (uint64_t)r->file.attr_count * 2, sizeof *r->attrs);
    r->types = rk_bytecode_allocate(&r->file, r->file.type_count, sizeof *r->types);
    return r->attrs && r->types;
}

// Outside all regions, values have no place.
void rk_ir_pass_values(reader *r, uint64_t count) {
    if (RK_UNLIKELY(!r->frame_count)) {
        r->value_total += (uint32_t)count;
        return;
    }
    frame *top = rk_ir_top(r);
    if (RK_UNLIKELY(count > top->end_value - top->next_value))
        rk_ir_fail(r, "a region defines more values than declared");
    else
        top->next_value += (uint32_t)count;
}

static void stream_operands(reader *r, uint64_t count, uint32_t next_id) {
    uint32_t known = r->value_count - r->scope;
    for (; count; count--) {
        uint64_t number = rk_cursor_varint(&r->file.ir);
        if (RK_UNLIKELY(number >= known)) {
            rk_ir_fail(r, "an undefined operand");
            return;
        }
        rk_canon_put_number(r->canon, next_id - rk_ir_id(r, r->scope + (uint32_t)number));
    }
}

static void stream_types(reader *r, uint64_t count) {
    for (; count && !r->file.failed; count--) {
        uint32_t type = rk_bytecode_type(&r->file, rk_cursor_varint(&r->file.ir));
        if (!r->file.failed)
            rk_canon_put_type(r->canon, type);
    }
}

// A mask bit with a count of zero means the same as no bit, but has another form. Such a program
// counts as opaque.
static void expect_some(reader *r, bool is_said, uint64_t count) {
    if (is_said && !count)
        rk_model_count_opaque(r->file.model,
                              "an operation declares an empty list of successors or regions");
}

// Writes the last parts of an operation with successors or regions.
static void stream_regions(reader *r, const rk_op_name *name, uint8_t mask, uint64_t results) {
    rk_canon *c = r->canon;
    bool is_isolated = false;
    uint64_t blocks = mask & RK_IR_SUCCESSORS ? rk_cursor_count(&r->file.ir) : 0, regions = 0;
    expect_some(r, mask & RK_IR_SUCCESSORS, blocks);
    rk_canon_put_number(c, (uint32_t)blocks);
    for (; blocks && !r->file.failed; blocks--)
        rk_canon_put_number(c, rk_ir_read_successor(r));
    if (mask & RK_IR_USE_LISTS)
        rk_ir_skip_use_lists(r, results);
    if (mask & RK_IR_REGIONS)
        regions = rk_ir_read_regions(r, &is_isolated);
    expect_some(r, mask & RK_IR_REGIONS, regions);
    rk_canon_put_number(c, (uint32_t)regions);
    if (r->file.ir.bad)
        rk_ir_fail(r, "a truncated operation");
    if (regions && !r->file.failed)
        rk_ir_open_op(r, 0, 0, name->is_func, regions, is_isolated);
}

// Writes the rest of an operation with many values, with successors or with regions. `types`: the
// result types, if they are read already; then the operands come next in the file. NULL: the result
// types come next.
static void stream_full(reader *r, const rk_op_name *name, uint8_t mask, uint64_t results,
                        const uint32_t *types, uint64_t operands) {
    rk_canon *c = r->canon;
    uint32_t next_id = rk_ir_next_id(r);
    rk_canon_put_number(c, RK_CANON_FULL);
    rk_canon_put_number(c, (uint32_t)results);
    for (uint64_t i = 0; types && i < results; i++)
        rk_canon_put_type(c, types[i]);
    if (!types) {
        stream_types(r, results);
        operands = mask & RK_IR_OPERANDS ? rk_cursor_count(&r->file.ir) : 0;
    }
    rk_canon_put_number(c, (uint32_t)operands);
    stream_operands(r, operands, next_id);
    rk_ir_pass_values(r, results);
    stream_regions(r, name, mask, results);
}

// Writes the rest of an operation.
void rk_ir_stream_op(reader *r, rk_op_name *name, uint8_t mask, const rk_op *op) {
    rk_canon *c = r->canon;
    rk_cursor *ir = &r->file.ir;
    rk_content_kind kind = RK_CONTENT_ATTRS;
    if (RK_UNLIKELY(r->frame_count < 2)) {
        rk_canon_begin_unit(c, op);
        kind = rk_canon_kind_of_head(c, op);
    }
    rk_canon_put_name(c, op->name);
    // `content` enables the fast path. A return has two names, and a custom call's attributes may
    // contain a payload, so these never take it.
    if (!name->is_return && !name->is_custom_call)
        name->content = rk_canon_known(c, RK_CONTENT_NAME, op->name);
    rk_canon_put_attrs(c, kind, op->first_attr, op->attr_count);
    uint64_t results = mask & RK_IR_RESULTS ? rk_cursor_count(ir) : 0;
    if (RK_UNLIKELY(results >= RK_CANON_FEW_RESULTS || mask & (RK_IR_SUCCESSORS | RK_IR_REGIONS))) {
        stream_full(r, name, mask, results, NULL, 0);
        return;
    }
    uint32_t types[RK_CANON_FEW_RESULTS];
    for (uint64_t i = 0; i < results; i++)
        types[i] = rk_bytecode_type(&r->file, rk_cursor_varint(ir));
    uint64_t operands = mask & RK_IR_OPERANDS ? rk_cursor_count(ir) : 0;
    if (RK_UNLIKELY(r->file.failed))
        return;
    if (RK_UNLIKELY(operands >= RK_CANON_FEW_OPERANDS)) {
        stream_full(r, name, mask, results, types, operands);
        return;
    }
    rk_canon_put_few(c, (uint32_t)results, (uint32_t)operands);
    for (uint64_t i = 0; i < results; i++)
        rk_canon_put_type(c, types[i]);
    stream_operands(r, operands, rk_ir_next_id(r));
    rk_ir_pass_values(r, results);
    if (mask & RK_IR_USE_LISTS)
        rk_ir_skip_use_lists(r, results);
    if (RK_UNLIKELY(ir->bad))
        rk_ir_fail(r, "a truncated operation");
}

// Fast path for the common kind of operation: few results and operands, no other parts, known
// content. It starts only if enough bytes are left to read (14 varints and a mask) and enough space
// is left to write the operation. So it needs no further checks.
enum {
    FAST_READ_BYTES = 160,
    FAST_WRITE_BYTES = 64,
    FAST_MASK = RK_IR_ATTRS | RK_IR_RESULTS | RK_IR_OPERANDS | RK_IR_PROPERTIES,
};

// Takes a varint without checks: FAST_READ_BYTES are left.
static inline uint64_t take(const uint8_t **at) {
    const uint8_t *from = *at;
    uint64_t word;
    if (RK_LIKELY(*from & 1)) {
        *at = from + 1;
        return *from >> 1;
    }
    memcpy(&word, from + !*from, sizeof word);
    word = le64toh(word);
    unsigned bytes = *from ? (unsigned)__builtin_ctzll(word) + 1 : 9;
    *at = from + bytes;
    return *from ? word << (64 - 8 * bytes) >> (64 - 7 * bytes) : word;
}

static inline uint8_t *put(uint8_t *out, uint32_t value) {
    while (RK_UNLIKELY(value >= 0x80)) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

static inline uint8_t *put_content(rk_canon *c, uint8_t *out, uint32_t content) {
    uint64_t stamp = c->stamps[content];
    return put(out, RK_LIKELY(stamp >> 32 == c->unit_count) ? (uint32_t)stamp
                                                            : rk_canon_use(c, content));
}

static uint32_t look_up_attrs(reader *r, uint32_t name, uint64_t dictionary, uint64_t properties) {
    rk_op op = {.attr_count = 0};
    rk_read_op_attrs(&r->file, name, dictionary, properties, &op);
    if (r->file.failed || !op.attr_count)
        return r->file.failed ? 0 : RK_CANON_NONE + 1;
    uint32_t known = rk_canon_known(r->canon, RK_CONTENT_ATTRS, op.first_attr);
    return known ? known
                 : rk_canon_attrs(r->canon, RK_CONTENT_ATTRS, op.first_attr, op.attr_count) + 1;
}

// Returns the content number plus one of an operation's attributes; zero if they are damaged.
static inline uint32_t attrs_of(reader *r, uint32_t name, uint64_t dictionary,
                                uint64_t properties) {
    const rk_op_name *op = &r->file.op_names[name];
    uint32_t *known = NULL;
    if (RK_LIKELY(properties == UINT64_MAX)) {
        if (RK_UNLIKELY(dictionary >= r->file.attr_count))
            return 0;
        known = &r->attrs[dictionary * 2 + op->has_other_forms];
        if (RK_LIKELY(*known))
            return *known;
    } else {
        if (RK_UNLIKELY(properties >= r->file.property_count))
            return 0;
        rk_properties *own = &r->file.properties[properties];
        if (RK_LIKELY(own->content_name == name && own->content_dictionary == dictionary))
            return own->content;
        own->content_name = name;
        own->content_dictionary = dictionary;
        known = &own->content;
    }
    return *known = look_up_attrs(r, name, dictionary, properties);
}

static inline uint32_t type_of(reader *r, uint64_t index) {
    if (RK_UNLIKELY(index >= r->file.type_count))
        return 0;
    if (RK_LIKELY(r->types[index]))
        return r->types[index];
    uint32_t node = rk_bytecode_type(&r->file, index);
    if (!r->file.failed)
        r->types[index] = rk_canon_type(r->canon, node) + 1;
    return r->types[index];
}

// Writes one operation. False if it is of another kind: then neither position has moved.
static inline bool stream_fast(reader *r, frame *top, const uint8_t **in, uint8_t **out) {
    rk_canon *c = r->canon;
    const uint8_t *at = *in;
    uint8_t *to = *out;
    uint64_t name = take(&at), dictionary = UINT64_MAX, properties = UINT64_MAX;
    uint8_t mask = *at++;
    if (RK_UNLIKELY(name >= r->file.op_name_count || mask & ~FAST_MASK))
        return false;
    rk_op_name *op = &r->file.op_names[name];
    uint32_t attrs = RK_CANON_NONE + 1;
    (void)take(&at); // the location
    if (RK_UNLIKELY(!op->content))
        return false;
    if (mask & RK_IR_ATTRS)
        dictionary = take(&at);
    if (mask & RK_IR_PROPERTIES)
        properties = take(&at);
    if (mask & (RK_IR_ATTRS | RK_IR_PROPERTIES))
        attrs = attrs_of(r, (uint32_t)name, dictionary, properties);
    uint64_t results = mask & RK_IR_RESULTS ? take(&at) : 0;
    if (RK_UNLIKELY(!attrs || results >= RK_CANON_FEW_RESULTS ||
                    results > top->end_value - top->next_value))
        return false;
    uint32_t types[RK_CANON_FEW_RESULTS];
    for (uint64_t i = 0; i < results; i++) {
        types[i] = type_of(r, take(&at));
        if (RK_UNLIKELY(!types[i]))
            return false;
    }
    uint64_t operands = mask & RK_IR_OPERANDS ? take(&at) : 0;
    if (RK_UNLIKELY(operands >= RK_CANON_FEW_OPERANDS))
        return false;
    to = put_content(c, to, op->content - 1);
    to = put_content(c, to, attrs - 1);
    *to++ = (uint8_t)(results << 3 | operands);
    for (uint64_t i = 0; i < results; i++)
        to = put_content(c, to, types[i] - 1);
    uint32_t known = r->value_count - r->scope, next_id = top->next_value + top->to_id;
    for (uint64_t i = 0; i < operands; i++) {
        uint64_t number = take(&at);
        if (RK_UNLIKELY(number >= known))
            return false;
        to = put(to, next_id - rk_ir_id(r, r->scope + (uint32_t)number));
    }
    top->next_value += (uint32_t)results;
    *in = at;
    *out = to;
    return true;
}

void rk_ir_stream_ops(reader *r) {
    rk_canon *c = r->canon;
    frame *top = rk_ir_top(r);
    const uint8_t *in = r->file.ir.at;
    if (rk_cursor_left(&r->file.ir) < FAST_READ_BYTES || c->failed)
        return;
    const uint8_t *last = r->file.ir.end - FAST_READ_BYTES;
    uint8_t *out = c->stream + c->stream_len;
    const uint8_t *full = c->stream + RK_CANON_STREAM_BYTES - FAST_WRITE_BYTES;
    while (top->ops_left && in <= last) {
        if (RK_UNLIKELY(out > full)) {
            c->stream_len = (size_t)(out - c->stream);
            rk_canon_flush(c);
            out = c->stream;
        }
        if (!stream_fast(r, top, &in, &out) || r->file.failed || c->failed)
            break;
        top->ops_left--;
    }
    r->file.ir.at = in;
    c->stream_len = (size_t)(out - c->stream);
}
