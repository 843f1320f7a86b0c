// The explanation of a run.
#include "base/sys.h"
#include "diagnose/diff/runs.h"
#include "run_fixture.h"
#include "support/faults.h"

static char empty[] = "";
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

static void ask_for(fixture *f, const char *job, unsigned count) {
    for (unsigned i = 1; i <= count; i++) {
        run_fixture_keep(f, job, i, true);
        (void)run_fixture_ask(&f->run, job, i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
}

static void another_rank_in_one_call_is_a_shape(void **state) {
    ask_for(*state, "squeezed", 2);
    expect_cause(1, RK_CAUSE_SHAPE);
    const rk_differences *list = &explanation.items[1].differences;
    for (size_t i = 0; i < list->count; i++)
        assert_int_not_equal(list->items[i].kind, RK_DIFFERENCE_SHARDING);
}

static void two_functions_in_one_scan_are_two(void **state) {
    ask_for(*state, "scans", 3);
    expect_cause(1, RK_CAUSE_FIRST);
    expect_cause(2, RK_CAUSE_SHAPE);
}

static void a_weak_type_is_named(void **state) {
    ask_for(*state, "weak", 2);
    expect_cause(1, RK_CAUSE_DTYPE);
    const rk_difference *head = &explanation.items[1].differences.items[0];
    assert_string_equal(head->before, "weakly typed tensor<f32>");
    assert_string_equal(head->after, "tensor<f32>");
    assert_non_null(strstr(explanation.items[1].advice, "weakly typed (weak_type)"));
    assert_non_null(strstr(explanation.items[1].advice, "the full type before the first call"));
    assert_non_null(strstr(explanation.items[1].advice, "jnp.asarray(x, dtype=jnp.float32)"));
}

static void a_result_of_a_weak_type_is_named(void **state) {
    fixture *f = *state;
    for (unsigned i = 2; i > 0; i--) {
        run_fixture_keep(f, "weak", i, true);
        (void)run_fixture_ask(&f->run, "weak", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(1, RK_CAUSE_DTYPE);
    assert_non_null(strstr(explanation.items[1].advice, "The later value is weakly typed"));
    assert_null(strstr(explanation.items[1].advice, "A later operation, such as an update"));
}

static void a_counter_that_goes_on_in_the_next_start_is_one(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 6; i++) {
        run_fixture_keep(f, "resumed", i, true);
        (void)run_fixture_ask(i <= 3 ? &f->other : &f->run, "resumed", i);
    }
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    assert_null(explanation.items[2].nearest_of);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_COUNTER);
    assert_int_equal(explanation.patterns[0].member_count, 3);
    assert_non_null(strstr(explanation.patterns[0].summary, "took 3 values: 6, 7, 8;"));
}

// Values of the earlier start do not count.
static void two_values_after_a_restart_are_no_counter(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 5; i++) {
        run_fixture_keep(f, "resumed", i, true);
        (void)run_fixture_ask(i <= 3 ? &f->other : &f->run, "resumed", i);
    }
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    assert_int_equal(explanation.pattern_count, 0);
}

// The earlier program is not in the store: the journals tell that its options were other ones.
static void settings_of_a_removed_program_are_a_cause(void **state) {
    fixture *f = *state;
    rk_run_compile *before = run_fixture_ask_in(&f->other, "counter", 1, 1);
    rk_run_compile *after = run_fixture_ask_in(&f->run, "counter", 1, 2);
    memset(before->options, 'a', RK_DIGEST_HEX_CHARS);
    memset(after->options, 'b', RK_DIGEST_HEX_CHARS);
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_OPTIONS);
    const rk_explained *item = &explanation.items[0];
    assert_ptr_equal(item->recorded, before);
    assert_null(item->nearest);
    assert_string_equal(item->differences.items[0].after, "bbbbbbbbbbbb");
    assert_true(explanation.profile_or_sharding.answer);
    assert_true(explanation.input_shapes.known);
    assert_false(explanation.input_shapes.answer);
}

