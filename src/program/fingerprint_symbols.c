// Functions that only the program itself can name are renamed by the order in which they are first
// referred to, starting from the public ones.
#include <stdlib.h>

#include "base/alloc.h"
#include "program/canon.h"
#include "program/cosmetics.h"

static int compare_symbols(const void *a, const void *b) {
    const rk_symbol *left = a, *right = b;
    int order = rk_span_compare(left->name, right->name);
    if (order == 0)
        order = left->op < right->op ? -1 : left->op > right->op;
    return order;
}

rk_symbol *rk_canon_find_symbol(const rk_canon *c, rk_span name) {
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

bool rk_canon_is_function(rk_span op_name) {
    return rk_span_is(op_name, "func.func") || rk_span_is(op_name, "hlo.computation");
}

static rk_span text_attr(const rk_model *model, const rk_op *op, const char *name) {
    uint32_t node = rk_model_attr(model, op, name);
    if (node == RK_NO_ID)
        return (rk_span){0};
    return model->nodes.items[node].bytes;
}

static rk_symbol describe_symbol(const rk_model *model, uint32_t id, bool all_keep_names) {
    const rk_op *op = &model->ops.items[id];
    bool is_hlo = rk_span_is(rk_model_string(model, op->name), "hlo.computation");
    rk_symbol s = {.name = text_attr(model, op, "sym_name"), .op = id, .number = RK_NO_ID};
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
static rk_err *collect_symbols(rk_canon *c) {
    const rk_model *m = c->model;
    uint32_t count = 0;
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end)
        count += rk_canon_is_function(rk_model_string(m, m->ops.items[i].name));
    c->symbols = rk_calloc(count ? count : 1, sizeof *c->symbols);
    c->queue = rk_calloc(count ? count : 1, sizeof *c->queue);
    c->followed = rk_calloc(m->nodes.count ? m->nodes.count : 1, 1);
    if (!c->symbols || !c->queue || !c->followed)
        return rk_err_no_memory();
    bool all_keep_names = names_are_unclear(m);
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end) {
        if (rk_canon_is_function(rk_model_string(m, m->ops.items[i].name)))
            c->symbols[c->symbol_count++] = describe_symbol(m, i, all_keep_names);
    }
    if (count > 1)
        qsort(c->symbols, count, sizeof *c->symbols, compare_symbols);
    return NULL;
}

static void enqueue(rk_canon *c, rk_symbol *s) {
    if (s->number != RK_NO_ID)
        return;
    s->number = c->queued;
    c->queue[c->queued++] = (uint32_t)(s - c->symbols);
}

// Public functions first, in the order of the file, which is part of the interface.
static void enqueue_in_file_order(rk_canon *c, bool public_ones) {
    const rk_model *m = c->model;
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end) {
        const rk_op *op = &m->ops.items[i];
        if (!rk_canon_is_function(rk_model_string(m, op->name)))
            continue;
        rk_symbol wanted = {.name = text_attr(m, op, "sym_name"), .op = i};
        rk_symbol *s =
            bsearch(&wanted, c->symbols, c->symbol_count, sizeof wanted, compare_symbols);
        if (s->is_public == public_ones)
            enqueue(c, s);
    }
}

static void follow(rk_canon *c, uint32_t node) {
    const rk_node *n = &c->model->nodes.items[node];
    rk_symbol *s = n->kind == RK_NODE_SYMBOL ? rk_canon_find_symbol(c, n->bytes) : NULL;
    if (s)
        enqueue(c, s);
}

// An operation's attribute that is the name of a function, or a list of them.
static void follow_attr(rk_canon *c, uint32_t node) {
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
rk_err *rk_canon_number_symbols(rk_canon *c) {
    const rk_model *m = c->model;
    RK_TRY(collect_symbols(c));
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
    return NULL;
}
