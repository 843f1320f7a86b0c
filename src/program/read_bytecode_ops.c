#include "program/read_bytecode.h"

#include "base/alloc.h"
#include "program/dialect_ops.h"

enum {
    VERSION_PROPERTIES_NATIVE = 6, // segment sizes lie in the properties themselves
    MAX_SPLAT_INTS = 1024,         // of a list of dimensions that are all alike
};

// Names.

static void look_up(rk_bytecode *file, rk_op_name *op) {
    rk_model *model = file->model;
    const rk_dialect *dialect = &file->dialects[op->dialect];
    rk_span text = rk_model_string(model, op->text);
    rk_buf_clear(&file->ints);
    rk_buf_add_span(&file->ints, rk_model_string(model, dialect->name));
    if (text.len) {
        rk_buf_add_byte(&file->ints, '.');
        rk_buf_add_span(&file->ints, text);
    }
    op->spec = rk_dialect_find_op(rk_buf_text(&file->ints));
    if (op->spec)
        op->name = rk_model_add_string(model, rk_span_text(op->spec->name));
    else
        op->name = rk_model_add_string(model, rk_model_keep(model, rk_buf_span(&file->ints)));
    if (!op->spec && dialect->kind == RK_DIALECT_VHLO)
        rk_model_count_opaque(model, "an operation of a newer VHLO");
    rk_span name = rk_model_string(model, op->name);
    op->is_constant = rk_span_is(name, "stablehlo.constant");
    op->is_func = rk_span_is(name, "func.func");
    op->is_return = dialect->kind == RK_DIALECT_VHLO && rk_span_is(name, "stablehlo.return");
    if (op->name == RK_NO_ID)
        file->failed = true;
}

rk_op_name *rk_read_op_name(rk_bytecode *file, uint64_t index) {
    if (index >= file->op_name_count)
        return NULL;
    rk_op_name *op = &file->op_names[index];
    if (op->name == RK_NO_ID)
        look_up(file, op);
    return op;
}

// The form that operations want of an attribute.

static bool is_i64_vector(const rk_model *model, const rk_node *elements, uint64_t *out_count) {
    const rk_node *type = &model->nodes.items[model->fields.items[elements->first_field].node];
    if (type->kind != RK_NODE_TYPE || type->name != RK_WORD_tensor || type->bytes.len != 8 ||
        type->field_count != 1)
        return false;
    const rk_node *element = &model->nodes.items[model->fields.items[type->first_field].node];
    *out_count = rk_load_u64le(type->bytes.data);
    return element->kind == RK_NODE_TYPE && element->name == RK_WORD_i64;
}

// VHLO keeps dimensions and permutations in constants of one dimension, where StableHLO has arrays.
static uint32_t as_ints(rk_bytecode *file, uint32_t id) {
    rk_model *model = file->model;
    uint64_t count;
    const rk_node *elements = &model->nodes.items[id];
    rk_node node = {.kind = RK_NODE_INTS, .name = RK_NO_ID, .bytes = elements->bytes};
    if (!is_i64_vector(model, elements, &count))
        return id;
    if (node.bytes.len == 8 && count > 1 && count <= MAX_SPLAT_INTS) {
        rk_buf_clear(&file->ints);
        for (uint64_t i = 0; i < count; i++)
            rk_buf_add_span(&file->ints, elements->bytes);
        node.bytes = rk_model_keep(model, rk_buf_span(&file->ints));
    } else if (node.bytes.len / 8 != count || node.bytes.len % 8) {
        return id;
    }
    return rk_model_add_node(model, node);
}

// VHLO names functions with strings, where StableHLO has symbols.
static uint32_t as_symbols(rk_bytecode *file, uint32_t id) {
    rk_model *model = file->model;
    rk_node node = model->nodes.items[id];
    uint32_t first = model->nodes.count;
    if (node.kind == RK_NODE_STRING) {
        node.kind = RK_NODE_SYMBOL;
        return rk_model_add_node(model, node);
    }
    for (uint32_t i = 0; i < node.field_count; i++) {
        rk_node item = model->nodes.items[model->fields.items[node.first_field + i].node];
        if (item.kind != RK_NODE_STRING)
            return id;
        item.kind = RK_NODE_SYMBOL;
        if (rk_model_add_node(model, item) == RK_NO_ID)
            return RK_NO_ID;
    }
    uint32_t fields = model->fields.count;
    for (uint32_t i = 0; i < node.field_count; i++)
        if (rk_model_add_field(model, RK_NO_ID, first + i) == RK_NO_ID)
            return RK_NO_ID;
    node.first_field = fields;
    return rk_model_add_node(model, node);
}

