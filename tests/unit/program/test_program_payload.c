// Kernels inside custom calls: read as programs if possible, else identified by their bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fixture.h"
#include "program/canon/fingerprint.h"
#include "program/payload.h"
#include "program/read.h"
#include "program/text.h"
#include "support/faults.h"
#include "support/peak.h"
#include "test_read_hlo_support.h"

enum { TARGET = 28, BACKEND_CONFIG = 43, MEMORY_FACTOR = 64, MEMORY_LEAST_BYTES = 1 << 18 };

// Programs.

static rk_digest digest_of(rk_span code, const char *format) {
    rk_program_info info;
    assert_null(rk_program_inspect(code, rk_span_text(format), &info));
    assert_null(info.by_bytes);
    assert_null(info.uncacheable);
    rk_digest digest = info.fingerprint;
    rk_program_info_cleanup(&info);
    return digest;
}

static rk_digest digest_of_file(const char *kind, const char *suffix, const char *format) {
    char name[128];
    (void)snprintf(name, sizeof name, "pallas/jax-%s%s.%s", kind, suffix, format);
    rk_buf data = rk_test_program(name);
    rk_digest digest = digest_of(rk_buf_span(&data), format);
    rk_buf_cleanup(&data);
    return digest;
}

static rk_model *read_model(rk_span code, const char *format, unsigned flags) {
    rk_model *model;
    char *reason;
    assert_null(rk_model_read(code, rk_span_text(format), flags, &model, &reason));
    assert_non_null(model);
    return model;
}

// The configuration of the kernel in a file: JSON, from its first brace to the matching one.
static rk_buf config_of(const char *file) {
    static const char start[] = "{\"custom_call_config\"";
    rk_buf data = rk_test_program(file), config = {0};
    const char *at = memmem(data.data, data.len, start, sizeof start - 1);
    assert_non_null(at);
    for (size_t len = 0, depth = 0;;) {
        depth += at[len] == '{';
        depth -= at[len++] == '}';
        if (depth == 0) {
            rk_buf_add(&config, at, len);
            break;
        }
    }
    rk_buf_cleanup(&data);
    return config;
}

static rk_buf module_with(const char *target, rk_span config) {
    rk_buf module = {0}, computation = {0}, call = rk_test_instruction("custom-call", 1);
    rk_test_add_text(&call, TARGET, target);
    rk_proto_add_bytes_field(&call, BACKEND_CONFIG, config);
    rk_test_add_instruction(&computation, &call, 0, 0);
    rk_test_add_computation(&module, &computation, "main", 1, 1);
    rk_proto_add_varint_field(&module, 6, 1);
    return module;
}

// Number of kernels that are found in a configuration.
static uint32_t payloads_in(const char *target, rk_span config) {
    RK_AUTO(rk_buf) module = module_with(target, config);
    rk_model *model = rk_test_read_hlo(rk_buf_span(&module), "hlo", RK_READ_LOCATIONS);
    uint32_t count = model->payloads.count;
    rk_model_free(model);
    return count;
}

static rk_digest digest_of_config(rk_span config) {
    RK_AUTO(rk_buf) module = module_with("tpu_custom_call", config);
    return digest_of(rk_buf_span(&module), "hlo");
}

// The text with the first occurrence of `what` replaced.
static rk_buf replaced(rk_span text, const char *what, const char *by) {
    rk_buf out = {0};
    const uint8_t *at = memmem(text.data, text.len, what, strlen(what));
    assert_non_null(at);
    size_t before = (size_t)(at - text.data), after = before + strlen(what);
    rk_buf_add(&out, text.data, before);
    rk_buf_add_text(&out, by);
    rk_buf_add(&out, text.data + after, text.len - after);
    return out;
}

static void add_base64(rk_buf *out, rk_span bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t bits = (uint32_t)bytes.data[i] << 16;
        bits |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        bits |= left > 2 ? bytes.data[i + 2] : 0;
        rk_buf_add_byte(out, (uint8_t)digits[bits >> 18]);
        rk_buf_add_byte(out, (uint8_t)digits[bits >> 12 & 63]);
        rk_buf_add_byte(out, left > 1 ? (uint8_t)digits[bits >> 6 & 63] : '=');
        rk_buf_add_byte(out, left > 2 ? (uint8_t)digits[bits & 63] : '=');
    }
}

static rk_buf config_with_body(rk_span body) {
    rk_buf config = {0};
    rk_buf_add_text(&config, "{\"custom_call_config\": {\"body\": \"");
    add_base64(&config, body);
    rk_buf_add_text(&config, "\"}}");
    return config;
}

