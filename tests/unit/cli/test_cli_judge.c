// Which differences of packs of JAX block, with a machine that the test chooses.
#include <stdio.h>

#include "base/macros.h"
#include "cli/bundle_machine.h"
#include "cli/fail.h"
#include "support/expect.h"

// The components of a pack, or of this machine.
typedef struct parts {
    const char *compression, *gpu, *features, *machine, *jaxlib, *plugin;
} parts;

static const parts usual = {
    .compression = "zlib", .features = "sse avx", .machine = "x86_64", .jaxlib = "0.10.2"};

static void add(rk_buf *out, const char *kind, const char *name, const char *value) {
    if (value)
        rk_buf_add_format(out, "%s{\"kind\":\"%s\",\"name\":\"%s\",\"value\":\"%s\"}",
                          out->len > 1 ? "," : "", kind, name, value);
}

static void write_list(const parts *p, rk_buf *out) {
    rk_buf_add_text(out, "[");
    add(out, "topology", "gpu", p->gpu);
    add(out, "topology", "host.cpu_features", p->features);
    add(out, "topology", "host.machine", p->machine);
    add(out, "version", "jax.compression", p->compression);
    add(out, "version", "jaxlib", p->jaxlib);
    add(out, "version", p->plugin, p->plugin ? "0.10.2" : NULL);
    rk_buf_add_text(out, "]");
}

static json_t *list_of(const parts *p) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    write_list(p, &text);
    return rk_out_parsed(rk_span_text(rk_need_text(&text)));
}

typedef struct options {
    const char *module; // NULL: "jax"
    bool has_no_jax;    // this machine
    const char *python; // that was asked for
} options;

// A machine with `here` gets a pack with `theirs`.
static void judge(const parts *theirs, const parts *here, options how, rk_bundle_verdict *out) {
    RK_AUTO(rk_buf) components = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) list = RK_BUF_INIT(0);
    char metadata[256];
    const rk_bundle_head head = {0};
    rk_machine machine = {.components = list_of(here), .name_space = ""};
    machine.python_asked = how.python;
    if (!how.has_no_jax)
        machine.packs[RK_FAMILY_JAX].components = list_of(here);
    machine.packs[RK_FAMILY_JAX].python = rk_need(rk_strdup("/usr/bin/python3"));
    write_list(theirs, &list);
    rk_buf_add_format(&components, "{\"options\":[],\"environment\":%s}", rk_need_text(&list));
    (void)snprintf(metadata, sizeof metadata, "{\"platform\":\"jax\",\"pack\":\"%s\"}",
                   how.module ? how.module : "jax");
    const rk_entry entry = {.kind = RK_ENTRY_EXECUTABLE,
                            .components = rk_span_text(rk_need_text(&components)),
                            .metadata = rk_span_text(metadata)};
    *out = (rk_bundle_verdict){0};
    rk_expect_ok(rk_machine_judge(&machine, &head, &entry, out));
    rk_machine_cleanup(&machine);
}

static void assert_use(const parts *theirs, const parts *here, options how, rk_bundle_use use) {
    rk_bundle_verdict verdict;
    judge(theirs, here, how, &verdict);
    assert_int_equal(verdict.use, use);
    rk_bundle_verdict_cleanup(&verdict);
}

static void nothing_differs(void **state) {
    (void)state;
    assert_use(&usual, &usual, (options){0}, RK_USE_YES);
    assert_use(&usual, &usual, (options){.has_no_jax = true}, RK_USE_NOT_KNOWN);
}

// JAX's keys have the devices that a job uses; the component names all of the machine.
static void gpus_never_block(void **state) {
    (void)state;
    parts one = usual, other = usual;
    one.gpu = "NVIDIA H200";
    other.gpu = "NVIDIA H100, NVIDIA H200";
    assert_use(&one, &other, (options){0}, RK_USE_NO_WARNING);
    assert_use(&usual, &one, (options){0}, RK_USE_NO_WARNING);
    assert_use(&one, &usual, (options){0}, RK_USE_NOT_KNOWN); // an image is built without a GPU
}