static void the_environments_of_both_runs_are_compared(void **state) {
    fixture *f = *state;
    static char four[] = "[{\"kind\":\"topology\",\"name\":\"topology.devices\",\"value\":\"4\"}]";
    static char two[] = "[{\"kind\":\"topology\",\"name\":\"topology.devices\",\"value\":\"2\"}]";
    rk_run_client clients[2] = {{.client = 1, .components_json = four},
                                {.client = 1, .components_json = two}};
    f->other.model.clients = &clients[0];
    f->run.model.clients = &clients[1];
    f->other.model.client_count = f->run.model.client_count = 1;
    (void)run_fixture_ask_in(&f->other, "counter", 1, 1);
    run_fixture_keep_entry(f, &(fixture_kept){.job = "counter", .file = 1, .environment = 2});
    (void)run_fixture_ask_in(&f->run, "counter", 1, 2);
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_DEVICE);
    assert_string_equal(explanation.items[0].differences.items[0].before, "4");
}

// A changed function whose earlier program was removed is no new function.
static void nothing_is_denied_without_a_comparison(void **state) {
    fixture *f = *state;
    const rk_run_compile *before = run_fixture_ask(&f->other, "counter", 1);
    run_fixture_keep(f, "counter", 2, true);
    (void)run_fixture_ask(&f->run, "counter", 2);
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_FIRST);
    assert_ptr_equal(explanation.items[0].gone, before);
    assert_true(rk_explained_is_uncompared(&explanation.items[0]));
    assert_false(explanation.input_shapes.known);
    assert_false(explanation.profile_or_sharding.known);
    assert_non_null(strstr(explanation.hidden_branch.evidence, "of run other-run is not in the"));
}

static void a_failed_program_is_no_measure(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++)
        run_fixture_keep(f, "counter", i, true);
    (void)run_fixture_ask(&f->other, "counter", 1);
    run_fixture_ask(&f->other, "counter", 2)->failed = true;
    (void)run_fixture_ask(&f->run, "counter", 3);
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    assert_string_equal(explanation.items[0].nearest->hex, f->other.compiles[0].key);
}

static void a_failure_has_its_settings(void **state) {
    fixture *f = *state;
    static char error[] = "No such option";
    rk_run_compile *before = run_fixture_ask_in(&f->other, "counter", 1, 1);
    rk_run_compile *after = run_fixture_ask_in(&f->run, "counter", 1, 2);
    memset(before->options, 'a', RK_DIGEST_HEX_CHARS);
    memset(after->options, 'b', RK_DIGEST_HEX_CHARS);
    after->failed = true;
    after->error = error;
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_FAILED);
    assert_int_equal(explanation.items[0].differences.count, 2);
    assert_true(explanation.profile_or_sharding.answer);
    assert_true(explanation.hidden_branch.known);
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

static void explain_sketches(fixture *f, const char *job) {
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, job, i, false);
        (void)run_fixture_ask(&f->run, job, i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
}

// The sketch shows that the operations differ, and not where.
static void sketches_alone_show_other_operations(void **state) {
    explain_sketches(*state, "branch");
    expect_cause(1, RK_CAUSE_STRUCTURE);
    const rk_difference *head = rk_explained_head(&explanation.items[1]);
    assert_non_null(head);
    assert_string_equal(head->attribute, "operations");
    assert_non_null(strstr(head->after, "REKINDLE_KEEP_PROGRAMS"));
    assert_true(explanation.hidden_branch.known && explanation.hidden_branch.answer);
    assert_true(explanation.input_shapes.known && !explanation.input_shapes.answer);
}

// It may be a number or a sharding.
static void sketches_alone_leave_shardings_open(void **state) {
    explain_sketches(*state, "counter");
    expect_cause(1, RK_CAUSE_CONSTANT);
    assert_non_null(rk_explained_head(&explanation.items[1]));
    assert_false(explanation.profile_or_sharding.known);
    assert_true(explanation.hidden_branch.known && !explanation.hidden_branch.answer);
    assert_int_equal(explanation.pattern_count, 0);
}

