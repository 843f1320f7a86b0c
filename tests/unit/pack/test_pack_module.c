// Which files are kept, in which module, and which names are valid.
#include "pack/module.h"

#include "base/macros.h"
#include "support/cmocka.h"

static void assert_module(const char *path, const char *expected) {
    rk_pack_module module;
    if (!rk_pack_module_of(RK_FAMILY_TORCH, path, &module)) {
        assert_null(expected);
        return;
    }
    assert_non_null(expected);
    assert_string_equal(rk_pack_module_name(module), expected);
}

static void files_have_modules(void **state) {
    (void)state;
    assert_module("fxgraph/ab/fabc/0123", "inductor");
    assert_module("fxgraph/ab/fabc/tmp123", "inductor"); // a digest
    assert_module("q5/cq5xyz.py", "inductor");
    assert_module("q5/cq5xyz.main.so", "inductor");
    assert_module("q5/cq5xyz.main.cpp", "inductor");
    assert_module("aotautograd/aabc/0123", "aotautograd");
    assert_module("triton/0/HASH/kernel.cubin", "triton");
    assert_module("triton/HASH/__triton_launcher.cpython-311-x86_64-linux-gnu.so", "triton");
    assert_module("cache/0123abcd", "autotune");
    assert_module("q5/cq5xyz.best_config", "autotune");
    assert_module("dynamo/code_state_train_0.pkl", "pgo");
}

static void other_files_are_left_out(void **state) {
    (void)state;
    static const char *const paths[] = {
        "locks/abc.lock", "q5/abc.lock", "precompiled_headers/x.h", "q5/x.h.gch", "q5/.123.456.tmp",
        "fxgraph/ab/.1.2.tmp", "triton/0/tmp.pid_12_ab/kernel.json", "tmpab12/x.so", ".hidden",
        "dynamo", "dynamo/code_state_x.pkl.lock", "file.py", "gcc/bin/g++", "aoti_eager/aten/x.so",
        // What AOTInductor writes holds weights.
        "q5/cabc.pt2", "q5/cabc.wrapper.so", "q5/cabc.wrapper.cpp", "q5/cabc.kernel.o", "q5/w.bin",
        "q5/cabc.wrapper_metadata.json", "q5/a/b.wrapper.so"};
    for (size_t i = 0; i < RK_ARRAY_LEN(paths); i++)
        assert_module(paths[i], NULL);
    assert_false(rk_pack_keeps_folder(RK_FAMILY_TORCH, "locks"));
    assert_false(rk_pack_keeps_folder(RK_FAMILY_TORCH, "gcc"));
    assert_false(rk_pack_keeps_folder(RK_FAMILY_TORCH, "q5/tmpxyz"));
    assert_true(rk_pack_keeps_folder(RK_FAMILY_TORCH, "fxgraph/ab"));
}

static void names_fit_their_module(void **state) {
    (void)state;
    assert_true(rk_pack_module_has(RK_FAMILY_TORCH, RK_PACK_PGO, "dynamo/code_state_a.pkl"));
    assert_false(rk_pack_module_has(RK_FAMILY_TORCH, RK_PACK_PGO, "aotautograd/aabc/0123"));
    assert_true(rk_pack_module_has(RK_FAMILY_TORCH, RK_PACK_HEADERS, "cabc.h.gch"));
    assert_false(rk_pack_module_has(RK_FAMILY_TORCH, RK_PACK_HEADERS, "a/cabc.h"));
    assert_false(rk_pack_module_has(RK_FAMILY_TORCH, RK_PACK_HEADERS, ".bashrc"));
}

#define DIGITS  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CHOICES "xla_gpu_per_fusion_autotune_cache_dir"

static void assert_jax(const char *path, const char *expected) {
    rk_pack_module module;
    bool found = rk_pack_module_of(RK_FAMILY_JAX, path, &module);
    assert_int_equal(found, expected != NULL);
    if (expected)
        assert_string_equal(rk_pack_module_name(module), expected);
}

static void files_of_jax_have_modules(void **state) {
    (void)state;
    assert_jax("jit_f-" DIGITS "-cache", "jax");
    assert_jax("jit__lambda-" DIGITS "-cache", "jax");
    assert_jax("jit_a.b-c-" DIGITS "-cache", "jax");
    assert_jax("jit_\xc3\xa4-" DIGITS "-cache", "jax");
    assert_jax(CHOICES "/kG3_-aZ.textproto", "autotune");
    assert_true(rk_pack_keeps_folder(RK_FAMILY_JAX, CHOICES));
}

