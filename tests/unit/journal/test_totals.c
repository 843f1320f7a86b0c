#include "fixture.h"

static void add(const char *store, const char *run, uint8_t program, rk_journal_compile event) {
    static uint64_t seq;
    rk_key key = fixture_key(program, 1, 1);
    rk_journal *journal = fixture_open(store, run);
    event.seq = ++seq;
    event.key = program ? &key : NULL;
    rk_journal_add_compile(journal, &event);
    rk_journal_close(journal);
}

static void total(const char *store, const char *run, rk_run_totals *totals) {
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(store, run, &model);
    fixture_ok(rk_run_totals_add(totals, &model));
    assert_int_equal(totals->hits + totals->misses + totals->bypassed >= model.compile_count, true);
}

static const rk_journal_compile miss = {
    .outcome = RK_OUTCOME_MISS, .compiled = true, .compile_ns = 2000000000};
static const rk_journal_compile hit = {
    .outcome = RK_OUTCOME_HIT, .load_ns = 500000000, .saved_ns = 2000000000};
static const rk_journal_compile bypass = {
    .outcome = RK_OUTCOME_BYPASS, .compiled = true, .name = "", .compile_ns = 1000000000};

static void every_event_is_a_hit_a_miss_or_a_bypass(void **state) {
    rk_journal_compile unloadable = miss;
    unloadable.deserialize_failed = unloadable.quarantined = true;
    unloadable.load_ns = 250000000;
    add(*state, "one", 1, hit);
    add(*state, "one", 1, hit);
    add(*state, "one", 2, miss);
    add(*state, "one", 3, unloadable);
    add(*state, "one", 0, bypass);
    add(*state, "one", 0, bypass);
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "one", &totals);
    assert_int_equal(totals.runs, 1);
    assert_int_equal(totals.hits, 2);
    assert_int_equal(totals.misses, 2);
    assert_int_equal(totals.bypassed, 2);
    assert_int_equal(totals.compiled, 4);
    assert_int_equal(totals.deserialize_failures, 1);
    assert_int_equal(totals.quarantined, 1);
    assert_int_equal(totals.unusable, 1);
    assert_int_equal(totals.preloaded, 0);
    assert_int_equal(totals.remote_hits, 0);
    assert_int_equal(totals.programs, 5); // three by fingerprint, two without one
    assert_int_equal(totals.compile_ns, 6000000000);
    assert_int_equal(totals.load_ns, 1250000000);
    assert_int_equal(totals.avoided_compile_ns, 4000000000);
    assert_int_equal(totals.avoided_load_ns, 1000000000);
    assert_int_equal(totals.saved_ns, 3000000000);
}

static void aot_compilations_are_counted(void **state) {
    rk_journal_compile aot = miss;
    aot.ahead_of_time = true;
    add(*state, "one", 1, aot);
    add(*state, "one", 2, miss);
    aot.found = true;
    aot.reason = "no_client";
    add(*state, "one", 3, aot);
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "one", &totals);
    assert_int_equal(totals.misses, 3);
    assert_int_equal(totals.compiled, 3);
    assert_int_equal(totals.ahead_of_time, 2);
    assert_int_equal(totals.found, 1);
}

// An entry that was quarantined, but found again, cost no compilation.
static void what_was_loaded_in_the_end_was_usable(void **state) {
    rk_journal_compile mended = hit, refused = miss;
    mended.quarantined = true;
    refused.deserialize_failed = true;
    add(*state, "one", 1, mended);
    add(*state, "one", 2, refused);
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "one", &totals);
    assert_int_equal(totals.quarantined, 1);
    assert_int_equal(totals.unusable, 1);
}

// After a wait, the saved time is reduced by the time of the wait.
static void waiting_is_no_saving(void **state) {
    rk_journal_compile waited = hit, in_vain = miss;
    waited.waited_ns = 1200000000;
    waited.waited_for = "node1/7";
    waited.wait_end = "landed";
    in_vain.waited_ns = 700000000;
    in_vain.waited_for = "";
    in_vain.wait_end = "gave_up";
    add(*state, "one", 1, miss);
    add(*state, "one", 1, waited);
    add(*state, "one", 1, in_vain);
    add(*state, "one", 1, hit);
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "one", &totals);
    assert_int_equal(totals.hits, 2);
    assert_int_equal(totals.misses, 2);
    assert_int_equal(totals.waited, 2);
    assert_int_equal(totals.waited_ns, 1900000000);
    assert_int_equal(totals.saved_ns, 300000000 + 1500000000);
}

static void programs_without_a_fingerprint_are_distinguished_by_name(void **state) {
    rk_journal_compile named = bypass;
    named.name = "jit_callback";
    add(*state, "one", 0, named);
    add(*state, "one", 0, named);
    named.name = "jit_other";
    add(*state, "one", 0, named);
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "one", &totals);
    assert_int_equal(totals.programs, 2);
}

static void runs_are_summed_with_distinct_programs_once(void **state) {
    for (uint8_t program = 1; program <= 100; program++)
        add(*state, "cold", program, miss);
    for (uint8_t program = 51; program <= 150; program++)
        add(*state, "warm", program, hit);
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "cold", &totals);
    assert_int_equal(totals.programs, 100);
    total(*state, "warm", &totals);
    assert_int_equal(totals.programs, 150);
    assert_int_equal(totals.runs, 2);
    assert_int_equal(totals.hits, 100);
    assert_int_equal(totals.misses, 100);
    assert_int_equal(totals.saved_ns, 150000000000);
}

