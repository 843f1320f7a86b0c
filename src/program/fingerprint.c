#include "program/fingerprint.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "program/cosmetics.h"

// How it works. The program is written out in one canonical order and hashed:
//
// - Functions (and HLO computations) that only the program itself can name are renamed by the order
//   in which they are first referred to, starting from the public ones, and written in that order.
// - Values are renamed by the order in which they are met.
// - Types and attributes ("nodes") have a canonical form of their own, made once for each: itself
// if it
//   is short, else its digest. It depends on content alone, never on how the file shares nodes.

enum { INLINE_MAX_BYTES = 40, STREAM_BYTES = 1 << 16 };

// A node's canonical form: a run of `forms`, or nothing where the node is never to be written.
typedef struct form {
    uint32_t offset;
    uint32_t len;
} form;

// A function, or a computation, by its name.
typedef struct symbol {
    rk_span name;
    uint32_t op;
    uint32_t number; // by first reference; RK_NO_ID until then
    bool is_public;  // others than the program itself can call it
    bool keeps_name; // its name means something to others
} symbol;

typedef struct canon {
    const rk_model *model;
    rk_hasher hasher;
    uint8_t *stream; // what is yet to be hashed
    size_t stream_len;
    form *node_forms;  // of every node
    rk_buf forms;      // their bytes
    rk_buf scratch;    // the form being made
    uint32_t *numbers; // of every value; RK_NO_ID until it is met
    uint32_t next_number;
    symbol *symbols; // sorted by name
    uint32_t symbol_count;
    uint32_t *queue; // symbols in the order of their numbers
    uint32_t queued;
    uint8_t *followed;     // of every node: the functions that it names are in the queue
    const rk_op *nameless; // what is being written and has its name written elsewhere, if at all
} canon;

static void canon_cleanup(canon *c) {
    rk_free(c->stream);
    rk_free(c->node_forms);
    rk_free(c->numbers);
    rk_free(c->symbols);
    rk_free(c->queue);
    rk_free(c->followed);
    rk_buf_cleanup(&c->forms);
    rk_buf_cleanup(&c->scratch);
}

// Writing.

static void flush(canon *c) {
    rk_hasher_add(&c->hasher, c->stream, c->stream_len);
    c->stream_len = 0;
}

static void put_bytes(canon *c, const void *data, size_t len) {
    if (len > STREAM_BYTES - c->stream_len) {
        flush(c);
        if (len > STREAM_BYTES) {
            rk_hasher_add(&c->hasher, data, len);
            return;
        }
    }
    if (len)
        memcpy(c->stream + c->stream_len, data, len);
    c->stream_len += len;
}

