// Finding torch without starting Python, in the layouts of installations.
#include "torch/install.h"

#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "identity/host_gpus.h"
#include "support/expect.h"
#include "support/tempdir.h"
#include "torch/environment.h"

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

static void put_torch(const char *packages, const char *version) {
    char path[512], text[512];
    (void)snprintf(path, sizeof path, "%s/torch/version.py", packages);
    (void)snprintf(text, sizeof text,
                   "from typing import Optional\n\n__all__ = ['__version__']\n__version__ = '%s'\n"
                   "debug = False\ncuda: Optional[str] = '12.8'\ngit_version = '0fabc3'\n"
                   "hip: Optional[str] = None\n",
                   version);
    rk_test_put(root, path, text);
}

static bool find(const char *python, const char *python_path, rk_torch_install *out) {
    char path[1024];
    bool found = false;
    (void)snprintf(path, sizeof path, "%s/%s", root, python);
    const rk_python_where where = {.python = path, .python_path = python_path, .home = root};
    rk_expect_ok(rk_torch_install_find(&where, out, &found));
    return found;
}

static void expect(const char *python, const char *version) {
    RK_AUTO(rk_torch_install) found = {0};
    assert_int_equal(find(python, NULL, &found), version != NULL);
    if (version)
        assert_string_equal(found.version, version);
}

static void a_virtual_environment(void **state) {
    (void)state;
    rk_test_put(root, "base/bin/python3.11", "");
    put_torch("base/lib/python3.11/site-packages", "1.0");
    rk_test_put(root, "env/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n");
    rk_test_put(root, "env/bin/python", "");
    expect("env/bin/python", NULL);
    put_torch("env/lib/python3.11/site-packages", "2.9.0+cu128");
    rk_test_put(root, "env/lib/python3.11/site-packages/triton/__init__.py",
                "__version__ = '3.5.0'\n");
    RK_AUTO(rk_torch_install) found = {0};
    assert_true(find("env/bin/python", NULL, &found));
    assert_string_equal(found.version, "2.9.0+cu128");
    assert_string_equal(found.git, "0fabc3");
    assert_string_equal(found.cuda, "12.8");
    assert_string_equal(found.hip, "");
    assert_string_equal(found.triton, "3.5.0");
    assert_string_equal(found.python, "3.11");
}

static void an_environment_that_sees_its_base(void **state) {
    (void)state;
    char text[1024];
    put_torch("base/lib/python3.11/site-packages", "1.5");
    (void)snprintf(text, sizeof text, "home = %s/base/bin\ninclude-system-site-packages = true\n",
                   root);
    rk_test_put(root, "env/pyvenv.cfg", text);
    rk_test_put(root, "env/bin/python", "");
    rk_test_put(root, "base/bin/python3.11", "");
    expect("env/bin/python", "1.5");
}

static void an_environment_with_a_link_file(void **state) {
    (void)state;
    char text[1024];
    put_torch("elsewhere", "2.15.0");
    (void)snprintf(text, sizeof text, "%s/elsewhere\n", root);
    rk_test_put(root, "env/pyvenv.cfg", "home = /usr/bin\n");
    rk_test_put(root, "env/bin/python", "");
    rk_test_put(root, "env/lib/python3.12/site-packages/base.pth", text);
    RK_AUTO(rk_torch_install) found = {0};
    assert_true(find("env/bin/python", NULL, &found));
    assert_string_equal(found.version, "2.15.0");
    assert_string_equal(found.python, "3.12");
}

static void an_interpreter_behind_a_link(void **state) {
    (void)state;
    char from[1024], to[1024];
    rk_test_put(root, "opt/bin/python3.12", "");
    put_torch("opt/lib/python3.11/site-packages", "of another Python");
    put_torch("opt/lib/python3.12/site-packages", "2.4");
    rk_test_put(root, "bin/x", "");
    (void)snprintf(from, sizeof from, "%s/opt/bin/python3.12", root);
    (void)snprintf(to, sizeof to, "%s/bin/python3", root);
    assert_int_equal(symlink(from, to), 0);
    expect("bin/python3", "2.4");
}

static void debian(void **state) {
    (void)state;
    rk_test_put(root, "usr/bin/python3.11", "");
    put_torch("usr/lib/python3/dist-packages", "1.13");
    expect("usr/bin/python3.11", "1.13");
    put_torch("usr/local/lib/python3.11/dist-packages", "2.1");
    expect("usr/bin/python3.11", "2.1");
    put_torch(".local/lib/python3.11/site-packages", "2.2");
    expect("usr/bin/python3.11", "2.2");
}