// Real kernels.

static const struct {
    const char *kind, *format;
} KERNELS[] = {
    {"0.10.2-pallas_tpu", "mlir"},
    {"0.12.0-pallas_tpu", "mlir"},
    {"0.12.0-pallas_tpu", "hlo"},
    {"0.10.2-pallas_mosaic_gpu", "mlir"},
};

static void moved_kernels_are_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(KERNELS); i++) {
        rk_digest here = digest_of_file(KERNELS[i].kind, "", KERNELS[i].format);
        rk_digest moved = digest_of_file(KERNELS[i].kind, "_moved", KERNELS[i].format);
        rk_digest changed = digest_of_file(KERNELS[i].kind, "_changed", KERNELS[i].format);
        assert_true(rk_digest_equal(&here, &moved));
        assert_false(rk_digest_equal(&here, &changed));
    }
}

// Model fingerprints, with and without locations, equal the fingerprint of the program that is
// hashed while it is read.
static void all_ways_have_one_fingerprint(void **state) {
    static const unsigned flags[] = {0, RK_READ_LOCATIONS};
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(KERNELS); i++) {
        char name[128];
        rk_digest modelled;
        (void)snprintf(name, sizeof name, "pallas/jax-%s.%s", KERNELS[i].kind, KERNELS[i].format);
        rk_buf data = rk_test_program(name);
        RK_AUTO(rk_program_facts) streamed;
        assert_null(
            rk_program_facts_read(rk_buf_span(&data), rk_span_text(KERNELS[i].format), &streamed));
        assert_null(streamed.reason);
        for (size_t f = 0; f < RK_ARRAY_LEN(flags); f++) {
            rk_model *model = read_model(rk_buf_span(&data), KERNELS[i].format, flags[f]);
            assert_int_equal(model->payloads.count, 1);
            assert_null(rk_fingerprint(model, &modelled));
            assert_true(rk_digest_equal(&streamed.fingerprint, &modelled));
            rk_model_free(model);
        }
        rk_buf_cleanup(&data);
    }
}

// This bytecode has operation properties that the reader has no table for, so the kernel is
// identified by its bytes.
static void triton_is_known_by_its_bytes(void **state) {
    (void)state;
    rk_digest here = digest_of_file("0.10.2-pallas_triton", "", "mlir");
    rk_digest moved = digest_of_file("0.10.2-pallas_triton", "_moved", "mlir");
    assert_false(rk_digest_equal(&here, &moved));
}

static void assert_has_line(const rk_buf *text, const char *part, const char *end) {
    for (const char *line = rk_buf_text(text); *line; line += strcspn(line, "\n") + 1) {
        size_t len = strcspn(line, "\n");
        if (memmem(line, len, part, strlen(part)) && len >= strlen(end) &&
            memcmp(line + len - strlen(end), end, strlen(end)) == 0)
            return;
    }
    fail_msg("no line with '%s' that ends with '%s' in\n%s", part, end, rk_buf_text(text));
}

// JAX 0.10 stores locations in the body, JAX 0.12 in a separate list.
static void kernels_are_shown(void **state) {
    static const char *const files[] = {"0.10.2-pallas_tpu.mlir", "0.12.0-pallas_tpu_moved.hlo"};
    static const char *const ends[] = {"  // /job/kernels.py:9 mul:",
                                       "  // /elsewhere/other.py:11 mul:"};
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(files); i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "pallas/jax-%s", files[i]);
        rk_buf data = rk_test_program(name);
        rk_model *model = read_model(rk_buf_span(&data), strrchr(name, '.') + 1, RK_READ_LOCATIONS);
        rk_buf text = rk_test_text(model);
        assert_has_line(&text, "body = program#0, ", "");
        assert_has_line(&text, "program#0:", "program#0:");
        assert_has_line(&text, " = stable_mosaic.arith.mulf(", ends[i]);
        assert_has_line(&text, "memory_space = #tpu.memory_space<vmem>", "{");
        rk_buf_cleanup(&text);
        rk_buf_cleanup(&data);
        rk_model_free(model);
    }
}

// Configurations.

