// The explanation of a run.
#include "run_fixture.h"
#include "support/faults.h"

static char empty[] = "", job_name[] = "job";
static rk_explanation explanation;

static int teardown(void **state) {
    rk_explanation_cleanup(&explanation);
    return run_fixture_teardown(state);
}

static void explain(fixture *f, rk_earlier_runs earlier) {
    run_fixture_load(f);
    rk_expect_ok(rk_explain(&f->run.model, earlier, &f->corpus, &explanation));
}

static void expect_cause(size_t index, rk_cause cause) {
    assert_true(index < explanation.count);
    assert_string_equal(rk_cause_name(explanation.items[index].cause), rk_cause_name(cause));
}

static void a_number_that_changes_is_a_counter(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++) {
        run_fixture_keep(f, "counter", i, true);
        (void)run_fixture_ask(&f->run, "counter", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    const rk_explanation *x = &explanation;
    assert_int_equal(x->count, 3);
    expect_cause(0, RK_CAUSE_FIRST);
    expect_cause(1, RK_CAUSE_CONSTANT);
    expect_cause(2, RK_CAUSE_CONSTANT);
    assert_ptr_equal(x->items[2].nearest_of, &f->run.compiles[1]);
    assert_non_null(x->items[1].advice);
    assert_null(x->items[0].advice);
    assert_int_equal(x->pattern_count, 1);
    assert_int_equal(x->patterns[0].kind, RK_PATTERN_COUNTER);
    assert_int_equal(x->patterns[0].line, 8);
    assert_int_equal(x->patterns[0].lost_ns, 2000000000u);
    assert_int_equal(x->lost_ns, 2000000000u);
    assert_false(x->input_shapes.answer);
    assert_false(x->hidden_branch.answer);
}

static void the_questions_are_answered(void **state) {
    fixture *f = *state;
    static const char *const jobs[] = {"shape", "branch", "sharding"};
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++) {
        for (unsigned k = 1; k <= 2; k++) {
            run_fixture_keep(f, jobs[i], k, true);
            (void)run_fixture_ask(&f->run, jobs[i], k);
        }
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    assert_true(explanation.input_shapes.answer);
    assert_true(explanation.hidden_branch.answer);
    assert_true(explanation.profile_or_sharding.answer);
    assert_non_null(strstr(explanation.input_shapes.evidence, "tensor<24x8xf32>"));
}

static void what_is_like_nothing_is_first(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, "unlike", i, true);
        (void)run_fixture_ask(&f->run, "unlike", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(0, RK_CAUSE_FIRST);
    expect_cause(1, RK_CAUSE_FIRST);
    assert_int_equal(explanation.pattern_count, 0);
    assert_int_equal(explanation.lost_ns, 0);
}

// As with REKINDLE_KEEP_PROGRAMS=0.
static void sketches_alone_explain_inputs(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, "shape", i, false);
        (void)run_fixture_ask(&f->run, "shape", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(1, RK_CAUSE_SHAPE);
    const rk_difference *d = &explanation.items[1].differences.items[0];
    assert_string_equal(d->attribute, "x");
    assert_string_equal(d->after, "tensor<24x8xf32>");
    assert_int_equal(d->line, 10);
}

static void the_same_again_is_a_storm(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "shape", 1, true);
    for (unsigned i = 0; i < 4; i++)
        (void)run_fixture_ask(&f->run, "shape", 1);
    // A request that is loaded from the store is a duplicate too.
    f->run.compiles[3].compiled = false;
    f->run.compiles[3].outcome = RK_OUTCOME_HIT;
    f->run.compiles[3].reason = empty;
    explain(f, (rk_earlier_runs){NULL, 0});
    assert_int_equal(explanation.count, 4);
    expect_cause(0, RK_CAUSE_FIRST);
    for (size_t i = 1; i < 4; i++)
        expect_cause(i, RK_CAUSE_DUPLICATE);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_DUPLICATE_STORM);
    assert_int_equal(explanation.patterns[0].line, 10);
}

