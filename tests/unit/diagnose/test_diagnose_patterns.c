// Patterns over the compilations of a run.
#include "base/alloc.h"
#include "diagnose/explain/explain_internal.h"
#include "run_fixture.h"

static rk_explanation explanation;

static int teardown(void **state) {
    rk_explanation_cleanup(&explanation);
    return run_fixture_teardown(state);
}

static void explain(fixture *f) {
    run_fixture_load(f);
    rk_expect_ok(rk_explain(&f->run.model, (rk_earlier_runs){NULL, 0}, &f->corpus, &explanation));
}

static const rk_pattern *find_pattern(rk_pattern_kind kind) {
    for (size_t i = 0; i < explanation.pattern_count; i++)
        if (explanation.patterns[i].kind == kind)
            return &explanation.patterns[i];
    return NULL;
}

static const rk_pattern *expect_only(rk_pattern_kind kind) {
    assert_int_equal(explanation.pattern_count, 1);
    assert_string_equal(rk_pattern_kind_name(explanation.patterns[0].kind),
                        rk_pattern_kind_name(kind));
    return &explanation.patterns[0];
}

static void expect_in(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static void expect_not_in(const char *text, const char *part) {
    if (strstr(text, part))
        fail_msg("'%s' is in '%s'", part, text);
}

// Repeated blocks.

static void a_loop_in_several_programs_is_one_finding(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, "blocks", i, true);
        (void)run_fixture_ask(&f->run, "blocks", i);
    }
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_REPEATED_BLOCKS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 2);
    assert_true(pattern->lost_ns > 1000000000u && pattern->lost_ns < 2000000000u);
    assert_true(pattern->is_after_causes);
    assert_ptr_equal(pattern, &explanation.patterns[explanation.pattern_count - 1]);
    expect_in(pattern->summary, "jit_step (request 2; these blocks were found in 1 more program)");
    expect_in(pattern->summary, " 7 times");
    assert_int_equal(pattern->line, 8); // the first of the three lines of the loop
    // The seconds are also in those of the programs.
    expect_in(pattern->summary, "a part of the compile times of these programs");
    expect_not_in(pattern->advice, "Pallas");
    // The blocks may also be time steps or iterations.
    expect_in(pattern->advice, "jax.lax.fori_loop");
    expect_in(pattern->advice, "If the blocks are layers");
}

// The costliest program calls the function with the loop. In another the loop is a small part.
static void the_costliest_program_with_the_loop_is_named(void **state) {
    static const uint64_t compile_ns[] = {1000000000u, 9000000000u, 2000000000u};
    fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++) {
        run_fixture_keep(f, "nested", i, true);
        run_fixture_ask(&f->run, "nested", i)->compile_ns = compile_ns[i - 1];
    }
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_REPEATED_BLOCKS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 3);
    assert_int_equal(pattern->members[2]->blocks.is_minor, true);
    assert_true(pattern->members[2]->blocks.share < 0.33);
    expect_in(pattern->summary, "jit_step (request 2; these blocks were found in 2 more programs)");
}

static void expect_line_of_loop(fixture *f, unsigned file, uint32_t line) {
    run_fixture_keep(f, "looped", file, true);
    (void)run_fixture_ask(&f->run, "looped", file);
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_REPEATED_BLOCKS);
    assert_non_null(pattern);
    assert_int_equal(pattern->line, line);
}

// The loop has several lines, in a function that the step calls.
static void the_line_is_the_first_of_the_loop(void **state) {
    expect_line_of_loop(*state, 1, 12);
}

// The body of the loop is a function.
static void the_line_is_the_call_of_the_body(void **state) {
    expect_line_of_loop(*state, 2, 23);
}

static void blocks_come_after_cheaper_causes(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "blocks", 1, true);
    (void)run_fixture_ask(&f->run, "blocks", 1);
    for (unsigned i = 1; i <= 3; i++) {
        run_fixture_keep(f, "counter", i, true);
        run_fixture_ask(&f->run, "counter", i)->compile_ns = 1000;
    }
    explain(f);
    assert_int_equal(explanation.pattern_count, 2);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_COUNTER);
    assert_false(explanation.patterns[0].is_after_causes);
    assert_int_equal(explanation.patterns[1].kind, RK_PATTERN_REPEATED_BLOCKS);
}