static size_t encode_varint(uint64_t value, uint8_t out[10]) {
    size_t len = 0;
    while (value >= 0x80) {
        out[len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[len++] = (uint8_t)value;
    return len;
}

static void put_number(canon *c, uint64_t value) {
    uint8_t bytes[10];
    put_bytes(c, bytes, encode_varint(value, bytes));
}

static void put_text(canon *c, rk_span text) {
    put_number(c, text.len);
    put_bytes(c, text.data, text.len);
}

static void put_node(canon *c, uint32_t node) {
    form f = c->node_forms[node];
    put_number(c, f.len);
    put_bytes(c, c->forms.data + f.offset, f.len);
}

// Symbols.

static int compare_symbols(const void *a, const void *b) {
    const symbol *left = a, *right = b;
    int order = rk_span_compare(left->name, right->name);
    if (order == 0)
        order = left->op < right->op ? -1 : left->op > right->op;
    return order;
}

static symbol *find_symbol(const canon *c, rk_span name) {
    uint32_t low = 0, high = c->symbol_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rk_span_compare(c->symbols[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < c->symbol_count && rk_span_equal(c->symbols[low].name, name))
        return &c->symbols[low];
    return NULL;
}

static bool is_function(rk_span op_name) {
    return rk_span_is(op_name, "func.func") || rk_span_is(op_name, "hlo.computation");
}

static rk_span text_attr(const rk_model *model, const rk_op *op, const char *name) {
    uint32_t node = rk_model_attr(model, op, name);
    if (node == RK_NO_ID)
        return (rk_span){0};
    return model->nodes.items[node].bytes;
}

static symbol describe_symbol(const rk_model *model, uint32_t id, bool all_keep_names) {
    const rk_op *op = &model->ops.items[id];
    bool is_hlo = rk_span_is(rk_model_string(model, op->name), "hlo.computation");
    symbol s = {.name = text_attr(model, op, "sym_name"), .op = id, .number = RK_NO_ID};
    s.is_public = is_hlo ? rk_model_attr(model, op, "entry") != RK_NO_ID
                         : !rk_span_is(text_attr(model, op, "sym_visibility"), "private");
    bool has_body = op->region_count && model->regions.items[op->first_region].block_count;
    s.keeps_name =
        all_keep_names || !has_body || (s.is_public && !is_hlo) || rk_is_meaningful_symbol(s.name);
    return s;
}

// Whether a name may mean something else than the function of the module that has it: text of a
// dialect that no reader knows may name functions, and modules in the module have names of their
// own.
static bool names_are_unclear(const rk_model *model) {
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        rk_span text = model->nodes.items[i].bytes;
        if (model->nodes.items[i].kind == RK_NODE_OPAQUE && text.len &&
            memchr(text.data, '@', text.len))
            return true;
    }
    for (uint32_t i = 1; i < model->ops.count; i++)
        if (model->ops.items[i].name == model->ops.items[0].name)
            return true;
    return false;
}

// The functions of the module: operations in the one block of ops[0].
static rk_err *collect_symbols(canon *c) {
    const rk_model *m = c->model;
    uint32_t count = 0;
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end)
        count += is_function(rk_model_string(m, m->ops.items[i].name));
    c->symbols = rk_calloc(count ? count : 1, sizeof *c->symbols);
    c->queue = rk_calloc(count ? count : 1, sizeof *c->queue);
    c->followed = rk_calloc(m->nodes.count ? m->nodes.count : 1, 1);
    if (!c->symbols || !c->queue || !c->followed)
        return rk_err_no_memory();
    bool all_keep_names = names_are_unclear(m);
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end) {
        if (is_function(rk_model_string(m, m->ops.items[i].name)))
            c->symbols[c->symbol_count++] = describe_symbol(m, i, all_keep_names);
    }
    if (count > 1)
        qsort(c->symbols, count, sizeof *c->symbols, compare_symbols);
    return NULL;
}

static void enqueue(canon *c, symbol *s) {
    if (s->number != RK_NO_ID)
        return;
    s->number = c->queued;
    c->queue[c->queued++] = (uint32_t)(s - c->symbols);
}

// Public functions first, in the order of the file, which is part of the interface.
static void enqueue_in_file_order(canon *c, bool public_ones) {
    const rk_model *m = c->model;
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end) {
        const rk_op *op = &m->ops.items[i];
        if (!is_function(rk_model_string(m, op->name)))
            continue;
        symbol *s = find_symbol(c, text_attr(m, op, "sym_name"));
        while (s->op != i) // of several of one name, which no valid program has
            s++;
        if (s->is_public == public_ones)
            enqueue(c, s);
    }
}

static void follow(canon *c, uint32_t node) {
    const rk_node *n = &c->model->nodes.items[node];
    symbol *s = n->kind == RK_NODE_SYMBOL ? find_symbol(c, n->bytes) : NULL;
    if (s)
        enqueue(c, s);
}

// An operation's attribute that is the name of a function, or a list of them.
static void follow_attr(canon *c, uint32_t node) {
    const rk_model *m = c->model;
    const rk_node *n = &m->nodes.items[node];
    if (c->followed[node])
        return;
    c->followed[node] = true; // lists are shared, and must not be walked for each that has them
    follow(c, node);
    if (n->kind == RK_NODE_LIST)
        for (uint32_t i = 0; i < n->field_count; i++)
            follow(c, m->fields.items[n->first_field + i].node);
}

// Numbers every function that can be reached; what cannot is numbered last, in file order.
static void number_symbols(canon *c) {
    const rk_model *m = c->model;
    enqueue_in_file_order(c, true);
    for (uint32_t done = 0; done < c->queued; done++) {
        uint32_t at = c->symbols[c->queue[done]].op;
        for (uint32_t i = at; i < m->ops.items[at].end; i++) {
            const rk_op *op = &m->ops.items[i];
            for (uint32_t a = 0; a < op->attr_count; a++)
                follow_attr(c, m->fields.items[op->first_attr + a].node);
        }
    }
    enqueue_in_file_order(c, false);
}

// Nodes.

static void form_number(rk_buf *out, uint64_t value) {
    uint8_t bytes[10];
    rk_buf_add(out, bytes, encode_varint(value, bytes));
}

