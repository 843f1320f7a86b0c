#include "program/mlir/read_ops.h"

#include "base/alloc.h"
#include "program/mlir/dialect_ops.h"

enum { VERSION_PROPERTIES_NATIVE = 6 }; // segment sizes are part of the properties

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
        op->name = rk_model_add_string(model, rk_model_keep(model, rk_bytecode_gathered(file)));
    if (!op->spec && dialect->kind == RK_DIALECT_VHLO)
        rk_model_count_opaque(model, "an unknown VHLO operation");
    rk_span name = rk_model_string(model, op->name);
    op->has_other_forms =
        (dialect->kind == RK_DIALECT_VHLO || dialect->kind == RK_DIALECT_STABLEHLO) &&
        !rk_span_is(name, "stablehlo.constant");
    op->is_func = rk_span_is(name, "func.func");
    op->is_custom_call = rk_span_is(name, "stablehlo.custom_call");
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

// Properties.

// Sets the names of an operation's properties as of a release. False if that release does not have
// `count` properties; not checked if there are segment sizes. The caller tries the newest release
// first.
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
    for (; cursor.at < cursor.end && count <= RK_MAX_PROPERTIES; count++)
        (void)rk_cursor_varint(&cursor);
    for (unsigned release = RELEASES; release-- > 0 && !file->failed;) {
        uint32_t strings = file->model->strings.count;
        if (choose_properties(file, op, release, count))
            return true;
        file->model->strings.count = strings;
    }
    return false;
}

// Reads segment sizes. Format: a count with a flag, then the sizes. Flag set (most sizes are zero):
// the number of index bits, then `count` times size << bits | index.
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
                    .bytes = rk_model_keep(file->model, rk_bytecode_gathered(file))};
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
        uint32_t key = op->first_property + i, node = rk_read_attr(file, op, key, index);
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

static const rk_properties *keep_properties(rk_bytecode *file, rk_properties *properties,
                                            const fields *found) {
    rk_model *model = file->model;
    properties->first_field = model->fields.count;
    properties->field_count = found->count;
    for (uint32_t i = 0; i < found->count && !file->failed; i++)
        if (found->items[i].node == RK_NO_ID ||
            rk_model_add_field(model, found->items[i].name, found->items[i].node) == RK_NO_ID)
            file->failed = true;
    if (file->failed)
        return NULL;
    rk_model_sort_fields(model, properties->first_field, found->count);
    return properties;
}

// Decodes properties for this operation name, unless they are decoded for it already.
static rk_properties *read_properties(rk_bytecode *file, uint32_t op_name, uint64_t index) {
    rk_op_name *op = &file->op_names[op_name];
    fields found = {.count = 0};
    if (index >= file->property_count) {
        rk_bytecode_fail(file, "IR", file->ir.at, "no properties have this number");
        return NULL;
    }
    rk_properties *properties = &file->properties[index];
    if (properties->op_name == op_name)
        return properties;
    properties->op_name = op_name;
    properties->merged_with = RK_NO_ID;
    if (op->is_registered) {
        if (!read_registered(file, op, properties->bytes, &found))
            read_opaque(file, op, properties->bytes, &found);
        return keep_properties(file, properties, &found) ? properties : NULL;
    }
    // The operation was not registered with the writer: its properties are one dictionary.
    rk_cursor cursor = rk_cursor_over(properties->bytes);
    uint64_t dictionary = rk_cursor_varint(&cursor);
    const rk_node *node = rk_cursor_done(&cursor) ? rk_read_dictionary(file, op, dictionary) : NULL;
    if (!node) {
        rk_bytecode_fail(file, "Properties", properties->bytes.data,
                         "the properties are not a dictionary");
        return NULL;
    }
    properties->first_field = node->first_field;
    properties->field_count = node->field_count;
    return properties;
}

// Merges a dictionary and properties into one run of fields, and keeps the run for the next
// operation with the same two.
static void merge(rk_bytecode *file, rk_properties *own, uint32_t dictionary, rk_node dict,
                  rk_op *out_op) {
    rk_model *model = file->model;
    uint32_t total = dict.field_count + own->field_count;
    if (own->merged_with != dictionary) {
        own->merged_with = dictionary;
        own->first_merged = model->fields.count;
        for (uint32_t i = 0; i < total; i++) {
            uint32_t at = i < dict.field_count ? dict.first_field + i
                                               : own->first_field + (i - dict.field_count);
            rk_field field = model->fields.items[at];
            if (rk_model_add_field(model, field.name, field.node) == RK_NO_ID) {
                file->failed = true;
                return;
            }
        }
        rk_model_sort_fields(model, own->first_merged, total);
    }
    out_op->first_attr = own->first_merged;
    out_op->attr_count = total;
}

void rk_read_op_attrs(rk_bytecode *file, uint32_t op_name, uint64_t dictionary, uint64_t properties,
                      rk_op *out_op) {
    rk_node dict = {0};
    if (dictionary != UINT64_MAX) {
        const rk_node *node = rk_read_dictionary(file, &file->op_names[op_name], dictionary);
        if (!node)
            return;
        dict = *node;
    }
    out_op->first_attr = dict.first_field;
    out_op->attr_count = dict.field_count;
    if (properties == UINT64_MAX)
        return;
    rk_properties *own = read_properties(file, op_name, properties);
    if (!own)
        return;
    if (dict.field_count) {
        merge(file, own, (uint32_t)dictionary, dict, out_op);
        return;
    }
    out_op->first_attr = own->first_field;
    out_op->attr_count = own->field_count;
}
