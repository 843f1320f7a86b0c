// Renames functions that only the program itself can name: numbers them in the order of first
// reference, starting from the public functions.
#include "base/alloc.h"
#include "program/canon/canon.h"

// Returns the first function of that name, or NULL.
static rk_unit *find(const rk_canon *c, rk_span name) {
    uint32_t number = rk_interner_find(&c->symbol_names, name);
    return number == RK_NO_ID ? NULL : &c->units[c->symbols[number]];
}

const rk_unit *rk_canon_find_nameless(const rk_canon *c, rk_span name) {
    const rk_unit *unit = find(c, name);
    return unit && !unit->keeps_name ? unit : NULL;
}

// Whether a name may mean something else than the function in the module: opaque text of a dialect
// may name functions, and nested modules have names of their own.
static bool names_are_unclear(const rk_canon *c) {
    const rk_model *m = c->model;
    for (uint32_t i = 0; i < c->form_count; i++) {
        rk_span text = m->nodes.items[i].bytes;
        if (m->nodes.items[i].kind == RK_NODE_OPAQUE && text.len &&
            memchr(text.data, '@', text.len))
            return true;
    }
    uint32_t head = c->items[0]; // the first content is the module's operation name
    for (uint32_t i = c->units[0].item_count; i < c->item_count; i++)
        if (c->items[i] == head)
            return true;
    return false;
}

static rk_err *collect_symbols(rk_canon *c) {
    c->symbols = rk_calloc(c->unit_count, sizeof *c->symbols);
    c->queue = rk_calloc(c->unit_count, sizeof *c->queue);
    c->followed = rk_calloc(c->form_count ? c->form_count : 1, 1);
    if (!c->symbols || !c->queue || !c->followed)
        return rk_err_no_memory();
    bool all_keep_names = names_are_unclear(c);
    for (uint32_t i = 0; i < c->unit_count; i++) {
        if (!c->units[i].is_function)
            continue;
        bool is_new;
        // A function without a body is known only by its name.
        c->units[i].keeps_name |= all_keep_names || !c->units[i].has_body;
        uint32_t number = rk_intern(&c->symbol_names, c->units[i].name, &is_new);
        if (is_new)
            c->symbols[number] = i;
    }
    return c->symbol_names.failed ? rk_err_no_memory() : NULL;
}

static void enqueue(rk_canon *c, rk_unit *unit) {
    if (unit->number != RK_NO_ID)
        return;
    unit->number = c->queued;
    c->queue[c->queued++] = (uint32_t)(unit - c->units);
}

// Public functions come first, in file order: that order is part of the interface.
static void enqueue_in_file_order(rk_canon *c, bool public_ones) {
    for (uint32_t i = 0; i < c->unit_count; i++)
        if (c->units[i].is_function && c->units[i].is_public == public_ones)
            enqueue(c, &c->units[i]);
}

static void follow(rk_canon *c, uint32_t node) {
    const rk_node *n = &c->model->nodes.items[node];
    rk_unit *unit = n->kind == RK_NODE_SYMBOL ? find(c, n->bytes) : NULL;
    if (unit)
        enqueue(c, unit);
}

// An operation's attribute that names a function, or is a list of such names.
static void follow_attr(rk_canon *c, uint32_t node) {
    const rk_model *m = c->model;
    const rk_node *n = &m->nodes.items[node];
    if (c->followed[node])
        return;
    c->followed[node] = true; // lists are shared: walk each only once
    follow(c, node);
    if (n->kind == RK_NODE_LIST)
        for (uint32_t i = 0; i < n->field_count; i++)
            follow(c, m->fields.items[n->first_field + i].node);
}

// Queues all functions that the unit's attributes name. Follows each content once.
static void follow_unit(rk_canon *c, const rk_unit *unit, uint8_t *done) {
    for (uint32_t i = 0; i < unit->item_count; i++) {
        uint32_t id = c->items[unit->first_item + i];
        const rk_content *content = &c->contents[id];
        if (done[id] || (content->kind != RK_CONTENT_ATTRS && content->kind != RK_CONTENT_NAMELESS))
            continue;
        done[id] = true;
        for (uint32_t a = 0; a < content->attr_count; a++)
            follow_attr(c, c->model->fields.items[content->first_attr + a].node);
    }
}

// Functions that cannot be reached get the last numbers, in file order.
rk_err *rk_canon_number_symbols(rk_canon *c) {
    if (!c->unit_count)
        return NULL;
    RK_TRY(collect_symbols(c));
    rk_autofree uint8_t *done = rk_calloc(c->interner.count ? c->interner.count : 1, 1);
    if (!done)
        return rk_err_no_memory();
    enqueue_in_file_order(c, true);
    for (uint32_t i = 0; i < c->queued; i++)
        follow_unit(c, &c->units[c->queue[i]], done);
    enqueue_in_file_order(c, false);
    return NULL;
}