static void form_text(rk_buf *out, rk_span text) {
    form_number(out, text.len);
    rk_buf_add_span(out, text);
}

static void form_field(canon *c, const rk_field *field) {
    form f = c->node_forms[field->node];
    if (field->name != RK_NO_ID)
        form_text(&c->scratch, rk_model_string(c->model, field->name));
    form_number(&c->scratch, f.len);
    rk_buf_add(&c->scratch, c->forms.data + f.offset, f.len);
}

// `named`: the function that loses its name, if the node is that name.
static void form_content(canon *c, const rk_node *node, const symbol *named) {
    const rk_model *m = c->model;
    rk_buf *out = &c->scratch;
    rk_buf_add_byte(out, node->kind);
    if (node->kind == RK_NODE_SYMBOL && named) {
        rk_buf_add_byte(out, 1);
        form_number(out, named->number);
    } else {
        rk_buf_add_byte(out, 0);
        form_text(out, rk_model_string(m, node->name));
        form_number(out, node->width);
        form_number(out, node->value);
        form_text(out, node->bytes);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->field_count; i++)
        kept += !rk_is_debug_name(rk_model_string(m, m->fields.items[node->first_field + i].name));
    form_number(out, kept);
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_field *field = &m->fields.items[node->first_field + i];
        if (!rk_is_debug_name(rk_model_string(m, field->name)))
            form_field(c, field);
    }
    // Text that happens to be a function's name, or means that function to somebody: both count.
    if (node->kind == RK_NODE_STRING && named)
        form_number(out, named->number);
}

// Large constants are hashed where they lie, not copied.
static void form_large(canon *c, const rk_node *node, const symbol *named, rk_digest *out_digest) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, node->bytes);
    rk_node head = *node;
    head.bytes = (rk_span){0};
    form_content(c, &head, named);
    rk_hasher_add_field(&hasher, rk_buf_span(&c->scratch));
    rk_hasher_finish(&hasher, out_digest);
}

static const symbol *find_nameless(const canon *c, const rk_node *node) {
    if (node->kind != RK_NODE_STRING && node->kind != RK_NODE_SYMBOL)
        return NULL;
    const symbol *s = find_symbol(c, node->bytes);
    return s && !s->keeps_name ? s : NULL;
}

static rk_err *form_node(canon *c, uint32_t id) {
    const rk_node *node = &c->model->nodes.items[id];
    if (node->kind >= RK_NODE_LOC_UNKNOWN)
        return NULL; // locations are never written
    rk_digest digest;
    rk_buf_clear(&c->scratch);
    rk_span bytes;
    bool large = node->kind != RK_NODE_SYMBOL && node->bytes.len > 8 * INLINE_MAX_BYTES;
    const symbol *named = find_nameless(c, node);
    if (large) {
        form_large(c, node, named, &digest);
    } else {
        form_content(c, node, named);
        if (c->scratch.len > INLINE_MAX_BYTES)
            rk_digest_of(rk_buf_span(&c->scratch), &digest);
    }
    RK_TRY(rk_buf_status(&c->scratch));
    uint8_t is_digest = large || c->scratch.len > INLINE_MAX_BYTES;
    bytes = is_digest ? rk_digest_span(&digest) : rk_buf_span(&c->scratch);
    c->node_forms[id] = (form){(uint32_t)c->forms.len, (uint32_t)bytes.len + 1};
    rk_buf_add_byte(&c->forms, is_digest);
    rk_buf_add_span(&c->forms, bytes);
    return rk_buf_status(&c->forms);
}

static rk_err *form_nodes(canon *c) {
    const rk_model *m = c->model;
    c->node_forms = rk_calloc(m->nodes.count ? m->nodes.count : 1, sizeof *c->node_forms);
    if (!c->node_forms)
        return rk_err_no_memory();
    // Children have lower numbers than their parents.
    for (uint32_t i = 0; i < m->nodes.count; i++)
        RK_TRY(form_node(c, i));
    return NULL;
}

// Operations.

static void put_value(canon *c, uint32_t value) {
    uint32_t *number = &c->numbers[value];
    if (*number == RK_NO_ID)
        *number = c->next_number++;
    put_number(c, *number);
}

static void put_values(canon *c, uint32_t first, uint32_t count) {
    put_number(c, count);
    for (uint32_t i = 0; i < count; i++) {
        put_value(c, first + i);
        put_node(c, c->model->values.items[first + i].type);
    }
}

