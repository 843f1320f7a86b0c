// The comparison of two runs.
#include "diagnose/diff/recorded.h"
#include "diagnose/diff/runs.h"
#include "run_fixture.h"

static rk_run_diff diff;

static int teardown(void **state) {
    rk_run_diff_cleanup(&diff);
    return run_fixture_teardown(state);
}

// Compares the other run (before) with this one (after).
static void compare(fixture *f) {
    run_fixture_load(f);
    rk_expect_ok(rk_diff_runs(&f->other.model, &f->run.model, &f->corpus, &diff));
}

static void what_both_asked_for_is_counted(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "counter", 1, true);
    (void)run_fixture_ask(&f->other, "counter", 1);
    (void)run_fixture_ask(&f->run, "counter", 1);
    (void)run_fixture_ask(&f->run, "counter", 1);
    compare(f);
    assert_int_equal(diff.in_both, 1);
    assert_int_equal(diff.under_other_keys, 0);
    assert_int_equal(diff.only_before.count + diff.only_after.count, 0);
    assert_int_equal(diff.environment.count, 0);
    assert_int_equal(diff.again.count, 1); // the later run compiled it, too
}

static rk_run_stored stored_event(const rk_run_compile *of) {
    rk_run_stored event = {.stored = true, .time_ns = of->time_ns};
    memcpy(event.key, of->key, sizeof event.key);
    return event;
}

// The journals tell it, and the store's record of removals.
static void what_was_removed_in_between_is_reported(void **state) {
    fixture *f = *state;
    rk_run_compile *before = run_fixture_ask(&f->other, "counter", 1);
    before->time_ns = 1;
    rk_run_stored stored = stored_event(before);
    f->other.model.stored = &stored;
    f->other.model.stored_count = 1;
    rk_removals_note_one(f->store, RK_REMOVAL_COLLECTED, before->key);
    (void)run_fixture_ask(&f->run, "counter", 1);
    compare(f);
    assert_int_equal(diff.again.count, 1);
    assert_int_equal(diff.again.items[0].diff.cause, RK_CAUSE_EVICTED);
    assert_string_equal(diff.again.items[0].diff.list.items[0].after, "removed by `rekindle gc`");
}

static void what_was_never_stored_is_reported(void **state) {
    fixture *f = *state;
    (void)run_fixture_ask(&f->other, "counter", 1);
    run_fixture_ask(&f->run, "counter", 1)->outcome = RK_OUTCOME_BYPASS;
    (void)run_fixture_ask(&f->other, "shape", 1);
    (void)run_fixture_ask(&f->run, "shape", 1);
    compare(f);
    assert_int_equal(diff.again.count, 2);
    assert_string_equal(diff.again.items[0].diff.list.items[0].after,
                        "not stored, because it cannot be stored");
    assert_string_equal(diff.again.items[1].diff.list.items[0].after, "not stored by run A");
}

// The options of another program in the store are the same, so they have names.
static void options_of_removed_programs_are_told_by_their_digests(void **state) {
    fixture *f = *state;
    rk_run_compile *before = run_fixture_ask_in(&f->other, "counter", 1, 1);
    rk_run_compile *after = run_fixture_ask_in(&f->run, "counter", 1, 2);
    memset(before->options, 'a', RK_DIGEST_HEX_CHARS);
    memset(after->options, 'b', RK_DIGEST_HEX_CHARS);
    compare(f);
    assert_int_equal(diff.other_options.count, 1);
    assert_int_equal(diff.other_environment.count, 0);
    const rk_difference *d = &diff.other_options.items[0].diff.list.items[0];
    assert_string_equal(d->attribute, RK_UNNAMED_OPTIONS);
    assert_string_equal(d->before, "aaaaaaaaaaaa");
    assert_string_equal(d->after, "bbbbbbbbbbbb");
}

