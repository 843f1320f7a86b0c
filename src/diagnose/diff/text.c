// Writes the two sides of a difference as text, and compares constants.
#include "program/text.h"
#include "diagnose/diff/diff_internal.h"
#include "diagnose/diff/hash.h"

enum { TEXT_MAX_BYTES = 240, ELEMENTS_SHOWN = 8 };

// Longer lists are data, not sizes.
enum { LIST_MAX = 16 };

static void add_shortened(rk_buf *out, rk_span text) {
    if (text.len <= TEXT_MAX_BYTES) {
        rk_buf_add_span(out, text);
        return;
    }
    size_t len = TEXT_MAX_BYTES;
    while (len && (text.data[len] & 0xC0) == 0x80) // do not cut a code point
        len--;
    rk_buf_add(out, text.data, len);
    rk_buf_add_text(out, "…");
}

// JAX gives this mesh to arrays that were made outside of jax.set_mesh.
static bool is_empty_mesh(const rk_model *m, const rk_node *sharding) {
    for (uint32_t i = 0; i < sharding->field_count; i++) {
        const rk_field *field = &m->fields.items[sharding->first_field + i];
        const rk_node *mesh = &m->nodes.items[field->node];
        if (rk_span_is(rk_model_string(m, field->name), "mesh"))
            return mesh->kind == RK_NODE_SYMBOL && rk_span_is(mesh->bytes, "empty_mesh");
    }
    return false;
}

// Writes the axes of a Shardy sharding in Shardy's own form, [{"data"}, {}], or RK_NO_MESH. False
// if the node is not one.
static bool write_sharding(const rk_program_index *index, uint32_t id, rk_buf *out) {
    const rk_model *m = index->model;
    const rk_node *node = &m->nodes.items[id];
    if (node->kind != RK_NODE_STRUCT || !rk_span_is(rk_model_string(m, node->name), "sharding"))
        return false;
    if (is_empty_mesh(m, node)) {
        rk_buf_add_text(out, RK_NO_MESH);
        return true;
    }
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_field *field = &m->fields.items[node->first_field + i];
        const rk_node *dims = &m->nodes.items[field->node];
        if (!rk_span_is(rk_model_string(m, field->name), "dims") || dims->kind != RK_NODE_LIST)
            continue;
        rk_buf_add_byte(out, '[');
        for (uint32_t k = 0; k < dims->field_count; k++) {
            const rk_node *dim = &m->nodes.items[m->fields.items[dims->first_field + k].node];
            rk_buf_add_text(out, k ? ", {" : "{");
            const rk_node *axes =
                dim->field_count ? &m->nodes.items[m->fields.items[dim->first_field].node] : NULL;
            for (uint32_t x = 0; axes && x < axes->field_count; x++) {
                const rk_node *axis = &m->nodes.items[m->fields.items[axes->first_field + x].node];
                rk_buf_add_text(out, x ? ", " : "");
                if (axis->field_count)
                    rk_node_print(m, m->fields.items[axis->first_field].node, 0, out);
            }
            rk_buf_add_byte(out, '}');
        }
        rk_buf_add_byte(out, ']');
        return true;
    }
    return false;
}

void rk_differ_write_node(const rk_program_index *index, uint32_t node, rk_buf *out) {
    if (node == RK_NO_ID) {
        rk_buf_add_text(out, "none");
        return;
    }
    RK_AUTO(rk_buf) text = RK_BUF_INIT(1 << 16);
    if (!write_sharding(index, node, &text))
        rk_node_print(index->model, node, ELEMENTS_SHOWN, &text);
    if (text.len)
        add_shortened(out, rk_buf_span(&text));
    else
        rk_buf_add_text(out, "…");
}

static uint32_t value_of(const rk_program_index *index, uint32_t op) {
    const rk_op *constant = &index->model->ops.items[op];
    uint32_t node = rk_model_attr(index->model, constant, "value");
    return node != RK_NO_ID ? node : rk_model_attr(index->model, constant, "literal");
}