static void blocks_that_are_a_small_part_are_not_reported(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "minor", 1, true);
    (void)run_fixture_ask(&f->run, "minor", 1);
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
}

static void the_loops_of_a_library_are_not_reported(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "optimizer", 1, true);
    (void)run_fixture_ask(&f->run, "optimizer", 1);
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
}

// An eager start.

static rk_run_executed executed;

// Requests operations of the start, then the program of the steps.
static void start(fixture *f, unsigned count, uint64_t compile_ns, uint64_t step_ns) {
    for (unsigned i = 1; i <= count; i++) {
        run_fixture_keep_entry(f, &(fixture_kept){.job = "eager", .file = 1, .number = i});
        run_fixture_ask(&f->run, "eager", i)->compile_ns = compile_ns;
    }
    run_fixture_keep(f, "shape", 1, true);
    rk_run_compile *step = run_fixture_ask(&f->run, "shape", 1);
    step->compile_ns = step_ns;
    executed = (rk_run_executed){.executions = 10};
    memcpy(executed.key, step->key, sizeof executed.key);
    f->run.model.executed = &executed;
    f->run.model.executed_count = 1;
}

static void an_eager_start_is_reported_at_the_call_of_the_library(void **state) {
    fixture *f = *state;
    start(f, 20, 100000000u, 1000000000u);
    explain(f);
    const rk_pattern *pattern = expect_only(RK_PATTERN_EAGER_STARTUP);
    assert_int_equal(pattern->member_count, 20);
    assert_int_equal(pattern->lost_ns, 2000000000u);
    assert_int_equal(pattern->line, 8);
    expect_in(pattern->summary, "in the call of init");
    // A function of a library may be a method with state.
    expect_not_in(pattern->advice, "jax.jit(init)");
    expect_in(pattern->advice, "changes objects");
}

static void an_ordinary_start_is_not_reported(void **state) {
    fixture *f = *state;
    start(f, 9, 100000000u, 1000000000u); // too few
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
}

static void a_start_that_costs_little_is_not_reported(void **state) {
    fixture *f = *state;
    start(f, 20, 10000000u, 100000000u);
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
}

static void a_start_that_is_a_small_share_is_not_reported(void **state) {
    fixture *f = *state;
    start(f, 20, 100000000u, 20000000000u);
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
}

static void an_eager_start_comes_after_costlier_causes(void **state) {
    fixture *f = *state;
    start(f, 20, 100000000u, 1000000000u);
    run_fixture_keep(f, "shape", 2, true);
    run_fixture_ask(&f->run, "shape", 2)->compile_ns = 4000000000u;
    explain(f);
    assert_true(expect_only(RK_PATTERN_EAGER_STARTUP)->is_after_causes);
}

// The start costs more, but its operations are compiled again because the model is larger.
static void an_eager_start_comes_after_what_changed_since_the_last_start(void **state) {
    fixture *f = *state;
    start(f, 20, 200000000u, 1000000000u);
    run_fixture_keep_entry(
        f, &(fixture_kept){.job = "branch", .file = 1, .number = 1, .is_of_other_run = true});
    run_fixture_keep(f, "branch", 2, true);
    (void)run_fixture_ask(&f->other, "branch", 1);
    run_fixture_ask(&f->run, "branch", 2)->compile_ns = 1000000000u;
    explain(f);
    assert_true(expect_only(RK_PATTERN_EAGER_STARTUP)->is_after_causes);
}

static void operations_after_the_first_step_are_not_of_the_start(void **state) {
    fixture *f = *state;
    start(f, 0, 0, 1000000000u);
    for (unsigned i = 1; i <= 20; i++) {
        run_fixture_keep_entry(f, &(fixture_kept){.job = "eager", .file = 1, .number = i});
        run_fixture_ask(&f->run, "eager", i)->compile_ns = 100000000u;
    }
    explain(f);
    (void)expect_only(RK_PATTERN_FRAGMENTS);
}

// The first batch has a size of its own, so the program that runs most steps comes later.
static void operations_after_the_first_version_of_the_step_are_not_of_the_start(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "shape", 2, true);
    (void)run_fixture_ask(&f->run, "shape", 2);
    start(f, 20, 100000000u, 1000000000u);
    explain(f);
    assert_null(find_pattern(RK_PATTERN_EAGER_STARTUP));
}

// Requests for the same operation again.

