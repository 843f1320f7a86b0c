// Finding JAX without starting Python, and what its files depend on.
#include "jax/install.h"

#include <stdio.h>

#include "base/fs.h"
#include "base/macros.h"
#include "jax/environment.h"
#include "support/expect.h"
#include "support/tempdir.h"

static char *root;

static int set_up(void **state) {
    (void)state;
    root = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_test_tempdir_remove(root);
    return 0;
}

#define PACKAGES "env/lib/python3.11/site-packages"

static void put_jax(void) {
    rk_test_put(root, "env/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n");
    rk_test_put(root, "env/bin/python", "");
    rk_test_put(root, PACKAGES "/jax/version.py",
                "_version = \"0.10.2\"\n_release_version: str = '0.10.2.dev20261101'\n"
                "__version__ = _get_version_string()\n");
    rk_test_put(root, PACKAGES "/jaxlib/version.py",
                "_version = \"0.10.1\"\n_release_version: str | None = None\n");
}

static bool find(rk_jax_install *out) {
    char python[1024];
    bool found = false;
    (void)snprintf(python, sizeof python, "%s/env/bin/python", root);
    const rk_python_where where = {.python = python};
    rk_expect_ok(rk_jax_install_find(&where, out, &found));
    return found;
}

static void versions_of_a_release_and_of_a_checkout(void **state) {
    (void)state;
    RK_AUTO(rk_jax_install) found = {0};
    put_jax();
    assert_true(find(&found));
    assert_string_equal(found.jax, "0.10.2.dev20261101");
    assert_string_equal(found.jaxlib, "0.10.1");
    assert_string_equal(found.compression, "zlib");
    assert_int_equal(found.plugin_count, 0);
}

static void no_jax(void **state) {
    (void)state;
    RK_AUTO(rk_jax_install) found = {0};
    rk_test_put(root, "env/pyvenv.cfg", "home = /usr/bin\n");
    rk_test_put(root, "env/bin/python", "");
    rk_test_put(root, PACKAGES "/jax/version.py", "broken");
    assert_false(find(&found));
}

static void jax_without_jaxlib(void **state) {
    (void)state;
    RK_AUTO(rk_jax_install) found = {0};
    rk_test_put(root, "env/pyvenv.cfg", "home = /usr/bin\n");
    rk_test_put(root, "env/bin/python", "");
    rk_test_put(root, PACKAGES "/jax/version.py", "__version__ = '0.4.30'\n");
    assert_true(find(&found));
    assert_string_equal(found.jax, "0.4.30");
    assert_string_equal(found.jaxlib, "");
}

static void plugins_beside_it(void **state) {
    (void)state;
    RK_AUTO(rk_jax_install) found = {0};
    RK_AUTO(rk_components) list = {0};
    put_jax();
    static const char *const packages[] = {"jax_cuda12_plugin-0.10.2.dist-info",
                                           "jax_cuda12_pjrt-0.10.2.dist-info",
                                           "libtpu-0.0.21.dist-info",
                                           "jax-0.10.2.dist-info",
                                           "jaxlib-0.10.1.dist-info",
                                           "pytest_plugin-1.dist-info",
                                           "jax_plugin.dist-info",
                                           "libtpux-1.dist-info"};
    for (size_t i = 0; i < RK_ARRAY_LEN(packages); i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s/METADATA", PACKAGES, packages[i]);
        rk_test_put(root, path, "");
    }
    assert_true(find(&found));
    assert_int_equal(found.plugin_count, 3);
    rk_expect_ok(rk_jax_environment_read(&found, "/home//u/./cache/", &list));
    static const struct {
        const char *name, *value;
    } expected[] = {{RK_JAX_DIRECTORY, "/home/u/cache"},
                    {"jax", "0.10.2.dev20261101"},
                    {"jaxlib", "0.10.1"},
                    {"jax.compression", "zlib"},
                    {"jax_cuda12_plugin", "0.10.2"},
                    {"jax_cuda12_pjrt", "0.10.2"},
                    {"libtpu", "0.0.21"}};
    for (size_t i = 0; i < RK_ARRAY_LEN(expected); i++) {
        bool there = false;
        for (size_t k = 0; k < list.count; k++)
            there |= strcmp(list.items[k].name, expected[i].name) == 0 &&
                     strcmp(list.items[k].value, expected[i].value) == 0;
        assert_true(there);
    }
}

static void the_compression(void **state) {
    (void)state;
    RK_AUTO(rk_jax_install) first = {0};
    RK_AUTO(rk_jax_install) second = {0};
    put_jax();
    rk_test_put(root, PACKAGES "/zstandard/__init__.py", "");
    assert_true(find(&first));
    assert_string_equal(first.compression, "zstandard");
    rk_test_put(root, "env/lib/python3.14/site-packages/jax/version.py",
                "__version__ = '0.10.2'\n");
    rk_test_put(root, "env/bin/python3.14", "");
    char python[1024];
    bool found = false;
    (void)snprintf(python, sizeof python, "%s/env/bin/python3.14", root);
    const rk_python_where where = {.python = python};
    rk_expect_ok(rk_jax_install_find(&where, &second, &found));
    assert_true(found);
    assert_string_equal(second.compression, "zstd");
}

static void assert_path(const char *path, const char *expected) {
    RK_AUTO(rk_buf) text = {0};
    rk_jax_path_add(path, &text);
    assert_string_equal(rk_buf_text(&text), expected);
}

static void paths_are_those_of_pathlib(void **state) {
    (void)state;
    assert_path("/a/b", "/a/b");
    assert_path("/a//b/", "/a/b");
    assert_path("//a//b/", "//a/b");
    assert_path("///a", "/a");
    assert_path("/", "/");
    assert_path("//", "//");
    assert_path("./", ".");
    assert_path("/a/./b/.", "/a/b");
    assert_path("/a/../b", "/a/../b");
    assert_path("a/b", "a/b");
    assert_path("./a", "a");
    assert_path("/.cache/x", "/.cache/x");
}

static void newer_keys_leave_the_folder_of_xla_out(void **state) {
    (void)state;
    RK_AUTO(rk_jax_install) before = {0};
    RK_AUTO(rk_jax_install) after = {0};
    put_jax();
    rk_test_put(root, PACKAGES "/jax/_src/cache_key.py", "_options = ['--xla_dump_to']\n");
    assert_true(find(&before));
    assert_false(before.ignores_folder_of_xla);
    rk_test_put(root, PACKAGES "/jax/_src/cache_key.py",
                "_options = ['--xla_dump_to', '--xla_gpu_per_fusion_autotune_cache_dir']\n");
    assert_true(find(&after));
    assert_true(after.ignores_folder_of_xla);
}

static void caches_of_xla_bring_the_path_into_keys(void **state) {
    (void)state;
    assert_true(rk_jax_keys_have_path(NULL));
    assert_true(rk_jax_keys_have_path("all"));
    assert_true(rk_jax_keys_have_path("xla_gpu_kernel_cache_file"));
    assert_true(rk_jax_keys_have_path("xla_gpu_per_fusion_autotune_cache_dir"));
    assert_false(rk_jax_keys_have_path("none"));
    assert_false(rk_jax_keys_have_path(""));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(versions_of_a_release_and_of_a_checkout),
        TEST(no_jax),
        TEST(jax_without_jaxlib),
        TEST(plugins_beside_it),
        TEST(the_compression),
        TEST(paths_are_those_of_pathlib),
        TEST(newer_keys_leave_the_folder_of_xla_out),
        TEST(caches_of_xla_bring_the_path_into_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