// Writes the text between "dense<" and ">". The type is reported elsewhere.
void rk_differ_write_constant(const rk_program_index *index, uint32_t op, rk_buf *out) {
    uint32_t node = value_of(index, op);
    if (node == RK_NO_ID)
        return;
    RK_AUTO(rk_buf) text = RK_BUF_INIT(1 << 16);
    rk_node_print(index->model, node, ELEMENTS_SHOWN, &text);
    rk_span whole = rk_buf_span(&text);
    const uint8_t *end = whole.len ? memmem(whole.data, whole.len, "> : ", 4) : NULL;
    if (!end || whole.len < 6 || memcmp(whole.data, "dense<", 6) != 0) {
        add_shortened(out, whole);
        return;
    }
    rk_span inner = rk_span_of(whole.data + 6, (size_t)(end - whole.data) - 6);
    bool is_list = inner.len && memchr(inner.data, ',', inner.len);
    rk_buf_add_text(out, is_list ? "[" : "");
    add_shortened(out, inner);
    rk_buf_add_text(out, is_list ? "]" : "");
}

static double size_of(double number) {
    return number < 0 ? -number : number;
}

// Written without libm: the in-process library may link only libc.
static bool near(double a, double b) {
    return size_of(a - b) <= 0.005 * (size_of(a) > size_of(b) ? size_of(a) : size_of(b));
}

static uint64_t hash_elements(const rk_program_index *index, uint32_t node) {
    return node == RK_NO_ID ? 0 : rk_hash_span(RK_HASH_SEED, index->model->nodes.items[node].bytes);
}

static rk_span element_type(const rk_program_index *index, uint32_t op) {
    const rk_op *constant = &index->model->ops.items[op];
    rk_span dims, element = {0};
    if (!constant->result_count ||
        !rk_program_index_tensor(
            index->model, index->model->values.items[constant->first_result].type, &dims, &element))
        return (rk_span){0};
    return element;
}

// A number type of C, or bf16.
typedef struct number_type {
    const char *name;
    size_t bytes;
    char is; // signed, unsigned, float, or the upper half of a float
} number_type;

static const number_type *find_type(rk_span name) {
    static const number_type types[] = {
        {"f64", 8, 'f'}, {"f32", 4, 'f'},  {"bf16", 2, 'h'}, {"i64", 8, 's'}, {"i32", 4, 's'},
        {"i16", 2, 's'}, {"i8", 1, 's'},   {"s64", 8, 's'},  {"s32", 4, 's'}, {"s16", 2, 's'},
        {"s8", 1, 's'},  {"ui64", 8, 'u'}, {"ui32", 4, 'u'}, {"u64", 8, 'u'}, {"u32", 4, 'u'}};
    for (size_t i = 0; i < RK_ARRAY_LEN(types); i++)
        if (rk_span_is(name, types[i].name))
            return &types[i];
    return NULL;
}

// Reads one number. False if it is infinite or not a number.
static bool read_number(const number_type *type, const uint8_t *data, double *out_number) {
    uint64_t bits = 0;
    for (size_t k = 0; k < type->bytes; k++)
        bits |= (uint64_t)data[k] << (8 * k);
    unsigned shift = (unsigned)(64 - 8 * type->bytes);
    uint32_t low = (uint32_t)bits << (type->is == 'h' ? 16 : 0);
    float single;
    memcpy(&single, &low, sizeof single);
    if (type->is == 'f' && type->bytes == 8)
        memcpy(out_number, &bits, sizeof bits);
    else if (type->is == 'f' || type->is == 'h')
        *out_number = (double)single;
    else
        *out_number = type->is == 'u' ? (double)bits : (double)((int64_t)(bits << shift) >> shift);
    return __builtin_isfinite(*out_number);
}

// Reads the number of a constant with one element. False for any other constant, and for a number
// that is not finite.
static bool number_of(const rk_program_index *index, uint32_t op, double *out_number) {
    const number_type *type = find_type(element_type(index, op));
    uint32_t node = value_of(index, op);
    if (!type || node == RK_NO_ID)
        return false;
    rk_span bytes = index->model->nodes.items[node].bytes;
    return bytes.len == type->bytes && read_number(type, bytes.data, out_number);
}

