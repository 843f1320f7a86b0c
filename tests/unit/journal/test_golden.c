// A run in version 1 of the journal, from real JAX: two processes, the second killed. These files
// are never rewritten and must always be readable.
#include "fixture.h"

static void version_1_is_read(void **state) {
    (void)state;
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(RK_TEST_GOLDEN_DIR, "v1", &model);
    assert_string_equal(model.job, "train_transformer-8f4eda08cc25");
    assert_string_equal(model.mode, "readwrite");
    assert_string_equal(model.version, "0.1.0");
    assert_int_equal(model.start_ns, 1795268327927860000);
    assert_int_equal(model.last_ns, 1795268350720000000);
    assert_false(model.ended);
    assert_int_equal(model.torn_lines, 1);
    assert_int_equal(model.newer_lines, 1);
    assert_int_equal(model.unknown_events, 1);
    assert_int_equal(model.bad_lines, 0);

    assert_int_equal(model.process_count, 2);
    assert_true(model.processes[0].ended && !model.processes[1].ended);
    assert_int_equal(model.processes[1].rank, 1);
    assert_int_equal(model.processes[0].argc, 4);
    assert_string_equal(model.processes[0].argv[1], "examples/train_transformer.py");

    assert_int_equal(model.client_count, 2);
    assert_string_equal(model.clients[0].platform_name, "cpu");
    assert_int_equal(model.clients[0].api_minor, 81);
    assert_int_equal(model.clients[0].device_count, 4);
    assert_non_null(strstr(model.clients[0].components_json, "\"pjrt.api_version\""));

    assert_int_equal(model.compile_count, 9);
    assert_string_equal(model.compiles[0].name, "jit_init");
    assert_string_equal(model.compiles[0].reason, "absent");
    assert_string_equal(model.compiles[0].key,
                        "54fac82acdc2a9d4b208ea839eaea41d1eb3c09950de3a39744bdfca7140fc26");
    assert_int_equal(model.compiles[0].compile_ns, 4853079000);
    assert_int_equal(model.compiles[0].program_bytes, 26918);
    assert_int_equal(model.stored_count, 4);
    assert_int_equal(model.stored[0].raw_bytes, 1850393);
}

static void its_totals_stay_the_same(void **state) {
    (void)state;
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(RK_TEST_GOLDEN_DIR, "v1", &model);
    RK_AUTO(rk_run_totals) totals = {0};
    fixture_ok(rk_run_totals_add(&totals, &model));
    assert_int_equal(totals.programs, 5);
    assert_int_equal(totals.hits, 4);
    assert_int_equal(totals.misses, 4);
    assert_int_equal(totals.bypassed, 1);
    assert_int_equal(totals.compiled, 5);
    assert_int_equal(totals.stored, 4);
    assert_int_equal(totals.saved_ns, 12711197000);
    assert_int_equal(totals.load_ns, 720999000);
    assert_int_equal(totals.counts.executions, 20);
    assert_int_equal(totals.warning_count, 1);
}

// A child that ended by _exit while it was storing, and the end of its parent, the command.
static void the_end_of_a_command_is_read(void **state) {
    (void)state;
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(RK_TEST_GOLDEN_DIR, "v1-command", &model);
    assert_int_equal(model.process_count, 1);
    assert_false(model.ended);
    assert_int_equal(model.last_ns, 1795435002100000000);
    assert_true(model.command.known);
    assert_int_equal(model.command.pid, 4712);
    assert_string_equal(model.command.host, "node1");
    assert_int_equal(model.command.signal_number, 0);
    assert_int_equal(model.command.exit_status, 3);
    assert_int_equal(model.unknown_events, 0);
    assert_int_equal(rk_run_count_unknown_ends(&model), 1);
    assert_int_equal(rk_run_count_lost(&model), 1);
    assert_false(rk_run_is_lost(&model, &model.compiles[0]));
    assert_true(rk_run_is_lost(&model, &model.compiles[1]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_is_read),
        cmocka_unit_test(its_totals_stay_the_same),
        cmocka_unit_test(the_end_of_a_command_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
