// Differences that the canonical fingerprint must include or ignore, for pairs of programs that no
// framework makes. tests/e2e/test_edits.py has pairs from frameworks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fixture.h"
#include "program/canon/fingerprint.h"
#include "program/program.h"
#include "program/read.h"
#include "test_read_hlo_support.h"

enum { // field numbers
    ATTRIBUTE_MAP = 1,
    METADATA = 7,
    METADATA_OP_NAME = 2,
    METADATA_SOURCE_LINE = 4,
    METADATA_PROFILE_TYPE = 5,
    METADATA_UNKNOWN = 999,
    CALLED_COMPUTATION_IDS = 38,
    FRONTEND_ATTRIBUTES = 68,
    RESULT_ACCURACY = 91,
    ACCURACY_MODE = 1,
    ACCURACY_TOLERANCE = 2,
    TOLERANCE_ATOL = 1,
    MODULE_ENTRY_ID = 6,
};

static rk_digest fingerprint_of(rk_buf *module) {
    rk_program_info info;
    assert_null(rk_program_inspect(rk_buf_span(module), rk_span_text("hlo"), &info));
    assert_null(info.by_bytes);
    rk_digest fingerprint = info.fingerprint;
    rk_program_info_cleanup(&info);
    rk_buf_cleanup(module);
    return fingerprint;
}

static void assert_differ(rk_digest left, rk_digest right) {
    assert_false(rk_digest_equal(&left, &right));
}

static void assert_same(rk_digest left, rk_digest right) {
    assert_true(rk_digest_equal(&left, &right));
}

// Accuracy.

static rk_digest with_tolerance(uint8_t lowest_byte) {
    RK_AUTO(rk_buf) tolerance = {0}, accuracy = {0}, fields = {0};
    const uint8_t number[] = {TOLERANCE_ATOL << 3 | 1, lowest_byte, 0, 0, 0, 0, 0, 0xF0, 0x3F};
    rk_buf_add(&tolerance, number, sizeof number);
    rk_test_add_message(&accuracy, ACCURACY_TOLERANCE, &tolerance);
    rk_test_add_message(&fields, RESULT_ACCURACY, &accuracy);
    rk_buf module = rk_test_module_with(&fields);
    return fingerprint_of(&module);
}

static rk_digest with_mode(uint64_t mode) {
    RK_AUTO(rk_buf) accuracy = {0}, fields = {0};
    rk_proto_add_varint_field(&accuracy, ACCURACY_MODE, mode);
    rk_test_add_message(&fields, RESULT_ACCURACY, &accuracy);
    rk_buf module = rk_test_module_with(&fields);
    return fingerprint_of(&module);
}

static rk_digest without_fields(void) {
    RK_AUTO(rk_buf) fields = {0};
    rk_buf module = rk_test_module_with(&fields);
    return fingerprint_of(&module);
}

static void accuracy_counts_unless_it_is_the_default(void **state) {
    (void)state;
    assert_differ(with_tolerance(1), with_tolerance(2));
    assert_differ(with_tolerance(1), without_fields());
    assert_differ(with_mode(1), without_fields());
    assert_same(with_mode(0), without_fields());
}

// Metadata.

static rk_digest with_metadata(const char *op_name, uint64_t line, uint64_t profile_type) {
    RK_AUTO(rk_buf) metadata = {0}, fields = {0};
    rk_test_add_text(&metadata, METADATA_OP_NAME, op_name);
    rk_proto_add_varint_field(&metadata, METADATA_SOURCE_LINE, line);
    if (profile_type)
        rk_proto_add_varint_field(&metadata, METADATA_PROFILE_TYPE, profile_type);
    rk_test_add_message(&fields, METADATA, &metadata);
    rk_buf module = rk_test_module_with(&fields);
    return fingerprint_of(&module);
}

static void metadata_counts_where_a_compiler_may_look(void **state) {
    (void)state;
    assert_same(with_metadata("jit(f)/add", 1, 0), with_metadata("jit(g)/add", 2, 0));
    assert_same(with_metadata("jit(f)/add", 1, 0), without_fields());
    assert_same(with_metadata("jit(f)/add", 1, 2), with_metadata("jit(g)/add", 2, 2));
    assert_differ(with_metadata("jit(f)/add", 1, 0), with_metadata("jit(f)/add", 1, 2));
    assert_differ(with_metadata("jit(f)/add", 1, 1), with_metadata("jit(f)/add", 1, 2));
}