bool rk_differ_same_constant(const rk_differ *d, uint32_t before, uint32_t after) {
    uint32_t a = value_of(d->a, before), b = value_of(d->b, after);
    if (hash_elements(d->a, a) == hash_elements(d->b, b))
        return true;
    if (rk_span_equal(element_type(d->a, before), element_type(d->b, after)))
        return false;
    // Equal numbers of different types.
    double x, y;
    return number_of(d->a, before, &x) && number_of(d->b, after, &y) && near(x, y);
}

static bool has_constant(const rk_program_index *index, rk_span bytes) {
    for (uint32_t i = 0; i < index->model->values.count; i++) {
        uint32_t node =
            index->literal[i] == RK_NO_ID ? RK_NO_ID : value_of(index, index->literal[i]);
        if (node != RK_NO_ID && rk_span_equal(index->model->nodes.items[node].bytes, bytes))
            return true;
    }
    return false;
}

bool rk_differ_both_have_constants(const rk_differ *d, uint32_t before, uint32_t after) {
    uint32_t a = value_of(d->a, before), b = value_of(d->b, after);
    return a != RK_NO_ID && b != RK_NO_ID &&
           has_constant(d->a, d->b->model->nodes.items[b].bytes) &&
           has_constant(d->b, d->a->model->nodes.items[a].bytes);
}

// Numbers in a program depend on its sizes in typical ways. The divisor of a mean changes with a
// size or a product of sizes, a scale with the root of a size, and a last index by the change of
// the size.
static bool is_explained(const rk_differ *d, double before, double after) {
    double ratio = before != 0 ? after / before : 0, all = 1;
    for (size_t i = 0; i < d->size_count; i++) {
        double from = (double)d->sizes[i].before, to = (double)d->sizes[i].after;
        double delta = to - from;
        all *= from > 0 ? to / from : 1;
        for (int k = -2; k <= 2; k++)
            if (k && after - before == k * delta)
                return true;
        if (from <= 0 || to <= 0)
            continue;
        double r = to / from;
        if (near(ratio, r) || near(ratio, 1 / r) || near(ratio, r * r) ||
            near(ratio, 1 / (r * r)) || near(ratio * ratio, r) || near(ratio * ratio, 1 / r))
            return true;
    }
    return d->size_count && (near(ratio, all) || near(ratio, 1 / all));
}

// Returns whether a list has as many elements as an input has along an axis, in both programs, and
// the shorter one is the beginning of the longer one: the positions 0, 1, 2, … of a sequence.
static bool is_longer_list(const rk_differ *d, rk_span was, rk_span is, size_t bytes) {
    size_t shorter = was.len < is.len ? was.len : is.len;
    if (was.len == is.len || !shorter || memcmp(was.data, is.data, shorter) != 0)
        return false;
    for (size_t i = 0; i < d->size_count; i++)
        if (d->sizes[i].before > 0 && d->sizes[i].after > 0 &&
            was.len == (size_t)d->sizes[i].before * bytes &&
            is.len == (size_t)d->sizes[i].after * bytes)
            return true;
    return false;
}

bool rk_differ_constant_follows(const rk_differ *d, uint32_t before, uint32_t after) {
    double x, y;
    if (number_of(d->a, before, &x) && number_of(d->b, after, &y))
        return is_explained(d, x, y);
    rk_span name = element_type(d->a, before);
    const number_type *type = find_type(name);
    uint32_t a = value_of(d->a, before), b = value_of(d->b, after);
    if (!type || a == RK_NO_ID || b == RK_NO_ID || !rk_span_equal(name, element_type(d->b, after)))
        return false;
    rk_span was = d->a->model->nodes.items[a].bytes, is = d->b->model->nodes.items[b].bytes;
    if (is_longer_list(d, was, is, type->bytes))
        return true;
    if (!was.len || was.len != is.len || was.len % type->bytes || was.len > LIST_MAX * type->bytes)
        return false;
    for (size_t i = 0; i < was.len; i += type->bytes)
        if (!read_number(type, was.data + i, &x) || !read_number(type, is.data + i, &y) ||
            (x != y && !is_explained(d, x, y)))
            return false;
    return true;
}