// (rate, size): the last start had (0.1, 24), a sibling has (0.2, 32).
static void a_known_change_comes_before_unknown_ones(void **state) {
    fixture *f = *state;
    for (unsigned i = 2; i <= 4; i++)
        run_fixture_keep(f, "rate", i, false);
    (void)run_fixture_ask(&f->other, "rate", 2);
    (void)run_fixture_ask(&f->other, "rate", 3);
    (void)run_fixture_ask(&f->run, "rate", 4);
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_SHAPE);
    rk_run_diff diff;
    rk_err *err = rk_diff_runs(&f->other.model, &f->run.model, &f->corpus, &diff);
    assert_int_equal(diff.only_after.count, 1);
    assert_int_equal(diff.only_after.items[0].diff.cause, RK_CAUSE_SHAPE);
    assert_ptr_equal(diff.only_after.items[0].nearest, &f->other.compiles[1]);
    rk_run_diff_cleanup(&diff);
    rk_expect_ok(err);
}

static void a_failure_leaves_the_questions_open(void **state) {
    static char error[] = "RESOURCE_EXHAUSTED: out of memory";
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, "shape", i, true);
        (void)run_fixture_ask(&f->run, "shape", i);
    }
    f->run.compiles[1].failed = true;
    f->run.compiles[1].error = error;
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(1, RK_CAUSE_FAILED);
    assert_false(explanation.input_shapes.known);
    assert_non_null(strstr(explanation.input_shapes.evidence, "failed"));
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

// A graph of PyTorch/XLA that is not in the store, requested twice.
static void the_same_again_may_not_be_kept(void **state) {
    fixture *f = *state;
    static char graph[] = "SyncTensorsGraph.12";
    for (unsigned i = 0; i < 2; i++)
        run_fixture_ask(&f->run, "torch_shared", 1)->name = graph;
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(1, RK_CAUSE_DUPLICATE);
    assert_false(explanation.hidden_branch.answer);
}

// A request for a program that an earlier run stored at `stored_ns`.
static void explain_stored(fixture *f, uint64_t stored_ns) {
    run_fixture_keep(f, "shape", 1, true);
    rk_run_compile *compile = run_fixture_ask(&f->run, "shape", 1);
    rk_run_stored stored = {.stored = true, .reason = empty, .time_ns = stored_ns};
    memcpy(stored.key, compile->key, sizeof stored.key);
    rk_run_compile *before = run_fixture_ask(&f->other, "shape", 1);
    before->time_ns = stored_ns;
    f->other.model.stored = &stored;
    f->other.model.stored_count = 1;
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    f->other.model.stored = NULL;
    f->other.model.stored_count = 0;
}

static void record_removal(fixture *f, rk_removal removal) {
    rk_run_compile compile = *run_fixture_ask(&f->run, "shape", 1);
    f->run.model.compile_count--;
    f->run.model.start_ns = rk_realtime_ns() + 1000000000u;
    rk_removals_note_one(f->store, removal, compile.key);
}

static void what_was_evicted_is_on_record(void **state) {
    record_removal(*state, RK_REMOVAL_EVICTED);
    explain_stored(*state, 1);
    expect_cause(0, RK_CAUSE_EVICTED);
    assert_non_null(strstr(explanation.items[0].advice, "REKINDLE_MAX_SIZE"));
}

static void what_rm_removed_was_removed(void **state) {
    record_removal(*state, RK_REMOVAL_BY_HAND);
    explain_stored(*state, 1);
    expect_cause(0, RK_CAUSE_REMOVED);
    assert_null(strstr(explanation.items[0].advice, "REKINDLE_MAX_SIZE"));
}

static void what_is_gone_without_a_record_was_removed(void **state) {
    explain_stored(*state, 1);
    expect_cause(0, RK_CAUSE_REMOVED);
}

// It was evicted, stored again, and then removed by another program.
static void an_older_record_does_not_count(void **state) {
    record_removal(*state, RK_REMOVAL_EVICTED);
    explain_stored(*state, rk_realtime_ns());
    expect_cause(0, RK_CAUSE_REMOVED);
}

static void what_another_run_stored_meanwhile_was_not_there(void **state) {
    explain_stored(*state, UINT64_MAX - 1);
    expect_cause(0, RK_CAUSE_FIRST);
}

