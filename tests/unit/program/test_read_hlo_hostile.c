// HLO programs that no framework sends: cut, damaged, or made to be expensive. The reader must
// return any result within the documented memory and without a read out of bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fixture.h"
#include "program/read.h"
#include "support/faults.h"
#include "support/peak.h"
#include "test_read_hlo_support.h"

static const char *const FIXTURES[] = {
    "hlo_collectives.hlo", "hlo_cond.hlo",           "hlo_custom_call.hlo",
    "hlo_dynamic.hlo",     "hlo_layouts.hlo",        "hlo_sharded_matmul_compiled.hlo",
    "hlo_shardings.hlo",   "hlo_tuple_constant.hlo", "hlo_cond_compiled.hlo",
};

// Uses a block of exactly this size, so that the sanitizer detects reads outside of it.
static void read_any(rk_span code) {
    uint8_t *copy = malloc(code.len ? code.len : 1);
    assert_non_null(copy);
    if (code.len)
        memcpy(copy, code.data, code.len);
    for (unsigned flags = 0; flags <= RK_READ_LOCATIONS; flags++) {
        rk_model *model = NULL;
        char *reason = NULL;
        rk_err *err =
            rk_model_read(rk_span_of(copy, code.len), rk_span_text("hlo"), flags, &model, &reason);
        assert_true(!err || rk_err_code(err) == RK_RESOURCE_EXHAUSTED);
        assert_int_equal((err != NULL) + (model != NULL) + (reason != NULL), 1);
        if (model)
            rk_test_check_model(model);
        rk_model_free(model);
        rk_free(reason);
        rk_err_free(err);
    }
    free(copy);
}

static void every_prefix_has_an_answer(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(FIXTURES); i++) {
        RK_AUTO(rk_buf) code = rk_test_program(FIXTURES[i]);
        for (size_t len = 0; len <= code.len; len++)
            read_any(rk_span_of(code.data, len));
    }
}

