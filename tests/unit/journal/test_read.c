#include <unistd.h>

#include "fixture.h"

static void all_events_come_back(void **state) {
    rk_key key = fixture_key(1, 2, 3);
    rk_journal *journal = fixture_open(*state, "one");
    rk_journal_add_client(
        journal, &(rk_journal_client){
                     .client = 1,
                     .plugin = "/opt/p.so",
                     .build_id = "abcd",
                     .platform_name = rk_span_text("cpu"),
                     .platform_version = rk_span_text("v \"1\"\n"),
                     .api_major = 0,
                     .api_minor = 81,
                     .device_count = 8,
                     .addressable_device_count = 4,
                     .environment = &key.environment,
                     .components_json = rk_span_text("[{\"kind\":\"flag\",\"name\":\"--xla_a\"}]"),
                 });
    rk_journal_add_compile(journal, &(rk_journal_compile){.seq = 1,
                                                          .client = 1,
                                                          .outcome = RK_OUTCOME_HIT,
                                                          .name = "jit_step",
                                                          .key = &key,
                                                          .quarantined = true,
                                                          .failed = true,
                                                          .request_ns = 3000000,
                                                          .load_ns = 2000000,
                                                          .saved_ns = 1500000000,
                                                          .program_bytes = 77,
                                                          .executions = 41});
    rk_journal_add_steps(journal, &(rk_journal_steps){.rhythm = 2,
                                                      .marked = true,
                                                      .first_execution = 3,
                                                      .executions = 40,
                                                      .steps = 10,
                                                      .programs = 4,
                                                      .new_programs = 1,
                                                      .programs_before = 3,
                                                      .compiles = 2,
                                                      .transfers = {.host_to_device = 5,
                                                                    .host_to_device_bytes = 50,
                                                                    .device_to_host = 6,
                                                                    .device_to_host_bytes = 60}});
    rk_journal_add_warm(journal, "mark", 43);
    rk_journal_add_executed(
        journal,
        (rk_journal_executed[]){{.key = key.digest, .executions = 9, .rounds = 8},
                                {.executions = 1}},
        2);
    rk_journal_add_stored(journal, &(rk_journal_stored){.key = &key,
                                                        .stored = false,
                                                        .reason = "disk full",
                                                        .raw_bytes = 10,
                                                        .stored_bytes = 5,
                                                        .serialize_ns = 1000,
                                                        .store_ns = 2000});
    rk_journal_add_verified(journal,
                            &(rk_journal_verified){.key = &key,
                                                   .name = "jit_step",
                                                   .outcome = RK_VERIFIED_DIFFERENT,
                                                   .differs = "optimized program, replicas",
                                                   .quarantined = true,
                                                   .verify_ns = 4000});
    rk_journal_add_verified(journal, &(rk_journal_verified){.key = &key,
                                                            .name = "",
                                                            .outcome = RK_VERIFIED_FAILED,
                                                            .differs = "",
                                                            .reason = "no memory"});
    rk_journal_add_counts(journal, &(rk_journal_counts){1, 2, 3, 4, 5});
    rk_journal_add_counts(journal, &(rk_journal_counts){10, 20, 30, 40, 50});
    rk_journal_add_memory(journal, &(rk_journal_memory){
                                       .client = 1,
                                       .when = "start",
                                       .device = 3,
                                       .name = rk_span_text("TPU_3"),
                                       .kind = rk_span_text("TPU v4"),
                                       .attributes_json = rk_span_text("{\"coords\":[0,1,0]}"),
                                       .figures = {7, 9, (int64_t)1 << 40, 0, -1, -1},
                                   });
    rk_journal_add_memory(
        journal, &(rk_journal_memory){
                     .client = 1, .when = "interval", .problem = "not told", .figures = {7}});
    rk_journal_add_warning(journal, "look out");
    rk_journal_add_end(journal);
    rk_journal_close(journal);

    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_string_equal(model.run, "one");
    assert_string_equal(model.job, "train-0123456789ab");
    assert_string_equal(model.mode, "readwrite");
    assert_string_equal(model.version, "0.1.0");
    assert_true(model.ended);
    assert_true(model.start_ns > 0 && model.last_ns >= model.start_ns);
    assert_int_equal(model.process_count, 1);
    assert_string_equal(model.processes[0].file, "0.jsonl");
    assert_string_equal(model.processes[0].way_in, "preload");
    assert_int_equal(model.processes[0].pid, getpid());
    assert_true(model.processes[0].ended);

    assert_int_equal(model.client_count, 1);
    assert_string_equal(model.clients[0].plugin, "/opt/p.so");
    assert_string_equal(model.clients[0].build_id, "abcd");
    assert_string_equal(model.clients[0].platform_name, "cpu");
    assert_string_equal(model.clients[0].platform_version, "v \"1\"\n");
    assert_int_equal(model.clients[0].api_minor, 81);
    assert_int_equal(model.clients[0].device_count, 8);
    assert_int_equal(model.clients[0].addressable_device_count, 4);
    assert_memory_equal(model.clients[0].environment, "03030303", 8);
    assert_string_equal(model.clients[0].components_json,
                        "[{\"kind\":\"flag\",\"name\":\"--xla_a\"}]");

    assert_int_equal(model.compile_count, 1);
    const rk_run_compile *compile = &model.compiles[0];
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key.digest, hex);
    assert_string_equal(compile->key, hex);
    assert_memory_equal(compile->program, "01010101", 8);
    assert_memory_equal(compile->options, "02020202", 8);
    assert_int_equal(strlen(compile->environment), 64);
    assert_int_equal(compile->outcome, RK_OUTCOME_HIT);
    assert_int_equal(compile->source, RK_RUN_SOURCE_LOCAL);
    assert_string_equal(compile->reason, "");
    assert_string_equal(compile->name, "jit_step");
    assert_true(compile->quarantined && compile->failed && !compile->compiled);
    assert_int_equal(compile->request_ns, 3000000);
    assert_int_equal(compile->load_ns, 2000000);
    assert_int_equal(compile->saved_ns, 1500000000);
    assert_int_equal(compile->program_bytes, 77);
    assert_true(compile->has_executions);
    assert_int_equal(compile->executions, 41);

    assert_true(model.processes[0].is_warm);
    assert_int_equal(model.processes[0].warm_executions, 43);
    assert_int_equal(model.step_count, 1);
    const rk_journal_steps *steps = &model.steps[0].steps;
    assert_true(steps->rhythm == 2 && steps->marked && steps->first_execution == 3);
    assert_true(steps->executions == 40 && steps->steps == 10 && steps->programs == 4);
    assert_true(steps->new_programs == 1 && steps->compiles == 2);
    assert_int_equal(steps->programs_before, 3);
    assert_true(steps->transfers.host_to_device == 5 && steps->transfers.device_to_host == 6);
    assert_int_equal(steps->transfers.host_to_device_bytes, 50);
    assert_int_equal(steps->transfers.device_to_host_bytes, 60);
    assert_int_equal(model.executed_count, 2);
    assert_string_equal(model.executed[0].key, compile->key);
    assert_int_equal(model.executed[0].executions, 9);
    assert_int_equal(model.executed[0].rounds, 8);
    assert_int_equal(model.executed[1].executions, 1);

    assert_int_equal(model.memory_count, 2);
    const rk_run_memory *memory = &model.memories[0];
    assert_int_equal(memory->device, 3);
    assert_string_equal(memory->when, "start");
    assert_string_equal(memory->name, "TPU_3");
    assert_string_equal(memory->kind, "TPU v4");
    assert_string_equal(memory->attributes_json, "{\"coords\":[0,1,0]}");
    assert_string_equal(memory->problem, "");
    assert_int_equal(memory->figures[RK_MEMORY_IN_USE], 7);
    assert_int_equal(memory->figures[RK_MEMORY_PEAK], 9);
    assert_int_equal(memory->figures[RK_MEMORY_LIMIT], (int64_t)1 << 40);
    assert_int_equal(memory->figures[RK_MEMORY_LARGEST_ALLOCATION], 0);
    assert_int_equal(memory->figures[RK_MEMORY_RESERVED], RK_MEMORY_UNKNOWN);
    memory = &model.memories[1];
    assert_string_equal(memory->problem, "not told");
    assert_string_equal(memory->attributes_json, "");
    assert_int_equal(memory->figures[RK_MEMORY_IN_USE], RK_MEMORY_UNKNOWN);

    assert_int_equal(model.verified_count, 2);
    assert_int_equal(model.verified[0].outcome, RK_VERIFIED_DIFFERENT);
    assert_string_equal(model.verified[0].name, "jit_step");
    assert_string_equal(model.verified[0].differs, "optimized program, replicas");
    assert_string_equal(model.verified[0].reason, "");
    assert_true(model.verified[0].quarantined);
    assert_int_equal(model.verified[0].verify_ns, 4000);
    assert_int_equal(model.verified[1].outcome, RK_VERIFIED_FAILED);
    assert_string_equal(model.verified[1].differs, "");
    assert_string_equal(model.verified[1].reason, "no memory");
    assert_int_equal(model.stored_count, 1);
    assert_string_equal(model.stored[0].reason, "disk full");
    assert_int_equal(model.stored[0].raw_bytes, 10);
    assert_int_equal(model.stored[0].serialize_ns, 1000);
    assert_int_equal(model.warning_count, 1);
    assert_string_equal(model.warnings[0].message, "look out");
    assert_int_equal(model.counts.executions, 10);
    assert_int_equal(model.counts.device_to_host_bytes, 50);
}

