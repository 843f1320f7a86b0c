// Environment components: plugin, topology, variables, CPU.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "fixture.h"
#include "identity/create_options.h"
#include "identity/environment.h"
#include "identity/host_cpu.h"
#include "identity/plugin_file.h"
#include "support/tempdir.h"

// The tests change this process's variables. The code under test only reads them.
static void set_variable(const char *assignment) {
    (void)putenv((char *)(uintptr_t)assignment); // a literal, because putenv keeps the pointer
}

static const void *load(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    return dlsym(handle, "rk_test_plugin_function");
}

static void plugins_are_found_by_address(void **state) {
    (void)state;
    char *path, *build_id;
    assert_null(rk_plugin_identify(load(RK_TEST_PLUGIN_WITH_ID), &path, &build_id));
    assert_string_equal(path, RK_TEST_PLUGIN_WITH_ID);
    assert_string_equal(build_id, "0123456789abcdef0123456789abcdef01234567");
    rk_free(path);
    rk_free(build_id);
    assert_null(rk_plugin_identify(load(RK_TEST_PLUGIN_WITHOUT_ID), &path, &build_id));
    assert_string_equal(path, RK_TEST_PLUGIN_WITHOUT_ID);
    assert_string_equal(build_id, "");
    rk_free(path);
    rk_free(build_id);
    assert_null(rk_plugin_identify((const void *)(uintptr_t)set_variable, &path, &build_id));
    assert_string_equal(path, "/proc/self/exe");
    rk_free(path);
    rk_free(build_id);
    rk_err *err = rk_plugin_identify((const void *)16, &path, &build_id);
    assert_int_equal(rk_err_code(err), RK_NOT_FOUND);
    assert_null(path);
    assert_null(build_id);
    rk_err_free(err);
}

static rk_plugin_facts sample_facts(void) {
    return (rk_plugin_facts){
        .code_address = load(RK_TEST_PLUGIN_WITH_ID),
        .platform_name = rk_span_text("cpu"),
        .platform_version = rk_span_text("<unknown>"),
        .api_major = 0,
        .api_minor = 81,
        .attributes = rk_span_text("xla_version=2\nstablehlo_current_version=1,10,3\n"),
        .topology_devices = rk_span_text("0 cpu\n1 cpu\n"),
    };
}

static rk_components collect(const rk_plugin_facts *facts, const char *ignore) {
    rk_components list = {0};
    rk_err *err = rk_environment_collect(facts, ignore, &list);
    if (err)
        fail_msg("%s", rk_err_message(err));
    return list;
}

