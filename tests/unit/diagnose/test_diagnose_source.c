#include "diagnose/diff/source.h"

#include "support/expect.h"

static rk_file_owner owner_of(const char *path) {
    return rk_file_owner_of(rk_span_text(path));
}

static void files_of_the_user_are_outside_of_python(void **state) {
    (void)state;
    assert_int_equal(owner_of("/home/me/train.py"), RK_FILE_USER);
    assert_int_equal(owner_of("train.py"), RK_FILE_USER);
    assert_int_equal(owner_of("/home/me/lib/train.py"), RK_FILE_USER);
    assert_int_equal(owner_of("/home/me/lib/python/train.py"), RK_FILE_USER);
    assert_int_equal(owner_of("/home/me/site-packages.py"), RK_FILE_USER);
    assert_int_equal(owner_of("/home/me/my-site-packages/jax/train.py"), RK_FILE_USER);
    assert_int_equal(owner_of("<string>"), RK_FILE_USER);
    assert_int_equal(owner_of("<ipython-input-1>"), RK_FILE_USER);
}

static void files_of_python_and_frameworks_are_known(void **state) {
    (void)state;
    assert_int_equal(owner_of("/usr/lib/python3.11/runpy.py"), RK_FILE_FRAMEWORK);
    assert_int_equal(owner_of("/opt/lib/lib/python3.12/runpy.py"), RK_FILE_FRAMEWORK);
    assert_int_equal(owner_of("/v/lib/python3.11/site-packages/jax/_src/api.py"),
                     RK_FILE_FRAMEWORK);
    assert_int_equal(owner_of("<frozen runpy>"), RK_FILE_FRAMEWORK);
    assert_int_equal(owner_of(""), RK_FILE_FRAMEWORK);
    assert_int_equal(rk_file_owner_of((rk_span){0}), RK_FILE_FRAMEWORK); // no file
}

// pip install --target, and editable installations.
static void packages_in_other_folders_are_known_by_their_inside(void **state) {
    (void)state;
    assert_int_equal(owner_of("/work/site/keras/src/backend/jax/numpy.py"), RK_FILE_FRAMEWORK);
    assert_int_equal(owner_of("/home/me/flax/flax/linen/linear.py"), RK_FILE_FRAMEWORK);
    assert_int_equal(owner_of("/job/deps/rlax/_src/losses.py"), RK_FILE_PACKAGE);
    assert_int_equal(owner_of("/tmp/torch_geometric.nn.conv.nn_conv_NNConv_propagate_g2j3bfgk.py"),
                     RK_FILE_PACKAGE);
    assert_int_equal(owner_of("/home/me/flax/examples/mnist/train.py"), RK_FILE_USER);
    assert_int_equal(owner_of("/home/me/keras/src_train.py"), RK_FILE_USER);
    assert_int_equal(owner_of("/home/me/torch/nn/"), RK_FILE_USER);
}

static void other_packages_are_neither(void **state) {
    (void)state;
    assert_int_equal(owner_of("/v/lib/python3.11/site-packages/jaxed/a.py"), RK_FILE_PACKAGE);
    assert_int_equal(owner_of("/usr/lib/python3/dist-packages/other/a.py"), RK_FILE_PACKAGE);
}

static void expect_package(const char *path, const char *expected) {
    assert_true(rk_span_is(rk_source_package(rk_span_text(path)), expected));
}

static void the_package_follows_the_folder(void **state) {
    (void)state;
    expect_package("/v/lib/python3.11/site-packages/optax/_src/base.py", "optax");
    expect_package("/v/dist-packages/optax/base.py", "optax");
    expect_package("/v/dist-packages/a/site-packages/b/base.py", "b");
    expect_package("/v/site-packages/six.py", "");
    expect_package("/v/site-packages/", "");
    expect_package("/home/me/train.py", "");
    expect_package("/work/site/keras/src/trainer.py", "keras");
    expect_package("/tmp/torch_geometric.nn.conv.gcn_conv_GCNConv_propagate_a1.py",
                   "torch_geometric");
    expect_package("/", "");
    expect_package("", "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_the_user_are_outside_of_python),
        cmocka_unit_test(files_of_python_and_frameworks_are_known),
        cmocka_unit_test(packages_in_other_folders_are_known_by_their_inside),
        cmocka_unit_test(other_packages_are_neither),
        cmocka_unit_test(the_package_follows_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