static bool names_functions(rk_span key) {
    return rk_span_is(key, "callee") || rk_span_is(key, "decomposition") ||
           rk_span_is(key, "called_computations");
}

static bool has_other_form(const rk_bytecode *file, const rk_op_name *op, uint32_t key,
                           uint32_t node) {
    rk_dialect_kind dialect = file->dialects[op->dialect].kind;
    switch (file->model->nodes.items[node].kind) {
    case RK_NODE_ELEMENTS:
        return (dialect == RK_DIALECT_VHLO || dialect == RK_DIALECT_STABLEHLO) && !op->is_constant;
    case RK_NODE_STRING:
    case RK_NODE_LIST:
        return dialect == RK_DIALECT_VHLO && names_functions(rk_model_string(file->model, key));
    default:
        return false;
    }
}

static uint32_t other_form(rk_bytecode *file, uint32_t node) {
    uint32_t other = file->model->nodes.items[node].kind == RK_NODE_ELEMENTS
                         ? as_ints(file, node)
                         : as_symbols(file, node);
    if (other == RK_NO_ID)
        file->failed = true;
    return other;
}

// An attribute by its number, as the value of `key`.
static uint32_t op_attr(rk_bytecode *file, const rk_op_name *op, uint32_t key, uint64_t index) {
    uint32_t node = rk_bytecode_attr(file, index);
    if (node == RK_NO_ID || !has_other_form(file, op, key, node))
        return node;
    rk_entry *entry = &file->entries[index];
    if (entry->other == RK_NO_ID)
        entry->other = other_form(file, node);
    return entry->other;
}

// Properties.

// Which names of its table the operation has, `count` being how many values stand in the file; the
// newest release with that many counts.
static bool choose_properties(rk_bytecode *file, rk_op_name *op, unsigned release, uint64_t count) {
    const char *at = op->spec->properties;
    op->first_property = file->model->strings.count;
    op->property_count = 0;
    op->optional = 0;
    while (*at) {
        size_t len = strcspn(at, " "), name = strcspn(at, "? 0123456789");
        unsigned since =
            at[len - 1] >= '0' && at[len - 1] <= '9' ? (unsigned)(at[len - 1] - '0') : 0;
        if (strncmp(at, "@operands", len) == 0) {
            op->operand_segments = true;
        } else if (strncmp(at, "@results", len) == 0) {
            op->result_segments = true;
        } else if (since <= release && op->property_count < RK_MAX_PROPERTIES) {
            if (at[name] == '?')
                op->optional |= 1u << op->property_count;
            op->property_count++;
            if (rk_model_add_string(file->model, rk_span_of(at, name)) == RK_NO_ID)
                file->failed = true;
        }
        at += len + (at[len] == ' ');
    }
    op->has_properties = op->operand_segments || op->result_segments || op->property_count == count;
    return op->has_properties;
}

static bool open_properties(rk_bytecode *file, rk_op_name *op, rk_span bytes) {
    enum { RELEASES = 3 };
    if (op->has_properties || !op->spec)
        return op->has_properties;
    rk_cursor cursor = rk_cursor_over(bytes);
    uint64_t count = 0;
    for (; cursor.at < cursor.end && !cursor.bad; count++)
        (void)rk_cursor_varint(&cursor);
    for (unsigned release = RELEASES; release-- > 0 && !file->failed;) {
        uint32_t strings = file->model->strings.count;
        if (choose_properties(file, op, release, count))
            return true;
        file->model->strings.count = strings;
    }
    return false;
}

