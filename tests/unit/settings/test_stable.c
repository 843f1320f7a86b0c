#include "settings/stable_internal.h"

#include "support/cmocka.h"

static void expect(const char *text, const char *wanted) {
    RK_AUTO(rk_buf) out = {0};
    rk_stable_add(&out, rk_span_text(text), "/scratch/me/tmp/");
    if (strcmp(rk_buf_text(&out), wanted) != 0)
        fail_msg("\"%s\" became \"%s\", not \"%s\"", text, rk_buf_text(&out), wanted);
}

static void times(void **state) {
    (void)state;
    expect("20261121-1201", "<time>");
    expect("2026-11-21T12:01:33.123456Z", "<time>");
    expect("2026-11-21", "<time>");
    expect("runs/2026-11-21/12-01-33/x", "runs/<time>/<time>/x");
    expect("outputs/2026_11_21_12_01_33", "outputs/<time>");
    expect("2026-11-21T12:01:33+01:00", "<time>");
    expect("20261121T120133+0100,x", "<time>,x");
    expect("run_20261121", "run_<time>");
    expect("run20261121T120133", "run<time>");
    expect("Nov21_12-01-33_host", "<time>_host");
    expect("12:01:33", "<time>");
}

static void ids(void **state) {
    (void)state;
    expect("1b4e28ba-2fa1-11d2-883f-0016d3cca427", "<id>");
    expect("id=1B4E28BA-2FA1-11D2-883F-0016D3CCA427.json", "id=<id>.json");
    expect("9f86d081", "<id>");
    expect("0x7ffd12345abc", "<id>");
    expect("slurm-12345678.out", "slurm-<n>.out");
    expect("12345678901234567", "<n>");
}

static void addresses(void **state) {
    (void)state;
    expect("10.0.3.7:41231", "<ip>:<port>");
    expect("localhost:8476", "localhost:<port>");
    expect("http://head:6379/x", "http://head:<port>/x");
    expect("grpc://node1.cluster.example:8470", "grpc://node1.cluster.example:<port>");
    expect("[::1]:8470", "[::1]:<port>");
}

static void temporary_paths(void **state) {
    (void)state;
    expect("/tmp/tmpab12/x", "<tmp>");
    expect("--logdir=/var/tmp/a/b,mode", "--logdir=<tmp>,mode");
    expect("/scratch/me/tmp/job/x", "<tmp>");
    expect("/scratch/me/tmpfiles", "/scratch/me/tmpfiles");
    expect("/home/me/tmpk3j_9a2b/x", "/home/me/<tmp>/x");
    expect("/home/me/tmp/x", "/home/me/tmp/x");
    expect("/mnt/tmp/x", "/mnt/tmp/x");
    expect("/tmpl", "/tmpl");
}

static void parameters_stay(void **state) {
    (void)state;
    static const char *const kept[] = {
        "1e-3",     "--lr",         "0.001",          "3e-05",     "1024",    "batch:4096",
        "deadbeef", "4x2",          "data:8,model:4", "bf16",      "v5e-256", "llama-3.1-8b",
        "0.9.1",    "1234567",      "gpt2-medium",    "2024",      "12-30",   "-1",
        "",         "config.yaml",  "fsdp=2,tp=4",    "a=b",       "tmpdir",  "8:16:32:64",
        "1e10",     "layers_12_34", "8192:4096",      "a1b2c3d4z",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(kept); i++)
        expect(kept[i], kept[i]);
}

static void options(void **state) {
    (void)state;
    static const char *const volatile_ones[] = {"port",      "master_port", "master-port",  "pid",
                                                "run-id",    "Run_ID",      "slurm.job_id", "rank",
                                                "node_rank", "process-id",  "rdzv-id"};
    for (size_t i = 0; i < RK_ARRAY_LEN(volatile_ones); i++)
        assert_true(rk_stable_is_volatile_option(rk_span_text(volatile_ones[i])));
    static const char *const others[] = {"",       "lr",       "support", "transport", "rapid",
                                         "lora_r", "passport", "idle",    "ranking",   "model-id"};
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        assert_false(rk_stable_is_volatile_option(rk_span_text(others[i])));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times),           cmocka_unit_test(ids),
        cmocka_unit_test(addresses),       cmocka_unit_test(temporary_paths),
        cmocka_unit_test(parameters_stay), cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
