// Parts of a step of PyTorch/XLA, and programs that take turns.
#include "run_fixture.h"

static rk_explanation explanation;
static rk_run_executed executed[4];
static rk_run_steps steps[2];

static int teardown(void **state) {
    rk_explanation_cleanup(&explanation);
    return run_fixture_teardown(state);
}

static rk_run_compile *ask(fixture *f, const char *job, unsigned number) {
    run_fixture_keep(f, job, number, true);
    return run_fixture_ask(&f->run, job, number);
}

// Asks for a program and records that it was executed. `before`: the executions before the request.
static void execute(fixture *f, const char *job, unsigned number, uint64_t executions,
                    uint64_t before) {
    rk_run_compile *request = ask(f, job, number);
    request->executions = before;
    request->has_executions = true;
    rk_run_executed *one = &executed[f->run.model.executed_count++];
    *one = (rk_run_executed){.executions = executions};
    memcpy(one->key, request->key, sizeof one->key);
}

// Makes a run that requests the programs `first` and `second` of a job, one after the other, and
// executes them that often.
static void prepare(fixture *f, const char *job, unsigned first, uint64_t first_executions,
                    unsigned second, uint64_t second_executions) {
    f->run.model.executed = executed;
    f->run.model.executed_count = 0;
    execute(f, job, first, first_executions, 0);
    execute(f, job, second, second_executions, 1);
    uint64_t most = first_executions > second_executions ? first_executions : second_executions;
    steps[0] = (rk_run_steps){
        .steps = {.rhythm = 1, .executions = first_executions + second_executions, .steps = most}};
    f->run.model.steps = steps;
    f->run.model.step_count = 1;
    f->run.processes[0].counts.executions = first_executions + second_executions;
    steps[0].steps.transfers.device_to_host = first_executions;
}

static void explain_prepared(fixture *f) {
    run_fixture_load(f);
    rk_expect_ok(rk_explain(&f->run.model, (rk_earlier_runs){NULL, 0}, &f->corpus, &explanation));
}

static void explain(fixture *f, const char *job, unsigned first, uint64_t first_executions,
                    unsigned second, uint64_t second_executions) {
    prepare(f, job, first, first_executions, second, second_executions);
    explain_prepared(f);
}

// Explains a process that requests the programs 1 to `count` of a job. How often it executes them
// is not known.
static void explain_requests(fixture *f, const char *job, unsigned count) {
    for (unsigned i = 1; i <= count; i++)
        (void)ask(f, job, i);
    explain_prepared(f);
}

static void expect_no_causes(void) {
    for (size_t i = 0; i < explanation.count; i++)
        assert_string_equal(rk_cause_name(explanation.items[i].cause), "first");
}

static void a_read_that_cuts_the_step_is_found(void **state) {
    explain(*state, "torch_read", 1, 5, 2, 5);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_FRAGMENTS);
    assert_int_equal(explanation.patterns[0].line, 7);
    assert_int_equal(explanation.patterns[0].member_count, 1); // without the largest part
    assert_non_null(strstr(explanation.patterns[0].summary, "a step is 2 programs"));
    assert_non_null(strstr(explanation.patterns[0].summary, "it is read there or on a later line"));
}

static void the_lines_of_all_reads_of_the_step_are_named(void **state) {
    fixture *f = *state;
    prepare(f, "torch_two_reads", 1, 5, 2, 5);
    execute(f, "torch_two_reads", 3, 5, 2);
    f->run.processes[0].counts.executions = steps[0].steps.executions = 15;
    steps[0].steps.transfers.device_to_host = 10;
    explain_prepared(f);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_FRAGMENTS);
    assert_non_null(strstr(
        explanation.patterns[0].summary,
        "numbers that are read are calculated on lines 7 and 8, perhaps also on others, at least"));
}

// The read for another size is a version of the same part, with a cause of its own.
static void another_size_of_a_part_costs_the_step_too(void **state) {
    fixture *f = *state;
    prepare(f, "torch_read_sizes", 1, 5, 2, 5);
    execute(f, "torch_read_sizes", 3, 1, 10);
    execute(f, "torch_read_sizes", 4, 1, 11);
    f->run.processes[0].counts.executions = steps[0].steps.executions = 12;
    steps[0].steps.steps = steps[0].steps.transfers.device_to_host = 6;
    explain_prepared(f);
    assert_int_equal(explanation.pattern_count, 1);
    const rk_pattern *pattern = explanation.patterns;
    assert_int_equal(pattern->kind, RK_PATTERN_FRAGMENTS);
    assert_int_equal(pattern->member_count, 1);
    assert_int_equal(pattern->lost_ns, 1000000000);
    assert_int_equal(pattern->shared_ns, 1000000000);
    assert_non_null(strstr(pattern->summary, "other findings count some of these seconds, too"));
}