static uint64_t next_random(uint64_t *state) { // xorshift64
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void damage_has_an_answer(void **state) {
    (void)state;
    enum { ROUNDS = 1500 };
    static const uint8_t NASTY[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < RK_ARRAY_LEN(FIXTURES); i++) {
        RK_AUTO(rk_buf) code = rk_test_program(FIXTURES[i]);
        RK_AUTO(rk_buf) spoiled = {0};
        for (size_t round = 0; round < ROUNDS; round++) {
            rk_buf_clear(&spoiled);
            rk_buf_add_span(&spoiled, rk_buf_span(&code));
            for (uint64_t count = 1 + next_random(&random) % 4; count; count--) {
                size_t at = (size_t)(next_random(&random) % spoiled.len);
                uint64_t how = next_random(&random);
                spoiled.data[at] = how & 1 ? NASTY[how / 2 % sizeof NASTY] : (uint8_t)(how >> 8);
            }
            read_any(rk_buf_span(&spoiled));
        }
    }
}

static double worst_times; // ratio to the program's size

static void read_within_memory(rk_buf *code) {
    enum { MOST_TIMES = 64, LEAST_BYTES = 1 << 17 };
    rk_peak_begin();
    for (unsigned flags = 0; flags <= RK_READ_LOCATIONS; flags++) {
        rk_model *model = NULL;
        char *reason = NULL;
        rk_err_free(rk_model_read(rk_buf_span(code), rk_span_text("hlo"), flags, &model, &reason));
        rk_model_free(model);
        rk_free(reason);
    }
    rk_peak_end();
    assert_true(rk_peak_bytes() <= MOST_TIMES * code->len + LEAST_BYTES);
    double times =
        code->len > LEAST_BYTES / MOST_TIMES ? (double)rk_peak_bytes() / (double)code->len : 0;
    worst_times = times > worst_times ? times : worst_times;
    rk_buf_cleanup(code);
}

static rk_buf repeated_in_instruction(uint32_t number, rk_span content, size_t times) {
    RK_AUTO(rk_buf) more = {0};
    for (size_t i = 0; i < times; i++)
        rk_proto_add_bytes_field(&more, number, content);
    return rk_test_module_with(&more);
}

static void little_bytes_do_not_cost_much(void **state) {
    (void)state;
    enum { TIMES = 100000 };
    static uint8_t ones[TIMES];
    memset(ones, 1, sizeof ones);
    rk_buf code = {0};
    for (size_t i = 0; i < TIMES; i++)
        rk_test_add_text(&code, 3, ""); // computations
    read_within_memory(&code);
    RK_AUTO(rk_buf) computation = {0};
    for (size_t i = 0; i < TIMES; i++)
        rk_test_add_text(&computation, 2, ""); // instructions
    rk_test_add_message(&code, 3, &computation);
    read_within_memory(&code);
    code = repeated_in_instruction(17, rk_span_text(""), TIMES); // slices
    read_within_memory(&code);
    code = repeated_in_instruction(14, rk_span_of(ones, TIMES), 1); // dimensions
    read_within_memory(&code);
    code = repeated_in_instruction(37, rk_span_of(ones, TIMES), 1); // control predecessors
    read_within_memory(&code);
    code = repeated_in_instruction(36, rk_span_of(ones, TIMES), 1); // operands
    read_within_memory(&code);
    RK_AUTO(rk_buf) enums = {0};
    rk_proto_add_bytes_field(&enums, 1, rk_span_of(ones, TIMES));
    code = repeated_in_instruction(51, rk_buf_span(&enums), 1); // precisions
    read_within_memory(&code);
    code = repeated_in_instruction(68, rk_span_text("\x0A\x00"), 1); // one empty map entry
    read_within_memory(&code);
}

// Every field has another number: nothing repeats.
static void unknown_fields_in_disorder(void **state) {
    (void)state;
    enum { TIMES = 20000 };
    RK_AUTO(rk_buf) more = {0};
    for (uint32_t i = TIMES; i; i--)
        rk_proto_add_varint_field(&more, 1000 + i, i);
    rk_buf code = rk_test_module_with(&more);
    rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", 0);
    assert_int_equal(model->ops.items[2].attr_count, TIMES);
    rk_model_free(model);
    read_within_memory(&code);
}

static rk_buf nested(unsigned depth) {
    RK_AUTO(rk_buf) shape = {0};
    for (unsigned i = 0; i < depth; i++) {
        rk_buf outer = {0};
        rk_proto_add_varint_field(&outer, 2, 13);
        rk_test_add_message(&outer, 4, &shape);
        rk_buf_cleanup(&shape);
        shape = outer;
    }
    RK_AUTO(rk_buf) more = {0};
    rk_test_add_message(&more, 29, &shape); // outfeed_shape
    return rk_test_module_with(&more);
}

static void nesting_is_bounded(void **state) {
    (void)state;
    rk_buf code = nested(30);
    rk_model_free(rk_test_read_hlo(rk_buf_span(&code), "hlo", 0));
    rk_buf_cleanup(&code);
    code = nested(2000);
    char *reason = rk_test_refusal(rk_buf_span(&code));
    assert_string_equal(reason, "tuples are nested too deeply");
    rk_free(reason);
    rk_buf_cleanup(&code);
}

// Chains of frames and calls of maximal length.
static void long_chains_are_walked_without_recursion(void **state) {
    (void)state;
    enum { LENGTH = 30000 };
    rk_buf module = {0};
    RK_AUTO(rk_buf) index = {0};
    for (uint64_t i = 1; i <= LENGTH; i++) {
        rk_buf computation = {0}, call = rk_test_instruction("call", 1);
        RK_AUTO(rk_buf) metadata = {0};
        RK_AUTO(rk_buf) frame = {0};
        char name[32];
        (void)snprintf(name, sizeof name, "c%u", (unsigned)i);
        if (i < LENGTH)
            rk_proto_add_varint_field(&call, 38, i + 1);
        rk_proto_add_varint_field(&metadata, 15, i);
        rk_test_add_message(&call, 7, &metadata);
        rk_test_add_instruction(&computation, &call, 0, 0);
        rk_test_add_computation(&module, &computation, name, i, 1);
        rk_proto_add_varint_field(&frame, 2, i + 1);
        rk_test_add_message(&index, 4, &frame);
    }
    rk_proto_add_varint_field(&module, 6, 1);
    rk_test_add_message(&module, 17, &index);
    rk_model *model = rk_test_read_hlo(rk_buf_span(&module), "hlo", RK_READ_LOCATIONS);
    assert_int_equal(model->ops.count, 1 + 2 * LENGTH);
    rk_model_free(model);
    read_within_memory(&module);
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = rk_test_program("hlo_cond_compiled.hlo");
    for (unsigned nth = 1;; nth++) {
        rk_model *model = NULL;
        char *reason = NULL;
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_model_read(rk_buf_span(&code), rk_span_text("hlo"), RK_READ_LOCATIONS,
                                    &model, &reason);
        bool failed = rk_fault_end();
        assert_int_equal(failed, err != NULL);
        assert_int_equal(failed, model == NULL);
        assert_null(reason);
        rk_err_free(err);
        rk_model_free(model);
        if (!failed)
            break;
    }
}

static void memory_is_reported(void **state) {
    (void)state;
    print_message("most memory for reading: %.1f times the program\n", worst_times);
    assert_true(worst_times > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_has_an_answer),
        cmocka_unit_test(damage_has_an_answer),
        cmocka_unit_test(little_bytes_do_not_cost_much),
        cmocka_unit_test(unknown_fields_in_disorder),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(long_chains_are_walked_without_recursion),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