static void facts_become_components(void **state) {
    (void)state;
    rk_plugin_facts facts = sample_facts();
    rk_components list = collect(&facts, "");
    static const char *const EXPECTED[][2] = {
        {"plugin.build_id", "0123456789abcdef0123456789abcdef01234567"},
        {"plugin.platform_name", "cpu"},
        {"plugin.platform_version", "<unknown>"},
        {"pjrt.api_version", "0.81"},
        {"plugin.attribute.xla_version", "2"},
        {"plugin.attribute.stablehlo_current_version", "1,10,3"},
        {"topology.devices", "0 cpu\n1 cpu\n"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(EXPECTED); i++) {
        const char *value = rk_test_value(&list, EXPECTED[i][0]);
        if (!value || strcmp(value, EXPECTED[i][1]) != 0)
            fail_msg("%s is %s", EXPECTED[i][0], value ? value : "missing");
    }
    rk_components_cleanup(&list);
    // A topology fingerprint is added to the devices.
    facts.topology_fingerprint = rk_span_text("00ff12");
    list = collect(&facts, "");
    assert_string_equal(rk_test_value(&list, "topology.fingerprint"), "00ff12");
    assert_non_null(rk_test_value(&list, "topology.devices"));
    rk_components_cleanup(&list);
}

static void add_option(rk_components *list, const char *name, const char *value) {
    assert_null(rk_create_option_add(list, rk_span_text(name), rk_span_text(value)));
}

static void assert_environment(const rk_components *options, const char *hex) {
    rk_plugin_facts facts = sample_facts();
    facts.create_options = options;
    rk_components list = collect(&facts, "");
    rk_digest digest;
    char got[RK_DIGEST_HEX_CHARS + 1];
    rk_components_digest(&list, &digest);
    rk_digest_to_hex(&digest, got);
    assert_string_equal(got, hex);
    rk_components_cleanup(&list);
}

// Options without influence on code do not change the key. Stores from before options counted stay
// warm.
static void harmless_options_leave_the_key_as_it_was(void **state) {
    (void)state;
    static const char GOLDEN[] = "b95d0c630bc98d99cf422222ad2795ffb7ba0f095b37861275461e1906047df2";
    static const char *const HARMLESS[][2] = {
        {"platform_name", "cuda"},
        {"allocator", "default"},
        {"enable_mock_nccl", "false"},
        {"node_id", "3"},
        {"num_nodes", "8"},
        {"visible_devices", "0,1"},
        {"partition_index", "1"},
        {"coordinator_address", "a:80"},
        {"port", "80"},
        {"api_token", "hidden"},
        {"ml_framework_name", "x"},
        {"cpu_device_count", "4"},
    };
    rk_components options = {0};
    assert_environment(NULL, GOLDEN);
    for (size_t i = 0; i < RK_ARRAY_LEN(HARMLESS); i++)
        add_option(&options, HARMLESS[i][0], HARMLESS[i][1]);
    assert_int_equal(options.count, 0);
    assert_environment(&options, GOLDEN);
    rk_components_cleanup(&options);
}

static void other_options_count(void **state) {
    (void)state;
    rk_components options = {0};
    add_option(&options, "enable_mock_nccl", "true");
    add_option(&options, "memory_fraction", "0x1p-1");
    add_option(&options, "airport", "TXL");
    add_option(&options, "node_ids", "1");
    rk_plugin_facts facts = sample_facts();
    facts.create_options = &options;
    rk_components list = collect(&facts, "node_ids");
    assert_string_equal(rk_test_value(&list, "client.option.enable_mock_nccl"), "true");
    assert_string_equal(rk_test_value(&list, "client.option.memory_fraction"), "0x1p-1");
    assert_string_equal(rk_test_value(&list, "client.option.airport"), "TXL");
    assert_null(rk_test_value(&list, "client.option.node_ids")); // REKINDLE_KEY_IGNORE
    rk_components_cleanup(&list);
    rk_components_cleanup(&options);
}

static void variables_count_when_set(void **state) {
    (void)state;
    rk_plugin_facts facts = sample_facts();
    rk_components list = collect(&facts, "");
    size_t before = list.count;
    rk_components_cleanup(&list);
    set_variable("XLA_FLAGS=--xla_b=1 --xla_a --xla_dump_to=/tmp");
    set_variable("LIBTPU_INIT_ARGS=--xla_b=2");
    set_variable("TPU_MEGACORE=megachip");
    set_variable("NVIDIA_TF32_OVERRIDE="); // empty counts as unset
    set_variable("CUDA_VISIBLE_DEVICES=0");
    list = collect(&facts, "");
    assert_int_equal(list.count, before + 4);
    assert_string_equal(rk_test_value(&list, "XLA_FLAGS:--xla_a"), "true");
    assert_string_equal(rk_test_value(&list, "XLA_FLAGS:--xla_b"), "1");
    assert_string_equal(rk_test_value(&list, "LIBTPU_INIT_ARGS:--xla_b"), "2");
    assert_string_equal(rk_test_value(&list, "TPU_MEGACORE"), "megachip");
    rk_components_cleanup(&list);
    list = collect(&facts, "xla_b TPU_MEGACORE");
    assert_int_equal(list.count, before + 1);
    rk_components_cleanup(&list);
    set_variable("XLA_FLAGS=");
    set_variable("LIBTPU_INIT_ARGS=");
    set_variable("TPU_MEGACORE=");
    list = collect(&facts, "");
    assert_int_equal(list.count, before);
    rk_components_cleanup(&list);
}

static void the_cpu_counts_for_host_code(void **state) {
    (void)state;
    rk_plugin_facts facts = sample_facts();
    facts.generates_host_code = true;
    rk_components list = collect(&facts, "");
    assert_non_null(rk_test_value(&list, "host.cpu"));
    assert_true(strlen(rk_test_value(&list, "host.cpu_features")) > 0);
    assert_true(atoi(rk_test_value(&list, "host.cpus")) >= 1);
    rk_components_cleanup(&list);
}

static void cpuinfo_of_both_architectures(void **state) {
    (void)state;
    static const char X86[] = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
                              "model\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n"
                              "cpu MHz\t\t: 2445.404\nflags\t\t: sse2 avx2  avx fma\n\n"
                              "processor\t: 1\nvendor_id\t: Other\nflags\t\t: none\n\n";
    static const char ARM[] = "processor\t: 0\nBogoMIPS\t: 2000.00\n"
                              "Features\t: sve fp asimd\nCPU implementer\t: 0x41\n"
                              "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n\n";
    RK_AUTO(rk_components) x86 = {0};
    RK_AUTO(rk_components) arm = {0};
    RK_AUTO(rk_components) none = {0};
    assert_null(rk_host_cpu_add_info(rk_span_text(X86), &x86));
    assert_string_equal(rk_test_value(&x86, "host.cpu"),
                        "vendor_id AuthenticAMD, cpu family 25, model 17");
    assert_string_equal(rk_test_value(&x86, "host.cpu_features"), "avx avx2 fma sse2");
    assert_null(rk_host_cpu_add_info(rk_span_text(ARM), &arm));
    assert_string_equal(rk_test_value(&arm, "host.cpu"),
                        "CPU implementer 0x41, CPU architecture 8, CPU part 0xd4f");
    assert_string_equal(rk_test_value(&arm, "host.cpu_features"), "asimd fp sve");
    assert_null(rk_host_cpu_add_info((rk_span){0}, &none));
    assert_string_equal(rk_test_value(&none, "host.cpu_features"), "");
}

static size_t bytes_read;

static ssize_t counting_read(int fd, void *data, size_t len) {
    ssize_t got = read(fd, data, len);
    bytes_read += got > 0 ? (size_t)got : 0;
    return got;
}

static uint64_t in_an_hour(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec + 3600) * 1000000000u;
}