static void a_failed_compilation_shows_the_error(void **state) {
    static char error[] = "Mosaic failed to compile\nwith a dump";
    fixture *f = *state;
    run_fixture_keep(f, "shape", 1, true);
    rk_run_compile *failed = run_fixture_ask(&f->run, "shape", 1);
    failed->failed = true;
    failed->error = error;
    rk_run_compile *before = run_fixture_ask(&f->other, "shape", 1);
    *before = *failed;
    before->time_ns = 1;
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_FAILED);
    const rk_difference *head = &explanation.items[0].differences.items[0];
    assert_string_equal(head->after, "Mosaic failed to compile");
    assert_int_equal(head->line, 10);
    assert_non_null(explanation.items[0].advice);
}

// The numbers are those of programs/make: (rate, size) is (0.1, 32), (0.1, 24), (0.2, 32), (0.2,
// 24).
static void ask_for_rates(fixture *f, fixture_run *run, const unsigned *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        run_fixture_keep(f, "rate", numbers[i], true);
        (void)run_fixture_ask(run, "rate", numbers[i]);
    }
}

static void expect_rate(size_t index) {
    expect_cause(index, RK_CAUSE_CONSTANT);
    const rk_explained *item = &explanation.items[index];
    assert_int_equal(item->differences.cause_count, 1);
    assert_string_equal(item->differences.items[0].after, "0.200000003");
    assert_null(item->nearest_of);
    assert_string_equal(item->nearest_run, "other-run");
}

static void the_last_start_comes_before_siblings(void **state) {
    fixture *f = *state;
    ask_for_rates(f, &f->other, (const unsigned[]){1, 2}, 2);
    ask_for_rates(f, &f->run, (const unsigned[]){3, 4}, 2);
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    expect_rate(0);
    expect_rate(1);
    assert_false(explanation.input_shapes.answer);
    // The comparison of the two runs agrees.
    rk_run_diff diff;
    rk_err *err = rk_diff_runs(&f->other.model, &f->run.model, &f->corpus, &diff);
    assert_int_equal(diff.only_after.count, 2);
    for (size_t i = 0; i < diff.only_after.count; i++) {
        assert_int_equal(diff.only_after.items[i].diff.cause, RK_CAUSE_CONSTANT);
        assert_ptr_equal(diff.only_after.items[i].nearest, &f->other.compiles[i]);
    }
    rk_run_diff_cleanup(&diff);
    rk_expect_ok(err);
}

static void another_learning_rate_is_no_neighbour_of_a_new_size(void **state) {
    fixture *f = *state;
    static fixture_run first;
    first = f->other;
    first.model.compiles = first.compiles;
    first.model.processes = first.processes;
    ask_for_rates(f, &first, (const unsigned[]){1}, 1);
    ask_for_rates(f, &f->other, (const unsigned[]){3}, 1);
    ask_for_rates(f, &f->run, (const unsigned[]){4}, 1);
    const rk_run_model earlier[] = {first.model, f->other.model};
    explain(f, (rk_earlier_runs){earlier, 2});
    expect_cause(0, RK_CAUSE_SHAPE);
    assert_int_equal(explanation.items[0].differences.cause_count, 1);
}

static void a_program_in_addition_is_compared_with_its_sibling(void **state) {
    fixture *f = *state;
    ask_for_rates(f, &f->other, (const unsigned[]){1}, 1);
    ask_for_rates(f, &f->run, (const unsigned[]){3, 4}, 2);
    explain(f, (rk_earlier_runs){&f->other.model, 1});
    expect_rate(0);
    expect_cause(1, RK_CAUSE_SHAPE);
    assert_ptr_equal(explanation.items[1].nearest_of, &f->run.compiles[0]);
}

static void a_large_branch_in_a_short_function_is_its_structure(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, "log", i, true);
        (void)run_fixture_ask(&f->run, "log", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(1, RK_CAUSE_STRUCTURE);
    assert_int_equal(explanation.items[1].differences.items[0].line, 9);
}