// Sizes; as pairs of place and size where most are zero: count and flag, then sizes; or the bits of
// a place, then as many times size << bits | place.
static uint32_t segment_sizes(rk_bytecode *file, rk_cursor *cursor) {
    enum { MAX_SEGMENTS = 64 };
    uint64_t sizes[MAX_SEGMENTS] = {0}, used = 0;
    bool is_sparse;
    if (file->version < VERSION_PROPERTIES_NATIVE)
        return rk_bytecode_attr(file, rk_cursor_varint(cursor));
    uint64_t count = rk_cursor_flagged(cursor, &is_sparse);
    uint64_t bits = is_sparse && count ? rk_cursor_varint(cursor) : 0;
    for (uint64_t i = 0; i < count && i < MAX_SEGMENTS; i++) {
        uint64_t value = rk_cursor_varint(cursor);
        uint64_t place = is_sparse && bits < 8 ? value & ((1u << bits) - 1) : i;
        if (bits >= 8 || place >= MAX_SEGMENTS)
            return RK_NO_ID;
        sizes[place] = value >> bits;
        used = place >= used ? place + 1 : used;
    }
    if (count > MAX_SEGMENTS)
        return RK_NO_ID;
    rk_buf_clear(&file->ints);
    for (uint64_t i = 0; i < used; i++)
        rk_buf_add_u64le(&file->ints, sizes[i]);
    rk_node node = {.kind = RK_NODE_INTS,
                    .name = RK_NO_ID,
                    .bytes = rk_model_keep(file->model, rk_buf_span(&file->ints))};
    return rk_model_add_node(file->model, node);
}

typedef struct fields {
    rk_field items[RK_MAX_PROPERTIES + 2];
    uint32_t count;
} fields;

static bool read_registered(rk_bytecode *file, rk_op_name *op, rk_span bytes, fields *out_fields) {
    if (!open_properties(file, op, bytes))
        return false;
    rk_cursor cursor = rk_cursor_over(bytes);
    for (uint32_t i = 0; i < op->property_count; i++) {
        bool present = true;
        uint64_t index = op->optional >> i & 1 ? rk_cursor_flagged(&cursor, &present)
                                               : rk_cursor_varint(&cursor);
        if (!present)
            continue;
        if (cursor.bad || index >= file->attr_count)
            return false;
        uint32_t key = op->first_property + i, node = op_attr(file, op, key, index);
        out_fields->items[out_fields->count++] = (rk_field){key, node};
    }
    if (op->operand_segments)
        out_fields->items[out_fields->count++] =
            (rk_field){RK_WORD_operandSegmentSizes, segment_sizes(file, &cursor)};
    if (op->result_segments)
        out_fields->items[out_fields->count++] =
            (rk_field){RK_WORD_resultSegmentSizes, segment_sizes(file, &cursor)};
    for (uint32_t i = 0; i < out_fields->count; i++)
        if (out_fields->items[i].node == RK_NO_ID)
            return false;
    return rk_cursor_done(&cursor);
}

static void read_opaque(rk_bytecode *file, const rk_op_name *op, rk_span bytes,
                        fields *out_fields) {
    rk_node node = {
        .kind = RK_NODE_OPAQUE, .name = file->dialects[op->dialect].name, .bytes = bytes};
    rk_model_count_opaque(file->model, "the properties of an unknown operation");
    out_fields->items[0] = (rk_field){RK_WORD_properties, rk_model_add_node(file->model, node)};
    out_fields->count = 1;
}

