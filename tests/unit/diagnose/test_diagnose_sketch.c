// Sketches: their content, reading and writing, and the similarity of versions of one program.
#include "diagnose/diff/sketch.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "diagnose/diff/framework.h"
#include "diagnose/explain/corpus.h"
#include "fixture.h"
#include "support/expect.h"
#include "support/faults.h"

static void make(const char *file, rk_sketch *out_sketch) {
    rk_test_indexed indexed;
    rk_test_read(file, &indexed);
    rk_expect_ok(rk_sketch_make(&indexed.index, out_sketch));
    rk_test_indexed_cleanup(&indexed); // a sketch borrows nothing
}

static void write_text(const rk_sketch *sketch, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_sketch_write(sketch, &json);
    rk_expect_ok(rk_buf_status(out));
}

// golden/sketch-v1.json is never rewritten, because stored entries contain sketches of this
// version.
static void it_is_written_as_it_always_was(void **unused) {
    (void)unused;
    RK_AUTO(rk_sketch) sketch = {0};
    RK_AUTO(rk_buf) text = {0};
    RK_AUTO(rk_buf) golden = {0};
    make("counter.1.mlir", &sketch);
    write_text(&sketch, &text);
    rk_buf_add_byte(&text, '\n');
    rk_expect_ok(rk_fs_read(RK_TEST_DATA "/../golden/sketch-v1.json", 1 << 20, &golden));
    assert_string_equal(rk_buf_text(&text), rk_buf_text(&golden));
}

static void it_says_what_the_program_is(void **unused) {
    (void)unused;
    RK_AUTO(rk_sketch) sketch = {0};
    make("optional.2.mlir", &sketch);
    assert_string_equal(sketch.module, "jit_step");
    assert_true(sketch.is_mlir);
    assert_int_equal(sketch.input_count, 2);
    assert_string_equal(sketch.inputs[0].name, "batch['mask']");
    assert_string_equal(sketch.inputs[1].type, "tensor<8xf32>");
    assert_int_equal(sketch.result_count, 1);
    assert_string_equal(sketch.call.file, "/job/train.py");
    assert_int_equal(sketch.call.line, 12);
    assert_false(rk_sketch_is_eager(&sketch));
}

// Its operations have two lines: that of the call, and that of a function which uses it as well.
static void a_generator_of_keys_is_an_operation_of_the_framework(void **unused) {
    (void)unused;
    RK_AUTO(rk_sketch) sketch = {0};
    make("resown.1.mlir", &sketch);
    assert_string_equal(sketch.module, "jit__threefry_split");
    assert_true(sketch.line_count > 1);
    assert_true(rk_is_random_helper(&sketch));
}

// The derivative of an operation, deep in a library: the lines of the forward pass are in it, too.
static void a_name_with_a_hyphen_is_no_function(void **unused) {
    (void)unused;
    rk_sketch_line lines[] = {{.file = "train.py", .line = 100, .hash = 7}};
    rk_sketch sketch = {.module = "jit_scatter-add",
                        .is_mlir = true,
                        .op_count = 4,
                        .lines = lines,
                        .line_count = RK_ARRAY_LEN(lines),
                        .call = {.file = "train.py", .line = 109, .hash = 8}};
    assert_true(rk_sketch_is_eager(&sketch));
    sketch.module = "jit_scatter_add";
    assert_false(rk_sketch_is_eager(&sketch));
}

// The comparison ends, and the inputs count as different.
static void inputs_that_changed_places_are_compared(void **unused) {
    (void)unused;
    RK_AUTO(rk_sketch) sketch = {0};
    RK_AUTO(rk_sketch) swapped = {0};
    make("optional.2.mlir", &sketch);
    make("optional.2.mlir", &swapped);
    const rk_sketch_value first = swapped.inputs[0];
    swapped.inputs[0] = swapped.inputs[1];
    swapped.inputs[1] = first;
    double similarity = rk_sketch_similarity(&sketch, &swapped, true);
    assert_true(similarity > 0.5 && similarity < 1);
}

static void what_is_read_is_what_was_written(void **unused) {
    (void)unused;
    static const char *const files[] = {"counter.1.mlir", "blocks.2.mlir", "sharding.1.mlir"};
    for (size_t i = 0; i < RK_ARRAY_LEN(files); i++) {
        RK_AUTO(rk_sketch) sketch = {0};
        RK_AUTO(rk_sketch) again = {0};
        RK_AUTO(rk_buf) once = {0};
        RK_AUTO(rk_buf) twice = {0};
        bool read;
        make(files[i], &sketch);
        write_text(&sketch, &once);
        json_t *json = json_loadb((const char *)once.data, once.len, 0, NULL);
        rk_expect_ok(rk_sketch_read(json, &again, &read));
        json_decref(json);
        assert_true(read);
        write_text(&again, &twice);
        assert_string_equal(rk_buf_text(&once), rk_buf_text(&twice));
        assert_true(rk_sketch_similarity(&sketch, &again, true) > 0.999);
    }
}

static void another_version_is_none(void **unused) {
    (void)unused;
    static const char *const texts[] = {"{\"v\":2}", "{}", "[]", "\"text\"", "{\"v\":\"1\"}"};
    for (size_t i = 0; i < RK_ARRAY_LEN(texts); i++) {
        RK_AUTO(rk_sketch) sketch = {0};
        bool read = true;
        json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        rk_expect_ok(rk_sketch_read(json, &sketch, &read));
        json_decref(json);
        assert_false(read);
    }
}