// The read of the step was executed once. An evaluation executed the same read for another size
// five times.
static void the_line_of_a_cut_is_not_that_of_an_evaluation(void **state) {
    fixture *f = *state;
    prepare(f, "torch_evaluated", 1, 1, 2, 6);
    execute(f, "torch_evaluated", 3, 5, 8);
    f->run.processes[0].counts.executions = steps[0].steps.executions = 12;
    steps[0].steps.transfers.device_to_host = 6;
    explain_prepared(f);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_FRAGMENTS);
    assert_int_equal(explanation.patterns[0].line, 6);
}

// The evaluation before them has the same rows, but one input more.
static void the_same_part_for_other_rows_is_nearer_than_another_part(void **state) {
    explain_requests(*state, "torch_scaled", 3);
    assert_int_equal(explanation.items[2].cause, RK_CAUSE_SHAPE);
    assert_int_equal(explanation.items[2].nearest_of->seq, explanation.items[1].compile->seq);
}

// The gradients of the second half are computed after a cut. Their operations have no lines.
static void a_cut_among_the_gradients_has_the_line_that_computes_them(void **state) {
    fixture *f = *state;
    prepare(f, "torch_backward", 1, 5, 2, 5);
    execute(f, "torch_backward", 3, 5, 2);
    f->run.processes[0].counts.executions = steps[0].steps.executions = 15;
    explain_prepared(f);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_FRAGMENTS);
    assert_int_equal(explanation.patterns[0].line, 19);
    assert_non_null(strstr(explanation.patterns[0].summary, "which computes the gradients"));
}

// The function that calculates the number is called for other numbers, too.
static void the_call_of_a_function_that_calculates_a_number_is_named(void **state) {
    explain(*state, "torch_helper", 1, 5, 2, 5);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_FRAGMENTS);
    assert_int_equal(explanation.patterns[0].line, 5);
    assert_non_null(strstr(explanation.patterns[0].summary, "in the call on line 8"));
}

static void a_program_of_one_number_after_the_step_cuts_nothing(void **state) {
    explain(*state, "torch_read", 2, 5, 1, 5);
    assert_int_equal(explanation.pattern_count, 0);
}

static void a_read_now_and_then_is_no_part_of_the_step(void **state) {
    explain(*state, "torch_read", 1, 1, 2, 9);
    assert_int_equal(explanation.pattern_count, 0);
}

// Six steps are one program; after four others, a validation executes more.
// The sample runs after the last step, and executes its program as often as there are steps.
static void a_sample_after_some_steps_does_not_hide_a_read(void **state) {
    fixture *f = *state;
    prepare(f, "torch_read", 1, 6, 2, 6);
    execute(f, "torch_seed", 1, 6, 12);
    f->run.processes[0].counts.executions = 20;
    steps[0].steps.steps = 5;
    steps[0].steps.executions = 10;
    steps[1] =
        (rk_run_steps){.steps = {.rhythm = 1, .first_execution = 10, .executions = 10, .steps = 1}};
    f->run.model.step_count = 2;
    explain_prepared(f);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_FRAGMENTS);
}

static void a_validation_after_some_steps_is_no_part_of_the_step(void **state) {
    fixture *f = *state;
    prepare(f, "torch_read", 1, 9, 2, 10);
    steps[0].steps.executions = steps[0].steps.steps = 6;
    steps[1] =
        (rk_run_steps){.steps = {.rhythm = 1, .first_execution = 6, .executions = 13, .steps = 4}};
    f->run.model.step_count = 2;
    explain_prepared(f);
    assert_int_equal(explanation.pattern_count, 0);
}

// Nine steps read one number each; in the tenth, a checkpoint reads all parameters.
static void reads_of_a_checkpoint_are_not_of_each_step(void **state) {
    fixture *f = *state;
    prepare(f, "torch_read", 1, 10, 2, 10);
    steps[0].steps.executions = 18;
    steps[0].steps.steps = steps[0].steps.transfers.device_to_host = 9;
    steps[1] = (rk_run_steps){.steps = {.rhythm = 1,
                                        .first_execution = 18,
                                        .executions = 2,
                                        .steps = 1,
                                        .transfers = {.device_to_host = 500}}};
    f->run.model.step_count = 2;
    explain_prepared(f);
    assert_int_equal(explanation.pattern_count, 1);
    assert_non_null(strstr(explanation.patterns[0].summary, "with 1.0 reads to the host per step"));
}

