#include "program/fingerprint.h"

#include "base/alloc.h"
#include "program/canon.h"
#include "program/cosmetics.h"

// How it works. The program is written out in one canonical order and hashed:
//
// - Functions (and HLO computations) that only the program itself can name are renamed by the order
//   in which they are first referred to, starting from the public ones, and written in that order.
// - Values are renamed by the order in which they are met.
// - Names, types and attributes are written out where they are first met, and from then on are
//   numbers by that order. They are told apart by their content alone (fingerprint_nodes.c), never
//   by how the file shares them.

static void rk_canon_cleanup(rk_canon *c) {
    rk_free(c->stream);
    rk_free(c->node_forms);
    rk_free(c->name_numbers);
    rk_free(c->name_kinds);
    rk_free(c->node_numbers);
    rk_free(c->numbers);
    rk_free(c->symbols);
    rk_free(c->queue);
    rk_free(c->followed);
    rk_buf_cleanup(&c->forms);
    rk_buf_cleanup(&c->scratch);
    rk_buf_cleanup(&c->large_digests);
    rk_interner_cleanup(&c->larges);
    rk_interner_cleanup(&c->names);
    rk_interner_cleanup(&c->types_and_attrs);
}

// Writing.

static void flush(rk_canon *c) {
    rk_hasher_add(&c->hasher, c->stream, c->stream_len);
    c->stream_len = 0;
}

// As a varint: seven bits a byte, lowest first.
static inline void put_number(rk_canon *c, uint32_t value) {
    enum { MOST_BYTES = 5 };
    if (RK_UNLIKELY(c->stream_len > RK_CANON_STREAM_BYTES - MOST_BYTES))
        flush(c);
    uint8_t *at = c->stream + c->stream_len;
    while (RK_UNLIKELY(value >= 0x80)) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    c->stream_len = (size_t)(at - c->stream);
}

static void put_text(rk_canon *c, rk_span text) {
    flush(c);
    rk_hasher_add_field(&c->hasher, text);
}

// Its number; where that is new, the name itself follows.
static void put_name(rk_canon *c, uint32_t name) {
    bool is_new = false;
    uint32_t *number = &c->name_numbers[name];
    if (RK_UNLIKELY(*number == RK_NO_ID))
        *number = rk_intern(&c->names, rk_model_string(c->model, name), &is_new);
    put_number(c, *number + 1);
    if (RK_UNLIKELY(is_new))
        put_text(c, rk_model_string(c->model, name));
}

static void put_node(rk_canon *c, uint32_t node) {
    bool is_new = false;
    uint32_t *number = &c->node_numbers[node];
    rk_form f = c->node_forms[node];
    rk_span form = rk_span_of(c->forms.data + f.offset, f.len);
    if (RK_UNLIKELY(*number == RK_NO_ID))
        *number = rk_intern(&c->types_and_attrs, form, &is_new);
    put_number(c, *number);
    if (RK_UNLIKELY(is_new))
        put_text(c, form);
}

// How many values ago it was met, since that is a small number for most; zero where it is new.
static inline void put_value(rk_canon *c, uint32_t value) {
    uint32_t *number = &c->numbers[value];
    if (*number == RK_NO_ID) {
        *number = c->next_number++;
        put_number(c, 0);
    } else {
        put_number(c, c->next_number - *number);
    }
}

static void put_values(rk_canon *c, uint32_t first, uint32_t count) {
    put_number(c, count);
    for (uint32_t i = 0; i < count; i++) {
        put_value(c, first + i);
        put_node(c, c->model->values.items[first + i].type);
    }
}

// Operations.

enum { NAME_SEEN = 1, NAME_DEBUG = 2, NAME_WITH_DEFAULT = 4, NAME_OF_SYMBOL = 8 };

static uint8_t kind_of_name(const rk_canon *c, uint32_t name) {
    uint8_t *kind = &c->name_kinds[name];
    if (RK_UNLIKELY(!*kind)) {
        rk_span text = rk_model_string(c->model, name);
        *kind = NAME_SEEN;
        if (rk_is_debug_name(text))
            *kind |= NAME_DEBUG;
        if (rk_may_be_default(text))
            *kind |= NAME_WITH_DEFAULT;
        if (rk_span_is(text, "sym_name"))
            *kind |= NAME_OF_SYMBOL;
    }
    return *kind;
}

// What an operation's attribute says to a compiler.
static bool counts(const rk_canon *c, const rk_op *op, const rk_field *attr) {
    uint8_t kind = kind_of_name(c, attr->name);
    if (RK_LIKELY(kind == NAME_SEEN))
        return true;
    return !(kind & NAME_DEBUG) && !(kind & NAME_OF_SYMBOL && op == c->nameless) &&
           !(kind & NAME_WITH_DEFAULT && rk_is_default_attr(c->model, attr));
}

