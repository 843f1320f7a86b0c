#include "program/payload.h"

#include "base/alloc.h"

typedef enum target { TARGET_OTHER, TARGET_TPU, TARGET_MOSAIC_GPU } target;

typedef struct reader {
    rk_model *model;
    unsigned flags;
    size_t bytes_left; // of payloads: more than the program has is one payload read many times
    uint32_t *others; // of each node: what takes its place (itself, maybe); RK_NO_ID: not looked at
    uint32_t other_count;
} reader;

// What is left counts down by `len`; false if it is spent.
static bool take_bytes(reader *r, size_t len) {
    if (len > r->bytes_left)
        return false;
    r->bytes_left -= len;
    return true;
}

static target target_of(rk_span name) {
    if (rk_span_is(name, "tpu_custom_call"))
        return TARGET_TPU;
    return rk_span_is(name, "mosaic_gpu_v2") ? TARGET_MOSAIC_GPU : TARGET_OTHER;
}

// Base64 (RFC 4648, section 4). False if it is none, or memory is short, which the model then
// knows; the bytes live as long as it does.
static bool decode_base64(rk_model *model, rk_span text, rk_span *out_bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t values[256];
    memset(values, 0xFF, sizeof values);
    for (uint8_t i = 0; i < 64; i++)
        values[(uint8_t)digits[i]] = i;
    size_t len = text.len, at = 0;
    if (!len || len % 4)
        return false;
    while (text.len - len < 2 && text.data[len - 1] == '=')
        len--;
    rk_autofree uint8_t *bytes = rk_malloc(text.len / 4 * 3);
    if (!bytes) {
        model->out_of_room = true;
        return false;
    }
    uint32_t bits = 0;
    for (size_t i = 0; i < len; i++) {
        uint8_t value = values[text.data[i]];
        if (value == 0xFF)
            return false;
        bits = bits << 6 | value;
        if (i % 4)
            bytes[at++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *out_bytes = rk_model_keep(model, rk_span_of(bytes, at));
    return !model->out_of_room;
}

static bool is_bytecode(rk_span bytes) {
    return bytes.len >= 4 && memcmp(bytes.data, "ML\xEFR", 4) == 0;
}

// Reads bytecode into a model, which may have a program already. False if it cannot be read in
// full.
static bool read_bytecode(rk_model *model, rk_span code, unsigned flags) {
    RK_AUTO(rk_buf) reason = {0};
    bool good;
    if (!is_bytecode(code))
        return false;
    rk_err *err = rk_read_bytecode(code, flags, model, &good, &reason);
    if (err)
        rk_err_drop(err, "the payload stays as its bytes");
    return !err && good && !model->opaque_count;
}

// Locations that JAX took out of the body and put into a list: of each operation, and after it of
// the arguments of its blocks, in the order of the file.
static void give_locations(rk_model *m, const rk_node *list, uint32_t op_count,
                           uint32_t block_count) {
    rk_autofree uint32_t *args_before = rk_calloc((size_t)op_count + 1, sizeof *args_before);
    uint64_t total = op_count;
    if (!args_before)
        return;
    for (uint32_t i = 0; i < block_count; i++) {
        args_before[m->blocks.items[i].first_op] += m->blocks.items[i].arg_count;
        total += m->blocks.items[i].arg_count;
    }
    if (list->field_count != total)
        return;
    for (uint32_t i = 0, at = list->first_field; i < op_count; i++, at++) {
        at += args_before[i];
        uint32_t node = m->fields.items[at].node;
        if (m->nodes.items[node].kind >= RK_NODE_LOC_UNKNOWN)
            m->ops.items[i].location = node;
    }
}

// Reads the list as a second program into the model, and takes that one away again.
static void read_locations(rk_model *m, rk_span text, unsigned flags) {
    rk_model before = *m;
    rk_span code;
    if (decode_base64(m, text, &code) && read_bytecode(m, code, flags) &&
        m->ops.count > before.ops.count) {
        uint32_t node = rk_model_attr(m, &m->ops.items[before.ops.count], "tpu.locs");
        if (node != RK_NO_ID && m->nodes.items[node].kind == RK_NODE_LIST)
            give_locations(m, &m->nodes.items[node], before.ops.count, before.blocks.count);
    } else {
        m->strings.count = before.strings.count;
        m->nodes.count = before.nodes.count;
        m->fields.count = before.fields.count;
    }
    m->ops.count = before.ops.count;
    m->values.count = before.values.count;
    m->operands.count = before.operands.count;
    m->successors.count = before.successors.count;
    m->regions.count = before.regions.count;
    m->blocks.count = before.blocks.count;
    m->producer = before.producer;
    m->opaque_count = before.opaque_count;
    m->opaque_reason = before.opaque_reason;
    m->out_of_room = before.out_of_room;
}

// Where a program stands: as it is, or in base64.
typedef struct source {
    rk_span code, text;
    rk_span locations; // in base64; empty: none beside it
} source;

// Reads a program. NULL if it cannot be read in full; where that is for want of memory, the outer
// model is out of room. Owned.
static rk_model *read_program(rk_model *outer, const source *from, unsigned flags) {
    rk_model *inner = rk_calloc(1, sizeof *inner);
    if (!inner || outer->budget_bytes < sizeof *inner) {
        outer->out_of_room = true;
        rk_model_free(inner);
        return NULL;
    }
    inner->budget_bytes = outer->budget_bytes - sizeof *inner;
    rk_span code = from->code;
    if ((code.len || decode_base64(inner, from->text, &code)) &&
        read_bytecode(inner, code, flags)) {
        if (flags & RK_READ_LOCATIONS && from->locations.len)
            read_locations(inner, from->locations, flags);
        outer->budget_bytes = inner->budget_bytes;
        return inner;
    }
    outer->out_of_room |= inner->out_of_room;
    rk_model_free(inner);
    return NULL;
}

// Adds the program to the model, and yields its number, or RK_NO_ID. Whether it can be read is
// decided without its locations, so that it never depends on whether somebody wants them.
static uint32_t add_program(reader *r, const source *from) {
    rk_model *m = r->model;
    size_t budget = m->budget_bytes;
    if (!take_bytes(r, from->code.len))
        return RK_NO_ID;
    rk_model *inner = read_program(m, from, r->flags & ~(unsigned)RK_READ_LOCATIONS);
    if (inner && r->flags & RK_READ_LOCATIONS) {
        size_t taken = budget - m->budget_bytes;
        bool out_of_room = m->out_of_room;
        rk_model *located = read_program(m, from, r->flags);
        m->out_of_room = out_of_room;
        if (located) {
            rk_model_free(inner);
            m->budget_bytes += taken;
            inner = located;
        }
    }
    uint32_t number = inner ? rk_model_add_payload(m, inner) : RK_NO_ID;
    if (number == RK_NO_ID)
        rk_model_free(inner);
    return number;
}

// JSON with a body.
static uint32_t read_tpu(reader *r, uint32_t id) {
    rk_model *m = r->model;
    rk_span text = m->nodes.items[id].bytes;
    if (m->nodes.items[id].kind != RK_NODE_STRING || !take_bytes(r, text.len))
        return RK_NO_ID;
    rk_payload_json json = rk_payload_read_json(m, text);
    if (json.node == RK_NO_ID || json.body == RK_NO_ID)
        return RK_NO_ID;
    source from = {.text = m->nodes.items[json.body].bytes, .locations = json.debug_locations};
    uint32_t number = add_program(r, &from);
    if (number == RK_NO_ID)
        return RK_NO_ID;
    m->nodes.items[json.body] =
        (rk_node){.kind = RK_NODE_PROGRAM, .name = RK_NO_ID, .value = number};
    return json.node;
}

// The node of a field of a configuration, or of what takes its place. The hash of a module is one
// of bytes, and says nothing that the module does not.
static uint32_t read_mosaic_gpu_field(reader *r, const rk_field *field, bool *out_is_module) {
    enum { HASH_BYTES = 32 };
    rk_model *m = r->model;
    rk_span key = rk_model_string(m, field->name);
    const rk_node *node = &m->nodes.items[field->node];
    *out_is_module = false;
    if (node->kind != RK_NODE_STRING)
        return field->node;
    if (rk_span_is(key, "kernel_hash") && node->bytes.len == HASH_BYTES)
        return rk_model_add_node(m, (rk_node){.kind = RK_NODE_UNIT, .name = RK_NO_ID});
    *out_is_module = rk_span_is(key, "module") && is_bytecode(node->bytes);
    if (!*out_is_module)
        return field->node;
    source from = {.code = node->bytes};
    uint32_t number = add_program(r, &from);
    rk_node program = {.kind = RK_NODE_PROGRAM, .name = RK_NO_ID, .value = number};
    return number == RK_NO_ID ? RK_NO_ID : rk_model_add_node(m, program);
}

// A dictionary with a module.
static uint32_t read_mosaic_gpu(reader *r, uint32_t id) {
    enum { MAX_FIELDS = 64 };
    rk_model *m = r->model;
    rk_node node = m->nodes.items[id];
    rk_field fields[MAX_FIELDS];
    bool has_module = false;
    if (node.kind != RK_NODE_DICT || node.field_count > MAX_FIELDS)
        return RK_NO_ID;
    for (uint32_t i = 0; i < node.field_count; i++) {
        bool is_module;
        fields[i] = m->fields.items[node.first_field + i];
        fields[i].node = read_mosaic_gpu_field(r, &fields[i], &is_module);
        if (fields[i].node == RK_NO_ID)
            return RK_NO_ID;
        has_module |= is_module;
    }
    node.first_field = m->fields.count;
    for (uint32_t i = 0; i < node.field_count; i++)
        if (rk_model_add_field(m, fields[i].name, fields[i].node) == RK_NO_ID)
            return RK_NO_ID;
    return has_module ? rk_model_add_node(m, node) : RK_NO_ID;
}

// What takes the place of an attribute, which is read once, however many operations have it.
static uint32_t other_of(reader *r, target to, uint32_t id) {
    rk_model *m = r->model;
    if (id >= r->other_count || r->others[id] != RK_NO_ID)
        return id < r->other_count ? r->others[id] : id;
    rk_model before = *m;
    uint32_t other = to == TARGET_TPU ? read_tpu(r, id) : read_mosaic_gpu(r, id);
    if (other == RK_NO_ID) {
        m->strings.count = before.strings.count;
        m->nodes.count = before.nodes.count;
        m->fields.count = before.fields.count;
        while (m->payloads.count > before.payloads.count)
            rk_model_free(m->payloads.items[--m->payloads.count]);
        other = id;
    }
    r->others[id] = other;
    return other;
}

// Attributes may be shared with other operations: they get a run of their own.
static void replace_attr(reader *r, uint32_t op_id, const char *name, target to) {
    rk_model *m = r->model;
    uint32_t id = rk_model_attr(m, &m->ops.items[op_id], name);
    uint32_t other = id == RK_NO_ID ? id : other_of(r, to, id);
    if (other == id)
        return;
    rk_op *op = &m->ops.items[op_id];
    uint32_t first = m->fields.count;
    for (uint32_t i = 0; i < op->attr_count; i++) {
        rk_field attr = m->fields.items[op->first_attr + i];
        if (attr.node == id && rk_span_is(rk_model_string(m, attr.name), name))
            attr.node = other;
        if (rk_model_add_field(m, attr.name, attr.node) == RK_NO_ID)
            return; // the model knows that it is out of room
    }
    op->first_attr = first;
}

static void read_op(reader *r, uint32_t id) {
    rk_model *m = r->model;
    const rk_op *op = &m->ops.items[id];
    bool is_hlo = rk_span_is(rk_model_string(m, op->name), "hlo.custom-call");
    if (!is_hlo && !rk_span_is(rk_model_string(m, op->name), "stablehlo.custom_call"))
        return;
    uint32_t name = rk_model_attr(m, op, is_hlo ? "custom_call_target" : "call_target_name");
    target to = name == RK_NO_ID || m->nodes.items[name].kind != RK_NODE_STRING
                    ? TARGET_OTHER
                    : target_of(m->nodes.items[name].bytes);
    if (to == TARGET_TPU)
        replace_attr(r, id, "backend_config", to);
    else if (to == TARGET_MOSAIC_GPU)
        replace_attr(r, id, "mhlo.backend_config", to);
}

// Most programs have no such calls, and far fewer attributes than operations.
static bool may_have_payloads(const rk_model *model) {
    for (uint32_t i = 0; i < model->nodes.count; i++)
        if (model->nodes.items[i].kind == RK_NODE_STRING &&
            target_of(model->nodes.items[i].bytes) != TARGET_OTHER)
            return true;
    return false;
}

void rk_payloads_read(rk_model *model, size_t code_bytes, unsigned flags) {
    reader r = {.model = model, .flags = flags, .bytes_left = code_bytes};
    if (!may_have_payloads(model))
        return;
    size_t bytes = model->nodes.count * sizeof *r.others;
    rk_autofree uint32_t *others = bytes <= model->budget_bytes ? rk_malloc(bytes) : NULL;
    if (!others) {
        model->out_of_room = true;
        return;
    }
    memset(others, 0xFF, bytes);
    model->budget_bytes -= bytes;
    r.others = others;
    r.other_count = model->nodes.count;
    for (uint32_t i = 0; i < model->ops.count && !model->out_of_room; i++)
        read_op(&r, i);
}