// A sum that is kept on the device begins with a Python number.
static void a_running_sum_is_no_branch(void **state) {
    explain_requests(*state, "torch_average", 2);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "parameters");
    assert_non_null(strstr(explanation.items[1].advice, "Only single numbers differ"));
    assert_true(explanation.hidden_branch.known && !explanation.hidden_branch.answer);
}

// An evaluation has the shapes of the full batch, and fewer changes since the last one.
static void evaluation_with_stored_statistics_is_no_version_of_the_training(void **state) {
    explain_requests(*state, "torch_norm", 3);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "shape");
    assert_string_equal(rk_cause_name(explanation.items[2].cause), "first");
}

static void a_read_and_the_barrier_after_it_are_no_versions(void **state) {
    explain_requests(*state, "torch_image", 2);
    expect_no_causes();
}

static void what_strict_mode_refused_is_compared(void **state) {
    fixture *f = *state;
    (void)ask(f, "torch_batch", 1);
    rk_run_compile *refused = ask(f, "torch_batch", 2);
    refused->compiled = false;
    refused->failed = refused->refused = true;
    refused->compile_ns = 0;
    explain_prepared(f);
    assert_int_equal(explanation.count, 2);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "shape");
    assert_true(explanation.input_shapes.answer);
    assert_non_null(
        strstr(explanation.items[1].advice, "REKINDLE_STRICT=fail refused this compilation"));
}

static void programs_that_create_and_add_alternate(void **state) {
    explain(*state, "torch_update", 1, 5, 2, 5);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_ALTERNATION);
    assert_int_equal(explanation.patterns[0].member_count, 1);
}

static void what_only_the_first_step_creates_is_no_alternation(void **state) {
    explain(*state, "torch_update", 1, 1, 2, 5);
    assert_int_equal(explanation.pattern_count, 0);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "first");
}

// The counters of the normalization are constants of the first program, and alternate with nothing.
// The fourth program is the first one with counters as inputs.
static void only_what_is_added_to_alternates(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++)
        (void)ask(f, "torch_micro", i);
    executed[0] = (rk_run_executed){.executions = 1};
    memcpy(executed[0].key, f->run.compiles[0].key, sizeof executed[0].key);
    f->run.model.executed = executed;
    f->run.model.executed_count = 1;
    run_fixture_load(f);
    rk_expect_ok(rk_explain(&f->run.model, (rk_earlier_runs){NULL, 0}, &f->corpus, &explanation));
    const rk_pattern *pattern = NULL;
    for (size_t i = 0; i < explanation.pattern_count; i++)
        if (explanation.patterns[i].kind == RK_PATTERN_ALTERNATION)
            pattern = &explanation.patterns[i];
    assert_non_null(pattern);
    assert_non_null(strstr(pattern->summary, "jit_step (request 4) creates 8 values, and jit_step "
                                             "(request 2) takes them as inputs"));
}

static void the_state_of_an_optimizer_is_of_the_start(void **state) {
    explain(*state, "torch_state", 1, 1, 2, 5);
    assert_int_equal(explanation.pattern_count, 0);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "parameters");
    assert_true(explanation.items[1].is_startup);
}

// The executions of a process that was killed are not known.
static void the_state_of_an_optimizer_is_of_the_start_of_a_killed_process(void **state) {
    explain_requests(*state, "torch_state", 2);
    assert_true(explanation.items[1].is_startup);
}

// A part of the step runs twice in each step. The first step creates the optimizer's state.
static void an_input_that_the_first_step_creates_is_no_certain_branch(void **state) {
    fixture *f = *state;
    f->run.model.executed = executed;
    f->run.model.executed_count = 0;
    execute(f, "torch_pieces", 1, 2, 0);
    execute(f, "torch_state", 1, 1, 2);
    execute(f, "torch_pieces", 2, 10, 3);
    execute(f, "torch_state", 2, 5, 5);
    explain_prepared(f);
    assert_string_equal(rk_cause_name(explanation.items[2].cause), "parameters");
    assert_false(explanation.items[2].is_startup);
    assert_true(explanation.items[3].is_startup);
    assert_false(explanation.hidden_branch.known);
}

static void zeros_of_two_shapes_in_one_step_have_no_cause(void **state) {
    explain(*state, "torch_zeros", 1, 1, 2, 1);
    expect_no_causes();
}