static void what_was_stored_and_is_gone_was_evicted(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "shape", 1, true);
    rk_run_compile *compile = run_fixture_ask(&f->run, "shape", 1);
    rk_run_stored stored = {.stored = true, .reason = empty};
    memcpy(stored.key, compile->key, sizeof stored.key);
    rk_run_compile before = *compile;
    rk_run_model earlier = {.run = job_name,
                            .job = job_name,
                            .processes = f->other.processes,
                            .process_count = 1,
                            .compiles = &before,
                            .compile_count = 1,
                            .stored = &stored,
                            .stored_count = 1};
    explain(f, (rk_earlier_runs){&earlier, 1});
    expect_cause(0, RK_CAUSE_EVICTED);
}

static void damage_and_bypass_have_causes_of_their_own(void **state) {
    fixture *f = *state;
    static char damaged[] = "damaged", callback[] = "host callback (xla_python_cpu_callback)";
    run_fixture_keep(f, "shape", 1, true);
    run_fixture_keep(f, "branch", 1, true);
    run_fixture_ask(&f->run, "shape", 1)->reason = damaged;
    rk_run_compile *bypassed = run_fixture_ask(&f->run, "branch", 1);
    bypassed->outcome = RK_OUTCOME_BYPASS;
    bypassed->reason = callback;
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(0, RK_CAUSE_DAMAGED);
    expect_cause(1, RK_CAUSE_UNCACHEABLE);
}

// The search for the process reference and the search for blocks read one program.
static void a_program_is_opened_once(void **state) {
    fixture *f = *state;
    static char callback[] = "host callback (xla_python_cpu_callback)";
    const rk_fault_plan counting = {.nth = 0, .calls = RK_FAULT_OPEN};
    run_fixture_keep(f, "branch", 1, true);
    rk_run_compile *bypassed = run_fixture_ask(&f->run, "branch", 1);
    bypassed->outcome = RK_OUTCOME_BYPASS;
    bypassed->reason = callback;
    run_fixture_load(f);
    RK_AUTO(rk_loaded) loaded = {0};
    rk_fault_begin(&counting);
    rk_expect_ok(rk_corpus_open(&f->corpus, &f->corpus.items[0], &loaded));
    unsigned opens = rk_fault_count();
    rk_fault_end();
    assert_true(loaded.loaded && opens > 0);
    rk_fault_begin(&counting);
    rk_err *err = rk_explain(&f->run.model, (rk_earlier_runs){NULL, 0}, &f->corpus, &explanation);
    unsigned explained = rk_fault_count();
    rk_fault_end();
    rk_expect_ok(err);
    expect_cause(0, RK_CAUSE_UNCACHEABLE);
    assert_int_equal(explained, opens);
}

static void expect_divergence(uint32_t line) {
    bool found = false;
    for (size_t i = 0; i < explanation.pattern_count; i++) {
        const rk_pattern *pattern = &explanation.patterns[i];
        if (pattern->kind != RK_PATTERN_RANK_DIVERGENCE)
            continue;
        found = true;
        assert_int_equal(pattern->line, line);
    }
    assert_true(found);
}

static void a_rank_that_was_handed_its_program_differs_in_the_same_line(void **state) {
    fixture *f = *state;
    f->run.model.process_count = 2;
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, "branch", i, true);
        (void)run_fixture_ask(&f->run, "branch", i);
    }
    rk_run_compile *handed = run_fixture_ask(&f->run, "branch", 2);
    handed->process = 1;
    handed->outcome = RK_OUTCOME_HIT;
    handed->compiled = false;
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_divergence(9);
}

static void the_first_program_in_which_ranks_differ_is_reported(void **state) {
    fixture *f = *state;
    f->run.model.process_count = 2;
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, "branch", i, true);
        run_fixture_keep(f, "shape", i, true);
    }
    (void)run_fixture_ask(&f->run, "shape", 1);
    run_fixture_ask(&f->run, "shape", 1)->process = 1;
    (void)run_fixture_ask(&f->run, "branch", 1);
    run_fixture_ask(&f->run, "branch", 2)->process = 1;
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_divergence(9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_fixture_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_number_that_changes_is_a_counter),
        TEST(the_questions_are_answered),
        TEST(what_is_like_nothing_is_first),
        TEST(sketches_alone_explain_inputs),
        TEST(the_same_again_is_a_storm),
        TEST(what_was_stored_and_is_gone_was_evicted),
        TEST(damage_and_bypass_have_causes_of_their_own),
        TEST(a_program_is_opened_once),
        TEST(the_first_program_in_which_ranks_differ_is_reported),
        TEST(a_rank_that_was_handed_its_program_differs_in_the_same_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