static void processes_are_in_the_order_of_ranks_and_summed(void **state) {
    static const char *const ranks[] = {"10", "2", "0"};
    for (size_t i = 0; i < RK_ARRAY_LEN(ranks); i++) {
        setenv("RANK", ranks[i], 1);
        rk_journal *journal = fixture_open(*state, "one");
        rk_journal_add_compile(journal, &(rk_journal_compile){.seq = 1});
        rk_journal_add_counts(journal, &(rk_journal_counts){1, 2, 3, 4, 5});
        if (i != 1)
            rk_journal_add_end(journal);
        rk_journal_close(journal);
    }
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.process_count, 3);
    assert_int_equal(model.processes[0].rank, 0);
    assert_int_equal(model.processes[1].rank, 2);
    assert_int_equal(model.processes[2].rank, 10);
    assert_false(model.ended);
    assert_int_equal(model.counts.executions, 3);
    assert_int_equal(model.counts.host_to_device_bytes, 9);
    assert_int_equal(model.compile_count, 3);
    assert_int_equal(model.compiles[0].process, 2); // sorted by time: rank 10 was first
    assert_int_equal(model.compiles[2].process, 0);
    assert_int_equal(model.start_ns, model.processes[2].start_ns);
}

#define HEAD "{\"v\":1,\"t\":1795262400.5,\"ev\":"