// All axes differ, so there is no size that takes one value after another.
static void zeros_of_two_shapes_are_no_counter(void **state) {
    explain_requests(*state, "torch_zeros", 2);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "constant");
    assert_int_equal(explanation.pattern_count, 0);
}

static void reads_of_loss_and_accuracy_have_no_cause(void **state) {
    explain(*state, "torch_losses", 1, 1, 2, 1);
    expect_no_causes();
}

// Two sizes, each in every step, are those of two parameters. One in a few steps only is a size.
static void graphs_of_each_step_are_of_two_tensors(void **state) {
    explain(*state, "torch_norms", 1, 5, 2, 5);
    expect_no_causes();
    assert_true(explanation.input_shapes.known && !explanation.input_shapes.answer);
}

static void a_size_of_some_steps_is_a_cause(void **state) {
    explain(*state, "torch_norms", 1, 5, 2, 2);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "shape");
}

// An evaluation after some steps has two sizes.
static void two_sizes_of_some_steps_are_a_cause(void **state) {
    prepare(*state, "torch_norms", 1, 2, 2, 2);
    steps[0].steps.steps = 8;
    steps[0].steps.executions = 8;
    explain_prepared(*state);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "shape");
}

static void reads_of_two_results_have_no_cause(void **state) {
    explain(*state, "torch_results", 1, 1, 2, 1);
    expect_no_causes();
}

static void pieces_of_one_step_have_no_cause(void **state) {
    explain(*state, "torch_pieces", 1, 5, 2, 5);
    expect_no_causes();
}

static void an_input_of_some_steps_is_a_cause(void **state) {
    explain(*state, "torch_pieces", 1, 5, 2, 4);
    assert_true(explanation.hidden_branch.known && explanation.hidden_branch.answer);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "parameters");
}

// The numbers of requests are those of one process.
static void a_later_number_of_another_process_is_not_later(void **state) {
    fixture *f = *state;
    f->run.model.process_count = 2;
    run_fixture_keep_entry(
        f, &(fixture_kept){.job = "torch_state",
                           .file = 1,
                           .environment = 1,
                           .components = "{\"kind\":\"flag\",\"name\":\"XLA_FLAGS:--xla_a\","
                                         "\"value\":\"1\"}"});
    rk_run_compile *other = run_fixture_ask_in(&f->run, "torch_state", 1, 1);
    other->process = 1;
    other->seq = 9;
    other->time_ns += 9;
    explain(f, "torch_state", 1, 1, 2, 1);
    assert_ptr_equal(explanation.items[0].nearest, explanation.items[2].nearest);
    assert_true(explanation.items[2].is_startup);
}

// Makes a run that executes two graphs once each, before its steps.
static void prepare_start(fixture *f, const char *job, unsigned first, unsigned second) {
    prepare(f, job, first, 1, second, 1);
    steps[0].steps.first_execution = 2;
    steps[0].steps.executions = steps[0].steps.steps = 10;
    f->run.processes[0].counts.executions = 12;
}

static void pieces_of_the_start_have_no_cause(void **state) {
    prepare_start(*state, "torch_drawn", 1, 2);
    explain_prepared(*state);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "first");
}

static void a_graph_that_runs_again_is_no_piece_of_the_start(void **state) {
    prepare_start(*state, "torch_drawn", 1, 2);
    executed[1].executions = 5;
    explain_prepared(*state);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "structure");
}

static void a_graph_beside_one_that_runs_again_is_no_piece_of_the_start(void **state) {
    prepare_start(*state, "torch_drawn", 1, 2);
    executed[0].executions = 5;
    explain_prepared(*state);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "structure");
}

// Both are executed once in the first step, so reads cut it.
static void graphs_of_one_step_that_run_equally_often_have_no_cause(void **state) {
    fixture *f = *state;
    prepare_start(f, "torch_drawn", 1, 2);
    steps[0].steps.first_execution = 0;
    f->run.compiles[1].executions = 0;
    explain_prepared(f);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "first");
}

// They are computed with the first step, which is another graph than that of the later steps.
static void random_initial_values_have_a_cause(void **state) {
    prepare_start(*state, "torch_seed", 1, 2);
    explain_prepared(*state);
    assert_string_equal(rk_cause_name(explanation.items[1].cause), "structure");
    assert_non_null(strstr(explanation.items[1].advice, "Call torch_xla.sync() after the"));
}

