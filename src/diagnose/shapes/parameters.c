#include "diagnose/shapes/parameters.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "program/text.h"

// Limits: a program may have thousands of parameters, and a malicious one nested tuples.
enum { TEXT_MAX_BYTES = 16 << 20, DEPTH_MAX = 32, ELEMENTS_SHOWN = 4 };

void rk_parameters_cleanup(rk_parameters *parameters) {
    rk_buf_cleanup(&parameters->text);
    rk_free(parameters->dims);
    *parameters = (rk_parameters){0};
}

static rk_err *add_dimension(rk_parameters *p, int64_t dimension) {
    enum { FIRST_CAPACITY = 16 };
    if (p->dim_count == p->dim_capacity) {
        size_t larger = p->dim_capacity ? 2 * p->dim_capacity : FIRST_CAPACITY;
        int64_t *dims = rk_realloc(p->dims, larger * sizeof *dims);
        if (!dims)
            return rk_err_no_memory();
        p->dims = dims;
        p->dim_capacity = larger;
    }
    p->dims[p->dim_count++] = dimension;
    return NULL;
}

static rk_err *add_type(const rk_model *model, uint32_t id, unsigned depth, rk_parameters *p);

static rk_err *add_shaped(const rk_model *model, const rk_node *type, rk_parameters *p) {
    uint32_t element = model->fields.items[type->first_field].node;
    rk_node_print(model, element, ELEMENTS_SHOWN, &p->text);
    rk_buf_add_byte(&p->text, '[');
    for (size_t at = 0; at + sizeof(int64_t) <= type->bytes.len; at += sizeof(int64_t)) {
        if (at > 0)
            rk_buf_add_byte(&p->text, ',');
        rk_buf_add_byte(&p->text, RK_PARAMETERS_HOLE);
        RK_TRY(add_dimension(p, (int64_t)rk_load_u64le(type->bytes.data + at)));
    }
    rk_buf_add_byte(&p->text, ']');
    return NULL;
}

static rk_err *add_tuple(const rk_model *model, const rk_node *type, unsigned depth,
                         rk_parameters *p) {
    rk_buf_add_byte(&p->text, '(');
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (i > 0)
            rk_buf_add_byte(&p->text, ',');
        RK_TRY(add_type(model, model->fields.items[type->first_field + i].node, depth + 1, p));
    }
    rk_buf_add_byte(&p->text, ')');
    return NULL;
}

static rk_err *add_type(const rk_model *model, uint32_t id, unsigned depth, rk_parameters *p) {
    const rk_node *type = id == RK_NO_ID ? NULL : &model->nodes.items[id];
    rk_span name = type ? rk_model_string(model, type->name) : rk_span_text("?");
    bool is_type = type && type->kind == RK_NODE_TYPE && type->field_count > 0;
    if (is_type && rk_span_is(name, "tensor"))
        return add_shaped(model, type, p);
    if (is_type && rk_span_is(name, "tuple") && depth < DEPTH_MAX)
        return add_tuple(model, type, depth, p);
    if (type)
        rk_node_print(model, id, ELEMENTS_SHOWN, &p->text);
    return rk_buf_status(&p->text);
}

static rk_err *add_next(const rk_model *model, uint32_t type, rk_parameters *p) {
    if (p->text.len > 0)
        rk_buf_add_byte(&p->text, ',');
    return add_type(model, type, 0, p);
}

// The parameters of a function are the arguments of its first block.
static rk_err *read_function(const rk_model *model, const rk_op *op, rk_parameters *p) {
    const rk_block *block =
        &model->blocks.items[model->regions.items[op->first_region].first_block];
    for (uint32_t i = 0; i < block->arg_count; i++)
        RK_TRY(add_next(model, model->values.items[block->first_arg + i].type, p));
    return rk_buf_status(&p->text);
}

// The parameters of an HLO computation are operations in its body.
static rk_err *read_computation(const rk_model *model, const rk_op *op, rk_parameters *p) {
    const rk_block *block =
        &model->blocks.items[model->regions.items[op->first_region].first_block];
    for (uint32_t i = block->first_op; i < block->end_op; i = model->ops.items[i].end) {
        const rk_op *inner = &model->ops.items[i];
        if (inner->result_count == 1 &&
            rk_span_is(rk_model_string(model, inner->name), "hlo.parameter"))
            RK_TRY(add_next(model, model->values.items[inner->first_result].type, p));
    }
    return rk_buf_status(&p->text);
}

static bool is_public(const rk_model *model, const rk_op *op) {
    uint32_t visibility = rk_model_attr(model, op, "sym_visibility");
    return visibility == RK_NO_ID || !rk_span_is(model->nodes.items[visibility].bytes, "private");
}

static bool has_body(const rk_model *model, const rk_op *op) {
    return op->region_count == 1 && model->regions.items[op->first_region].block_count > 0;
}

rk_err *rk_parameters_read(const rk_model *model, rk_parameters *out_parameters) {
    out_parameters->text.max = TEXT_MAX_BYTES;
    for (uint32_t i = 1; i < model->ops.count; i = model->ops.items[i].end) {
        const rk_op *op = &model->ops.items[i];
        rk_span name = rk_model_string(model, op->name);
        if (!has_body(model, op))
            continue;
        if (rk_span_is(name, "func.func") && is_public(model, op))
            return read_function(model, op, out_parameters);
        if (rk_span_is(name, "hlo.computation") && rk_model_attr(model, op, "entry") != RK_NO_ID)
            return read_computation(model, op, out_parameters);
    }
    return rk_error(RK_INVALID_ARGUMENT, "the program has no entry function");
}

void rk_parameters_print(const rk_parameters *parameters, const rk_parameters_symbol *symbols,
                         size_t count, rk_buf *out) {
    size_t next = 0;
    for (size_t i = 0; i < parameters->text.len; i++) {
        uint8_t byte = parameters->text.data[i];
        if (byte != RK_PARAMETERS_HOLE) {
            rk_buf_add_byte(out, byte);
            continue;
        }
        if (count > 0 && symbols->hole == next) {
            rk_buf_add_text(out, symbols->text);
            symbols++;
            count--;
        } else if (parameters->dims[next] < 0) {
            rk_buf_add_byte(out, '?');
        } else {
            rk_buf_add_format(out, "%lld", (long long)parameters->dims[next]);
        }
        next++;
    }
}

// FNV-1a.
static uint64_t hash_of(rk_span text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ text.data[i]) * 0x100000001b3u;
    return hash;
}

static int by_value(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

// A model may have one name under several ids, so the texts are compared.
uint64_t rk_parameters_operations(const rk_model *model) {
    rk_autofree uint8_t *seen = rk_calloc(model->strings.count + 1, 1);
    rk_autofree uint64_t *hashes = rk_calloc(model->strings.count + 1, sizeof *hashes);
    size_t count = 0;
    uint64_t sum = 0;
    if (!seen || !hashes)
        return 0;
    for (uint32_t i = 0; i < model->ops.count; i++) {
        uint32_t name = model->ops.items[i].name;
        if (name == RK_NO_ID || seen[name])
            continue;
        seen[name] = 1;
        hashes[count++] = hash_of(rk_model_string(model, name));
    }
    if (count)
        qsort(hashes, count, sizeof *hashes, by_value);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || hashes[i] != hashes[i - 1])
            sum += hashes[i];
    return sum;
}
