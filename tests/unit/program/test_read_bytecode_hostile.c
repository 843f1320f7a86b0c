// Bytes that no framework sends: prefixes of real programs, random damage, short memory. The reader
// must return a valid result with memory in proportion to the input.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "program/read.h"
#include "support/peak.h"

enum {
    ROUNDS = 1500, // rounds of damage per program
    CUTS = 97,     // distance of the cuts in bytes
    MEMORY_FACTOR = 64,
    MEMORY_LEAST_BYTES = 1 << 18,
    MEMORY_REPORT_BYTES = 1 << 10, // for smaller programs the fixed part dominates
};

// Every number in the model refers to an existing item.

static void check_node(const rk_model *model, uint32_t id) {
    const rk_node *node = &model->nodes.items[id];
    assert_true(node->name == RK_NO_ID || node->name < model->strings.count);
    for (uint32_t i = 0; i < node->field_count; i++) {
        assert_true(node->first_field + i < model->fields.count);
        assert_true(model->fields.items[node->first_field + i].node < id);
    }
    if (node->kind == RK_NODE_ELEMENTS || node->kind == RK_NODE_INT)
        assert_true(node->field_count >= 1);
    for (size_t i = 0; i < node->bytes.len; i += 64)
        assert_true(node->bytes.data[i] <= UINT8_MAX); // checks that the byte can be read
}

static void check_op(const rk_model *model, uint32_t id) {
    const rk_op *op = &model->ops.items[id];
    assert_true(op->name < model->strings.count);
    assert_true(op->end > id && op->end <= model->ops.count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        assert_true(model->operands.items[op->first_operand + i] < model->values.count);
    for (uint32_t i = 0; i < op->result_count; i++)
        assert_true(op->first_result + i < model->values.count);
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const rk_field *field = &model->fields.items[op->first_attr + i];
        assert_true(field->node < model->nodes.count && field->name < model->strings.count);
        if (i)
            assert_true(rk_span_compare(rk_model_string(model, field[-1].name),
                                        rk_model_string(model, field->name)) <= 0);
    }
    for (uint32_t i = 0; i < op->region_count; i++) {
        const rk_region *region = &model->regions.items[op->first_region + i];
        for (uint32_t j = 0; j < region->block_count; j++) {
            const rk_block *block = &model->blocks.items[region->first_block + j];
            assert_true(block->first_op > id && block->first_op <= block->end_op);
            assert_true(block->end_op <= op->end);
            assert_true(!block->arg_count ||
                        block->first_arg + block->arg_count <= model->values.count);
        }
    }
}

static void check_model(const rk_model *model) {
    for (uint32_t i = 0; i < model->nodes.count; i++)
        check_node(model, i);
    for (uint32_t i = 0; i < model->ops.count; i++)
        check_op(model, i);
    for (uint32_t i = 0; i < model->values.count; i++)
        assert_true(model->values.items[i].type < model->nodes.count);
}

static double worst_times; // ratio to the program's size

// Uses a block of exactly this size, so that the sanitizer detects reads outside of it.
static void read_code(rk_span code, unsigned flags) {
    rk_model *model;
    char *reason;
    uint8_t *copy = malloc(code.len ? code.len : 1);
    assert_non_null(copy);
    if (code.len)
        memcpy(copy, code.data, code.len);
    rk_peak_begin();
    rk_err *err =
        rk_model_read(rk_span_of(copy, code.len), rk_span_text("mlir"), flags, &model, &reason);
    assert_true(rk_peak_bytes() <= MEMORY_FACTOR * code.len + MEMORY_LEAST_BYTES);
    double times = code.len > MEMORY_REPORT_BYTES ? (double)rk_peak_bytes() / (double)code.len : 0;
    worst_times = times > worst_times ? times : worst_times;
    if (err)
        assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
    else if (model)
        check_model(model);
    else
        assert_non_null(reason);
    rk_err_free(err);
    rk_model_free(model);
    rk_free(reason);
    assert_int_equal(rk_peak_left_bytes(), 0);
    rk_peak_end();
    free(copy);
}

