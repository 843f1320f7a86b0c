// Makes the canonical forms of types and attributes, once per node: the form itself if it is short,
// else its digest. A form depends only on content, never on how the file shares nodes.
#include "base/alloc.h"
#include "program/canon/canon.h"
#include "program/canon/cosmetics.h"

enum { INLINE_MAX_BYTES = 96, LARGE_BYTES = 320 };

// First byte of a form.
enum { FORM_INLINE, FORM_DIGEST };

// A small buffer in front of `scratch`. At HEAD_FULL_BYTES it still has space for three numbers.
enum { HEAD_BYTES = 96, HEAD_FULL_BYTES = 64 };
typedef struct head {
    uint8_t bytes[HEAD_BYTES];
    size_t len;
} head;

static inline void add_number(head *h, uint64_t value) {
    while (value >= 0x80) {
        h->bytes[h->len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    h->bytes[h->len++] = (uint8_t)value;
}

static inline void add_head(rk_canon *c, head *h) {
    rk_buf_add(&c->scratch, h->bytes, h->len);
    h->len = 0;
}

// Returns the number of the bytes, and copies the bytes if they are new.
static uint32_t intern(rk_canon *c, rk_interner *interner, rk_span bytes, bool *out_is_new) {
    enum { INTERNED_BYTES = 96 }; // the interner's memory and the copy's overhead
    uint32_t number = rk_intern(interner, bytes, out_is_new);
    if (*out_is_new) {
        c->failed |= !rk_model_take_budget(c->model, INTERNED_BYTES);
        rk_interner_settle(interner, number, rk_model_keep(c->model, bytes).data);
    }
    return number;
}

static void digest_large(rk_canon *c, rk_span bytes) {
    rk_digest digest;
    rk_digest_of(bytes, &digest);
    rk_buf_add_span(&c->large_digests, rk_digest_span(&digest));
}

// Hashes long bytes in place and once per address, however many nodes use them.
static void form_large(rk_canon *c, rk_span bytes) {
    bool is_new;
    size_t number = intern(c, &c->larges, rk_span_of(&bytes, sizeof bytes), &is_new);
    if (is_new)
        digest_large(c, bytes);
    if (!c->larges.failed && !c->large_digests.failed)
        rk_buf_add(&c->scratch, c->large_digests.data + number * RK_DIGEST_BYTES, RK_DIGEST_BYTES);
}

// Appends the length and the bytes. Flushes the head first if the bytes do not fit into it.
static void form_bytes(rk_canon *c, head *h, rk_span bytes) {
    if (h->len > HEAD_FULL_BYTES)
        add_head(c, h);
    add_number(h, bytes.len);
    if (bytes.len && h->len + bytes.len <= HEAD_FULL_BYTES) {
        memcpy(h->bytes + h->len, bytes.data, bytes.len);
        h->len += bytes.len;
        return;
    }
    add_head(c, h);
    if (bytes.len <= LARGE_BYTES)
        rk_buf_add_span(&c->scratch, bytes);
    else
        form_large(c, bytes);
}

// Hashes long forms while they are made, so that `scratch` stays small.
static void spill(rk_canon *c) {
    enum { MOST_BYTES = 1 << 13 };
    if (RK_LIKELY(c->scratch.len <= MOST_BYTES))
        return;
    if (!c->has_spilled)
        rk_hasher_init(&c->spilled);
    c->has_spilled = true;
    rk_hasher_add(&c->spilled, c->scratch.data, c->scratch.len);
    c->scratch.len = 0;
}

static void digest_scratch(rk_canon *c, rk_digest *out_digest) {
    if (!c->has_spilled)
        rk_hasher_init(&c->spilled);
    c->has_spilled = false;
    rk_hasher_add(&c->spilled, c->scratch.data, c->scratch.len);
    rk_hasher_finish(&c->spilled, out_digest);
    c->scratch.len = 0;
}

static bool is_short(const rk_canon *c) {
    return !c->has_spilled && c->scratch.len <= INLINE_MAX_BYTES;
}

// Copies a form into the model's memory, behind its tag.
static rk_span keep(rk_canon *c, uint8_t tag, rk_span form) {
    uint8_t bytes[1 + INLINE_MAX_BYTES] = {tag};
    memcpy(bytes + 1, form.data, form.len);
    return rk_model_keep(c->model, rk_span_of(bytes, form.len + 1));
}

static rk_span keep_digest(rk_canon *c, const rk_digest *digest) {
    return keep(c, FORM_DIGEST, rk_digest_span(digest));
}

// Nodes.

// Writes the node without its fields. `named`: the renamed function that the node names, or NULL.
static void form_self(rk_canon *c, head *h, const rk_node *node, const rk_unit *named) {
    h->bytes[h->len++] = node->kind;
    if (node->kind == RK_NODE_SYMBOL && named) {
        h->bytes[h->len++] = 1;
        add_number(h, named->number);
    } else {
        h->bytes[h->len++] = 0;
        form_bytes(c, h, rk_model_string(c->model, node->name));
        add_number(h, node->width);
        add_number(h, node->kind == RK_NODE_PROGRAM ? 0 : node->value);
        form_bytes(c, h, node->bytes);
    }
}

// A string equal to a renamed function's name may or may not refer to that function. So the form
// contains both the text and the function's number.
static void form_end(rk_canon *c, head *h, const rk_node *node, const rk_unit *named) {
    if (node->kind == RK_NODE_STRING && named)
        add_number(h, named->number);
    add_head(c, h);
}

// Makes the form of a node without fields, behind the unfinished form in `scratch`.
static rk_span form_leaf(rk_canon *c, const rk_node *node, const rk_unit *named) {
    rk_digest digest;
    head h;
    h.len = 0;
    size_t start = c->scratch.len;
    form_self(c, &h, node, named);
    add_number(&h, 0);
    form_end(c, &h, node, named);
    c->failed |= c->scratch.failed;
    if (c->failed)
        return (rk_span){0};
    rk_span form = rk_span_of(c->scratch.data + start, c->scratch.len - start);
    c->scratch.len = start;
    if (form.len <= INLINE_MAX_BYTES)
        return keep(c, FORM_INLINE, form);
    rk_digest_of(form, &digest);
    return keep_digest(c, &digest);
}

// Appends the form of a field's node. Nodes without fields get their form here, on first use: many
// of them are debug information, which is never part of a form.
static void form_field(rk_canon *c, head *h, const rk_field *field) {
    rk_span *form = &c->forms[field->node];
    if (field->name != RK_NO_ID)
        form_bytes(c, h, rk_model_string(c->model, field->name));
    if (!form->data && !c->failed)
        *form = form_leaf(c, &c->model->nodes.items[field->node], NULL);
    form_bytes(c, h, *form);
}

// Appends one field of possibly many.
static void form_part(rk_canon *c, head *h, const rk_field *field) {
    form_field(c, h, field);
    spill(c);
}

static rk_span form_node(rk_canon *c, const rk_node *node, const rk_unit *named) {
    const rk_model *m = c->model;
    const rk_field *fields = m->fields.items + node->first_field;
    rk_digest digest;
    head h;
    h.len = 0;
    rk_buf_clear(&c->scratch);
    form_self(c, &h, node, named);
    add_number(&h, node->field_count);
    for (uint32_t i = 0; i < node->field_count; i++)
        form_part(c, &h, &fields[i]);
    form_end(c, &h, node, named);
    c->failed |= c->scratch.failed;
    if (c->failed)
        return (rk_span){0};
    if (is_short(c))
        return keep(c, FORM_INLINE, rk_buf_span(&c->scratch));
    digest_scratch(c, &digest);
    return keep_digest(c, &digest);
}

// Makes the forms of all new nodes with fields. One pass is enough, because children have lower
// numbers than their parents. Locations have no form.
static void form_nodes(rk_canon *c) {
    const rk_model *m = c->model;
    void *forms = c->forms;
    if (!rk_canon_grow(c, &forms, &c->form_capacity, m->nodes.count, sizeof *c->forms))
        return;
    c->forms = forms;
    for (; c->form_count < m->nodes.count && !c->failed; c->form_count++) {
        const rk_node *node = &m->nodes.items[c->form_count];
        c->forms[c->form_count] = (rk_span){0};
        if (node->field_count && node->kind < RK_NODE_LOC_UNKNOWN)
            c->forms[c->form_count] = form_node(c, node, NULL);
    }
}

// Remakes the forms of names that have a number now, and of all nodes that contain such names.
// Reuses `followed` as flags.
void rk_canon_renumber_forms(rk_canon *c) {
    const rk_model *m = c->model;
    uint8_t *is_renamed = c->followed;
    if (!c->form_count)
        return;
    memset(is_renamed, 0, c->form_count);
    for (uint32_t i = 0; i < c->form_count; i++) {
        const rk_node *node = &m->nodes.items[i];
        const rk_unit *named = NULL;
        if (node->kind == RK_NODE_STRING || node->kind == RK_NODE_SYMBOL)
            named = rk_canon_find_nameless(c, node->bytes);
        bool is_other = named != NULL;
        for (uint32_t f = 0; f < node->field_count; f++)
            is_other |= is_renamed[m->fields.items[node->first_field + f].node];
        is_renamed[i] = is_other;
        if (is_other)
            c->forms[i] = form_node(c, node, named);
    }
}

// Attributes.

enum { NAME_SEEN = 1, NAME_OF_VALUES = 2, NAME_WITH_DEFAULT = 4, NAME_OF_SYMBOL = 8 };

static uint8_t kind_of_name(rk_canon *c, uint32_t name) {
    void *kinds = c->name_kinds;
    if (!rk_canon_grow(c, &kinds, &c->name_kind_capacity, name + 1, sizeof *c->name_kinds))
        return NAME_SEEN;
    c->name_kinds = kinds;
    uint8_t *kind = &c->name_kinds[name];
    if (!*kind) {
        rk_span text = rk_model_string(c->model, name);
        *kind = NAME_SEEN;
        if (rk_is_of_values(text))
            *kind |= NAME_OF_VALUES;
        if (rk_may_be_default(text))
            *kind |= NAME_WITH_DEFAULT;
        if (rk_span_is(text, "sym_name"))
            *kind |= NAME_OF_SYMBOL;
    }
    return *kind;
}

// Whether an attribute affects the compiler, so that it is part of the form.
static bool counts(const rk_canon *c, const rk_content *content, const rk_field *attr,
                   uint8_t kind) {
    if (RK_LIKELY(kind == NAME_SEEN))
        return true;
    return !(kind & NAME_OF_SYMBOL && content->kind == RK_CONTENT_NAMELESS) &&
           !(kind & NAME_WITH_DEFAULT && rk_is_default_attr(c->model, attr));
}

static bool is_list_of_dictionaries(const rk_model *m, const rk_node *list) {
    for (uint32_t i = 0; i < list->field_count; i++)
        if (m->nodes.items[m->fields.items[list->first_field + i].node].kind != RK_NODE_DICT)
            return false;
    return list->kind == RK_NODE_LIST;
}

// Appends the attributes of a function's arguments or results: for each of them the number of
// attributes, then the attributes, both without debug information. Every other attribute continues
// with the length of its form, which is never zero; here a zero stands in its place.
static void form_attrs_of_values(rk_canon *c, head *h, const rk_field *attr) {
    const rk_model *m = c->model;
    const rk_node *list = &m->nodes.items[attr->node];
    form_bytes(c, h, rk_model_string(m, attr->name));
    add_number(h, 0);
    add_number(h, list->field_count);
    for (uint32_t i = 0; i < list->field_count; i++) {
        const rk_node *node = &m->nodes.items[m->fields.items[list->first_field + i].node];
        const rk_field *fields = m->fields.items + node->first_field;
        uint32_t kept = 0;
        for (uint32_t f = 0; f < node->field_count; f++)
            kept += !rk_is_debug_name(rk_model_string(m, fields[f].name));
        if (h->len > HEAD_FULL_BYTES)
            add_head(c, h);
        add_number(h, kept);
        for (uint32_t f = 0; f < node->field_count; f++)
            if (!rk_is_debug_name(rk_model_string(m, fields[f].name)))
                form_part(c, h, &fields[f]);
    }
}

static void form_attrs(rk_canon *c, const rk_content *content) {
    head h;
    h.len = 0;
    for (uint32_t i = 0; i < content->attr_count; i++) {
        const rk_field *attr = &c->model->fields.items[content->first_attr + i];
        uint8_t kind = kind_of_name(c, attr->name);
        if (!counts(c, content, attr, kind))
            continue;
        if (kind & NAME_OF_VALUES &&
            is_list_of_dictionaries(c->model, &c->model->nodes.items[attr->node]))
            form_attrs_of_values(c, &h, attr);
        else
            form_part(c, &h, attr);
    }
    add_head(c, &h);
}

// Content.

// Makes the form in `scratch` with a tag at its end, as the interner needs it. The tag separates
// the kinds. RK_CONTENT_ATTRS and RK_CONTENT_NAMELESS share their tags, because equal attributes
// are equal content.
static rk_span form_of_kind(rk_canon *c, const rk_content *content) {
    rk_field type = {RK_NO_ID, content->node};
    uint8_t tag = 'n';
    rk_digest digest;
    head h;
    h.len = 0;
    rk_buf_clear(&c->scratch);
    if (content->kind == RK_CONTENT_NAME) {
        rk_buf_add_span(&c->scratch, rk_model_string(c->model, content->node));
    } else if (content->kind == RK_CONTENT_TYPE) {
        form_field(c, &h, &type);
        tag = 't';
    } else {
        form_attrs(c, content);
        tag = is_short(c) ? 'a' : 'A';
    }
    add_head(c, &h);
    if (tag == 'A') {
        digest_scratch(c, &digest);
        rk_buf_add_span(&c->scratch, rk_digest_span(&digest));
    }
    rk_buf_add_byte(&c->scratch, tag);
    c->failed |= c->scratch.failed;
    return rk_buf_span(&c->scratch);
}

rk_span rk_canon_form_of(rk_canon *c, uint32_t content) {
    return form_of_kind(c, &c->contents[content]);
}

static bool remember(rk_canon *c, const rk_content *content, uint32_t id, uint32_t number) {
    rk_canon_map *map = &c->maps[content->kind];
    void *items = map->items, *contents = c->contents, *stamps = c->stamps;
    if (!rk_canon_grow(c, &items, &map->capacity, id + 1, sizeof *map->items))
        return false;
    map->items = items;
    map->items[id] = number + 1;
    if (!rk_canon_grow(c, &contents, &c->content_capacity, number + 1, sizeof *c->contents))
        return false;
    c->contents = contents;
    if (!rk_canon_grow(c, &stamps, &c->stamp_capacity, number + 1, sizeof *c->stamps))
        return false;
    c->stamps = stamps;
    return true;
}

static uint32_t number_of(rk_canon *c, const rk_content *content, uint32_t id) {
    bool is_new;
    rk_span form = form_of_kind(c, content);
    uint32_t number = intern(c, &c->interner, form, &is_new);
    if (!remember(c, content, id, number))
        return 0;
    if (is_new)
        c->contents[number] = *content;
    return number;
}

void rk_canon_add_none(rk_canon *c) {
    rk_content none = {.kind = RK_CONTENT_ATTRS};
    bool is_new;
    (void)intern(c, &c->interner, form_of_kind(c, &none), &is_new);
    c->contents[RK_CANON_NONE] = none;
}

uint32_t rk_canon_name(rk_canon *c, uint32_t string) {
    rk_content content = {.kind = RK_CONTENT_NAME, .node = string};
    return number_of(c, &content, string);
}

uint32_t rk_canon_type(rk_canon *c, uint32_t node) {
    form_nodes(c);
    rk_content content = {.kind = RK_CONTENT_TYPE, .node = node};
    return c->failed ? 0 : number_of(c, &content, node);
}

uint32_t rk_canon_attrs(rk_canon *c, rk_content_kind kind, uint32_t first, uint32_t count) {
    form_nodes(c);
    rk_content content = {.kind = (uint8_t)kind, .first_attr = first, .attr_count = count};
    return c->failed ? 0 : number_of(c, &content, first);
}

uint32_t rk_canon_use(rk_canon *c, uint32_t content) {
    void *items = c->items;
    if (!rk_canon_grow(c, &items, &c->item_capacity, c->item_count + 1, sizeof *c->items))
        return 0;
    c->items = items;
    c->items[c->item_count++] = content;
    uint8_t kind = c->contents[content].kind;
    uint32_t number = c->next_number[kind == RK_CONTENT_NAMELESS ? RK_CONTENT_ATTRS : kind]++;
    number += kind == RK_CONTENT_NAME; // zero is the end of a block
    c->stamps[content] = (uint64_t)c->unit_count << 32 | number;
    return number;
}