static void write_file(const char *path, const char *text) {
    assert_null(rk_fs_publish(path, text, strlen(text), 0600));
}

static rk_digest digest_of_file(const char *path, const char *memo_store) {
    rk_digest digest;
    rk_err *err = rk_plugin_digest(path, memo_store, &digest);
    if (err)
        fail_msg("%s", rk_err_message(err));
    return digest;
}

static void digests_are_remembered(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char path[512];
    rk_sys_table sys = rk_sys_libc;
    sys.read_fn = counting_read;
    (void)snprintf(path, sizeof path, "%s/plugin.so", directory);
    write_file(path, "first build");
    rk_sys_replace(&sys);
    rk_digest first = digest_of_file(path, NULL), expected;
    assert_true(bytes_read > 0);
    bytes_read = 0;
    rk_digest again = digest_of_file(path, NULL);
    assert_int_equal(bytes_read, 0);
    assert_true(rk_digest_equal(&first, &again));
    rk_digest_of(rk_span_text("first build"), &expected);
    assert_true(rk_digest_equal(&first, &expected));
    write_file(path, "other build"); // of the same length
    again = digest_of_file(path, NULL);
    assert_false(rk_digest_equal(&first, &again));
    rk_sys_replace(NULL);
    rk_err *err = rk_plugin_digest("/nowhere/plugin.so", NULL, &first);
    assert_int_equal(rk_err_code(err), RK_NOT_FOUND);
    rk_err_free(err);
    rk_test_tempdir_remove(directory);
}