static void features_block_without_an_accelerator(void **state) {
    (void)state;
    static const char *const plugins[] = {"jax_cuda12_plugin", "jax_rocm7_pjrt", "libtpu",
                                          "libtpu_nightly"};
    parts theirs = usual, here = usual;
    theirs.features = "sse avx amx";
    assert_use(&theirs, &here, (options){0}, RK_USE_NO);
    assert_use(&theirs, &here, (options){.has_no_jax = true}, RK_USE_NO);
    theirs.gpu = "NVIDIA H200"; // a machine with a GPU may have compiled for its CPU
    assert_use(&theirs, &here, (options){0}, RK_USE_NO);
    assert_use(&theirs, &here, (options){.has_no_jax = true}, RK_USE_NO);
    theirs.plugin = here.plugin = "xla_cpu_pjrt";
    assert_use(&theirs, &here, (options){0}, RK_USE_NO);
    for (size_t i = 0; i < RK_ARRAY_LEN(plugins); i++) {
        theirs.plugin = here.plugin = plugins[i];
        assert_use(&theirs, &here, (options){0}, RK_USE_NO_WARNING);
        assert_use(&theirs, &here, (options){.has_no_jax = true}, RK_USE_NO_WARNING);
    }
}

static void another_machine_blocks(void **state) {
    (void)state;
    parts theirs = usual;
    theirs.machine = "sparc64";
    assert_use(&theirs, &usual, (options){0}, RK_USE_NO);
}

// XLA's results of autotuning have no version in their names.
static void versions_block_results_of_autotuning(void **state) {
    (void)state;
    parts theirs = usual;
    theirs.jaxlib = "0.10.3";
    assert_use(&theirs, &usual, (options){0}, RK_USE_NO_WARNING);
    assert_use(&theirs, &usual, (options){.module = "autotune"}, RK_USE_NO);
    theirs = usual;
    theirs.plugin = "jax_cuda12_plugin";
    assert_use(&theirs, &usual, (options){0}, RK_USE_NO_WARNING);
    assert_use(&theirs, &usual, (options){.module = "autotune"}, RK_USE_NO);
}

// JAX's keys have "zlib" for Python's own zstd too.
static void zlib_and_zstd_of_python_block(void **state) {
    (void)state;
    static const struct {
        const char *theirs, *here;
        rk_bundle_use use;
    } cases[] = {{"zlib", "zstd", RK_USE_NO},
                 {"zstd", "zlib", RK_USE_NO},
                 {"zlib", "zstandard", RK_USE_NO_WARNING},
                 {"zstandard", "zstd", RK_USE_NO_WARNING}};
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        parts theirs = usual, here = usual;
        theirs.compression = cases[i].theirs;
        here.compression = cases[i].here;
        assert_use(&theirs, &here, (options){0}, cases[i].use);
        assert_use(&theirs, &here, (options){.module = "autotune"}, RK_USE_NO_WARNING);
    }
}

static void a_python_without_the_framework(void **state) {
    (void)state;
    rk_bundle_verdict verdict;
    judge(&usual, &usual, (options){.has_no_jax = true, .python = "/a/python"}, &verdict);
    assert_int_equal(verdict.use, RK_USE_NO);
    assert_true(verdict.lacks_framework);
    assert_string_equal(verdict.why, "--python /a/python: rekindle finds no JAX in its folders");
    rk_bundle_verdict_cleanup(&verdict);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_differs),
        cmocka_unit_test(gpus_never_block),
        cmocka_unit_test(features_block_without_an_accelerator),
        cmocka_unit_test(another_machine_blocks),
        cmocka_unit_test(versions_block_results_of_autotuning),
        cmocka_unit_test(zlib_and_zstd_of_python_block),
        cmocka_unit_test(a_python_without_the_framework),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
