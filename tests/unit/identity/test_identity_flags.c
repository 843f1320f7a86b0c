// Flags in environment variables, split as in XLA.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "fixture.h"
#include "identity/flags.h"
#include "support/tempdir.h"

static rk_components split(const char *text) {
    rk_components list = {0};
    assert_null(rk_flags_add_variable("XLA_FLAGS", text, &list));
    rk_components_sort(&list);
    return list;
}

static void expect(const char *text, const char *flag, const char *value) {
    rk_components list = split(text);
    char name[256];
    (void)snprintf(name, sizeof name, "XLA_FLAGS:--%s", flag);
    const char *found = rk_test_value(&list, name);
    if (!found || strcmp(found, value) != 0)
        fail_msg("%s: %s is %s, not %s", text, flag, found ? found : "missing", value);
    rk_components_cleanup(&list);
}

static void values_are_taken_as_xla_takes_them(void **state) {
    (void)state;
    expect("--xla_a=1", "xla_a", "1");
    expect(" \t--xla_a=1\n--xla_b=2 ", "xla_b", "2");
    expect("--xla_a", "xla_a", "true");
    expect("--xla_a=", "xla_a", "");
    expect("--xla_a=\"b c\" --xla_d=1", "xla_a", "b c");
    expect("--xla_a=\"b c\" --xla_d=1", "xla_d", "1");
    expect("--xla_a='b \\ c'", "xla_a", "b \\ c");
    expect("--xla_a=\"b \\\" c\"", "xla_a", "b \" c");
    expect("--xla_a=\"not closed --xla_b", "xla_a", "not closed --xla_b");
    expect("--xla_a=b\"c", "xla_a", "b\"c");
    expect("--xla_a=b=c", "xla_a", "b=c");
    expect("--xla_a 5 --xla_b", "xla_a", "5"); // a form that libtpu's flags allow
    expect("--xla_a=1 --xla_a=1", "xla_a", "1");
    expect("--xla_a=1 --xla_a=2", "xla_a", "1, then 2");
    expect("--xla_a=1 --xla_a=2 --xla_a=2", "xla_a", "1, then 2");
    expect("--xla_a=1 --xla_a=2 --xla_a=1", "xla_a", "1, then 2, then 1");
}

static void order_does_not_matter(void **state) {
    (void)state;
    rk_components one = split("--xla_b=2 --xla_a --xla_c='x y'");
    rk_components other = split("--xla_c=\"x y\"   --xla_a=true\n--xla_b=2");
    rk_digest one_digest, other_digest;
    rk_components_digest(&one, &one_digest);
    rk_components_digest(&other, &other_digest);
    assert_int_equal(one.count, 3);
    assert_int_equal(one.items[0].kind, RK_COMPONENT_FLAG);
    assert_true(rk_digest_equal(&one_digest, &other_digest));
    rk_components_cleanup(&one);
    rk_components_cleanup(&other);
}

static void dumps_and_logs_are_left_out(void **state) {
    (void)state;
    rk_components list = split(
        "--xla_dump_to=/tmp/dump --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.* "
        "--xla_force_host_platform_device_count=8 --xla_gpu_cuda_data_dir=/usr/local/cuda "
        "--xla_gpu_per_fusion_autotune_cache_dir=/tmp --xla_gpu_experimental_autotune_cache_mode=1 "
        "--xla_gpu_dump_llvmir --xla_tpu_sdc_checker_streamz_metric=x --vmodule=a=1 "
        "--xla_cpu_enable_fast_math=true --xla_dumpling=1");
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "XLA_FLAGS:--xla_cpu_enable_fast_math");
    assert_string_equal(list.items[1].name, "XLA_FLAGS:--xla_dumpling");
    rk_components_cleanup(&list);
}

static void nothing_is_nothing(void **state) {
    (void)state;
    rk_components list = split("");
    assert_int_equal(list.count, 0);
    assert_null(rk_flags_add_variable("XLA_FLAGS", NULL, &list));
    assert_int_equal(list.count, 0);
}

static void a_file_may_contain_the_flags(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char path[512], link_path[512];
    static const char FLAGS[] = "--xla_a=1\n--xla_b=2\n";
    (void)snprintf(path, sizeof path, "%s/flags", directory);
    (void)snprintf(link_path, sizeof link_path, "%s/link", directory);
    assert_null(rk_fs_publish(path, FLAGS, sizeof FLAGS - 1, 0600));
    assert_int_equal(symlink("flags", link_path), 0);
    expect(path, "xla_b", "2");
    expect(link_path, "xla_a", "1");
    assert_int_equal(unlink(path), 0);
    rk_components list = split(path); // no such file: the key contains the text itself
    assert_int_equal(list.count, 1);
    assert_string_equal(rk_test_value(&list, "XLA_FLAGS"), path);
    rk_components_cleanup(&list);
    rk_test_tempdir_remove(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_taken_as_xla_takes_them),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(dumps_and_logs_are_left_out),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(a_file_may_contain_the_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