static rk_err *keep_name(void *context, const char *name) {
    char *kept = context;
    (void)snprintf(kept, 256, "%s", name);
    return NULL;
}

static void flip_byte(const char *path, size_t at) {
    RK_AUTO(rk_buf) data = {0};
    assert_null(rk_fs_read(path, 4096, &data));
    data.data[at] ^= 1;
    assert_null(rk_fs_publish(path, data.data, data.len, 0600));
}

// Runs in a child without the parent's memory of files, so that the memo must come from disk.
static size_t bytes_read_by_new_process(const char *path, const char *memo_store,
                                        const rk_digest *expected) {
    int ends[2];
    size_t result = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        bytes_read = 0;
        rk_digest digest;
        rk_err *err = rk_plugin_digest(path, memo_store, &digest);
        size_t sent = !err && rk_digest_equal(&digest, expected) ? bytes_read : SIZE_MAX;
        _exit(write(ends[1], &sent, sizeof sent) == (ssize_t)sizeof sent ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &result, sizeof result), sizeof result);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return result;
}

static void digests_outlive_the_process(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char path[512], memo[512], memo_name[256] = "", memo_path[1024];
    enum { PLUGIN_BYTES = 300000 };
    rk_sys_table sys = rk_sys_libc;
    rk_clock_table clock = {rk_monotonic_ns, in_an_hour, in_an_hour};
    (void)snprintf(path, sizeof path, "%s/plugin.so", directory);
    (void)snprintf(memo, sizeof memo, "%s/plugins", directory);
    char *text = test_malloc(PLUGIN_BYTES + 1);
    memset(text, 'x', PLUGIN_BYTES);
    text[PLUGIN_BYTES] = '\0';
    write_file(path, text);
    rk_digest expected;
    rk_digest_of(rk_span_text(text), &expected);
    test_free(text);
    sys.read_fn = counting_read;
    rk_sys_replace(&sys);
    // A file that was just written may change again with the same time stamp, so no memo is
    // written.
    assert_true(bytes_read_by_new_process(path, directory, &expected) >= PLUGIN_BYTES);
    assert_true(bytes_read_by_new_process(path, directory, &expected) >= PLUGIN_BYTES);
    rk_clock_replace(&clock);
    assert_true(bytes_read_by_new_process(path, directory, &expected) >= PLUGIN_BYTES);
    assert_true(bytes_read_by_new_process(path, directory, &expected) < 1000);
    assert_null(rk_fs_list(memo, 10, keep_name, memo_name));
    (void)snprintf(memo_path, sizeof memo_path, "%s/%s", memo, memo_name);
    // Damage at any position is detected and repaired.
    static const size_t PLACES[] = {0, 20, 60, 120, 180};
    for (size_t i = 0; i < RK_ARRAY_LEN(PLACES); i++) {
        flip_byte(memo_path, PLACES[i]);
        assert_true(bytes_read_by_new_process(path, directory, &expected) >= PLUGIN_BYTES);
        assert_true(bytes_read_by_new_process(path, directory, &expected) < 1000);
    }
    // Without a memo directory, the digest is still right.
    assert_true(bytes_read_by_new_process(path, "/proc/none", &expected) >= PLUGIN_BYTES);
    rk_clock_replace(NULL);
    rk_sys_replace(NULL);
    rk_test_tempdir_remove(directory);
}

static void plugins_without_id_go_by_digest(void **state) {
    (void)state;
    rk_plugin_facts facts = sample_facts();
    facts.code_address = load(RK_TEST_PLUGIN_WITHOUT_ID);
    rk_components list = collect(&facts, "");
    rk_digest digest = digest_of_file(RK_TEST_PLUGIN_WITHOUT_ID, NULL);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&digest, hex);
    assert_string_equal(rk_test_value(&list, "plugin.digest"), hex);
    assert_null(rk_test_value(&list, "plugin.build_id"));
    rk_components_cleanup(&list);
    facts.code_address = (const void *)16;
    rk_err *err = rk_environment_collect(&facts, "", &list);
    assert_int_equal(rk_err_code(err), RK_NOT_FOUND);
    rk_err_free(err);
    rk_components_cleanup(&list);
}