static void put_attrs(rk_canon *c, const rk_op *op) {
    const rk_field *attrs = c->model->fields.items + op->first_attr;
    for (uint32_t i = 0; i < op->attr_count; i++) {
        if (!counts(c, op, &attrs[i]))
            continue;
        put_name(c, attrs[i].name);
        put_node(c, attrs[i].node);
    }
    put_number(c, 0); // no name: they end
}

// How many blocks each region has; the blocks' arguments, and how many operations each has. The
// operations follow in their order.
static void put_regions(rk_canon *c, const rk_op *op) {
    const rk_model *m = c->model;
    put_number(c, op->region_count);
    for (uint32_t r = 0; r < op->region_count; r++)
        put_number(c, m->regions.items[op->first_region + r].block_count);
    for (uint32_t r = 0; r < op->region_count; r++) {
        const rk_region *region = &m->regions.items[op->first_region + r];
        for (uint32_t b = 0; b < region->block_count; b++) {
            const rk_block *block = &m->blocks.items[region->first_block + b];
            put_values(c, block->first_arg, block->arg_count);
            put_number(c, block->end_op - block->first_op);
        }
    }
}

static void put_op(rk_canon *c, uint32_t id) {
    const rk_model *m = c->model;
    const rk_op *op = &m->ops.items[id];
    put_name(c, op->name);
    put_number(c, op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        put_value(c, m->operands.items[op->first_operand + i]);
    put_values(c, op->first_result, op->result_count);
    put_attrs(c, op);
    put_number(c, op->successor_count);
    for (uint32_t i = 0; i < op->successor_count; i++)
        put_number(c, m->successors.items[op->first_successor + i]);
    put_regions(c, op);
}

static void put_symbol(rk_canon *c, const rk_symbol *s) {
    put_number(c, s->keeps_name);
    if (s->keeps_name)
        put_text(c, s->name);
    c->nameless = &c->model->ops.items[s->op];
    c->next_number = 0; // values of one function are never seen in another
    uint32_t end = c->model->ops.items[s->op].end;
    for (uint32_t i = s->op; i < end; i++)
        put_op(c, i);
}

static void put_module(rk_canon *c) {
    const rk_model *m = c->model;
    rk_span op_name = rk_model_string(m, m->ops.items[0].name);
    if (rk_span_is(op_name, "builtin.module") || rk_span_is(op_name, "hlo.module"))
        c->nameless = &m->ops.items[0];
    put_op(c, 0);
    // What is no function (a mesh, say) stays in its order.
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end)
        if (!rk_canon_is_function(rk_model_string(m, m->ops.items[i].name)))
            for (uint32_t inner = i; inner < m->ops.items[i].end; inner++)
                put_op(c, inner);
    put_number(c, 0); // no operation's name: the functions begin
    put_number(c, c->queued);
    for (uint32_t i = 0; i < c->queued; i++)
        put_symbol(c, &c->symbols[c->queue[i]]);
}

// Of `count` numbers, RK_NO_ID each.
static uint32_t *allocate_numbers(uint32_t count) {
    size_t bytes = (size_t)(count ? count : 1) * sizeof(uint32_t);
    uint32_t *numbers = rk_malloc(bytes);
    if (numbers)
        memset(numbers, 0xFF, bytes);
    return numbers;
}

static rk_err *prepare(rk_canon *c) {
    const rk_model *m = c->model;
    c->stream = rk_malloc(RK_CANON_STREAM_BYTES);
    c->name_numbers = allocate_numbers(m->strings.count);
    c->name_kinds = rk_calloc(m->strings.count ? m->strings.count : 1, 1);
    c->node_numbers = allocate_numbers(m->nodes.count);
    c->numbers = allocate_numbers(m->values.count);
    if (!c->stream || !c->name_numbers || !c->name_kinds || !c->node_numbers || !c->numbers)
        return rk_err_no_memory();
    RK_TRY(rk_canon_number_symbols(c));
    return rk_canon_form_nodes(c);
}

rk_err *rk_fingerprint(const rk_model *model, rk_digest *out_fingerprint) {
    RK_AUTO(rk_canon) c = {.model = model};
    rk_hasher_init(&c.hasher);
    if (model->ops.count) {
        RK_TRY(prepare(&c));
        put_module(&c);
        flush(&c);
    }
    if (c.names.failed || c.types_and_attrs.failed)
        return rk_err_no_memory();
    rk_hasher_finish(&c.hasher, out_fingerprint);
    return NULL;
}