// Two graphs of each batch take the input of one line, which has three numbers of rows, and then
// another number of columns. (The eighth program is compared with an earlier one of its own run.)
static void graphs_that_take_inputs_of_one_line_are_one_finding(void **state) {
    explain_requests(*state, "torch_line_sizes", 8);
    assert_int_equal(explanation.pattern_count, 1);
    const rk_pattern *pattern = explanation.patterns;
    assert_int_equal(pattern->kind, RK_PATTERN_SHAPE_FAMILY);
    assert_int_equal(pattern->member_count, 6);
    assert_int_equal(pattern->line, 8);
    assert_string_equal(pattern->summary,
                        "inputs on this line took at least 3 sizes along axis 0 (5, 6, 8) and at "
                        "least 2 sizes along axis 1 (3, 4) in at least 8 programs");
    assert_non_null(strstr(pattern->advice, "Several inputs or axes have other sizes"));
    assert_non_null(strstr(pattern->advice, "Otherwise pad this input to one size"));
}

static void inputs_that_are_not_named_are_counted(void **state) {
    explain_requests(*state, "torch_many_inputs", 3);
    assert_int_equal(explanation.pattern_count, 1);
    assert_non_null(strstr(explanation.patterns[0].summary, " and 1 more have other sizes, too"));
}

// The first batch of the evaluation is compared with one of the training.
static void sizes_of_another_line_do_not_count(void **state) {
    explain_requests(*state, "torch_tested", 5);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].line, 9);
    assert_non_null(strstr(explanation.patterns[0].summary,
                           "took 3 sizes along axis 0 in 3 programs: 8, 6, 5;"));
}

// Two sizes are few: what remains of the data after full batches has one of them.
static void two_sizes_of_one_line_are_no_finding_of_several_graphs(void **state) {
    explain_requests(*state, "torch_line_sizes", 4);
    assert_int_equal(explanation.pattern_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_fixture_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_read_that_cuts_the_step_is_found),
        TEST(the_lines_of_all_reads_of_the_step_are_named),
        TEST(another_size_of_a_part_costs_the_step_too),
        TEST(the_line_of_a_cut_is_not_that_of_an_evaluation),
        TEST(the_same_part_for_other_rows_is_nearer_than_another_part),
        TEST(a_cut_among_the_gradients_has_the_line_that_computes_them),
        TEST(the_call_of_a_function_that_calculates_a_number_is_named),
        TEST(a_program_of_one_number_after_the_step_cuts_nothing),
        TEST(a_read_now_and_then_is_no_part_of_the_step),
        TEST(a_sample_after_some_steps_does_not_hide_a_read),
        TEST(a_validation_after_some_steps_is_no_part_of_the_step),
        TEST(reads_of_a_checkpoint_are_not_of_each_step),
        TEST(a_running_sum_is_no_branch),
        TEST(evaluation_with_stored_statistics_is_no_version_of_the_training),
        TEST(a_read_and_the_barrier_after_it_are_no_versions),
        TEST(what_strict_mode_refused_is_compared),
        TEST(programs_that_create_and_add_alternate),
        TEST(what_only_the_first_step_creates_is_no_alternation),
        TEST(only_what_is_added_to_alternates),
        TEST(the_state_of_an_optimizer_is_of_the_start),
        TEST(the_state_of_an_optimizer_is_of_the_start_of_a_killed_process),
        TEST(zeros_of_two_shapes_in_one_step_have_no_cause),
        TEST(graphs_of_each_step_are_of_two_tensors),
        TEST(a_size_of_some_steps_is_a_cause),
        TEST(two_sizes_of_some_steps_are_a_cause),
        TEST(zeros_of_two_shapes_are_no_counter),
        TEST(reads_of_loss_and_accuracy_have_no_cause),
        TEST(reads_of_two_results_have_no_cause),
        TEST(pieces_of_one_step_have_no_cause),
        TEST(pieces_of_the_start_have_no_cause),
        TEST(a_graph_that_runs_again_is_no_piece_of_the_start),
        TEST(a_graph_beside_one_that_runs_again_is_no_piece_of_the_start),
        TEST(graphs_of_one_step_that_run_equally_often_have_no_cause),
        TEST(random_initial_values_have_a_cause),
        TEST(an_input_that_the_first_step_creates_is_no_certain_branch),
        TEST(an_input_of_some_steps_is_a_cause),
        TEST(graphs_that_take_inputs_of_one_line_are_one_finding),
        TEST(inputs_that_are_not_named_are_counted),
        TEST(sizes_of_another_line_do_not_count),
        TEST(two_sizes_of_one_line_are_no_finding_of_several_graphs),
        TEST(a_later_number_of_another_process_is_not_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