static void programs_of_one_name_that_are_gone_are_a_pair(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "counter", 2, true);
    const rk_run_compile *before = run_fixture_ask(&f->other, "counter", 1);
    rk_removals_note_one(f->store, RK_REMOVAL_BY_HAND, before->key);
    f->other.compiles[0].time_ns = 1;
    (void)run_fixture_ask(&f->run, "counter", 2);
    compare(f);
    assert_int_equal(diff.only_after.count, 1);
    const rk_run_only *item = &diff.only_after.items[0];
    assert_null(item->nearest);
    assert_ptr_equal(item->unread_with, before);
    assert_false(item->unread_is_kept);
    assert_int_equal(item->removal, RK_REMOVAL_BY_HAND);
}

static void new_programs_are_compared_with_the_most_similar_ones(void **state) {
    fixture *f = *state;
    static const char *const jobs[] = {"counter", "shape", "unlike"};
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++)
        for (unsigned k = 1; k <= 2; k++)
            run_fixture_keep(f, jobs[i], k, true);
    (void)run_fixture_ask(&f->other, "shape", 1);
    (void)run_fixture_ask(&f->other, "unlike", 1);
    const rk_run_compile *counter = run_fixture_ask(&f->other, "counter", 1);
    (void)run_fixture_ask(&f->run, "shape", 1);
    const rk_run_compile *shape = run_fixture_ask(&f->run, "shape", 2);
    (void)run_fixture_ask(&f->run, "unlike", 2);
    (void)run_fixture_ask(&f->run, "counter", 2);
    compare(f);
    assert_int_equal(diff.in_both, 1);
    assert_int_equal(diff.only_before.count, 2);
    assert_int_equal(diff.only_after.count, 3); // in the order of requests
    const rk_run_only *items = diff.only_after.items;
    // The most similar program is one that both runs have.
    assert_ptr_equal(items[0].request, shape);
    assert_ptr_equal(items[0].nearest, &f->other.compiles[0]);
    assert_int_equal(items[0].diff.cause, RK_CAUSE_SHAPE);
    assert_string_equal(items[0].diff.list.items[0].after, "tensor<24x8xf32>");
    assert_null(items[1].nearest);
    assert_ptr_equal(items[2].nearest, counter);
    assert_int_equal(items[2].diff.cause, RK_CAUSE_CONSTANT);
    assert_true(items[2].similarity > 0.9);
}

// The later run reads a second number. The program that reads the first one is in both runs.
static void a_read_that_was_added_replaces_nothing(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "torch_growing", 2, true);
    run_fixture_keep(f, "torch_growing", 3, true);
    (void)run_fixture_ask(&f->other, "torch_growing", 2);
    (void)run_fixture_ask(&f->run, "torch_growing", 2);
    (void)run_fixture_ask(&f->run, "torch_growing", 3);
    compare(f);
    assert_int_equal(diff.only_after.count, 1);
    assert_null(diff.only_after.items[0].nearest);
}

// The other run requested the program under its new name, and got the executable that was stored
// under the old one.
static void a_renamed_function_is_found_by_its_new_name(void **state) {
    fixture *f = *state;
    static char name[] = "jit_walk";
    run_fixture_keep(f, "counter", 1, true);
    run_fixture_keep(f, "renamed", 1, true);
    rk_run_compile *before = run_fixture_ask(&f->other, "counter", 1);
    before->outcome = RK_OUTCOME_HIT;
    before->name = name;
    run_fixture_ask(&f->run, "renamed", 1)->name = name;
    compare(f);
    assert_int_equal(diff.only_after.count, 1);
    assert_ptr_equal(diff.only_after.items[0].nearest, before);
    assert_int_equal(diff.only_after.items[0].diff.cause, RK_CAUSE_CONSTANT);
}

static void the_same_program_under_another_key_is_reported(void **state) {
    fixture *f = *state;
    static char before[] = "[{\"kind\":\"flag\",\"name\":\"XLA_FLAGS:--xla_a\",\"value\":\"1\"}]";
    static char after[] = "[{\"kind\":\"flag\",\"name\":\"XLA_FLAGS:--xla_a\",\"value\":\"2\"}]";
    rk_run_client clients[2] = {{.components_json = before}, {.components_json = after}};
    f->other.model.clients = &clients[0];
    f->run.model.clients = &clients[1];
    f->other.model.client_count = f->run.model.client_count = 1;
    (void)run_fixture_ask(&f->other, "counter", 1);
    run_fixture_ask(&f->run, "counter", 1)->key[0] ^= 1;
    compare(f);
    assert_int_equal(diff.in_both, 1);
    assert_int_equal(diff.under_other_keys, 1);
    assert_int_equal(diff.environment.count, 1);
    assert_string_equal(diff.environment.items[0].before, "1");
    assert_string_equal(diff.environment.items[0].after, "2");
}

