#include "program/mlir/asm/constants.h"

#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/numbers.h"
#include "program/mlir/asm/types.h"
#include "program/mlir/dialect_ops.h"

enum { MAX_RANK = 32, MAX_SPLAT_INTS = 64 };

// The type of a constant, taken apart.
typedef struct shape {
    uint32_t type;
    const rk_asm_scalar *scalar;
    bool is_complex;
    uint32_t rank;
    uint64_t dims[MAX_RANK];
    uint64_t count;
    size_t bytes; // of one element
} shape;

static bool read_shape(rk_asm *p, shape *s) {
    s->type = rk_asm_type(p);
    if (s->type == RK_NO_ID)
        return false;
    const rk_node *node = &p->model->nodes.items[s->type];
    s->count = 1;
    s->rank = (uint32_t)(node->bytes.len / 8);
    bool is_good = rk_asm_is_tensor(p, s->type) && s->rank <= MAX_RANK;
    for (uint32_t i = 0; i < s->rank && is_good; i++) {
        s->dims[i] = rk_load_u64le(node->bytes.data + 8 * i);
        is_good =
            s->dims[i] <= INT64_MAX && !__builtin_mul_overflow(s->count, s->dims[i], &s->count);
    }
    if (is_good) {
        const rk_node *element = &p->model->nodes.items[rk_asm_element_type(p, s->type)];
        s->is_complex = element->name == RK_WORD_complex;
        if (s->is_complex)
            element = &p->model->nodes.items[p->model->fields.items[element->first_field].node];
        s->scalar = rk_asm_find_scalar(element->name);
        is_good = s->scalar && (!s->is_complex || s->scalar->is_float);
    }
    if (!is_good) {
        rk_asm_fail(p, "a constant of an unknown type");
        return false;
    }
    s->bytes = (size_t)s->scalar->bytes << s->is_complex;
    return true;
}

static uint32_t elements_node(rk_asm *p, uint32_t type, rk_span bytes) {
    rk_field field = {RK_NO_ID, type};
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_ELEMENTS, .name = RK_NO_ID, .bytes = bytes},
                       &field, 1);
}

// MLIR keeps one element of a constant whose elements are all equal.
static rk_span collapse(rk_span bytes, size_t element_bytes) {
    if (bytes.len > element_bytes &&
        memcmp(bytes.data, bytes.data + element_bytes, bytes.len - element_bytes) == 0)
        bytes.len = element_bytes;
    return bytes;
}

// MLIR packs booleans into bits, lowest first. Equal ones are one byte: 0xFF or 0.
static rk_span pack_bools(uint8_t *bytes, uint64_t count) {
    rk_span all = collapse(rk_span_of(bytes, (size_t)count), 1);
    if (count <= 1)
        return all;
    if (all.len == 1) {
        bytes[0] = bytes[0] ? 0xFF : 0;
        return all;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint8_t bit = (uint8_t)(bytes[i] << (i % 8));
        bytes[i / 8] = i % 8 ? bytes[i / 8] | bit : bit;
    }
    return rk_span_of(bytes, (size_t)((count + 7) / 8));
}

// Lists of i64 that are an operation's attribute: VHLO has constants where StableHLO has arrays,
// and the bytecode reader makes lists of both (read_forms.c).
static uint32_t as_ints(rk_asm *p, const shape *s, rk_span bytes) {
    rk_buf_clear(&p->ints);
    if (s->count > 1 && bytes.len == 8 && s->count > MAX_SPLAT_INTS)
        return elements_node(p, s->type, bytes);
    for (uint64_t i = 0; i < s->count; i++)
        rk_asm_add_int(p, (int64_t)rk_load_u64le(bytes.data + (bytes.len > 8 ? 8 * i : 0)));
    return rk_asm_take_ints(p);
}

static bool is_list(const rk_asm *p, const shape *s) {
    const rk_node *element = &p->model->nodes.items[rk_asm_element_type(p, s->type)];
    const rk_node *type = &p->model->nodes.items[s->type];
    return element->name == RK_WORD_i64 && s->rank == 1 && type->field_count == 1;
}

static uint32_t constant(rk_asm *p, const shape *s, rk_span bytes) {
    if (p->is_vhlo && !p->nesting && is_list(p, s))
        return as_ints(p, s, bytes);
    return elements_node(p, s->type, bytes);
}

// Literals.