static void lost_operations_of_the_framework_are_no_storm(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "eager", 1, true);
    for (unsigned i = 0; i < 4; i++)
        run_fixture_ask(&f->run, "eager", 1)->compile_ns = 5000000u;
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
    assert_int_equal(explanation.lost_ns, 0);
}

// A busy machine takes long to load them.
static void operations_that_are_only_loaded_are_no_storm(void **state) {
    fixture *f = *state;
    static char none[] = "";
    run_fixture_keep(f, "eager", 1, true);
    for (unsigned i = 0; i < 4; i++) {
        rk_run_compile *request = run_fixture_ask(&f->run, "eager", 1);
        request->request_ns = 500000000u;
        if (i == 0)
            continue;
        request->compiled = false;
        request->outcome = RK_OUTCOME_HIT;
        request->reason = none;
    }
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
    assert_int_equal(explanation.lost_ns, 0);
}

static void a_costly_storm_of_operations_is_reported(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "eager", 1, true);
    for (unsigned i = 0; i < 4; i++)
        run_fixture_ask(&f->run, "eager", 1)->compile_ns = 50000000u;
    explain(f);
    const rk_pattern *pattern = expect_only(RK_PATTERN_DUPLICATE_STORM);
    assert_int_equal(pattern->member_count, 3);
    expect_in(pattern->advice, "a single operation outside of any jitted function");
    expect_not_in(pattern->advice, "lambda");
}

// Drift.

static void keep_again(fixture *f, const char *job, const char *before, const char *after,
                       unsigned environment) {
    run_fixture_keep_entry(f, &(fixture_kept){.job = job,
                                              .file = 1,
                                              .environment = environment,
                                              .components = before,
                                              .is_of_other_run = true});
    run_fixture_keep_entry(
        f, &(fixture_kept){
               .job = job, .file = 1, .environment = environment + 1, .components = after});
    (void)run_fixture_ask_in(&f->run, job, 1, environment + 1);
}

static void each_change_of_flags_is_a_pattern(void **state) {
    fixture *f = *state;
    static const char fast[] = "{\"kind\":\"flag\",\"name\":\"xla_fast\",\"value\":\"true\"}",
                      slow[] = "{\"kind\":\"flag\",\"name\":\"xla_slow\",\"value\":\"1\"}";
    keep_again(f, "shape", "", fast, 1);
    keep_again(f, "dtype", "", fast, 1);
    keep_again(f, "branch", "", slow, 3);
    explain(f);
    assert_int_equal(explanation.pattern_count, 2);
    const rk_pattern *pattern = &explanation.patterns[0];
    assert_int_equal(pattern->kind, RK_PATTERN_FLAG_DRIFT);
    assert_int_equal(pattern->member_count, 2);
    expect_in(pattern->summary, "xla_fast went from none to true");
    expect_not_in(pattern->summary, "xla_slow");
    assert_int_equal(explanation.patterns[1].member_count, 1);
    expect_in(explanation.patterns[1].summary, "xla_slow went from none to 1");
}

static void an_upgrade_is_one_pattern(void **state) {
    fixture *f = *state;
    static const char *const jobs[] = {"shape", "branch", "counter"};
    static const char before[] = "{\"jax\":\"0.10.1\",\"jaxlib\":\"0.10.1\",\"python\":\"3.11\"}",
                      after[] = "{\"jax\":\"0.10.2\",\"jaxlib\":\"0.10.2\",\"python\":\"3.11\"}";
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++) {
        fixture_kept kept = {
            .job = jobs[i], .file = 1, .toolchain = before, .is_of_other_run = true};
        run_fixture_keep_entry(f, &kept);
        kept = (fixture_kept){.job = jobs[i], .file = 1, .toolchain = after, .environment = 1};
        run_fixture_keep_entry(f, &kept);
        (void)run_fixture_ask_in(&f->run, jobs[i], 1, 1);
    }
    explain(f);
    const rk_pattern *pattern = expect_only(RK_PATTERN_TOOLCHAIN_DRIFT);
    assert_int_equal(pattern->member_count, 3);
    expect_in(pattern->summary, "jax went from 0.10.1 to 0.10.2, jaxlib from 0.10.1 to 0.10.2");
    expect_not_in(pattern->summary, "python");
}

// The version of a library.