static void a_function_of_a_library_is_no_eager_operation(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++) {
        run_fixture_keep(f, "library", i, true);
        (void)run_fixture_ask(&f->run, "library", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    assert_false(explanation.items[0].is_eager);
    expect_cause(1, RK_CAUSE_SHAPE);
    assert_int_equal(explanation.items[1].differences.items[0].line, 17);
}

static void what_cannot_be_read_leaves_the_questions_open(void **state) {
    static char text[] = "MLIR text";
    fixture *f = *state;
    run_fixture_ask(&f->run, "shape", 1)->by_bytes = text;
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(0, RK_CAUSE_FIRST);
    const rk_question *const questions[] = {
        &explanation.input_shapes, &explanation.profile_or_sharding, &explanation.hidden_branch};
    for (size_t i = 0; i < RK_ARRAY_LEN(questions); i++) {
        assert_false(questions[i]->known);
        assert_non_null(strstr(questions[i]->evidence, "MLIR text"));
    }
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

static rk_run_compile *fail_without_callbacks(fixture *f, const char *program, char *callback) {
    static char error[] = "No FFI handler registered for xla_ffi_python_cpu_callback";
    run_fixture_keep(f, program, 1, true);
    rk_run_compile *failed = run_fixture_ask(&f->run, program, 1);
    failed->outcome = RK_OUTCOME_BYPASS;
    failed->reason = callback;
    failed->error = error;
    failed->failed = true;
    return failed;
}

// Such as the progress bar of NumPyro: the user's line is in no frame of the callback.
static void a_callback_of_a_package_is_named_without_a_line_of_the_user(void **state) {
    static char callback[] = "host callback (xla_ffi_python_cpu_callback)";
    fixture *f = *state;
    fail_without_callbacks(f, "progress", callback);
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(0, RK_CAUSE_FAILED);
    assert_string_equal(explanation.items[0].package, "numpyro");
    assert_non_null(strstr(explanation.items[0].advice, "progress_bar=False"));
}

static void a_callback_of_the_user_fails_on_a_plugin_without_callbacks(void **state) {
    static char callback[] = "host callback (xla_python_cpu_callback)";
    fixture *f = *state;
    fail_without_callbacks(f, "branch", callback);
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(0, RK_CAUSE_UNCACHEABLE);
    assert_non_null(strstr(explanation.items[0].advice, "This plugin has no host callbacks"));
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
        TEST(another_rank_in_one_call_is_a_shape),
        TEST(two_functions_in_one_scan_are_two),
        TEST(a_weak_type_is_named),
        TEST(a_result_of_a_weak_type_is_named),
        TEST(a_counter_that_goes_on_in_the_next_start_is_one),
        TEST(two_values_after_a_restart_are_no_counter),
        TEST(settings_of_a_removed_program_are_a_cause),
        TEST(the_environments_of_both_runs_are_compared),
        TEST(nothing_is_denied_without_a_comparison),
        TEST(a_failed_program_is_no_measure),
        TEST(a_failure_has_its_settings),
        TEST(the_questions_are_answered),
        TEST(what_is_like_nothing_is_first),
        TEST(sketches_alone_explain_inputs),
        TEST(sketches_alone_show_other_operations),
        TEST(sketches_alone_leave_shardings_open),
        TEST(a_known_change_comes_before_unknown_ones),
        TEST(a_failure_leaves_the_questions_open),
        TEST(the_same_again_is_a_storm),
        TEST(the_same_again_may_not_be_kept),
        TEST(what_was_evicted_is_on_record),
        TEST(what_rm_removed_was_removed),
        TEST(what_is_gone_without_a_record_was_removed),
        TEST(an_older_record_does_not_count),
        TEST(what_another_run_stored_meanwhile_was_not_there),
        TEST(a_failed_compilation_shows_the_error),
        TEST(the_last_start_comes_before_siblings),
        TEST(another_learning_rate_is_no_neighbour_of_a_new_size),
        TEST(a_program_in_addition_is_compared_with_its_sibling),
        TEST(a_large_branch_in_a_short_function_is_its_structure),
        TEST(a_function_of_a_library_is_no_eager_operation),
        TEST(what_cannot_be_read_leaves_the_questions_open),
        TEST(damage_and_bypass_have_causes_of_their_own),
        TEST(a_callback_of_a_package_is_named_without_a_line_of_the_user),
        TEST(a_callback_of_the_user_fails_on_a_plugin_without_callbacks),
        TEST(a_program_is_opened_once),
        TEST(the_first_program_in_which_ranks_differ_is_reported),
        TEST(a_rank_that_was_handed_its_program_differs_in_the_same_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
