// The versions that are recorded with each program.
#include "pjrt/toolchain.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/expect.h"
#include "support/tempdir.h"

static char *directory;

static int setup(void **state) {
    (void)state;
    directory = rk_test_tempdir();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    (void)unsetenv("PYTHONPATH");
    rk_test_tempdir_remove(directory);
    return 0;
}

static void install(const char *folder, const char *name) {
    rk_autofree char *parent = rk_path_join(directory, folder);
    rk_autofree char *path = rk_path_join(parent, name);
    rk_expect_ok(rk_fs_make_dirs(path, 0755));
}

static void expect_versions(const char *wanted) {
    RK_AUTO(rk_buf) out = {0};
    rk_json json = rk_json_on(&out);
    rk_toolchain_write(&json);
    assert_string_equal(rk_buf_text(&out), wanted);
}

static void nothing_is_known_without_packages(void **state) {
    (void)state;
    expect_versions("{}");
}

// A framework of which no library is loaded decides nothing.
static void the_first_folder_of_the_path_counts(void **state) {
    (void)state;
    install("a", "optax-0.2.9.dist-info");
    install("a", "torch-2.9.0.dist-info");
    install("b", "optax-0.2.8.dist-info");
    install("b", "flax-0.12.8.dist-info");
    install("b", "flaxen-1.0.dist-info");
    RK_AUTO(rk_buf) path = {0};
    rk_buf_add_format(&path, "%s/a:/nonexistent::%s/b", directory, directory);
    assert_int_equal(setenv("PYTHONPATH", rk_buf_text(&path), 1), 0);
    expect_versions("{\"optax\":\"0.2.9\",\"flax\":\"0.12.8\"}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_known_without_packages, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_folder_of_the_path_counts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