static void python_path_comes_first(void **state) {
    (void)state;
    char folders[1024];
    rk_test_put(root, "usr/bin/python3.11", "");
    put_torch("usr/lib/python3.11/site-packages", "2.1");
    put_torch("mine", "9.9");
    (void)snprintf(folders, sizeof folders, "%s/none:%s/mine", root, root);
    RK_AUTO(rk_torch_install) found = {0};
    assert_true(find("usr/bin/python3.11", folders, &found));
    assert_string_equal(found.version, "9.9");
}

// The name of a link does not tell the version of its Python.
static void a_link_has_the_version_of_its_python(void **state) {
    (void)state;
    char link[1024], folder[1024];
    rk_test_put(root, "usr/bin/python3.11", "");
    put_torch("mine", "9.9");
    (void)snprintf(folder, sizeof folder, "%s/mine", root);
    (void)snprintf(link, sizeof link, "%s/usr/bin/python3", root);
    assert_int_equal(symlink("python3.11", link), 0);
    RK_AUTO(rk_torch_install) found = {0};
    assert_true(find("usr/bin/python3", folder, &found));
    assert_string_equal(found.python, "3.11");
}

static const char *value_of(const rk_components *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return list->items[i].value;
    return NULL;
}

// A machine with a GPU has its kernels there, and its number of threads does not matter.
static void threads_count_without_a_gpu(void **state) {
    (void)state;
    static const struct {
        const char *omp, *mkl;
    } cases[] = {{NULL, NULL}, {"", ""}, {"3", NULL}, {"3", "2"}};
    char empty[] = "", folder[] = "/x", python[] = "3.11", version[] = "2.9.0";
    const rk_torch_install install = {folder, python, version, empty, empty, empty, empty};
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        RK_AUTO(rk_components) list = {0};
        const rk_torch_variables variables = {
            .path = "/nowhere", .omp = cases[i].omp, .mkl = cases[i].mkl};
        rk_expect_ok(rk_torch_environment_read(&install, &variables, &list));
        assert_non_null(value_of(&list, "libc"));
        assert_string_equal(value_of(&list, "compiler.cxx"), "none");
        bool has_gpu = value_of(&list, "gpu") != NULL;
        assert_int_equal(value_of(&list, "host.cpus") != NULL, !has_gpu && i < 2);
        assert_int_equal(value_of(&list, "OMP_NUM_THREADS") != NULL, !has_gpu && i >= 2);
        assert_int_equal(value_of(&list, "MKL_NUM_THREADS") != NULL, !has_gpu && i == 3);
    }
}

// A folder such as /usr/lib64 has more names than are listed.
static void a_folder_with_many_names(void **state) {
    (void)state;
    rk_test_put(root, "usr/bin/python3.11", "");
    for (int i = 0; i < 4200; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/usr/lib64/a%d", root, i);
        if (i == 0)
            rk_test_put(root, "usr/lib64/a", "");
        assert_int_equal(symlink("a", path), 0);
    }
    put_torch("usr/lib64/python3.11/site-packages", "2.1");
    expect("usr/bin/python3.11", "2.1");
}

static void nothing_is_found(void **state) {
    (void)state;
    rk_test_put(root, "usr/bin/python3.11", "");
    expect("usr/bin/python3.11", NULL);
    expect("usr/bin/missing", NULL);
    rk_test_put(root, "usr/lib/python3.11/site-packages/torch/version.py", "no version here\n");
    expect("usr/bin/python3.11", NULL);
}

static void gpus_have_names(void **state) {
    (void)state;
    char proc[512], sys[512];
    RK_AUTO(rk_buf) names = {0};
    rk_test_put(root, "proc/driver/nvidia/gpus/0000:01/information",
                "Model: \t\t NVIDIA H200\nIRQ: 1\n");
    rk_test_put(root, "proc/driver/nvidia/gpus/0000:02/information",
                "Model: \t\t NVIDIA H200\nIRQ: 2\n");
    rk_test_put(root, "sys/class/kfd/kfd/topology/nodes/0/properties",
                "cpu_cores 8\ngfx_target_version 0\n");
    rk_test_put(root, "sys/class/kfd/kfd/topology/nodes/1/properties",
                "gfx_target_version 90402\n");
    (void)snprintf(proc, sizeof proc, "%s/proc", root);
    (void)snprintf(sys, sizeof sys, "%s/sys", root);
    rk_expect_ok(rk_host_gpus_add(proc, sys, &names));
    assert_string_equal(rk_buf_text(&names), "90402, NVIDIA H200");
    rk_buf_clear(&names);
    rk_expect_ok(rk_host_gpus_add("/nowhere", "/nowhere", &names));
    assert_string_equal(rk_buf_text(&names), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_virtual_environment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_environment_that_sees_its_base, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_environment_with_a_link_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interpreter_behind_a_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(debian, set_up, tear_down),
        cmocka_unit_test_setup_teardown(python_path_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_with_many_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gpus_have_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_has_the_version_of_its_python, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_count_without_a_gpu, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
