// MLIR text: what makes two programs equal or different, what is known by its bytes, and damage.
// tests/unit/program/compare_text.py compares the reader with the bytecode reader on many programs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "program/mlir/asm/numbers.h"
#include "program/mlir/words.h"
#include "program/program.h"
#include "program/read.h"

static rk_program_info inspect(const char *text) {
    rk_program_info info;
    assert_null(rk_program_inspect(rk_span_text(text), rk_span_text("mlir"), &info));
    return info;
}

static rk_digest fingerprint_of(const char *text) {
    rk_program_info info = inspect(text);
    if (info.by_bytes)
        fail_msg("%s\n%s", info.by_bytes, text);
    rk_digest fingerprint = info.fingerprint;
    rk_program_info_cleanup(&info);
    return fingerprint;
}

// Puts `text` where "$" is.
static char *fill(const char *frame, const char *text) {
    RK_AUTO(rk_buf) out = {0};
    size_t len;
    const char *hole = strchr(frame, '$');
    rk_buf_add(&out, frame, (size_t)(hole - frame));
    rk_buf_add_text(&out, text);
    rk_buf_add_text(&out, hole + 1);
    return (char *)rk_buf_detach(&out, &len);
}

// One operation on %0 and %1, in a function.
#define FRAME                                                                                      \
    "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"                                     \
    "  func.func public @main(%0: tensor<4x4xf32>, %1: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"    \
    "    %c = stablehlo.constant dense<0.0> : tensor<f32>\n"                                       \
    "    %s = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1]\n"       \
    "      : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>\n"                                    \
    "    $\n"                                                                                      \
    "    return %0 : tensor<4x4xf32>\n"                                                            \
    "  }\n"                                                                                        \
    "}\n"

static void compare(const char *one, const char *other, bool is_same) {
    rk_autofree char *first = strchr(one, '\n') ? rk_strdup(one) : fill(FRAME, one);
    rk_autofree char *second = strchr(one, '\n') ? rk_strdup(other) : fill(FRAME, other);
    rk_digest a = fingerprint_of(first), b = fingerprint_of(second);
    if (rk_digest_equal(&a, &b) != is_same)
        fail_msg("%s:\n%s\n%s", is_same ? "should be equal" : "should differ", first, second);
}