static void a_torn_last_line_is_counted(void **state) {
    fixture_put(*state, "one", "0.jsonl",
                HEAD "\"warning\",\"message\":\"a\"}\n" HEAD "\"warning\",\"mess");
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.torn_lines, 1);
    assert_int_equal(model.bad_lines, 0);
    assert_int_equal(model.warning_count, 1);
    assert_int_equal(model.last_ns, 1795262400500000000u);
    assert_int_equal(model.start_ns, 0);
    assert_string_equal(model.job, "");
    assert_string_equal(model.processes[0].host, "");
}

static void a_whole_line_without_its_newline_counts(void **state) {
    fixture_put(*state, "one", "0.jsonl", HEAD "\"end\"}");
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_true(model.ended);
    assert_int_equal(model.torn_lines, 0);
}

static void what_is_not_known_is_passed_over(void **state) {
    fixture_put(*state, "one", "0.jsonl",
                HEAD "\"lease\",\"holder\":\"x\"}\n" HEAD
                     "\"warning\",\"message\":\"a\",\"new_field\":[{}]}\n"
                     "{\"v\":2,\"t\":1,\"ev\":\"warning\",\"message\":\"b\"}\n"
                     "{\"v\":2,\"what\":1}\n"
                     "{\"v\":0,\"ev\":\"end\"}\n"
                     "{\"ev\":\"end\"}\n"
                     "{\"v\":1}\n"
                     "[]\n"
                     "\n"
                     "garbage\n");
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.unknown_events, 1);
    assert_int_equal(model.newer_lines, 2);
    assert_int_equal(model.bad_lines, 6);
    assert_int_equal(model.warning_count, 1);
    assert_false(model.ended);
}

