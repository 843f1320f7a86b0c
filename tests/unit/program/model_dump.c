// Prints the neutral model of a program as JSON, one operation per line, for comparison with other
// readers.
//     model_dump [--locations] [--text] [--format mlir|hlo|hlo_with_config] FILE
//                                   with --text: as readable text, with complete constants
//     model_dump --time N FILE      prints the time of N reads
//     model_dump --inspect FILE…    prints what rk_program_inspect finds, one line per file, as
//     JSON
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/sys.h"
#include "program/program.h"
#include "program/read.h"
#include "program/text.h"
#include "support/peak.h"

static const char *const KINDS[] = {
    [RK_NODE_UNIT] = "unit",         [RK_NODE_BOOL] = "bool",
    [RK_NODE_INT] = "int",           [RK_NODE_FLOAT] = "float",
    [RK_NODE_STRING] = "string",     [RK_NODE_SYMBOL] = "symbol",
    [RK_NODE_ENUM] = "enum",         [RK_NODE_LIST] = "list",
    [RK_NODE_DICT] = "dict",         [RK_NODE_INTS] = "ints",
    [RK_NODE_ELEMENTS] = "elements", [RK_NODE_STRUCT] = "struct",
    [RK_NODE_TYPE] = "type",         [RK_NODE_OPAQUE] = "opaque",
    [RK_NODE_PROGRAM] = "program",   [RK_NODE_LOC_UNKNOWN] = "loc_unknown",
    [RK_NODE_LOC_FILE] = "loc_file", [RK_NODE_LOC_NAME] = "loc_name",
    [RK_NODE_LOC_CALL] = "loc_call", [RK_NODE_LOC_FUSED] = "loc_fused",
};

static void add_hex(rk_json *json, rk_span bytes) {
    RK_AUTO(rk_buf) hex = {0};
    rk_buf_add_hex(&hex, bytes);
    rk_json_text(json, rk_buf_span(&hex));
}

// [kind, name, width, value, bytes in hex, [[field name, node]…]]
static void add_node(rk_json *json, const rk_model *model, uint32_t id) {
    if (id == RK_NO_ID) {
        rk_json_null(json);
        return;
    }
    const rk_node *node = &model->nodes.items[id];
    rk_json_begin_array(json);
    rk_json_string(json, KINDS[node->kind]);
    rk_json_text(json, rk_model_string(model, node->name));
    rk_json_uint(json, node->width);
    rk_json_uint(json, node->value);
    add_hex(json, node->bytes);
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_field *field = &model->fields.items[node->first_field + i];
        if (field->node >= id)
            abort(); // children have lower numbers than their parents
        rk_json_begin_array(json);
        rk_json_text(json, rk_model_string(model, field->name));
        add_node(json, model, field->node);
        rk_json_end_array(json);
    }
    rk_json_end_array(json);
    rk_json_end_array(json);
}

static void add_values(rk_json *json, const rk_model *model, const char *key, uint32_t first,
                       uint32_t count) {
    rk_json_key(json, key);
    rk_json_begin_array(json);
    for (uint32_t i = first; i < first + count; i++) {
        rk_json_begin_array(json);
        rk_json_uint(json, i);
        add_node(json, model, model->values.items[i].type);
        add_node(json, model, model->values.items[i].location);
        rk_json_end_array(json);
    }
    rk_json_end_array(json);
}

static void add_ids(rk_json *json, const char *key, const uint32_t *items, uint32_t first,
                    uint32_t count) {
    rk_json_key(json, key);
    rk_json_begin_array(json);
    for (uint32_t i = first; i < first + count; i++)
        rk_json_uint(json, items[i]);
    rk_json_end_array(json);
}

// Adds the operations of a block by their line numbers, which express the nesting.
static void add_blocks(rk_json *json, const rk_model *model, const rk_region *region) {
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < region->block_count; i++) {
        const rk_block *block = &model->blocks.items[region->first_block + i];
        rk_json_begin_object(json);
        add_values(json, model, "args", block->first_arg, block->arg_count);
        rk_json_key(json, "ops");
        rk_json_begin_array(json);
        for (uint32_t op = block->first_op; op < block->end_op; op = model->ops.items[op].end)
            rk_json_uint(json, op);
        rk_json_end_array(json);
        rk_json_end_object(json);
    }
    rk_json_end_array(json);
}

static void add_op(rk_json *json, const rk_model *model, const rk_op *op) {
    rk_json_begin_object(json);
    rk_json_member_text(json, "op", rk_model_string(model, op->name));
    add_ids(json, "operands", model->operands.items, op->first_operand, op->operand_count);
    add_values(json, model, "results", op->first_result, op->result_count);
    add_ids(json, "successors", model->successors.items, op->first_successor, op->successor_count);
    rk_json_key(json, "attrs");
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const rk_field *field = &model->fields.items[op->first_attr + i];
        rk_json_begin_array(json);
        rk_json_text(json, rk_model_string(model, field->name));
        add_node(json, model, field->node);
        rk_json_end_array(json);
    }
    rk_json_end_array(json);
    rk_json_key(json, "regions");
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < op->region_count; i++)
        add_blocks(json, model, &model->regions.items[op->first_region + i]);
    rk_json_end_array(json);
    rk_json_key(json, "location");
    add_node(json, model, op->location);
    rk_json_end_object(json);
}