static void form_of_json_does_not_count(void **state) {
    (void)state;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    rk_digest original = digest_of_config(rk_buf_span(&config));
    RK_AUTO(rk_buf) blanks = replaced(rk_buf_span(&config), "{\"body\": ", "{ \n\t\"body\":\r");
    RK_AUTO(rk_buf) first = replaced(rk_buf_span(&config), ", \"needs_layout_passes\": true", "");
    RK_AUTO(rk_buf)
    order = replaced(rk_buf_span(&first), "{\"body\"", "{\"needs_layout_passes\": true, \"body\"");
    RK_AUTO(rk_buf) bare = {0};
    const char *text = rk_buf_text(&config), *list = strstr(text, ", \"debug_locations\": \"");
    assert_non_null(list);
    rk_buf_add(&bare, text, (size_t)(list - text));
    rk_buf_add_text(&bare, strchr(list + sizeof ", \"debug_locations\": \"", '"') + 1);
    const rk_buf *const same[] = {&blanks, &order, &bare};
    for (size_t i = 0; i < RK_ARRAY_LEN(same); i++) {
        rk_digest digest = digest_of_config(rk_buf_span(same[i]));
        assert_true(rk_digest_equal(&original, &digest));
    }
}

static void values_of_json_count(void **state) {
    static const char *const edits[][2] = {
        {"\"needs_layout_passes\": true", "\"needs_layout_passes\": false"},
        {"\"serialization_format\": 1", "\"serialization_format\": 2"},
        {"\"serialization_format\": 1", "\"serialization_format\": \"1\""},
        {"\"serialization_format\": 1", "\"serialization_format\": [1]"},
        {"\"serialization_format\": 1", "\"serialization_format\": {}"},
        {"\"serialization_format\": 1", "\"serialization_format\": []"},
        {", \"serialization_format\": 1", ""},
        {"\"body\": ", "\"x\": null, \"body\": "},
        {"\"size\": 16777216", "\"size\": 16777217"},
    };
    (void)state;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    rk_digest digests[RK_ARRAY_LEN(edits) + 1];
    size_t count = 0;
    digests[count++] = digest_of_config(rk_buf_span(&config));
    for (size_t i = 0; i < RK_ARRAY_LEN(edits); i++) {
        RK_AUTO(rk_buf) other = replaced(rk_buf_span(&config), edits[i][0], edits[i][1]);
        assert_int_equal(payloads_in("tpu_custom_call", rk_buf_span(&other)), 1);
        digests[count++] = digest_of_config(rk_buf_span(&other));
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            assert_false(rk_digest_equal(&digests[i], &digests[j]));
}

static void other_targets_are_left_alone(void **state) {
    (void)state;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    assert_int_equal(payloads_in("tpu_custom_call", rk_buf_span(&config)), 1);
    assert_int_equal(payloads_in("tpu_custom_calls", rk_buf_span(&config)), 0);
    assert_int_equal(payloads_in("mosaic_gpu_v2", rk_buf_span(&config)), 0);
}

// A configuration that cannot be parsed completely counts as bytes: another fingerprint, and no
// error.
static void unclear_configurations_are_bytes(void **state) {
    static const char *const edits[][2] = {
        {"{\"custom_call_config\"", "{\"custom_call_config\": {}, \"custom_call_config\""},
        {"{\"custom_call_config\"", "\"custom_call_config\""},
        {"\"body\"", "\"body\": \"\", \"body\""},
        {"\"body\"", "\"\\u0062ody\""},
        {"\"body\": \"", "\"body\": \"\\n"},
        {"\"body\": \"", "\"body\": \"A"},
        {"\"body\": \"", "\"body\": \"===="},
        {"\"body\": \"", "\"body\": \"AAAA"},
        {"\"body\": \"", "\"body\": [\""},
        {"\"body\": \"TUzv", "\"body\": \"TU*v"},
        {"\"body\": \"TUzv", "\"body\": \"TUz="},
        {"\"debug_locations\": ", "\"debug_locations\": 1"},
        {"\"debug_locations\": \"", "\"debug_locations\": \"\\n"},
        {"\"debug_locations\": \"", "\"debug_locations\": \"\", \"debug_locations\": \""},
        {": true", ": True"},
        {": true", ":"},
        {": true", ": true,"},
        {": true", ": \"true"},
    };
    (void)state;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    rk_digest original = digest_of_config(rk_buf_span(&config));
    for (size_t i = 0; i < RK_ARRAY_LEN(edits); i++) {
        RK_AUTO(rk_buf) other = replaced(rk_buf_span(&config), edits[i][0], edits[i][1]);
        if (payloads_in("tpu_custom_call", rk_buf_span(&other)))
            fail_msg("read with %s", edits[i][1]);
        rk_digest digest = digest_of_config(rk_buf_span(&other));
        assert_false(rk_digest_equal(&original, &digest));
    }
}

static void cut_configurations_are_bytes(void **state) {
    (void)state;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    for (size_t len = 0; len < config.len; len += 7)
        assert_int_equal(payloads_in("tpu_custom_call", rk_span_of(config.data, len)), 0);
}

static void deep_and_wide_configurations_are_bytes(void **state) {
    enum { DEPTH = 100000, WIDTH = 5000 };
    (void)state;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    RK_AUTO(rk_buf) deep = {0}, wide = {0};
    rk_buf_add_text(&deep, "{\"x\": ");
    for (size_t i = 0; i < DEPTH; i++)
        rk_buf_add_text(&deep, i % 2 ? "[" : "{\"a\":");
    rk_buf_add_text(&wide, "{\"x\": [0");
    for (size_t i = 0; i < WIDTH; i++)
        rk_buf_add_text(&wide, ",0");
    rk_buf_add_text(&wide, "],");
    rk_buf_add(&wide, config.data + 1, config.len - 1);
    assert_int_equal(payloads_in("tpu_custom_call", rk_buf_span(&deep)), 0);
    assert_int_equal(payloads_in("tpu_custom_call", rk_buf_span(&wide)), 0);
}

// Bodies.

static void bodies_without_a_program_are_bytes(void **state) {
    static const rk_span bodies[] = {
        {(const uint8_t *)"", 0},
        {(const uint8_t *)"ML\xEFR", 4},
        {(const uint8_t *)"ML\xEFR\x01\0", 6},
        {(const uint8_t *)"ML\xEFR\x01MLIR\0\x04\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 20},
        {(const uint8_t *)"module {}", 9},
    };
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(bodies); i++) {
        RK_AUTO(rk_buf) config = config_with_body(bodies[i]);
        assert_int_equal(payloads_in("tpu_custom_call", rk_buf_span(&config)), 0);
    }
    RK_AUTO(rk_buf) triton = rk_test_program("pallas/jax-0.10.2-pallas_triton.mlir");
    const uint8_t *inner = memmem(triton.data + 4, triton.len - 4, "ML\xEFR", 4);
    RK_AUTO(rk_buf) config = config_with_body(rk_span_of(inner, 1150));
    assert_int_equal(payloads_in("tpu_custom_call", rk_buf_span(&config)), 0);
}

// The body of a kernel has a custom call with another kernel. The inner kernel counts as bytes.
static void kernels_are_not_read_in_kernels(void **state) {
    (void)state;
    RK_AUTO(rk_buf) program = rk_test_program("pallas/jax-0.12.0-pallas_tpu.mlir");
    RK_AUTO(rk_buf) config = config_with_body(rk_buf_span(&program));
    RK_AUTO(rk_buf) module = module_with("tpu_custom_call", rk_buf_span(&config));
    rk_model *model = rk_test_read_hlo(rk_buf_span(&module), "hlo", 0);
    assert_int_equal(model->payloads.count, 1);
    assert_int_equal(model->payloads.items[0]->payloads.count, 0);
    rk_model_free(model);
}

// An invalid list of locations, or one that does not fit the body, is ignored and changes nothing
// else.
static void wrong_locations_are_ignored(void **state) {
    (void)state;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    RK_AUTO(rk_buf)
    wrong =
        replaced(rk_buf_span(&config), "\"debug_locations\": \"", "\"debug_locations\": \"AAAA");
    RK_AUTO(rk_buf) module = module_with("tpu_custom_call", rk_buf_span(&wrong));
    rk_digest original = digest_of_config(rk_buf_span(&config));
    rk_digest other = digest_of_config(rk_buf_span(&wrong));
    assert_true(rk_digest_equal(&original, &other));
    rk_model *model = rk_test_read_hlo(rk_buf_span(&module), "hlo", RK_READ_LOCATIONS);
    assert_int_equal(model->payloads.count, 1);
    rk_model *kernel = model->payloads.items[0];
    for (uint32_t i = 0; i < kernel->ops.count; i++)
        assert_true(kernel->ops.items[i].location == RK_NO_ID ||
                    kernel->nodes.items[kernel->ops.items[i].location].kind == RK_NODE_LOC_UNKNOWN);
    rk_model_free(model);
}

// Damage.

static uint64_t next_random(uint64_t *state) { // xorshift64
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void inspect_within_memory(rk_span code, const char *format) {
    rk_program_info info;
    rk_peak_begin();
    assert_null(rk_program_inspect(code, rk_span_text(format), &info));
    assert_true(rk_peak_bytes() <= MEMORY_FACTOR * code.len + MEMORY_LEAST_BYTES);
    rk_program_info_cleanup(&info);
    assert_int_equal(rk_peak_left_bytes(), 0);
    rk_peak_end();
}

static void damaged_kernels(void **state) {
    enum { ROUNDS = 4000 };
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (void)state;
    uint64_t random = 88172645463325252u;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    for (size_t round = 0; round < ROUNDS; round++) {
        RK_AUTO(rk_buf) spoiled = {0};
        rk_buf_add_span(&spoiled, rk_buf_span(&config));
        for (uint64_t left = 1 + next_random(&random) % 3; left; left--) {
            uint8_t *at = &spoiled.data[next_random(&random) % spoiled.len];
            *at = (uint8_t)digits[next_random(&random) % 64];
        }
        RK_AUTO(rk_buf) module = module_with("tpu_custom_call", rk_buf_span(&spoiled));
        inspect_within_memory(rk_buf_span(&module), "hlo");
        rk_model *model = rk_test_read_hlo(rk_buf_span(&module), "hlo", RK_READ_LOCATIONS);
        rk_model_free(model);
    }
}

// Many calls, each with its own kernel.
static void many_kernels(void **state) {
    enum { KERNELS_HERE = 300 };
    (void)state;
    RK_AUTO(rk_buf) config = config_of("pallas/jax-0.12.0-pallas_tpu.hlo");
    RK_AUTO(rk_buf) module = {0};
    rk_buf computation = {0};
    for (uint64_t i = 1; i <= KERNELS_HERE; i++) {
        rk_buf call = rk_test_instruction("custom-call", i);
        rk_test_add_text(&call, TARGET, "tpu_custom_call");
        rk_proto_add_bytes_field(&call, BACKEND_CONFIG, rk_buf_span(&config));
        rk_test_add_instruction(&computation, &call, 0, 0);
    }
    rk_test_add_computation(&module, &computation, "main", 1, 1);
    rk_proto_add_varint_field(&module, 6, 1);
    inspect_within_memory(rk_buf_span(&module), "hlo");
    rk_model *model = rk_test_read_hlo(rk_buf_span(&module), "hlo", 0);
    assert_int_equal(model->payloads.count, KERNELS_HERE);
    rk_model_free(model);
}

// A failed allocation makes the reading fail. It neither ends the job nor gives the fingerprint of
// another program.
static void short_memory(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = rk_test_program("pallas/jax-0.12.0-pallas_tpu.mlir");
    rk_digest whole = digest_of(rk_buf_span(&data), "mlir");
    for (unsigned nth = 1;; nth++) {
        rk_program_info info = {0};
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_program_inspect(rk_buf_span(&data), rk_span_text("mlir"), &info);
        bool failed = rk_fault_end();
        if (!err && !info.by_bytes)
            assert_true(rk_digest_equal(&whole, &info.fingerprint));
        rk_err_free(err);
        rk_program_info_cleanup(&info);
        if (!failed)
            break;
    }
}

// The same for a program that is kept as text.
static void short_memory_for_text(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = rk_test_program("pallas/jax-0.12.0-pallas_tpu.mlir");
    for (unsigned nth = 1;; nth++) {
        rk_model *model = NULL;
        char *reason = NULL;
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_model_read(rk_buf_span(&data), rk_span_text("mlir"), RK_READ_LOCATIONS,
                                    &model, &reason);
        bool failed = rk_fault_end();
        assert_true(err || model);
        if (model)
            assert_int_equal(model->payloads.count, 1);
        rk_err_free(err);
        rk_model_free(model);
        rk_free(reason);
        if (!failed)
            break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moved_kernels_are_the_same),
        cmocka_unit_test(all_ways_have_one_fingerprint),
        cmocka_unit_test(triton_is_known_by_its_bytes),
        cmocka_unit_test(kernels_are_shown),
        cmocka_unit_test(form_of_json_does_not_count),
        cmocka_unit_test(values_of_json_count),
        cmocka_unit_test(other_targets_are_left_alone),
        cmocka_unit_test(unclear_configurations_are_bytes),
        cmocka_unit_test(cut_configurations_are_bytes),
        cmocka_unit_test(deep_and_wide_configurations_are_bytes),
        cmocka_unit_test(bodies_without_a_program_are_bytes),
        cmocka_unit_test(kernels_are_not_read_in_kernels),
        cmocka_unit_test(wrong_locations_are_ignored),
        cmocka_unit_test(damaged_kernels),
        cmocka_unit_test(many_kernels),
        cmocka_unit_test(short_memory),
        cmocka_unit_test(short_memory_for_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