static bool read_scalar(rk_asm *p, const shape *s, uint8_t *out) {
    rk_asm_literal literal = {0};
    uint64_t bits;
    (void)rk_asm_peek(p);
    if (s->scalar->bits == 1 && !s->scalar->is_float && rk_asm_is_letter(rk_asm_here(p))) {
        rk_span word = rk_asm_word(p);
        literal.value = rk_span_is(word, "true");
        if (!literal.value && !rk_span_is(word, "false"))
            goto bad;
    } else {
        const uint8_t *end = rk_asm_read_literal(p->at, p->end, &literal);
        if (!end)
            goto bad;
        p->at = end;
    }
    if (!rk_asm_literal_bits(s->scalar, &literal, &bits))
        goto bad;
    for (uint8_t i = 0; i < s->scalar->bytes; i++)
        out[i] = (uint8_t)(bits >> (8 * i));
    return true;
bad:
    rk_asm_fail(p, "a number in a constant that is not understood");
    return false;
}

static bool read_element(rk_asm *p, const shape *s, uint8_t *out) {
    if (!s->is_complex)
        return read_scalar(p, s, out);
    return rk_asm_expect(p, '(') && read_scalar(p, s, out) && rk_asm_expect(p, ',') &&
           read_scalar(p, s, out + s->scalar->bytes) && rk_asm_expect(p, ')');
}

// Reads nested lists, which must have exactly the type's dimensions. `left`: elements that the open
// lists still need.
static bool read_lists(rk_asm *p, const shape *s, uint8_t *out) {
    uint64_t left[MAX_RANK];
    uint32_t depth = 0;
    while (!p->failed) {
        if (depth < s->rank) {
            if (!rk_asm_expect(p, '['))
                return false;
            left[depth] = s->dims[depth];
            depth++;
            if (left[depth - 1])
                continue;
        } else {
            if (!read_element(p, s, out))
                return false;
            out += s->bytes;
            left[depth - 1]--;
        }
        while (depth && !left[depth - 1]) {
            if (!rk_asm_expect(p, ']'))
                return false;
            if (--depth == 0)
                return true;
            left[depth - 1]--;
        }
        if (!rk_asm_expect(p, ','))
            return false;
    }
    return false;
}

static uint32_t from_literals(rk_asm *p, const shape *s) {
    bool is_splat = rk_asm_peek(p) != '[';
    uint64_t count = is_splat ? s->count != 0 : s->count;
    if (!is_splat && (!s->rank || count > (uint64_t)(p->end - p->at))) {
        rk_asm_fail(p, "a constant with another number of elements than its type");
        return RK_NO_ID;
    }
    uint8_t *bytes = rk_model_space(p->model, (size_t)count * s->bytes + s->bytes);
    if (!bytes) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    if (is_splat ? !read_element(p, s, bytes) : !read_lists(p, s, bytes))
        return RK_NO_ID;
    if (is_splat && s->scalar->bits == 1 && s->count > 1)
        bytes[0] = bytes[0] ? 0xFF : 0;
    if (is_splat)
        return constant(p, s, rk_span_of(bytes, s->count ? s->bytes : 0));
    if (s->scalar->bits == 1)
        return constant(p, s, pack_bools(bytes, count));
    return constant(p, s, collapse(rk_span_of(bytes, (size_t)count * s->bytes), s->bytes));
}

// Hexadecimal strings.

static const uint8_t *digit_values(void) {
    enum { N = 0xFF };
    static const uint8_t values[256] = {
#define ROW     N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
#define LETTERS N, 10, 11, 12, 13, 14, 15, N, N, N, N, N, N, N, N, N,
        ROW ROW ROW 0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        N,
        N,
        N,
        N,
        N,
        N,
        LETTERS ROW LETTERS ROW ROW ROW ROW ROW ROW ROW ROW ROW
#undef ROW
#undef LETTERS
    };
    return values;
}