// A dictionary in the form that this operation wants. Its fields in the model are sorted.
static const rk_node *read_dictionary(rk_bytecode *file, const rk_op_name *op, uint64_t index) {
    rk_model *model = file->model;
    uint32_t id = rk_bytecode_attr(file, index);
    if (id == RK_NO_ID)
        return NULL;
    rk_node node = model->nodes.items[id];
    rk_entry *entry = &file->entries[index];
    if (node.kind != RK_NODE_DICT) {
        rk_bytecode_fail(file, "IR", rk_bytecode_entry_bytes(file, entry).data,
                         "an operation's attributes are no dictionary");
        return NULL;
    }
    bool differs = false;
    for (uint32_t i = 0; i < node.field_count && !differs; i++) {
        rk_field field = model->fields.items[node.first_field + i];
        differs = has_other_form(file, op, field.name, field.node);
    }
    if (!differs)
        return &model->nodes.items[id];
    if (entry->other == RK_NO_ID) {
        uint32_t first = RK_NO_ID;
        rk_autofree rk_field *copies = rk_calloc(node.field_count, sizeof *copies);
        for (uint32_t i = 0; copies && i < node.field_count; i++) {
            copies[i] = model->fields.items[node.first_field + i];
            if (has_other_form(file, op, copies[i].name, copies[i].node))
                copies[i].node = other_form(file, copies[i].node);
        }
        for (uint32_t i = 0; copies && i < node.field_count && !file->failed; i++) {
            uint32_t field = rk_model_add_field(model, copies[i].name, copies[i].node);
            first = i ? first : field;
        }
        node.first_field = first;
        entry->other = rk_model_add_node(model, node);
        if (!copies || entry->other == RK_NO_ID || first == RK_NO_ID)
            file->failed = model->out_of_room = true;
    }
    return file->failed ? NULL : &model->nodes.items[entry->other];
}

// Decodes properties for the operation that asks, unless they are so already.
static const rk_properties *read_properties(rk_bytecode *file, uint32_t op_name, uint64_t index) {
    rk_op_name *op = &file->op_names[op_name];
    if (index >= file->property_count) {
        rk_bytecode_fail(file, "IR", file->ir.at, "properties of a number that none have");
        return NULL;
    }
    rk_properties *properties = &file->properties[index];
    if (properties->op_name == op_name)
        return properties;
    fields found = {.count = 0};
    if (!op->is_registered) { // a dictionary by its number, and no more
        rk_cursor cursor = rk_cursor_over(properties->bytes);
        uint64_t dictionary = rk_cursor_varint(&cursor);
        const rk_node *node =
            rk_cursor_done(&cursor) ? read_dictionary(file, op, dictionary) : NULL;
        if (!node) {
            rk_bytecode_fail(file, "Properties", properties->bytes.data, "they are no dictionary");
            return NULL;
        }
        properties->first_field = node->first_field;
        properties->field_count = node->field_count;
        properties->op_name = op_name;
        return properties;
    }
    if (!read_registered(file, op, properties->bytes, &found))
        read_opaque(file, op, properties->bytes, &found);
    properties->first_field = file->model->fields.count;
    properties->field_count = found.count;
    for (uint32_t i = 0; i < found.count && !file->failed; i++)
        if (rk_model_add_field(file->model, found.items[i].name, found.items[i].node) == RK_NO_ID)
            file->failed = true;
    rk_model_sort_fields(file->model, properties->first_field, found.count);
    properties->op_name = op_name;
    return file->failed ? NULL : properties;
}

void rk_read_op_attrs(rk_bytecode *file, uint32_t op_name, uint64_t dictionary, uint64_t properties,
                      rk_op *out_op) {
    rk_model *model = file->model;
    rk_op_name *op = &file->op_names[op_name];
    rk_node dict = {0};
    if (dictionary != UINT64_MAX) {
        const rk_node *node = read_dictionary(file, op, dictionary);
        if (!node)
            return;
        dict = *node;
    }
    out_op->first_attr = dict.first_field;
    out_op->attr_count = dict.field_count;
    if (properties == UINT64_MAX)
        return;
    const rk_properties *own = read_properties(file, op_name, properties);
    if (!own)
        return;
    if (!dict.field_count) {
        out_op->first_attr = own->first_field;
        out_op->attr_count = own->field_count;
        return;
    }
    out_op->first_attr = model->fields.count;
    out_op->attr_count = dict.field_count + own->field_count;
    for (uint32_t i = 0; i < out_op->attr_count; i++) {
        uint32_t at =
            i < dict.field_count ? dict.first_field + i : own->first_field + (i - dict.field_count);
        rk_field field = model->fields.items[at];
        if (rk_model_add_field(model, field.name, field.node) == RK_NO_ID) {
            file->failed = true;
            return;
        }
    }
    rk_model_sort_fields(model, out_op->first_attr, out_op->attr_count);
}