static const rk_explained *explain_with_library(fixture *f, const char *job, const char *before,
                                                const char *after) {
    run_fixture_keep_entry(
        f, &(fixture_kept){.job = job, .file = 1, .toolchain = before, .is_of_other_run = true});
    run_fixture_keep_entry(f, &(fixture_kept){.job = job, .file = 2, .toolchain = after});
    (void)run_fixture_ask(&f->run, job, 2);
    explain(f);
    return &explanation.items[0];
}

static void a_library_is_no_cause(void **state) {
    const rk_explained *item =
        explain_with_library(*state, "branch", "{\"optax\":\"0.2.8\"}", "{\"optax\":\"0.2.9\"}");
    assert_string_equal(rk_cause_name(item->cause), "structure");
    // No code of optax is in this program.
    assert_false(rk_explained_has_libraries(item));
    assert_int_equal(explanation.pattern_count, 0);
}

static void a_library_whose_code_is_in_the_program_is_shown(void **state) {
    const rk_explained *item =
        explain_with_library(*state, "optimizer", "{\"optax\":\"0.2.8\",\"flax\":\"0.12.8\"}",
                             "{\"optax\":\"0.2.9\",\"flax\":\"0.12.8\"}");
    assert_string_equal(rk_cause_name(item->cause), "structure");
    assert_true(rk_explained_has_libraries(item));
    assert_int_equal(item->libraries.count, 1);
    assert_string_equal(item->libraries.items[0].attribute, "optax");
    assert_string_equal(item->libraries.items[0].before, "0.2.8");
    assert_string_equal(item->libraries.items[0].after, "0.2.9");
}

// The advice on a slice.

static void expect_slice_advice(bool sized, const char *part) {
    char name[] = "jit_step";
    rk_run_compile compile = {.seq = 1, .name = name};
    char op[] = "stablehlo.slice", start[] = "start_indices", limit[] = "limit_indices";
    char file[] = "/job/train.py";
    rk_difference list[] = {
        {.kind = RK_DIFFERENCE_ATTRIBUTE, .op = op, .attribute = limit, .file = file, .line = 9},
        {.kind = RK_DIFFERENCE_ATTRIBUTE, .op = op, .attribute = start, .follows = true},
        {.kind = RK_DIFFERENCE_SHAPE, .op = op, .file = file, .follows = true}};
    rk_explained item = {.compile = &compile,
                         .cause = RK_CAUSE_CONSTANT,
                         .differences = {.items = list, .count = sized ? 3 : 2, .cause_count = 1}};
    rk_expect_ok(rk_advise(&(rk_run_model){.compile_count = 0}, &item));
    expect_in(item.advice, part);
    rk_free(item.advice);
}

static void a_slice_that_moves_has_no_size_to_round_up(void **state) {
    (void)state;
    expect_slice_advice(false, "jax.lax.dynamic_slice");
    expect_slice_advice(true, "round the number up");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_fixture_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_loop_in_several_programs_is_one_finding),
        TEST(the_costliest_program_with_the_loop_is_named),
        TEST(the_line_is_the_first_of_the_loop),
        TEST(the_line_is_the_call_of_the_body),
        TEST(blocks_come_after_cheaper_causes),
        TEST(blocks_that_are_a_small_part_are_not_reported),
        TEST(the_loops_of_a_library_are_not_reported),
        TEST(an_eager_start_is_reported_at_the_call_of_the_library),
        TEST(an_ordinary_start_is_not_reported),
        TEST(a_start_that_costs_little_is_not_reported),
        TEST(a_start_that_is_a_small_share_is_not_reported),
        TEST(an_eager_start_comes_after_costlier_causes),
        TEST(an_eager_start_comes_after_what_changed_since_the_last_start),
        TEST(operations_after_the_first_step_are_not_of_the_start),
        TEST(operations_after_the_first_version_of_the_step_are_not_of_the_start),
        cmocka_unit_test(a_slice_that_moves_has_no_size_to_round_up),
        TEST(lost_operations_of_the_framework_are_no_storm),
        TEST(operations_that_are_only_loaded_are_no_storm),
        TEST(a_costly_storm_of_operations_is_reported),
        TEST(each_change_of_flags_is_a_pattern),
        TEST(an_upgrade_is_one_pattern),
        TEST(a_library_is_no_cause),
        TEST(a_library_whose_code_is_in_the_program_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
