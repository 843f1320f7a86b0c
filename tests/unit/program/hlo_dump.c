// Prints the neutral model of HLO programs as JSON, for compare_hlo.py.
//
// usage: hlo_dump [--locations] FILE... (HloModuleProto; one line of JSON per file)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "program/read.h"
#include "support/peak.h"

static const rk_model *model;

static void put_node(rk_json *json, uint32_t id);

static void put_name(rk_json *json, const char *key, uint32_t name) {
    rk_json_member_text(json, key, rk_model_string(model, name));
}

static void put_ints(rk_json *json, rk_span bytes) {
    rk_json_begin_array(json);
    for (size_t i = 0; i < bytes.len; i += 8)
        rk_json_int(json, (int64_t)rk_load_u64le(bytes.data + i));
    rk_json_end_array(json);
}

static void put_hex(rk_json *json, rk_span bytes) {
    RK_AUTO(rk_buf) hex = {0};
    rk_buf_add_hex(&hex, bytes);
    rk_json_text(json, rk_buf_span(&hex));
}

static void put_fields(rk_json *json, const rk_node *node) {
    rk_json_key(json, "fields");
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_field *field = &model->fields.items[node->first_field + i];
        rk_json_begin_array(json);
        rk_json_text(json, rk_model_string(model, field->name));
        put_node(json, field->node);
        rk_json_end_array(json);
    }
    rk_json_end_array(json);
}

static void put_node(rk_json *json, uint32_t id) {
    static const char *const KINDS[] = {
        "unit",    "bool",        "int",      "float",    "string",   "symbol",    "enum",
        "list",    "dict",        "ints",     "elements", "struct",   "type",      "opaque",
        "program", "loc_unknown", "loc_file", "loc_name", "loc_call", "loc_fused",
    };
    const rk_node *node = &model->nodes.items[id];
    rk_json_begin_object(json);
    rk_json_member_string(json, "kind", KINDS[node->kind]);
    if (node->name != RK_NO_ID)
        put_name(json, "name", node->name);
    if (node->kind == RK_NODE_INTS || node->kind == RK_NODE_TYPE) {
        rk_json_key(json, "ints");
        put_ints(json, node->bytes);
    } else if (node->kind == RK_NODE_ELEMENTS || node->kind == RK_NODE_OPAQUE ||
               node->kind == RK_NODE_PROGRAM) {
        rk_json_key(json, "hex");
        put_hex(json, node->bytes);
    } else if (node->bytes.len) {
        rk_json_member_text(json, "text", node->bytes);
    }
    rk_json_member_uint(json, "value", node->value);
    rk_json_member_uint(json, "width", node->width);
    put_fields(json, node);
    rk_json_end_object(json);
}

static void put_op(rk_json *json, const rk_op *op) {
    rk_json_begin_object(json);
    put_name(json, "name", op->name);
    rk_json_member_uint(json, "end", op->end);
    rk_json_key(json, "operands");
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < op->operand_count; i++)
        rk_json_uint(json, model->operands.items[op->first_operand + i]);
    rk_json_end_array(json);
    rk_json_key(json, "results");
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < op->result_count; i++)
        put_node(json, model->values.items[op->first_result + i].type);
    rk_json_end_array(json);
    rk_json_member_uint(json, "first_result", op->first_result);
    rk_json_key(json, "attrs");
    rk_json_begin_object(json);
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const rk_field *field = &model->fields.items[op->first_attr + i];
        rk_span name = rk_model_string(model, field->name);
        char *key = strndup((const char *)name.data, name.len);
        rk_json_key(json, key);
        free(key);
        put_node(json, field->node);
    }
    rk_json_end_object(json);
    if (op->location != RK_NO_ID) {
        rk_json_key(json, "location");
        put_node(json, op->location);
    }
    rk_json_end_object(json);
}

static int dump(const char *path, unsigned flags) {
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) out = {0};
    rk_model *read = NULL;
    char *reason = NULL;
    rk_err *err = rk_fs_read(path, (size_t)1 << 30, &code);
    rk_peak_begin();
    if (!err)
        err = rk_model_read(rk_buf_span(&code), rk_span_text("hlo"), flags, &read, &reason);
    if (err || !read) {
        fprintf(stderr, "%s: %s\n", path, err ? rk_err_message(err) : reason);
        return 1;
    }
    model = read;
    size_t peak_bytes = rk_peak_bytes();
    rk_peak_end();
    rk_json json = rk_json_on(&out);
    rk_json_begin_object(&json);
    rk_json_member_uint(&json, "peak_bytes", peak_bytes);
    rk_json_member_uint(&json, "opaque", model->opaque_count);
    rk_json_member_string(&json, "opaque_reason", model->opaque_reason);
    rk_json_key(&json, "ops");
    rk_json_begin_array(&json);
    for (uint32_t i = 0; i < model->ops.count; i++)
        put_op(&json, &model->ops.items[i]);
    rk_json_end_array(&json);
    rk_json_end_object(&json);
    printf("%s\n", rk_buf_text(&out));
    rk_model_free(read);
    return 0;
}

int main(int argc, char **argv) {
    unsigned flags = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--locations") == 0)
            flags |= RK_READ_LOCATIONS;
        else
            failed |= dump(argv[i], flags);
    }
    return failed;
}