// What an operation's attribute says to a compiler.
static bool counts(const canon *c, const rk_op *op, const rk_field *attr) {
    rk_span name = rk_model_string(c->model, attr->name);
    if (rk_is_debug_name(name) || rk_is_default_attr(c->model, attr))
        return false;
    return op != c->nameless || !rk_span_is(name, "sym_name");
}

static void put_attrs(canon *c, const rk_op *op) {
    const rk_field *attrs = c->model->fields.items + op->first_attr;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < op->attr_count; i++)
        kept += counts(c, op, &attrs[i]);
    put_number(c, kept);
    for (uint32_t i = 0; i < op->attr_count; i++) {
        if (!counts(c, op, &attrs[i]))
            continue;
        put_text(c, rk_model_string(c->model, attrs[i].name));
        put_node(c, attrs[i].node);
    }
}

static void put_shape_of_regions(canon *c, const rk_op *op) {
    const rk_model *m = c->model;
    put_number(c, op->region_count);
    for (uint32_t r = 0; r < op->region_count; r++)
        put_number(c, m->regions.items[op->first_region + r].block_count);
}

static void put_op(canon *c, uint32_t id) {
    const rk_model *m = c->model;
    const rk_op *op = &m->ops.items[id];
    put_text(c, rk_model_string(m, op->name));
    put_number(c, op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        put_value(c, m->operands.items[op->first_operand + i]);
    put_values(c, op->first_result, op->result_count);
    put_attrs(c, op);
    put_number(c, op->successor_count);
    for (uint32_t i = 0; i < op->successor_count; i++)
        put_number(c, m->successors.items[op->first_successor + i]);
    put_shape_of_regions(c, op);
    // The blocks' arguments and how many operations each has; the operations follow in their order.
    for (uint32_t r = 0; r < op->region_count; r++) {
        const rk_region *region = &m->regions.items[op->first_region + r];
        for (uint32_t b = 0; b < region->block_count; b++) {
            const rk_block *block = &m->blocks.items[region->first_block + b];
            put_values(c, block->first_arg, block->arg_count);
            put_number(c, block->end_op - block->first_op);
        }
    }
}

static void put_symbol(canon *c, const symbol *s) {
    put_number(c, s->keeps_name);
    if (s->keeps_name)
        put_text(c, s->name);
    c->nameless = &c->model->ops.items[s->op];
    c->next_number = 0; // values of one function are never seen in another
    uint32_t end = c->model->ops.items[s->op].end;
    for (uint32_t i = s->op; i < end; i++)
        put_op(c, i);
}

static void put_module(canon *c) {
    const rk_model *m = c->model;
    rk_span op_name = rk_model_string(m, m->ops.items[0].name);
    if (rk_span_is(op_name, "builtin.module") || rk_span_is(op_name, "hlo.module"))
        c->nameless = &m->ops.items[0];
    put_op(c, 0);
    // What is no function (a mesh, say) stays in its order.
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end)
        if (!is_function(rk_model_string(m, m->ops.items[i].name)))
            for (uint32_t inner = i; inner < m->ops.items[i].end; inner++)
                put_op(c, inner);
    put_text(c, (rk_span){0}); // no operation's name: the functions begin
    put_number(c, c->queued);
    for (uint32_t i = 0; i < c->queued; i++)
        put_symbol(c, &c->symbols[c->queue[i]]);
}

static rk_err *prepare(canon *c) {
    const rk_model *m = c->model;
    c->stream = rk_malloc(STREAM_BYTES);
    c->numbers = rk_malloc((size_t)(m->values.count ? m->values.count : 1) * sizeof *c->numbers);
    if (!c->stream || !c->numbers)
        return rk_err_no_memory();
    memset(c->numbers, 0xFF, (size_t)m->values.count * sizeof *c->numbers); // RK_NO_ID
    RK_TRY(collect_symbols(c));
    number_symbols(c);
    return form_nodes(c);
}

rk_err *rk_fingerprint(const rk_model *model, rk_digest *out_fingerprint) {
    RK_AUTO(canon) c = {.model = model};
    c.forms.max = (size_t)UINT32_MAX - INLINE_MAX_BYTES;
    rk_hasher_init(&c.hasher);
    if (model->ops.count) {
        RK_TRY(prepare(&c));
        put_module(&c);
    }
    flush(&c);
    rk_hasher_finish(&c.hasher, out_fingerprint);
    return NULL;
}