static void fields_of_a_wrong_kind_count_as_missing(void **state) {
    fixture_put(*state, "one", "0.jsonl",
                HEAD "\"compile\",\"seq\":\"1\",\"client\":-1,\"outcome\":5,\"name\":{},"
                     "\"key\":\"abc\",\"compiled\":1,\"request_seconds\":-1,"
                     "\"compile_seconds\":1e300,\"program_bytes\":1.5}\n" HEAD
                     "\"start\",\"argv\":[1,\"b\"],\"rank\":null,\"job\":7}\n" HEAD
                     "\"client\",\"components\":\"x\",\"api_major\":99999999999}\n");
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.compile_count, 1);
    const rk_run_compile *compile = &model.compiles[0];
    assert_int_equal(compile->seq, 0);
    assert_int_equal(compile->client, 0);
    assert_int_equal(compile->outcome, RK_OUTCOME_BYPASS);
    assert_string_equal(compile->name, "");
    assert_string_equal(compile->key, "");
    assert_false(compile->compiled);
    assert_int_equal(compile->request_ns, 0);
    assert_int_equal(compile->compile_ns, 10000000000000000000u);
    assert_int_equal(model.processes[0].argc, 2);
    assert_string_equal(model.processes[0].argv[0], "");
    assert_int_equal(model.clients[0].api_major, 0);
    assert_string_equal(model.clients[0].components_json, "");
}

static void a_line_without_end_is_skipped(void **state) {
    enum { LONG_BYTES = 3 << 20 };
    RK_AUTO(rk_buf) text = {0};
    rk_buf_reserve(&text, LONG_BYTES + 4096);
    rk_buf_add_text(&text, "garbage");
    while (text.len < LONG_BYTES)
        rk_buf_add_text(&text, "                ");
    // The text after the skipped part would be an event.
    rk_buf_add_text(&text, HEAD "\"end\"}\n" HEAD "\"warning\",\"message\":\"after\"}\n");
    fixture_put(*state, "one", "0.jsonl", rk_buf_text(&text));
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.bad_lines, 1);
    assert_false(model.ended);
    assert_string_equal(model.warnings[0].message, "after");
}

static void other_files_are_no_journals(void **state) {
    fixture_put(*state, "one", "0.jsonl", HEAD "\"end\"}\n");
    static const char *const others[] = {
        "x.jsonl", "0.json", ".jsonl", "0jsonl", "notes", "00000000000.jsonl", ".tmp-1-1"};
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        fixture_put(*state, "one", others[i], "garbage\n");
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.process_count, 1);
    assert_int_equal(model.bad_lines, 0);
}

static void links_are_not_followed(void **state) {
    fixture_put(*state, "one", "1.jsonl", HEAD "\"end\"}\n");
    rk_autofree char *link_path = fixture_path(*state, "one", "0.jsonl");
    assert_int_equal(symlink("/etc/passwd", link_path), 0);
    RK_AUTO(rk_run_model) model = {0};
    rk_autoerr err = rk_run_load(*state, "one", &model);
    assert_non_null(err);
}

static void a_missing_run_is_reported(void **state) {
    RK_AUTO(rk_run_model) model = {0};
    rk_autoerr err = rk_run_load(*state, "nope", &model);
    assert_int_equal(rk_err_code(err), RK_NOT_FOUND);
    assert_non_null(strstr(rk_err_message(err), "rekindle runs"));
    RK_AUTO(rk_run_model) another = {0};
    rk_autoerr wrong = rk_run_load(*state, "../one", &another);
    assert_int_equal(rk_err_code(wrong), RK_INVALID_ARGUMENT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(all_events_come_back),
        TEST(processes_are_in_the_order_of_ranks_and_summed),
        TEST(a_torn_last_line_is_counted),
        TEST(a_whole_line_without_its_newline_counts),
        TEST(what_is_not_known_is_passed_over),
        TEST(fields_of_a_wrong_kind_count_as_missing),
        TEST(a_line_without_end_is_skipped),
        TEST(other_files_are_no_journals),
        TEST(links_are_not_followed),
        TEST(a_missing_run_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