// The mark changes with every variable that may be a component, and with no other variable.
static void the_mark_shows_changes(void **state) {
    (void)state;
    static const char *const NAMES[] = {
        "XLA_FLAGS",
        "LIBTPU_INIT_ARGS",
        "TF_XLA_FLAGS",
        "CUDNN_ERRATA_JSON_FILE",
        "DISABLE_LLVM_OPT",
        "DISABLE_PTXAS_OPT",
        "HSA_OVERRIDE_GFX_VERSION",
        "MEGASCALE_NUM_SLICES",
        "NCCL_MAX_NCHANNELS",
        "NCCL_MIN_NCHANNELS",
        "NCCL_NTHREADS",
        "NEURON_CC_FLAGS",
        "NPROC",
        "NVIDIA_TF32_OVERRIDE",
        "PJRT_GPU_SE_DISABLE_TARGET_CONFIG",
        "PJRT_NPROC",
        "TF_CUDNN_DETERMINISTIC",
        "TF_DETERMINISTIC_OPS",
        "TF_ENABLE_WINOGRAD_NONFUSED",
        "TF_FP16_CONV_USE_FP32_COMPUTE",
        "TF_FP16_RNN_USE_FP32_COMPUTE",
        "TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT",
        "TF_USE_ROCM_NHWC",
        "TPU_MEGACORE",
        "TRITON_DEFAULT_FP_FUSION",
        "TRITON_F32_DEFAULT",
        "TRITON_OVERRIDE_ARCH",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(NAMES); i++)
        (void)unsetenv(NAMES[i]);
    uint64_t before = rk_environment_mark();
    for (size_t i = 0; i < RK_ARRAY_LEN(NAMES); i++) {
        char assignment[80], longer[80];
        (void)snprintf(assignment, sizeof assignment, "%s=12345678a", NAMES[i]);
        (void)snprintf(longer, sizeof longer, "%sX=1", NAMES[i]);
        (void)putenv(longer);
        assert_true(rk_environment_mark() == before);
        (void)putenv(assignment);
        uint64_t with = rk_environment_mark();
        assert_true(with != before);
        RK_AUTO(rk_components) list = {0};
        assert_null(rk_environment_add_variables("", &list));
        assert_int_equal(list.count, 1);
        assignment[strlen(assignment) - 1] = 'b'; // in place, as putenv allows
        assert_true(rk_environment_mark() != with);
        assignment[strlen(assignment) - 1] = 'a';
        assert_true(rk_environment_mark() == with);
        (void)unsetenv(NAMES[i]);
        assert_true(rk_environment_mark() == before);
        char name[80];
        (void)snprintf(name, sizeof name, "%sX", NAMES[i]);
        (void)unsetenv(name);
    }
}

int main(void) {
    // Variables of the machine must not change the results.
    static const char *const UNSET[] = {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "TF_XLA_FLAGS",
                                        "TPU_MEGACORE", "NVIDIA_TF32_OVERRIDE"};
    for (size_t i = 0; i < RK_ARRAY_LEN(UNSET); i++)
        (void)unsetenv(UNSET[i]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plugins_are_found_by_address),
        cmocka_unit_test(facts_become_components),
        cmocka_unit_test(harmless_options_leave_the_key_as_it_was),
        cmocka_unit_test(other_options_count),
        cmocka_unit_test(variables_count_when_set),
        cmocka_unit_test(the_mark_shows_changes),
        cmocka_unit_test(the_cpu_counts_for_host_code),
        cmocka_unit_test(cpuinfo_of_both_architectures),
        cmocka_unit_test(digests_are_remembered),
        cmocka_unit_test(digests_outlive_the_process),
        cmocka_unit_test(plugins_without_id_go_by_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