// Members of unexpected types: the reader takes the valid ones.
static void a_strange_sketch_is_still_read(void **unused) {
    (void)unused;
    RK_AUTO(rk_sketch) sketch = {0};
    bool read;
    json_t *json = json_loads("{\"v\":1,\"module\":7,\"inputs\":[[],3,[\"a\"]],\"kinds\":[-1,2,3],"
                              "\"lines\":[null,[1,2,3,4]],\"call\":9}",
                              0, NULL);
    rk_expect_ok(rk_sketch_read(json, &sketch, &read));
    json_decref(json);
    assert_true(read);
    assert_int_equal(sketch.input_count, 3);
    assert_string_equal(sketch.inputs[2].name, "a");
    assert_int_equal(sketch.kind_count, 1);
    assert_int_equal(sketch.line_count, 2);
    assert_true(rk_sketch_similarity(&sketch, &sketch, false) <= 1);
}

static double compare(const char *a, const char *b, bool same_source) {
    RK_AUTO(rk_sketch) x = {0};
    RK_AUTO(rk_sketch) y = {0};
    make(a, &x);
    make(b, &y);
    double there = rk_sketch_similarity(&x, &y, same_source);
    assert_true((there > 0) == (rk_sketch_similarity(&y, &x, same_source) > 0));
    return there;
}

static void versions_of_one_function_are_alike(void **unused) {
    (void)unused;
    static const char *const jobs[] = {"shape",    "dtype",    "counter",  "top_k",
                                       "capacity", "branch",   "cast",     "accumulate",
                                       "optional", "operands", "sharding", "blocks"};
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++) {
        char a[64], b[64];
        (void)snprintf(a, sizeof a, "%s.1.mlir", jobs[i]);
        (void)snprintf(b, sizeof b, "%s.2.mlir", jobs[i]);
        if (compare(a, b, true) <= 0.3)
            fail_msg("%s: not alike", jobs[i]);
    }
    assert_true(compare("counter.1.mlir", "counter.2.mlir", true) > 0.99);
}

// Two functions named `step` at different lines of one file.
static void functions_of_one_name_are_not(void **unused) {
    (void)unused;
    assert_true(compare("unlike.1.mlir", "unlike.2.mlir", true) == 0);
    assert_true(compare("unlike.1.mlir", "unlike.2.mlir", false) == 0);
}

// Graphs of PyTorch/XLA: an encoder, and a decoder that lacks operations of the encoder.
static void two_parts_of_a_model_are_not(void **unused) {
    (void)unused;
    RK_AUTO(rk_sketch) encoder = {0}, decoder = {0};
    make("torch_parts.1.hlo", &encoder);
    make("torch_parts.2.hlo", &decoder);
    assert_true(rk_sketch_similarity(&encoder, &decoder, true) == 0);
    assert_true(rk_sketch_similarity(&encoder, &decoder, false) > 0); // after an edit
}

// Graphs of PyTorch/XLA that return one value each: the sizes of all inputs differ, and so does the
// order of two operations. With other operations, they are two computations.
static void one_graph_for_two_sizes_is_alike(void **unused) {
    (void)unused;
    RK_AUTO(rk_sketch) full = {0}, last = {0};
    make("torch_parts.1.hlo", &full);
    make("torch_parts.1.hlo", &last);
    rk_sketch *const graphs[] = {&full, &last};
    const uint32_t results = full.result_count;
    for (size_t i = 0; i < RK_ARRAY_LEN(graphs); i++) {
        graphs[i]->result_count = 1;
        graphs[i]->structure += i;
        for (uint32_t k = 0; k < graphs[i]->input_count; k++)
            graphs[i]->inputs[k].hash += i;
    }
    assert_true(rk_sketch_similarity(&full, &last, true) > 0.6);
    last.kinds[0].count += last.op_count;
    assert_true(rk_sketch_similarity(&full, &last, true) == 0);
    full.result_count = last.result_count = results; // all results are freed
}

static void without_memory_there_is_an_error(void **unused) {
    (void)unused;
    rk_test_indexed indexed;
    rk_test_read("branch.2.mlir", &indexed);
    for (unsigned nth = 1;; nth++) {
        rk_sketch sketch = {0};
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_sketch_make(&indexed.index, &sketch);
        bool failed = rk_fault_end();
        rk_sketch_cleanup(&sketch);
        rk_code code = rk_err_code(err);
        rk_err_free(err);
        if (!failed)
            break;
        assert_true(code == RK_OK || code == RK_RESOURCE_EXHAUSTED);
    }
    rk_test_indexed_cleanup(&indexed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_written_as_it_always_was),
        cmocka_unit_test(it_says_what_the_program_is),
        cmocka_unit_test(a_generator_of_keys_is_an_operation_of_the_framework),
        cmocka_unit_test(a_name_with_a_hyphen_is_no_function),
        cmocka_unit_test(inputs_that_changed_places_are_compared),
        cmocka_unit_test(what_is_read_is_what_was_written),
        cmocka_unit_test(another_version_is_none),
        cmocka_unit_test(a_strange_sketch_is_still_read),
        cmocka_unit_test(versions_of_one_function_are_alike),
        cmocka_unit_test(functions_of_one_name_are_not),
        cmocka_unit_test(two_parts_of_a_model_are_not),
        cmocka_unit_test(one_graph_for_two_sizes_is_alike),
        cmocka_unit_test(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