static void print_model(const rk_model *model, size_t peak_bytes) {
    for (uint32_t i = 0; i < model->ops.count; i++) {
        RK_AUTO(rk_buf) line = {0};
        rk_json json = rk_json_on(&line);
        add_op(&json, model, &model->ops.items[i]);
        (void)puts(rk_buf_text(&line));
    }
    (void)printf("{\"producer\":\"%s\",\"opaque\":%u,\"reason\":\"%s\",\"peak_bytes\":%zu}\n",
                 model->producer, model->opaque_count,
                 model->opaque_reason ? model->opaque_reason : "", peak_bytes);
}

static rk_err *print_text(const rk_model *model) {
    RK_AUTO(rk_buf) text = {0};
    rk_text_options options = {.locations = true, .elements_max = SIZE_MAX};
    RK_TRY(rk_program_print(model, &options, &text));
    (void)fwrite(text.data, 1, text.len, stdout);
    return NULL;
}

static int complain(rk_err *err, const char *reason) {
    (void)fprintf(stderr, "%s\n", err ? rk_err_message(err) : reason);
    rk_err_free(err);
    return 1;
}

static int time_reading(rk_span code, rk_span format, unsigned flags, long rounds) {
    uint64_t best = UINT64_MAX;
    for (long i = 0; i < rounds; i++) {
        rk_model *model;
        rk_autofree char *reason = NULL;
        uint64_t start = rk_monotonic_ns();
        rk_err *err = rk_model_read(code, format, flags, &model, &reason);
        uint64_t took = rk_monotonic_ns() - start;
        if (err || !model)
            return complain(err, reason);
        best = took < best ? took : best;
        rk_model_free(model);
    }
    (void)printf("%zu bytes, %.1f us, %.0f MB/s\n", code.len, (double)best / 1e3,
                 (double)code.len * 1e3 / (double)best);
    return 0;
}

static int inspect(const char *path, const char *format) {
    RK_AUTO(rk_buf) code = {0}, line = {0}, hex = {0};
    rk_program_info info = {0};
    rk_err *err = rk_fs_read(path, RK_BUF_DEFAULT_MAX, &code);
    uint64_t start = rk_monotonic_ns();
    if (!err)
        err = rk_program_inspect(rk_buf_span(&code), rk_span_text(format), &info);
    uint64_t took = rk_monotonic_ns() - start;
    if (err)
        return complain(err, NULL);
    rk_buf_add_hex(&hex, rk_digest_span(&info.fingerprint));
    rk_json json = rk_json_on(&line);
    rk_json_begin_object(&json);
    rk_json_member_text(&json, "fingerprint", rk_buf_span(&hex));
    rk_json_member_string(&json, "by_bytes", info.by_bytes);
    rk_json_member_string(&json, "uncacheable", info.uncacheable);
    rk_json_member_uint(&json, "ns", took);
    rk_json_end_object(&json);
    (void)puts(rk_buf_text(&line));
    rk_program_info_cleanup(&info);
    return 0;
}

int main(int argc, char **argv) {
    unsigned flags = 0;
    long rounds = 0;
    bool as_text = false;
    const char *format = "mlir", *path = NULL;
    if (argc > 1 && strcmp(argv[1], "--inspect") == 0) {
        for (int i = 2; i < argc; i++)
            if (inspect(argv[i], format))
                return 1;
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--locations") == 0)
            flags |= RK_READ_LOCATIONS;
        else if (strcmp(argv[i], "--text") == 0)
            as_text = true;
        else if (strcmp(argv[i], "--format") == 0 && i + 1 < argc)
            format = argv[++i];
        else if (strcmp(argv[i], "--time") == 0 && i + 1 < argc)
            rounds = strtol(argv[++i], NULL, 10);
        else
            path = argv[i];
    }
    RK_AUTO(rk_buf) code = {0};
    if (!path)
        return complain(NULL, "usage: model_dump [--locations] [--format FORMAT] FILE");
    rk_err *err = rk_fs_read(path, RK_BUF_DEFAULT_MAX, &code);
    if (err)
        return complain(err, NULL);
    if (rounds)
        return time_reading(rk_buf_span(&code), rk_span_text(format), flags, rounds);
    rk_model *model;
    rk_autofree char *reason = NULL;
    rk_peak_begin();
    err = rk_model_read(rk_buf_span(&code), rk_span_text(format), flags, &model, &reason);
    if (err || !model)
        return complain(err, reason);
    size_t peak_bytes = rk_peak_bytes();
    rk_peak_end();
    if (as_text)
        err = print_text(model);
    else
        print_model(model, peak_bytes);
    rk_model_free(model);
    return err ? complain(err, NULL) : 0;
}