static void unknown_metadata_falls_back_to_the_bytes(void **state) {
    (void)state;
    RK_AUTO(rk_buf) metadata = {0}, fields = {0};
    rk_proto_add_varint_field(&metadata, METADATA_UNKNOWN, 1);
    rk_test_add_message(&fields, METADATA, &metadata);
    RK_AUTO(rk_buf) module = rk_test_module_with(&fields);
    rk_program_info info;
    assert_null(rk_program_inspect(rk_buf_span(&module), rk_span_text("hlo"), &info));
    assert_non_null(info.by_bytes);
    rk_program_info_cleanup(&info);
}

// Names of computations.

typedef struct calls {
    const char *names[2];  // computations that the entry calls, in the order of the file
    const char *bodies[2]; // their operations
    uint64_t called[2];    // each 1 or 2
    const char *entry;
    const char *text; // value of a text attribute
} calls;

static const calls PLAIN = {{"a", "b"}, {"sine", "cosine"}, {1, 2}, "main", "text"};

static void add_callee(rk_buf *module, const char *name, const char *body, uint64_t id) {
    rk_buf computation = {0};
    uint64_t first = 10 * id;
    rk_buf parameter = rk_test_instruction("parameter", first);
    rk_test_add_instruction(&computation, &parameter, 0, 0);
    rk_buf operation = rk_test_instruction(body, first + 1);
    rk_test_add_instruction(&computation, &operation, first, 0);
    rk_test_add_computation(module, &computation, name, id, first + 1);
}

static rk_buf make_call(uint64_t id, uint64_t called, const char *text) {
    RK_AUTO(rk_buf) entry = {0}, attributes = {0};
    rk_test_add_text(&entry, 1, "key");
    rk_test_add_text(&entry, 2, text);
    rk_test_add_message(&attributes, ATTRIBUTE_MAP, &entry);
    rk_buf call = rk_test_instruction("call", id);
    rk_test_add_message(&call, FRONTEND_ATTRIBUTES, &attributes);
    rk_proto_add_varint_field(&call, CALLED_COMPUTATION_IDS, called);
    return call;
}

static rk_digest with_calls(calls c) {
    enum { ENTRY_ID = 3, PARAMETER = 30, FIRST_CALL, SECOND_CALL };
    rk_buf module = {0}, computation = {0};
    add_callee(&module, c.names[0], c.bodies[0], 1);
    add_callee(&module, c.names[1], c.bodies[1], 2);
    rk_buf parameter = rk_test_instruction("parameter", PARAMETER);
    rk_test_add_instruction(&computation, &parameter, 0, 0);
    rk_buf first = make_call(FIRST_CALL, c.called[0], c.text);
    rk_test_add_instruction(&computation, &first, PARAMETER, 0);
    rk_buf second = make_call(SECOND_CALL, c.called[1], c.text);
    rk_test_add_instruction(&computation, &second, FIRST_CALL, 0);
    rk_test_add_computation(&module, &computation, c.entry, ENTRY_ID, SECOND_CALL);
    rk_proto_add_varint_field(&module, MODULE_ENTRY_ID, ENTRY_ID);
    return fingerprint_of(&module);
}

static void names_of_computations_do_not_count(void **state) {
    (void)state;
    calls renamed = PLAIN, crosswise = PLAIN, entry = PLAIN, moved = PLAIN;
    renamed.names[0] = "c";
    crosswise.names[0] = "b";
    crosswise.names[1] = "a";
    entry.entry = "SyncTensorsGraph.7";
    moved = (calls){{"b", "a"}, {"cosine", "sine"}, {2, 1}, "main", "text"};
    assert_same(with_calls(PLAIN), with_calls(renamed));
    assert_same(with_calls(PLAIN), with_calls(crosswise));
    assert_same(with_calls(PLAIN), with_calls(entry));
    assert_same(with_calls(PLAIN), with_calls(moved));
}

static void what_is_called_counts(void **state) {
    (void)state;
    calls bodies = PLAIN, order = PLAIN, twice = PLAIN, text = PLAIN;
    bodies.bodies[0] = "cosine";
    bodies.bodies[1] = "sine";
    order.called[0] = 2;
    order.called[1] = 1;
    twice.called[1] = 1;
    text.text = "other text";
    assert_differ(with_calls(PLAIN), with_calls(bodies));
    assert_differ(with_calls(PLAIN), with_calls(order));
    assert_differ(with_calls(PLAIN), with_calls(twice));
    assert_differ(with_calls(PLAIN), with_calls(text));
}

