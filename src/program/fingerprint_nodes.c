// Types and attributes have a canonical form of their own, made once for each: itself if it is
// short, else its digest. It depends on content alone, never on how the file shares nodes.
#include "base/alloc.h"
#include "program/canon.h"
#include "program/cosmetics.h"
#include "program/fingerprint.h"

enum { INLINE_MAX_BYTES = 40, LARGE_BYTES = 320 };

static void form_number(rk_buf *out, uint64_t value) {
    uint8_t bytes[10];
    size_t len = 0;
    while (value >= 0x80) {
        bytes[len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[len++] = (uint8_t)value;
    rk_buf_add(out, bytes, len);
}

// Large ones are hashed where they lie, and once, however many nodes have them. `bytes` is itself a
// part of the model: where they lie is what they are known by.
static void form_bytes(rk_canon *c, const rk_span *bytes) {
    form_number(&c->scratch, bytes->len);
    if (bytes->len <= LARGE_BYTES) {
        rk_buf_add_span(&c->scratch, *bytes);
        return;
    }
    bool is_new;
    size_t number = rk_intern(&c->larges, rk_span_of(bytes, sizeof *bytes), &is_new);
    if (is_new) {
        rk_digest digest;
        rk_digest_of(*bytes, &digest);
        rk_buf_add_span(&c->large_digests, rk_digest_span(&digest));
    }
    if (!c->larges.failed && !c->large_digests.failed)
        rk_buf_add(&c->scratch, c->large_digests.data + number * RK_DIGEST_BYTES, RK_DIGEST_BYTES);
}

static void form_name(rk_canon *c, uint32_t name) {
    static const rk_span none;
    form_bytes(c, name == RK_NO_ID ? &none : &c->model->strings.items[name]);
}

static void form_field(rk_canon *c, const rk_field *field) {
    rk_form f = c->node_forms[field->node];
    if (field->name != RK_NO_ID)
        form_name(c, field->name);
    form_number(&c->scratch, f.len);
    rk_buf_add(&c->scratch, c->forms.data + f.offset, f.len);
}

// `named`: the function that loses its name, if the node is that name.
static void form_content(rk_canon *c, const rk_node *node, const rk_symbol *named) {
    const rk_model *m = c->model;
    rk_buf *out = &c->scratch;
    rk_buf_add_byte(out, node->kind);
    if (node->kind == RK_NODE_SYMBOL && named) {
        rk_buf_add_byte(out, 1);
        form_number(out, named->number);
    } else {
        rk_buf_add_byte(out, 0);
        form_name(c, node->name);
        form_number(out, node->width);
        form_number(out, node->value);
        form_bytes(c, &node->bytes);
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

static const rk_symbol *find_nameless(const rk_canon *c, const rk_node *node) {
    if (node->kind != RK_NODE_STRING && node->kind != RK_NODE_SYMBOL)
        return NULL;
    const rk_symbol *s = rk_canon_find_symbol(c, node->bytes);
    return s && !s->keeps_name ? s : NULL;
}

// A program inside the program is the same if it means the same.
static rk_err *form_program(rk_canon *c, const rk_node *node) {
    rk_digest digest;
    RK_TRY(rk_fingerprint(c->model->payloads.items[node->value], &digest));
    rk_buf_add_byte(&c->scratch, node->kind);
    rk_buf_add_span(&c->scratch, rk_digest_span(&digest));
    return NULL;
}

static rk_err *form_node(rk_canon *c, uint32_t id) {
    const rk_node *node = &c->model->nodes.items[id];
    if (node->kind >= RK_NODE_LOC_UNKNOWN)
        return NULL; // locations are never written
    rk_digest digest;
    rk_buf_clear(&c->scratch);
    if (node->kind == RK_NODE_PROGRAM)
        RK_TRY(form_program(c, node));
    else
        form_content(c, node, find_nameless(c, node));
    RK_TRY(rk_buf_status(&c->scratch));
    bool is_digest = c->scratch.len > INLINE_MAX_BYTES;
    if (is_digest)
        rk_digest_of(rk_buf_span(&c->scratch), &digest);
    rk_span bytes = is_digest ? rk_digest_span(&digest) : rk_buf_span(&c->scratch);
    c->node_forms[id] = (rk_form){(uint32_t)c->forms.len, (uint32_t)bytes.len + 1};
    rk_buf_add_byte(&c->forms, is_digest);
    rk_buf_add_span(&c->forms, bytes);
    return rk_buf_status(&c->forms);
}

rk_err *rk_canon_form_nodes(rk_canon *c) {
    const rk_model *m = c->model;
    c->forms.max = (size_t)UINT32_MAX - INLINE_MAX_BYTES;
    c->node_forms = rk_calloc(m->nodes.count ? m->nodes.count : 1, sizeof *c->node_forms);
    if (!c->node_forms)
        return rk_err_no_memory();
    // Children have lower numbers than their parents.
    for (uint32_t i = 0; i < m->nodes.count; i++)
        RK_TRY(form_node(c, i));
    RK_TRY(rk_buf_status(&c->large_digests));
    return c->larges.failed ? rk_err_no_memory() : NULL;
}