static void other_files_of_jax_are_left_out(void **state) {
    (void)state;
    static const char *const paths[] = {
        "jit_f-" DIGITS "-atime", // made again
        ".lockfile",
        "xla_gpu_kernel_cache_file",
        "jit_f-cache",
        "-" DIGITS "-cache",
        DIGITS "-cache",
        "jit_f_" DIGITS "-cache",
        "jit_f-0" DIGITS,
        "jit_f-" DIGITS "-cache.tmp",
        "jit_f-ABCDEF0123456789" DIGITS "-CACHE",
        "jit_f-g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef-cache",
        ".jit_f-" DIGITS "-cache",
        "sub/jit_f-" DIGITS "-cache",
        "/jit_f-" DIGITS "-cache",
        "",
        CHOICES,
        CHOICES "/",
        CHOICES "/tmp",
        CHOICES "/.textproto",
        CHOICES "/a.b.textproto",
        CHOICES "/tmp/tmp_per_fusion_cache_a_1.textproto",
        "other/a.textproto",
        "q5/cq5xyz.py",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(paths); i++)
        assert_jax(paths[i], NULL);
    assert_false(rk_pack_keeps_folder(RK_FAMILY_JAX, CHOICES "/tmp"));
    assert_false(rk_pack_keeps_folder(RK_FAMILY_JAX, "q5"));
}

static void families_do_not_mix(void **state) {
    (void)state;
    const char *entry = "jit_f-" DIGITS "-cache";
    assert_true(rk_pack_module_has(RK_FAMILY_JAX, RK_PACK_JAX, entry));
    assert_false(rk_pack_module_has(RK_FAMILY_TORCH, RK_PACK_JAX, entry));
    assert_false(rk_pack_module_has(RK_FAMILY_JAX, RK_PACK_AUTOTUNE, entry));
    assert_false(rk_pack_module_has(RK_FAMILY_TORCH, RK_PACK_AUTOTUNE, CHOICES "/a.textproto"));
    assert_false(rk_pack_module_has(RK_FAMILY_JAX, RK_PACK_AUTOTUNE, "cache/0123abcd"));
    assert_false(rk_pack_module_has(RK_FAMILY_JAX, RK_PACK_HEADERS, "cabc.h.gch"));
    for (unsigned i = 0; i < RK_PACK_FAMILIES; i++) {
        rk_pack_family family;
        assert_true(rk_pack_family_parse(rk_pack_family_name((rk_pack_family)i), &family));
        assert_int_equal(family, i);
    }
    rk_pack_family ignored;
    assert_false(rk_pack_family_parse("cpu", &ignored));
}

static void names_of_modules_are_parsed(void **state) {
    (void)state;
    for (unsigned i = 0; i < RK_PACK_MODULES; i++) {
        rk_pack_module module;
        assert_true(rk_pack_module_parse(rk_pack_module_name((rk_pack_module)i), &module));
        assert_int_equal(module, i);
    }
    rk_pack_module ignored;
    assert_false(rk_pack_module_parse("pjrt", &ignored));
    assert_false(rk_pack_module_parse("", &ignored));
}

static void names_must_be_safe(void **state) {
    (void)state;
    static const char *const bad[] = {"",     "/a",   "a/",    "a//b", ".",    "..",
                                      "../a", "a/..", "a/./b", "a\nb", "a\\b", "a\x7f"};
    static const char *const good[] = {"a", "a/b", "..a", "a..b/c", ".a", "a b", "\xc3\xa4"};
    char longest[RK_PACK_NAME_MAX_BYTES + 2];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(rk_pack_name_is_valid(rk_span_text(bad[i])));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(rk_pack_name_is_valid(rk_span_text(good[i])));
    assert_false(rk_pack_name_is_valid(rk_span_of("a\0b", 3)));
    memset(longest, 'a', sizeof longest);
    for (size_t i = 200; i < sizeof longest; i += 200)
        longest[i] = '/';
    assert_true(rk_pack_name_is_valid(rk_span_of(longest, RK_PACK_NAME_MAX_BYTES)));
    assert_false(rk_pack_name_is_valid(rk_span_of(longest, RK_PACK_NAME_MAX_BYTES + 1)));
    longest[200] = 'a';
    assert_false(rk_pack_name_is_valid(rk_span_of(longest, RK_PACK_NAME_MAX_BYTES)));
}

static void costly_files_cost_more(void **state) {
    (void)state;
    assert_true(rk_pack_cost_ns("q5/x.main.so") > rk_pack_cost_ns("q5/x.py"));
    assert_true(rk_pack_cost_ns("fxgraph/ab/c/d") > rk_pack_cost_ns("q5/x.py"));
    assert_true(rk_pack_cost_ns("anything") > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_modules),
        cmocka_unit_test(other_files_are_left_out),
        cmocka_unit_test(names_fit_their_module),
        cmocka_unit_test(names_of_modules_are_parsed),
        cmocka_unit_test(files_of_jax_have_modules),
        cmocka_unit_test(other_files_of_jax_are_left_out),
        cmocka_unit_test(families_do_not_mix),
        cmocka_unit_test(names_must_be_safe),
        cmocka_unit_test(costly_files_cost_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
