#include "program/payload.h"

#include "base/alloc.h"
#include "program/canon/canon.h"
#include "program/mlir/magic.h"
#include "program/mlir/read.h"

typedef enum target { TARGET_OTHER, TARGET_TPU, TARGET_MOSAIC_GPU } target;

typedef struct reader {
    rk_model *model;
    unsigned flags;
    bool keeps_programs;
} reader;

// Limits the payload bytes of a program to the program's own size, so that reading takes linear
// time. Only a program that uses one payload many times has more; the rest stay unread.
static bool take_bytes(rk_model *model, size_t len) {
    if (len > model->payload_bytes_left)
        return false;
    model->payload_bytes_left -= len;
    return true;
}

static target target_of(rk_span name) {
    if (rk_span_is(name, "tpu_custom_call"))
        return TARGET_TPU;
    return rk_span_is(name, "mosaic_gpu_v2") ? TARGET_MOSAIC_GPU : TARGET_OTHER;
}

bool rk_payload_may_be(rk_span target_name, rk_span attr) {
    switch (target_of(target_name)) {
    case TARGET_TPU:
        return rk_span_is(attr, "backend_config");
    case TARGET_MOSAIC_GPU:
        return rk_span_is(attr, "mhlo.backend_config");
    case TARGET_OTHER:
        break;
    }
    return false;
}

// Decodes base64 (RFC 4648, section 4). False if the text is not base64, or if memory is short (the
// model records that). The bytes live as long as the model.
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
        model->out_of_memory = true;
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
    return !model->out_of_memory;
}

// Reads bytecode into a model, which may contain a program already, or into a canonical form. False
// if it cannot be read completely. Payloads have no payloads of their own.
static bool read_bytecode(rk_span code, unsigned flags, rk_model *model, rk_canon *canon) {
    RK_AUTO(rk_buf) reason = {0};
    bool good;
    if (!rk_mlir_is_bytecode(code))
        return false;
    rk_err *err = rk_read_bytecode(code, flags, model, canon, NULL, &good, &reason);
    if (err)
        rk_err_drop(err, "the model records that memory is short");
    return !err && good && !model->opaque_count;
}

// Sets locations from a list that JAX keeps outside the body. The list is in file order: one entry
// per operation, and before a block's first operation one entry per argument of the block.
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