static void a_name_counts_where_it_says_more_than_which_one(void **state) {
    (void)state;
    calls shardy = PLAIN, text = PLAIN, crosswise = PLAIN;
    shardy.names[0] = "xla.sdy.manual_computation_body";
    assert_differ(with_calls(PLAIN), with_calls(shardy));
    // The text equals the name of a computation, so the computation may be looked up by name.
    text.text = crosswise.text = "a";
    crosswise.names[0] = "b";
    crosswise.names[1] = "a";
    assert_differ(with_calls(text), with_calls(crosswise));
}

// Declared functions, which are defined elsewhere and found by their names.

static void add_text_attr(rk_model *model, rk_op *op, const char *name, const char *text) {
    rk_node node = {.kind = RK_NODE_STRING, .name = RK_NO_ID, .bytes = rk_span_text(text)};
    uint32_t id = rk_model_add_string(model, rk_span_text(name));
    uint32_t field = rk_model_add_field(model, id, rk_model_add_node(model, node));
    op->first_attr = op->attr_count++ ? op->first_attr : field;
}

static rk_digest with_declaration(const char *name, bool has_body) {
    rk_model *model = rk_calloc(1, sizeof *model);
    assert_non_null(model);
    model->budget_bytes = 1 << 16;
    rk_op module = {.location = RK_NO_ID, .region_count = 1, .end = 2};
    module.name = rk_model_add_string(model, rk_span_text("builtin.module"));
    (void)rk_model_add_regions(model, 2);
    uint32_t blocks = rk_model_add_blocks(model, 2);
    model->regions.items[0] = (rk_region){blocks, 1};
    model->regions.items[1] = (rk_region){blocks + 1, has_body ? 1 : 0};
    model->blocks.items[0] = (rk_block){.first_op = 1, .end_op = 2};
    model->blocks.items[1] = (rk_block){.first_op = 2, .end_op = 2};
    rk_op function = {.location = RK_NO_ID, .first_region = 1, .region_count = 1, .end = 2};
    function.name = rk_model_add_string(model, rk_span_text("func.func"));
    add_text_attr(model, &function, "sym_name", name);
    add_text_attr(model, &function, "sym_visibility", "private");
    (void)rk_model_add_op(model, module);
    (void)rk_model_add_op(model, function);
    assert_null(rk_model_status(model));
    rk_digest fingerprint;
    assert_null(rk_fingerprint(model, &fingerprint));
    rk_model_free(model);
    return fingerprint;
}

static void declarations_keep_their_names(void **state) {
    (void)state;
    assert_differ(with_declaration("a", false), with_declaration("b", false));
    assert_same(with_declaration("a", true), with_declaration("b", true));
}

// Reading and hashing in one pass.

static void assert_same_as_model(const char *file) {
    const char *format = strrchr(file, '.') + 1;
    RK_AUTO(rk_buf) code = rk_test_program(file);
    rk_autofree char *reason = NULL;
    rk_model *model = NULL;
    rk_digest of_model;
    RK_AUTO(rk_program_facts) streamed;
    assert_null(rk_model_read(rk_buf_span(&code), rk_span_text(format), RK_READ_LOCATIONS, &model,
                              &reason));
    assert_non_null(model);
    assert_null(rk_fingerprint(model, &of_model));
    rk_model_free(model);
    assert_null(rk_program_facts_read(rk_buf_span(&code), rk_span_text(format), &streamed));
    assert_null(streamed.reason);
    assert_same(of_model, streamed.fingerprint);
}

static void what_is_hashed_as_it_is_read_is_its_model(void **state) {
    (void)state;
    static const char *const files[] = {
        "cholesky.hlo",
        "hlo_cond.hlo",
        "hlo_cond_compiled.hlo",
        "hlo_convolution_net_compiled.hlo",
        "hlo_custom_call.hlo",
        "hlo_dynamic.hlo",
        "hlo_sharded_train_step.hlo",
        "hlo_tuple_constant.hlo",
        "jax-0.10.2-cholesky.mlir",
        "jax-0.10.2-custom_partitioning.mlir",
        "versions/stablehlo_encoding_0.mlir",
        "versions/stablehlo_encoding_6.mlir",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(files); i++)
        assert_same_as_model(files[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy_counts_unless_it_is_the_default),
        cmocka_unit_test(metadata_counts_where_a_compiler_may_look),
        cmocka_unit_test(unknown_metadata_falls_back_to_the_bytes),
        cmocka_unit_test(names_of_computations_do_not_count),
        cmocka_unit_test(what_is_called_counts),
        cmocka_unit_test(a_name_counts_where_it_says_more_than_which_one),
        cmocka_unit_test(declarations_keep_their_names),
        cmocka_unit_test(what_is_hashed_as_it_is_read_is_its_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