static void spelling_does_not_matter(void **state) {
    (void)state;
    static const char *const PAIRS[][2] = {
        {"%x = stablehlo.add %0, %1 : tensor<4x4xf32>",
         "%7 =stablehlo.add %0 ,%1:tensor<4x4xf32>// %0 = \"stablehlo.abs\" }"},
        {"%x = stablehlo.add %0, %1 : tensor<4x4xf32>",
         "%x = \"stablehlo.add\"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"},
        {"%x = stablehlo.add %0, %1 : tensor<4x4xf32>",
         "%x = stablehlo.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> "
         "loc(callsite(\"a\"(\"x.py\":1:2) at fused[\"b\", unknown]))"},
        {"%x = stablehlo.iota dim = 1 : tensor<4x4xi32>",
         "%x = \"stablehlo.iota\"() <{iota_dimension = 1 : i64}> : () -> tensor<4x4xi32>"},
        {"%x = stablehlo.iota dim = 1 : tensor<4x4xi32>",
         "%x = \"stablehlo.iota\"() {iota_dimension = 1} : () -> tensor<4x4xi32>"},
        {"%x = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>",
         "%x = \"stablehlo.transpose\"(%0) {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> "
         "tensor<4x4xf32>"},
        {"%x = stablehlo.compare LT, %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>",
         "%x = stablehlo.compare LT, %0, %1, NOTYPE : (tensor<4x4xf32>, tensor<4x4xf32>) -> "
         "tensor<4x4xi1>"},
        {"%x = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<4x4xf32>, "
         "tensor<4x4xf32>) -> tensor<4x4xf32>",
         "%x = \"stablehlo.dot_general\"(%0, %1) <{dot_dimension_numbers = "
         "#stablehlo.dot<rhs_contracting_dimensions = [0], lhs_contracting_dimensions = [1]>, "
         "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : "
         "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"},
        {"%x = stablehlo.exponential %0 : tensor<4x4xf32>",
         "%x = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<mode = "
         "#stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<4x4xf32>"},
        {"%x = stablehlo.constant dense<[1, 1]> : tensor<2xi32>",
         "%x = stablehlo.constant dense<\"0x01000000\"> : tensor<2xi32>"},
        {"%x = stablehlo.constant dense<[1.0, -2.5]> : tensor<2xbf16>",
         "%x = stablehlo.constant dense<[0x3F80, 0xC020]> : tensor<2xbf16>"},
        {"%x = stablehlo.constant dense<[[1.0e0], [2.0]]> : tensor<2x1xf64>",
         "%x = stablehlo.constant dense<\"0x000000000000F03F0000000000000040\"> : tensor<2x1xf64>"},
        {"%x = stablehlo.custom_call @f(%0) {b = \"\\41\\\\\", a} : (tensor<4x4xf32>) -> "
         "tensor<4x4xf32>",
         "%x = stablehlo.custom_call @\"f\"(%0) {a = unit, backend_config = \"\", api_version = 1 "
         ": "
         "i32, has_side_effect = false, \"b\" = \"A\\5C\"} : (tensor<4x4xf32>) -> "
         "tensor<4x4xf32>"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(PAIRS); i++)
        compare(PAIRS[i][0], PAIRS[i][1], true);
}

static void whole_programs_may_differ_in_names(void **state) {
    (void)state;
    compare(
        "#loc = loc(\"x\")\nmodule @m { func.func public @main(%x: tensor<f32> loc(#loc)) -> "
        "tensor<f32> { %0:2 = call @g(%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) return "
        "%0#1 : tensor<f32> } func.func private @g(%a: tensor<f32>) -> (tensor<f32>, "
        "tensor<f32>) { return %a, %a : tensor<f32>, tensor<f32> } }",
        "!t = tensor<f32>\n\"builtin.module\"() <{sym_name = \"n\"}> ({\n\"func.func\"() "
        "<{function_type = (!t) -> !t, sym_name = \"main\", sym_visibility = \"public\", "
        "arg_attrs = [{}], res_attrs = [{jax.result_info = \"r\"}]}> ({\n^bb0(%0: !t):\n"
        "%a, %b = \"func.call\"(%0) <{callee = @other}> : (!t) -> (!t, !t)\n"
        "\"func.return\"(%b) : (!t) -> ()\n}) : () -> ()\n"
        "\"func.func\"() <{function_type = (!t) -> (!t, !t), sym_name = \"other\", "
        "sym_visibility = \"private\"}> ({\n^bb0(%0: !t):\n\"func.return\"(%0, %0) : (!t, !t) -> "
        "()\n}) : () -> ()\n}) : () -> ()",
        true);
}

static void meaning_matters(void **state) {
    (void)state;
    static const char *const PAIRS[][2] = {
        {"%x = stablehlo.add %0, %1 : tensor<4x4xf32>",
         "%x = stablehlo.add %1, %0 : tensor<4x4xf32>"},
        {"%x = stablehlo.add %0, %1 : tensor<4x4xf32>",
         "%x = stablehlo.add %0, %1 {mhlo.sharding = \"{replicated}\"} : tensor<4x4xf32>"},
        {"%x = stablehlo.iota dim = 1 : tensor<4x4xi32>",
         "%x = stablehlo.iota dim = 0 : tensor<4x4xi32>"},
        {"%x = stablehlo.iota dim = 1 : tensor<4x4xi32>",
         "%x = stablehlo.iota dim = 1 : tensor<4x4xui32>"},
        {"%x = stablehlo.constant dense<0.0> : tensor<2xf32>",
         "%x = stablehlo.constant dense<-0.0> : tensor<2xf32>"},
        {"%x = stablehlo.constant dense<1.0e-45> : tensor<2xf32>",
         "%x = stablehlo.constant dense<0.0> : tensor<2xf32>"},
        {"%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>",
         "%x = stablehlo.constant dense<[2, 1]> : tensor<2xi32>"},
        {"%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>",
         "%x = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>"},
        {"%x = stablehlo.compare LT, %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>",
         "%x = stablehlo.compare LE, %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> "
         "tensor<4x4xi1>"},
        {"%x = stablehlo.slice %0 [0:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>",
         "%x = stablehlo.slice %0 [0:4:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>"},
        {"%x = stablehlo.custom_call @f(%0) {result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : "
         "(tensor<4x4xf32>) -> tensor<4x4xf32>",
         "%x = stablehlo.custom_call @f(%0) {result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : "
         "(tensor<4x4xf32>) -> tensor<4x4xf32>"},
        {"%x = stablehlo.custom_call @f(%0) {output_operand_aliases = "
         "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, "
         "operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>",
         "%x = stablehlo.custom_call @f(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>"},
        {"%x = stablehlo.custom_call @f(%0) {a = 1 : i32} : (tensor<4x4xf32>) -> tensor<4x4xf32>",
         "%x = stablehlo.custom_call @f(%0) {a = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>"},
        {"%x = stablehlo.custom_call @f(%0) {a = [[], [1]]} : (tensor<4x4xf32>) -> tensor<4x4xf32>",
         "%x = stablehlo.custom_call @f(%0) {a = [[1], []]} : (tensor<4x4xf32>) -> "
         "tensor<4x4xf32>"},
        {"%x = stablehlo.abs %0 : tensor<4x4xf32>", "%x = stablehlo.abs %1 : tensor<4x4xf32>"},
        {"%x = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [1] : "
         "(tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>",
         "%x = stablehlo.reduce(%0 init: %c) applies stablehlo.minimum across dimensions = [1] : "
         "(tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>"},
        {"module {\nfunc.func @main(%0: tensor<f32> {jax.buffer_donor = true}) { return } }",
         "module {\nfunc.func @main(%0: tensor<f32> {jax.buffer_donor = false}) { return } }"},
        {"module {\nfunc.func @main(%0: tensor<f32> {mhlo.memory_kind = \"a\"}) { return } }",
         "module {\nfunc.func @main(%0: tensor<f32>) { return } }"},
        {"module attributes {mhlo.num_partitions = 2 : i32} {\nfunc.func @main() { return } }",
         "module attributes {mhlo.num_partitions = 1 : i32} {\nfunc.func @main() { return } }"},
        {"module {\nfunc.func @main() { return } }", "module {\nfunc.func @other() { return } }"},
        {"module {\nsdy.mesh @m = <[\"x\"=2]>\nfunc.func @main() { return } }",
         "module {\nsdy.mesh @m = <[\"x\"=4]>\nfunc.func @main() { return } }"},
        // JAX's debug names are dropped from arguments and results, and nowhere else.
        {"%x = stablehlo.custom_call @f(%0) {api_version = 4 : i32, backend_config = "
         "{jax.result_info = \"x\"}} : (tensor<4x4xf32>) -> tensor<4x4xf32>",
         "%x = stablehlo.custom_call @f(%0) {api_version = 4 : i32, backend_config = "
         "{jax.result_info = \"y\"}} : (tensor<4x4xf32>) -> tensor<4x4xf32>"},
        {"%x = stablehlo.custom_call @f(%0) {mhlo.frontend_attributes = {jax.arg_info = \"x\"}} : "
         "(tensor<4x4xf32>) -> tensor<4x4xf32>",
         "%x = stablehlo.custom_call @f(%0) {mhlo.frontend_attributes = {}} : "
         "(tensor<4x4xf32>) -> tensor<4x4xf32>"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(PAIRS); i++)
        compare(PAIRS[i][0], PAIRS[i][1], false);
}

static void what_is_not_understood_is_known_by_bytes(void **state) {
    (void)state;
    static const char *const OPERATIONS[][2] = {
        {"%x = stablehlo.unknown %0 : tensor<4x4xf32>", "an unknown operation"},
        {"%x = \"other.op\"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>", "an unknown operation"},
        {"%x = stablehlo.abs %2 : tensor<4x4xf32>", "not defined before its use"},
        {"%0 = stablehlo.abs %1 : tensor<4x4xf32>", "defined twice"},
        {"%x = stablehlo.abs %0 : tensor<4x5xf32>", "another type than its value"},
        {"%x:2 = stablehlo.abs %0 : tensor<4x4xf32>", "number of results"},
        {"%x = stablehlo.abs %0 {a = #foo.bar<1>} : tensor<4x4xf32>", "an unknown attribute"},
        {"%x = stablehlo.abs %0 {a = 1, a = 1} : tensor<4x4xf32>", "occurs twice"},
        {"%x = stablehlo.abs %0 {a = 256 : i8} : tensor<4x4xf32>", "does not fit"},
        {"%x = stablehlo.abs %0 {a = \"\\x\"} : tensor<4x4xf32>", "an unknown escape"},
        {"%x = stablehlo.abs %0 : tensor<4x4xf32, #foo.bar>", "an unknown encoding"},
        {"%x = \"stablehlo.iota\"() : () -> tensor<4xi32>", "without one of its attributes"},
        {"%x = stablehlo.constant dense<[1, 2]> : tensor<3xi32>", "unexpected text"},
        {"%x = stablehlo.constant dense<1.5> : tensor<3xi32>", "in a constant"},
        {"%x = stablehlo.constant dense<\"0x01\"> : tensor<3xi32>", "its type's size"},
        {"%x = stablehlo.constant dense<1.0e39> : tensor<f32>", "in a constant"},
        {"%x = stablehlo.constant dense_resource<k> : tensor<f32>", "without a resource"},
        // StableHLO ignores these attributes; VHLO has properties with their names.
        {"%x = \"stablehlo.collective_permute\"(%0) <{source_target_pairs = dense<[[0, 1]]> : "
         "tensor<1x2xi64>}> {channel_id = 3 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>",
         "name of a VHLO property"},
        {"%x = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {lhs_precision_type = "
         "tf32, rhs_precision_type = tf32, accumulation_type = f32} : (tensor<4x4xf32>, "
         "tensor<4x4xf32>) -> tensor<4x4xf32>",
         "name of a VHLO property"},
        // What VHLO would not tell apart.
        {"%x = stablehlo.abs %0 {a = @f} : tensor<4x4xf32>", "a symbol"},
        {"%x = stablehlo.abs %0 {a = array<i64: 1>} : tensor<4x4xf32>", "an array"},
        {"%x = stablehlo.abs %0 {a = [array<i64: 1>]} : tensor<4x4xf32>", "an array"},
        {"%x = stablehlo.abs %0 {a = array<i32: 1>} : tensor<4x4xf32>", "an array"},
        {"^bb1:", "an operation without a name"},
        {"}", "an unknown operation"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(OPERATIONS); i++) {
        rk_autofree char *text = fill(FRAME, OPERATIONS[i][0]);
        rk_program_info info = inspect(text);
        if (!info.by_bytes || !strstr(info.by_bytes, OPERATIONS[i][1]))
            fail_msg("%s: %s", OPERATIONS[i][0], info.by_bytes ? info.by_bytes : "understood");
        rk_program_info_cleanup(&info);
    }
}

static void resources_have_one_name_and_their_size(void **state) {
    (void)state;
    static const char *const RESOURCES[][2] = {
        {"k: \"0x040000000000803F00000040\"", NULL},
        {"k: \"0x040000000000803F\"", "without a resource"},
        {"k: \"0x040000000000803F0000004000000040\"", "without a resource"},
        {"k: \"0x040000000000803F00000040\", k: \"0x040000000000803F00000041\"",
         "resources that are not understood"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(RESOURCES); i++) {
        rk_autofree char *text =
            fill("module {\nfunc.func @main() {\n%x = stablehlo.constant dense_resource<k> : "
                 "tensor<2xf32>\nreturn\n}\n}\n{-#\ndialect_resources: {\nbuiltin: {\n$\n}\n}\n"
                 "#-}\n",
                 RESOURCES[i][0]);
        rk_program_info info = inspect(text);
        const char *expected = RESOURCES[i][1], *said = info.by_bytes;
        if (expected ? !said || !strstr(said, expected) : said != NULL)
            fail_msg("%s: %s", RESOURCES[i][0], said ? said : "understood");
        rk_program_info_cleanup(&info);
    }
}

// A text in a location or a comment never hides an operation.
static void skipped_text_ends_where_it_ends(void **state) {
    (void)state;
    rk_autofree char *hidden =
        fill(FRAME, "%x = stablehlo.abs %0 : tensor<4x4xf32> loc(unknown // \"\n)\n"
                    "%y = stablehlo.abs %1 : tensor<4x4xf32> // \"\n");
    rk_autofree char *without = fill(FRAME, "%x = stablehlo.abs %0 : tensor<4x4xf32>");
    rk_digest a = fingerprint_of(hidden), b = fingerprint_of(without);
    assert_false(rk_digest_equal(&a, &b));
}

static void process_references_are_found(void **state) {
    (void)state;
    static const char *const OPERATIONS[] = {
        "%x = stablehlo.custom_call @xla_python_cpu_callback(%0) : (tensor<4x4xf32>) -> "
        "tensor<4x4xf32>",
        "%x = stablehlo.custom_call @\"xla_\\70ython_cpu_callback\"(%0) : (tensor<4x4xf32>) -> "
        "tensor<4x4xf32>",
        "%x = \"stablehlo.custom_call\"(%0) {call_target_name = \"xla\\5Fpython_cpu_callback\"} : "
        "(tensor<4x4xf32>) -> tensor<4x4xf32>",
        "%x = stablehlo.custom_call @\"xla_\\70ython_cpu_callback\"(%0) : not understood",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(OPERATIONS); i++) {
        rk_autofree char *text = fill(FRAME, OPERATIONS[i]);
        rk_program_info info = inspect(text);
        assert_non_null(info.uncacheable);
        assert_int_equal(info.by_bytes != NULL, i == 3);
        rk_program_info_cleanup(&info);
    }
    // A comment refers to nothing.
    rk_autofree char *text = fill(FRAME, "// xla_python_cpu_callback");
    rk_program_info info = inspect(text);
    assert_null(info.uncacheable);
    rk_program_info_cleanup(&info);
}

static void numbers_are_rounded_as_mlir_rounds(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t type;
        uint64_t bits;
    } NUMBERS[] = {
        {"1.0", RK_WORD_f32, 0x3F800000},
        {"-0.0", RK_WORD_f32, 0x80000000},
        {"3.14159274", RK_WORD_f32, 0x40490FDB},
        {"1.00000000000000011", RK_WORD_f64, 0x3FF0000000000000},
        {"1.0e-45", RK_WORD_f32, 1},
        {"1.1754942e-38", RK_WORD_f32, 0x007FFFFF},
        {"4.9406564584124654e-324", RK_WORD_f64, 1},
        {"1.7976931348623157e308", RK_WORD_f64, 0x7FEFFFFFFFFFFFFF},
        {"16777217.0", RK_WORD_f32, 0x4B800000},
        {"16777219.0", RK_WORD_f32, 0x4B800002},
        {"65504.0", RK_WORD_f16, 0x7BFF},
        {"5.9604644775390625e-08", RK_WORD_f16, 1},
        {"1.00390625", RK_WORD_bf16, 0x3F80},
        {"1.01171875", RK_WORD_bf16, 0x3F82},
        {"448.0", RK_WORD_f8E4M3FN, 0x7E},
        {"57344.0", RK_WORD_f8E5M2, 0x7B},
        {"6.0", RK_WORD_f4E2M1FN, 7},
        {"0x7FC00000", RK_WORD_f32, 0x7FC00000},
        {"-1", RK_WORD_i8, 0xFF},
        {"255", RK_WORD_ui8, 0xFF},
        {"-8", RK_WORD_i4, 8},
        {"18446744073709551615", RK_WORD_ui64, UINT64_MAX},
    };
    static const struct {
        const char *text;
        uint32_t type;
    } REFUSED[] = {{"3.5e38", RK_WORD_f32},  {"65536.0", RK_WORD_f16}, {"464.1", RK_WORD_f8E4M3FN},
                   {"1", RK_WORD_f32},       {"1.0", RK_WORD_i32},     {"-1", RK_WORD_ui8},
                   {"-129", RK_WORD_i8},     {"256", RK_WORD_i8},      {"1.0", RK_WORD_f8E8M0FNU},
                   {"0x1FF", RK_WORD_f8E5M2}};
    rk_asm_literal literal;
    uint64_t bits;
    for (size_t i = 0; i < RK_ARRAY_LEN(NUMBERS); i++) {
        rk_span text = rk_span_text(NUMBERS[i].text);
        const uint8_t *end = text.data + text.len;
        assert_ptr_equal(rk_asm_read_literal(text.data, end, &literal), end);
        assert_true(rk_asm_literal_bits(rk_asm_find_scalar(NUMBERS[i].type), &literal, &bits));
        if (bits != NUMBERS[i].bits)
            fail_msg("%s: %llx", NUMBERS[i].text, (unsigned long long)bits);
    }
    for (size_t i = 0; i < RK_ARRAY_LEN(REFUSED); i++) {
        rk_span text = rk_span_text(REFUSED[i].text);
        assert_non_null(rk_asm_read_literal(text.data, text.data + text.len, &literal));
        assert_false(rk_asm_literal_bits(rk_asm_find_scalar(REFUSED[i].type), &literal, &bits));
    }
    rk_span text = rk_span_text("99999999999999999999");
    assert_null(rk_asm_read_literal(text.data, text.data + text.len, &literal));
}

static void every_prefix_is_known_by_bytes(void **state) {
    (void)state;
    rk_autofree char *text = fill(FRAME, "%x = stablehlo.iota dim = 1 : tensor<4x4xi32>");
    size_t len = strlen(text) - 2; // the text ends in "}\n"
    for (size_t i = 0; i <= len; i++) {
        rk_program_info info;
        rk_autofree char *prefix = rk_strndup(text, i);
        assert_null(rk_program_inspect(rk_span_of(prefix, i), rk_span_text("mlir"), &info));
        assert_non_null(info.by_bytes);
        rk_program_info_cleanup(&info);
    }
}

static void nesting_is_limited(void **state) {
    (void)state;
    static const char *const PARTS[][2] = {{"[", "]"}, {"{a = ", "}"}, {"tuple<", ">"}};
    for (size_t i = 0; i < RK_ARRAY_LEN(PARTS); i++) {
        RK_AUTO(rk_buf) attr = {0};
        rk_buf_add_text(&attr, "%x = stablehlo.abs %0 {a = ");
        for (size_t depth = 0; depth < 100000; depth++)
            rk_buf_add_text(&attr, PARTS[i][0]);
        rk_buf_add_text(&attr, "1");
        for (size_t depth = 0; depth < 100000; depth++)
            rk_buf_add_text(&attr, PARTS[i][1]);
        rk_buf_add_text(&attr, "} : tensor<4x4xf32>");
        rk_autofree char *text = fill(FRAME, rk_buf_text(&attr));
        rk_program_info info = inspect(text);
        assert_non_null(strstr(info.by_bytes, "nested too deeply"));
        rk_program_info_cleanup(&info);
    }
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
    rk_autofree char *text =
        fill(FRAME, "%x = stablehlo.custom_call @f(%0) {a = {b = [1, \"\\41\"]}} : "
                    "(tensor<4x4xf32>) -> tensor<4x4xf32> loc(\"x\"(\"y.py\":1:2))");
    size_t failures = 0;
    for (size_t n = 0;; n++) {
        rk_model *model;
        char *reason;
        allocations_left = n;
        rk_alloc_replace(&failing);
        rk_err *err = rk_model_read(rk_span_text(text), rk_span_text("mlir"), RK_READ_LOCATIONS,
                                    &model, &reason);
        bool enough = allocations_left > 0;
        rk_alloc_replace(NULL);
        if (err)
            assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
        failures += err != NULL;
        assert_true(err || model);
        rk_err_free(err);
        if (enough)
            assert_non_null(model);
        rk_model_free(model);
        rk_free(reason);
        if (enough)
            break;
    }
    assert_true(failures >= 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spelling_does_not_matter),
        cmocka_unit_test(whole_programs_may_differ_in_names),
        cmocka_unit_test(meaning_matters),
        cmocka_unit_test(what_is_not_understood_is_known_by_bytes),
        cmocka_unit_test(resources_have_one_name_and_their_size),
        cmocka_unit_test(skipped_text_ends_where_it_ends),
        cmocka_unit_test(process_references_are_found),
        cmocka_unit_test(numbers_are_rounded_as_mlir_rounds),
        cmocka_unit_test(every_prefix_is_known_by_bytes),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