// Reads the list as a second program into the model, and removes that program again. Its locations
// stay.
static void read_locations(rk_model *m, rk_span text, unsigned flags) {
    rk_model before = *m;
    rk_span code;
    if (decode_base64(m, text, &code) && read_bytecode(code, flags, m, NULL) &&
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
    m->out_of_memory = before.out_of_memory;
}

// Where a program is: raw, or in base64.
typedef struct source {
    rk_span code, text;
    rk_span locations; // in base64; empty if there are none
} source;

// Returns a new model for a payload, with the remaining budget, and the payload's bytes. NULL if
// the bytes cannot be decoded. Owned by the caller.
static rk_model *open_model(rk_model *outer, const source *from, rk_span *out_code) {
    rk_model *inner = rk_calloc(1, sizeof *inner);
    if (!inner || outer->budget_bytes < sizeof *inner) {
        outer->out_of_memory = true;
        rk_model_free(inner);
        return NULL;
    }
    inner->budget_bytes = outer->budget_bytes - sizeof *inner;
    *out_code = from->code;
    if (from->code.len || decode_base64(inner, from->text, out_code))
        return inner;
    outer->out_of_memory |= inner->out_of_memory;
    rk_model_free(inner);
    return NULL;
}

static bool hash_model(rk_model *inner, rk_span code, rk_digest *out_digest) {
    RK_AUTO(rk_canon) canon = {0};
    rk_err *err = rk_canon_open(&canon, inner);
    bool good = !err && read_bytecode(code, 0, inner, &canon);
    if (good)
        err = rk_canon_finish(&canon, out_digest);
    inner->out_of_memory |= err != NULL || canon.failed;
    if (err)
        rk_err_drop(err, "the model records that memory is short");
    return good && !inner->out_of_memory;
}

// Hashes the meaning of a payload. Only this decides whether the payload is replaced: the result
// must not depend on `keeps_programs`.
static bool hash_program(rk_model *outer, const source *from, rk_digest *out_digest) {
    rk_span code;
    rk_model *inner = open_model(outer, from, &code);
    if (!inner)
        return false;
    bool good = hash_model(inner, code, out_digest);
    outer->out_of_memory |= inner->out_of_memory;
    rk_model_free(inner);
    return good;
}

// Adds the program to the model. Returns its index, or RK_NO_ID if it cannot be read.
static uint32_t add_program(rk_model *outer, const source *from, unsigned flags) {
    size_t budget = outer->budget_bytes;
    uint32_t number = RK_NO_ID;
    rk_span code;
    rk_model *inner = open_model(outer, from, &code);
    if (inner && read_bytecode(code, flags, inner, NULL)) {
        if (flags & RK_READ_LOCATIONS && from->locations.len)
            read_locations(inner, from->locations, flags);
        outer->budget_bytes = inner->budget_bytes;
        number = rk_model_add_payload(outer, inner);
    }
    if (number == RK_NO_ID) {
        outer->budget_bytes = budget;
        rk_model_free(inner);
    }
    return number;
}

// Adds the program for people. If its locations cannot be read, adds it without them.
static uint32_t keep_program(const reader *r, const source *from) {
    rk_model *m = r->model;
    uint32_t number = add_program(m, from, r->flags);
    if (number != RK_NO_ID || !(r->flags & RK_READ_LOCATIONS))
        return number;
    m->out_of_memory = false;
    return add_program(m, from, r->flags & ~(unsigned)RK_READ_LOCATIONS);
}

static bool read_program(const reader *r, const source *from, rk_node *out_node) {
    rk_digest digest;
    if (!take_bytes(r->model, from->code.len) || !hash_program(r->model, from, &digest))
        return false;
    *out_node = (rk_node){.kind = RK_NODE_PROGRAM, .name = RK_NO_ID, .value = RK_NO_ID};
    out_node->bytes = rk_model_keep(r->model, rk_digest_span(&digest));
    if (r->keeps_programs) {
        out_node->value = keep_program(r, from);
        // The program could be hashed, so only lack of memory can stop this.
        r->model->out_of_memory |= out_node->value == RK_NO_ID;
    }
    return !r->model->out_of_memory;
}

// JSON with a body.
static uint32_t read_tpu(const reader *r, uint32_t id) {
    rk_model *m = r->model;
    rk_span text = m->nodes.items[id].bytes;
    if (m->nodes.items[id].kind != RK_NODE_STRING || !take_bytes(m, text.len))
        return RK_NO_ID;
    rk_payload_json json = rk_payload_read_json(m, text);
    if (json.node == RK_NO_ID || json.body == RK_NO_ID)
        return RK_NO_ID;
    source from = {.text = m->nodes.items[json.body].bytes, .locations = json.debug_locations};
    rk_node program;
    if (!read_program(r, &from, &program))
        return RK_NO_ID;
    m->nodes.items[json.body] = program;
    return json.node;
}

// Returns the node of a configuration field, or its substitute. `kernel_hash` is dropped: it hashes
// bytes, locations included, and adds nothing to the module.
static uint32_t read_mosaic_gpu_field(const reader *r, const rk_field *field, bool *out_is_module) {
    enum { HASH_BYTES = 32 };
    rk_model *m = r->model;
    rk_span key = rk_model_string(m, field->name);
    const rk_node *node = &m->nodes.items[field->node];
    *out_is_module = false;
    if (node->kind != RK_NODE_STRING)
        return field->node;
    if (rk_span_is(key, "kernel_hash") && node->bytes.len == HASH_BYTES)
        return rk_model_add_node(m, (rk_node){.kind = RK_NODE_UNIT, .name = RK_NO_ID});
    *out_is_module = rk_span_is(key, "module") && rk_mlir_is_bytecode(node->bytes);
    if (!*out_is_module)
        return field->node;
    source from = {.code = node->bytes};
    rk_node program;
    return read_program(r, &from, &program) ? rk_model_add_node(m, program) : RK_NO_ID;
}

// A dictionary with a module.
static uint32_t read_mosaic_gpu(const reader *r, uint32_t id) {
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

static uint32_t other_of(const reader *r, target to, uint32_t id) {
    rk_model *m = r->model;
    rk_model before = *m;
    uint32_t other = to == TARGET_TPU ? read_tpu(r, id) : read_mosaic_gpu(r, id);
    if (other != RK_NO_ID)
        return other;
    m->strings.count = before.strings.count;
    m->nodes.count = before.nodes.count;
    m->fields.count = before.fields.count;
    while (m->payloads.count > before.payloads.count)
        rk_model_free(m->payloads.items[--m->payloads.count]);
    return id;
}

uint32_t rk_payload_read_node(rk_model *model, unsigned flags, bool keeps_programs,
                              rk_span target_name, uint32_t node) {
    reader r = {.model = model, .flags = flags, .keeps_programs = keeps_programs};
    if (!model->payload_bytes_left || model->out_of_memory)
        return node;
    return other_of(&r, target_of(target_name), node);
}

// Returns the index of the attribute that may be a payload, or the end of the operation's
// attributes.
static uint32_t find_payload(const rk_model *m, const rk_op *op, rk_span target_name) {
    uint32_t i = op->first_attr, end = op->first_attr + op->attr_count;
    while (i < end && !rk_payload_may_be(target_name, rk_model_string(m, m->fields.items[i].name)))
        i++;
    return i;
}

void rk_payload_read(rk_model *m, unsigned flags, bool keeps_programs, rk_op *op) {
    uint32_t name = rk_model_attr(m, op, "call_target_name");
    if (name == RK_NO_ID || m->nodes.items[name].kind != RK_NODE_STRING)
        return;
    rk_span called = m->nodes.items[name].bytes;
    uint32_t at = find_payload(m, op, called), end = op->first_attr + op->attr_count;
    uint32_t node = at < end ? m->fields.items[at].node : RK_NO_ID;
    // The kind shows which target the attribute belongs to.
    rk_node_kind kind = target_of(called) == TARGET_TPU ? RK_NODE_STRING : RK_NODE_DICT;
    if (node == RK_NO_ID || m->nodes.items[node].kind != kind)
        return;
    uint32_t *other = rk_model_payload_node(m, node);
    if (!other)
        return;
    if (*other == RK_NO_ID)
        *other = rk_payload_read_node(m, flags, keeps_programs, called, node);
    if (*other == node)
        return;
    // Other operations may share the attributes, so this operation gets a copy.
    uint32_t first = m->fields.count;
    for (uint32_t i = op->first_attr; i < end; i++) {
        rk_field attr = m->fields.items[i];
        if (rk_model_add_field(m, attr.name, i == at ? *other : attr.node) == RK_NO_ID)
            return; // the model records that memory is short
    }
    op->first_attr = first;
}