static uint64_t next_random(uint64_t *state) { // xorshift64
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void damage(rk_buf *data, uint64_t *random) {
    static const uint8_t NASTY[] = {0x00, 0x01, 0x03, 0x05, 0x7F, 0x80, 0xFE, 0xFF};
    for (uint64_t left = 1 + next_random(random) % 4; left; left--) {
        size_t at = (size_t)(next_random(random) % data->len);
        uint64_t how = next_random(random);
        if (how % 3 == 0)
            data->data[at] = NASTY[how / 3 % sizeof NASTY];
        else if (how % 3 == 1)
            data->data[at] = (uint8_t)(how >> 8);
        else
            data->data[at] = (uint8_t)(data->data[at] + 2);
    }
}

static rk_buf read_program(const char *name) {
    char path[1024];
    rk_buf data = {0};
    (void)snprintf(path, sizeof path, "%s/versions/%s", RK_TEST_DATA, name);
    rk_err *err = rk_fs_read(path, 1 << 20, &data);
    if (err)
        fail_msg("%s", rk_err_message(err));
    return data;
}

static void with_each_program(void (*visit)(const rk_buf *data, uint64_t *random)) {
    uint64_t random = 88172645463325252u;
    size_t seen = 0;
    DIR *directory = opendir(RK_TEST_DATA "/versions");
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (!suffix || strcmp(suffix, ".mlir") != 0)
            continue;
        rk_buf data = read_program(entry->d_name);
        visit(&data, &random);
        rk_buf_cleanup(&data);
        seen++;
    }
    (void)closedir(directory);
    assert_true(seen >= 12);
}

static void cut(const rk_buf *data, uint64_t *random) {
    (void)random;
    for (size_t len = 0; len <= data->len; len += len < CUTS ? 1 : CUTS)
        read_code(rk_span_of(data->data, len), RK_READ_LOCATIONS);
    read_code(rk_buf_span(data), 0);
}

static void spoil(const rk_buf *data, uint64_t *random) {
    RK_AUTO(rk_buf) spoiled = {0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        rk_buf_clear(&spoiled);
        rk_buf_add_span(&spoiled, rk_buf_span(data));
        damage(&spoiled, random);
        read_code(rk_buf_span(&spoiled), round & RK_READ_LOCATIONS);
    }
}

static void cut_programs(void **state) {
    (void)state;
    with_each_program(cut);
}

static void spoiled_programs(void **state) {
    (void)state;
    with_each_program(spoil);
}

static size_t allocations_left;

static void *failing_malloc(size_t size_bytes) {
    return allocations_left && allocations_left-- ? malloc(size_bytes) : NULL;
}

static void *failing_realloc(void *ptr, size_t size_bytes) {
    return allocations_left && allocations_left-- ? realloc(ptr, size_bytes) : NULL;
}

static const rk_alloc_table failing = {failing_malloc, failing_realloc, free};

// A failed allocation gives an error and never a wrong model.
static void short_memory(void **state) {
    (void)state;
    rk_buf data = read_program("vhlo_1.17.0.mlir");
    size_t failures = 0;
    for (size_t n = 0;; n++) {
        rk_model *model;
        char *reason;
        allocations_left = n;
        rk_alloc_replace(&failing);
        rk_err *err = rk_model_read(rk_buf_span(&data), rk_span_text("mlir"), RK_READ_LOCATIONS,
                                    &model, &reason);
        bool enough = allocations_left > 0;
        rk_alloc_replace(NULL);
        if (err)
            assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
        failures += err != NULL;
        rk_err_free(err);
        if (enough) {
            assert_null(err);
            assert_non_null(model);
            assert_int_equal(model->opaque_count, 0);
        }
        rk_model_free(model);
        rk_free(reason);
        if (enough)
            break;
    }
    assert_true(failures >= 10);
    rk_buf_cleanup(&data);
}

static void memory_is_reported(void **state) {
    (void)state;
    print_message("most memory for reading: %.1f times the program\n", worst_times);
    assert_true(worst_times > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_programs),
        cmocka_unit_test(spoiled_programs),
        cmocka_unit_test(short_memory),
        cmocka_unit_test(memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