// No flag, variable or version differs.
static void other_options_are_shown_with_their_program(void **state) {
    fixture *f = *state;
    static const char *const levels[] = {
        "{\"kind\":\"option\",\"name\":\"level\",\"value\":\"0\"}",
        "{\"kind\":\"option\",\"name\":\"level\",\"value\":\"3\"}"};
    for (unsigned i = 0; i < 2; i++)
        run_fixture_keep_entry(f, &(fixture_kept){.job = "counter",
                                                  .file = 1,
                                                  .number = 1,
                                                  .environment = i + 1,
                                                  .components = levels[i]});
    const rk_run_compile *before = run_fixture_ask_in(&f->other, "counter", 1, 1);
    const rk_run_compile *after = run_fixture_ask_in(&f->run, "counter", 1, 2);
    compare(f);
    assert_int_equal(diff.under_other_keys, 1);
    assert_int_equal(diff.other_options.count, 1);
    const rk_run_only *item = &diff.other_options.items[0];
    assert_ptr_equal(item->request, after);
    assert_ptr_equal(item->nearest, before);
    assert_int_equal(item->diff.cause, RK_CAUSE_OPTIONS);
    assert_string_equal(item->diff.list.items[0].after, "3");
}

// Programs without a stored program, and requests without a fingerprint.
static void what_was_not_kept_is_listed(void **state) {
    fixture *f = *state;
    static char name[] = "jit_other";
    (void)run_fixture_ask(&f->other, "counter", 1);
    (void)run_fixture_ask(&f->run, "counter", 2);
    rk_run_compile *bare = run_fixture_ask(&f->run, "counter", 3);
    bare->program[0] = bare->key[0] = '\0';
    bare->name = name;
    compare(f);
    assert_int_equal(diff.only_before.count, 1);
    assert_int_equal(diff.only_after.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_null(diff.only_after.items[i].program);
        assert_null(diff.only_after.items[i].nearest);
    }
}

// As with REKINDLE_KEEP_PROGRAMS=0.
static void sketches_alone_are_compared(void **state) {
    fixture *f = *state;
    static const char *const jobs[] = {"shape", "branch"};
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++) {
        for (unsigned k = 1; k <= 2; k++)
            run_fixture_keep(f, jobs[i], k, false);
        (void)run_fixture_ask(&f->other, jobs[i], 1);
        (void)run_fixture_ask(&f->run, jobs[i], 2);
    }
    compare(f);
    assert_int_equal(diff.only_after.count, 2);
    assert_int_equal(diff.only_after.items[0].diff.cause, RK_CAUSE_SHAPE);
    assert_string_equal(diff.only_after.items[0].diff.list.items[0].attribute, "x");
    assert_int_equal(diff.only_after.items[1].diff.cause, RK_CAUSE_STRUCTURE);
    assert_string_equal(diff.only_after.items[1].diff.list.items[0].attribute, "operations");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_fixture_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_both_asked_for_is_counted),
        TEST(what_was_removed_in_between_is_reported),
        TEST(what_was_never_stored_is_reported),
        TEST(options_of_removed_programs_are_told_by_their_digests),
        TEST(programs_of_one_name_that_are_gone_are_a_pair),
        TEST(new_programs_are_compared_with_the_most_similar_ones),
        TEST(a_read_that_was_added_replaces_nothing),
        TEST(a_renamed_function_is_found_by_its_new_name),
        TEST(the_same_program_under_another_key_is_reported),
        TEST(other_options_are_shown_with_their_program),
        TEST(what_was_not_kept_is_listed),
        TEST(sketches_alone_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