// Decodes "0x…". NULL if it is not hexadecimal or memory is short. Lives as long as the model.
static const uint8_t *decode_hex(rk_asm *p, rk_span text, size_t *out_len) {
    const uint8_t *values = digit_values();
    uint8_t bad = 0;
    *out_len = 0;
    if (text.len < 2 || text.len % 2 || memcmp(text.data, "0x", 2) != 0)
        return NULL;
    size_t len = text.len / 2 - 1;
    uint8_t *bytes = rk_model_space(p->model, len ? len : 1);
    if (!bytes) {
        rk_asm_out_of_memory(p);
        return NULL;
    }
    for (size_t i = 0; i < len; i++) {
        uint8_t high = values[text.data[2 + 2 * i]], low = values[text.data[3 + 2 * i]];
        bad |= high | low;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out_len = len;
    return bad >> 4 ? NULL : bytes;
}

static uint32_t from_hex(rk_asm *p, const shape *s, rk_span text) {
    size_t len, whole;
    const uint8_t *bytes = decode_hex(p, text, &len);
    bool is_good = bytes && s->count && s->scalar->bits % 8 == 0 &&
                   !__builtin_mul_overflow((size_t)s->count, s->bytes, &whole) &&
                   (len == whole || len == s->bytes);
    if (!is_good) {
        rk_asm_fail(p, "a hexadecimal constant that does not have its type's size");
        return RK_NO_ID;
    }
    return constant(p, s, collapse(rk_span_of(bytes, len), s->bytes));
}

// Constants.

// Returns the position of the ">" that ends a constant with a string or with literals.
static const uint8_t *find_end(rk_asm *p, rk_span *out_text) {
    *out_text = (rk_span){0};
    if (rk_asm_peek(p) == '"') {
        if (!rk_asm_string(p, out_text))
            return NULL;
        return rk_asm_peek(p) == '>' ? p->at : NULL;
    }
    return p->at < p->end ? memchr(p->at, '>', (size_t)(p->end - p->at)) : NULL;
}

// The type follows the elements, so it is read first.
uint32_t rk_asm_dense(rk_asm *p) {
    shape s = {0};
    rk_span text;
    (void)rk_asm_peek(p);
    const uint8_t *start = p->at, *close = find_end(p, &text);
    if (!close) {
        rk_asm_fail(p, "a constant that is not understood");
        return RK_NO_ID;
    }
    p->at = close + 1;
    if (!rk_asm_expect(p, ':') || !read_shape(p, &s))
        return RK_NO_ID;
    if (text.len)
        return from_hex(p, &s, text);
    const uint8_t *behind = p->at;
    p->at = start;
    uint32_t node = RK_NO_ID;
    if (rk_asm_peek(p) != '>')
        node = from_literals(p, &s);
    else if (!s.count)
        node = constant(p, &s, (rk_span){0});
    else
        rk_asm_fail(p, "a constant without elements");
    if (node == RK_NO_ID || rk_asm_peek(p) != '>' || p->at != close) {
        rk_asm_fail(p, "a constant that is not understood");
        return RK_NO_ID;
    }
    p->at = behind;
    return node;
}

uint32_t rk_asm_resource_constant(rk_asm *p) {
    shape s = {0};
    rk_span key = {0};
    if (rk_asm_peek(p) == '"' ? !rk_asm_string(p, &key) : !(key = rk_asm_word(p)).len)
        rk_asm_fail(p, "a resource without a name");
    if (p->failed || !rk_asm_expect(p, '>') || !rk_asm_expect(p, ':') || !read_shape(p, &s))
        return RK_NO_ID;
    if (p->is_vhlo && !p->nesting && is_list(p, &s)) {
        rk_asm_fail(p, "a list of numbers in a resource");
        return RK_NO_ID;
    }
    size_t len;
    if (__builtin_mul_overflow((size_t)s.count, s.bytes, &len)) {
        rk_asm_fail(p, "a constant that is too large");
        return RK_NO_ID;
    }
    // Not shared: the bytes come later.
    rk_node node = {.kind = RK_NODE_ELEMENTS,
                    .name = RK_NO_ID,
                    .first_field = p->model->fields.count,
                    .field_count = 1};
    uint32_t id = rk_model_add_field(p->model, RK_NO_ID, s.type) == RK_NO_ID
                      ? RK_NO_ID
                      : rk_model_add_node(p->model, node);
    if (id == RK_NO_ID || !RK_ASM_PUSH(p, p->pendings, (rk_asm_pending){id, key, len})) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    return id;
}

// Returns the bytes of a resource, without the four bytes of alignment in front of them. The data
// is NULL if there is no such resource, or if its text is not hexadecimal.
static rk_span find_resource(rk_asm *p, rk_span key) {
    enum { ALIGNMENT_BYTES = 4 };
    uint32_t number = rk_interner_find(&p->resource_keys, key);
    if (number >= p->resources.count)
        return (rk_span){0};
    rk_asm_resource *resource = &p->resources.items[number];
    size_t len = 0;
    const uint8_t *bytes = resource->bytes.data ? NULL : decode_hex(p, resource->hex, &len);
    if (bytes && len >= ALIGNMENT_BYTES)
        resource->bytes = rk_span_of(bytes + ALIGNMENT_BYTES, len - ALIGNMENT_BYTES);
    return resource->bytes;
}

bool rk_asm_settle_resources(rk_asm *p) {
    for (uint32_t i = 0; i < p->pendings.count; i++) {
        const rk_asm_pending *pending = &p->pendings.items[i];
        rk_span bytes = find_resource(p, pending->key);
        if (!bytes.data || bytes.len != pending->len) {
            rk_asm_fail(p, "a constant without a resource of its size");
            return false;
        }
        p->model->nodes.items[pending->node].bytes = bytes;
    }
    return true;
}

// Numbers in `p->ints`.

static bool is_gathered(rk_asm *p) {
    if (!p->ints.failed)
        return true;
    rk_asm_out_of_memory(p);
    return false;
}

static uint32_t typed_ints(rk_asm *p, const int64_t *dims, size_t rank, uint32_t element,
                           rk_span bytes) {
    uint32_t type = rk_asm_tensor_type(p, rk_span_of(dims, rank * sizeof *dims),
                                       rk_asm_scalar_type(p, element));
    return type == RK_NO_ID ? RK_NO_ID : elements_node(p, type, bytes);
}

uint32_t rk_asm_take_vhlo_ints(rk_asm *p) {
    int64_t count = (int64_t)(p->ints.len / 8);
    rk_span bytes = collapse(rk_buf_span(&p->ints), 8);
    if (!is_gathered(p))
        return RK_NO_ID;
    if (count <= MAX_SPLAT_INTS || bytes.len > 8)
        return rk_asm_take_ints(p);
    return typed_ints(p, &count, 1, RK_WORD_i64, rk_model_keep(p->model, bytes));
}

uint32_t rk_asm_take_matrix(rk_asm *p, int64_t rows, int64_t columns) {
    const int64_t dims[] = {rows, columns};
    if (!is_gathered(p))
        return RK_NO_ID;
    return typed_ints(p, dims, 2, RK_WORD_i64,
                      rk_model_keep(p->model, collapse(rk_buf_span(&p->ints), 8)));
}

uint32_t rk_asm_take_bools(rk_asm *p) {
    int64_t count = (int64_t)(p->ints.len / 8);
    uint8_t *bytes = is_gathered(p) ? rk_model_space(p->model, (size_t)count + 1) : NULL;
    if (!bytes) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    for (int64_t i = 0; i < count; i++)
        bytes[i] = rk_load_u64le(p->ints.data + 8 * i) != 0;
    return typed_ints(p, &count, 1, RK_WORD_i1, pack_bools(bytes, (uint64_t)count));
}

// Arrays.

// Reads ", 1, 2>" behind the element type. Returns the bytes of the elements.
static bool read_array(rk_asm *p, const shape *s, rk_span *out_bytes) {
    uint8_t element[16];
    rk_buf_clear(&p->ints);
    if (rk_asm_accept(p, ':'))
        do {
            if (!read_scalar(p, s, element))
                return false;
            rk_buf_add(&p->ints, element, s->bytes);
        } while (rk_asm_accept(p, ','));
    *out_bytes = rk_buf_span(&p->ints);
    return rk_asm_expect(p, '>') && is_gathered(p);
}

// Whether the attribute that is read belongs to the operation, which accepts either an array or a
// constant. Elsewhere both would look alike, although the compiler gets different attributes.
static bool is_of_operation(const rk_asm *p) {
    const rk_op_spec *op = p->op_name && !p->nesting ? rk_dialect_find_op(p->op_name) : NULL;
    return op && rk_dialect_has_property(op->properties, p->key);
}

uint32_t rk_asm_array(rk_asm *p) {
    shape s = {0};
    rk_span bytes;
    uint32_t element = rk_asm_type(p);
    uint32_t word = element == RK_NO_ID ? RK_WORD_COUNT : p->model->nodes.items[element].name;
    bool is_known = word == RK_WORD_i64 || (p->is_vhlo && word == RK_WORD_i1);
    if (!is_known || (p->is_vhlo && !is_of_operation(p))) {
        rk_asm_fail(p, "an array in an attribute that is not the operation's own");
        return RK_NO_ID;
    }
    s.scalar = rk_asm_find_scalar(word);
    s.bytes = s.scalar->bytes;
    if (!read_array(p, &s, &bytes))
        return RK_NO_ID;
    if (word == RK_WORD_i64)
        return p->is_vhlo ? rk_asm_take_vhlo_ints(p) : rk_asm_take_ints(p);
    int64_t count = (int64_t)bytes.len;
    uint8_t *kept = rk_model_space(p->model, bytes.len + 1);
    if (!kept) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    if (bytes.len)
        memcpy(kept, bytes.data, bytes.len);
    return typed_ints(p, &count, 1, word, pack_bools(kept, (uint64_t)count));
}