static void the_rest_is_summed_too(void **state) {
    rk_key key = fixture_key(1, 1, 1);
    for (int i = 0; i < 2; i++) {
        rk_journal *journal = fixture_open(*state, "one");
        rk_journal_add_stored(journal, &(rk_journal_stored){.key = &key, .stored = true});
        rk_journal_add_stored(journal, &(rk_journal_stored){.key = &key, .reason = "full"});
        for (unsigned outcome = RK_VERIFIED_SAME; outcome <= RK_VERIFIED_FAILED; outcome++)
            rk_journal_add_verified(journal, &(rk_journal_verified){.key = &key,
                                                                    .name = "",
                                                                    .outcome = (rk_verified)outcome,
                                                                    .differs = "",
                                                                    .verify_ns = 1000000});
        rk_journal_add_counts(journal, &(rk_journal_counts){1, 2, 3, 4, 5});
        rk_journal_add_warning(journal, "the same");
        rk_journal_add_warning(journal, i ? "b" : "a");
        rk_journal_close(journal);
    }
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "one", &totals);
    assert_int_equal(totals.stored, 2);
    assert_int_equal(totals.verified, 4);
    assert_int_equal(totals.verify_differences, 2);
    assert_int_equal(totals.verify_ns, 6000000);
    assert_int_equal(totals.counts.executions, 2);
    assert_int_equal(totals.counts.host_to_device, 4);
    assert_int_equal(totals.counts.host_to_device_bytes, 6);
    assert_int_equal(totals.counts.device_to_host, 8);
    assert_int_equal(totals.counts.device_to_host_bytes, 10);
    assert_int_equal(totals.warning_count, 3);
    assert_string_equal(totals.warnings[0], "the same");
    assert_string_equal(totals.warnings[1], "a");
    assert_string_equal(totals.warnings[2], "b");
}

static void where_a_hit_came_from_is_counted(void **state) {
    fixture_put(*state, "one", "0.jsonl",
                "{\"v\":1,\"t\":1,\"ev\":\"compile\",\"outcome\":\"hit\",\"source\":\"preload\"}\n"
                "{\"v\":1,\"t\":1,\"ev\":\"compile\",\"outcome\":\"hit\",\"source\":\"remote\"}\n"
                "{\"v\":1,\"t\":1,\"ev\":\"compile\",\"outcome\":\"hit\",\"source\":\"local\"}\n");
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "one", &totals);
    assert_int_equal(totals.hits, 3);
    assert_int_equal(totals.preloaded, 1);
    assert_int_equal(totals.remote_hits, 1);
}

static void prefetches_are_summed(void **state) {
    for (int i = 0; i < 2; i++) { // two processes
        rk_journal *journal = fixture_open(*state, "one");
        rk_journal_add_compile(journal, &(rk_journal_compile){.outcome = RK_OUTCOME_HIT,
                                                              .name = "",
                                                              .preloaded = true,
                                                              .saved_ns = 2000000,
                                                              .load_ns = 1000000,
                                                              .preload_ns = 700000000});
        rk_journal_add_prefetch(journal, &(rk_journal_prefetch){.client = 1,
                                                                .listed = 9,
                                                                .loaded = 3,
                                                                .claimed = 1,
                                                                .wasted = 2,
                                                                .load_ns = 700000000,
                                                                .wasted_load_ns = 500000000,
                                                                .stopped = "departed"});
        rk_journal_close(journal);
    }
    RK_AUTO(rk_run_model) model = {0};
    RK_AUTO(rk_run_totals) totals = {0};
    fixture_ok(rk_run_load(*state, "one", &model));
    fixture_ok(rk_run_totals_add(&totals, &model));
    assert_int_equal(model.unknown_events, 0);
    assert_int_equal(model.compiles[0].preload_ns, 700000000);
    assert_int_equal(totals.preloaded, 2);
    assert_int_equal(totals.load_ns, 2000000); // the time that the job waited, not the load time
    assert_int_equal(totals.saved_ns, 2000000);
    assert_int_equal(totals.preload.listed, 18);
    assert_int_equal(totals.preload.loaded, 6);
    assert_int_equal(totals.preload.claimed, 2);
    assert_int_equal(totals.preload.wasted, 4);
    assert_int_equal(totals.preload.load_ns, 1400000000);
    assert_int_equal(totals.preload.wasted_load_ns, 1000000000);
}

static void loading_that_took_longer_saves_nothing(void **state) {
    rk_journal_compile slow = hit;
    slow.load_ns = 3000000000;
    add(*state, "one", 1, slow);
    RK_AUTO(rk_run_totals) totals = {0};
    total(*state, "one", &totals);
    assert_int_equal(totals.saved_ns, 0);
    add(*state, "two", 1, hit);
    total(*state, "two", &totals);
    assert_int_equal(totals.saved_ns, 500000000); // the loss of the first run is subtracted
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(every_event_is_a_hit_a_miss_or_a_bypass),
        TEST(aot_compilations_are_counted),
        TEST(what_was_loaded_in_the_end_was_usable),
        TEST(waiting_is_no_saving),
        TEST(programs_without_a_fingerprint_are_distinguished_by_name),
        TEST(runs_are_summed_with_distinct_programs_once),
        TEST(the_rest_is_summed_too),
        TEST(where_a_hit_came_from_is_counted),
        TEST(prefetches_are_summed),
        TEST(loading_that_took_longer_saves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
