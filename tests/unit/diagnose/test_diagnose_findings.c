// What must not be found: families of several functions, counters of random keys, optional inputs
// of two functions, fragments without steps. And what must still be found beside it.
#include "base/alloc.h"
#include "diagnose/explain/patterns_internal.h"
#include "run_fixture.h"

static rk_explanation explanation;
static rk_run_executed executed[RUN_FIXTURE_REQUESTS_MAX];
static rk_run_steps steps;

static int teardown(void **state) {
    rk_explanation_cleanup(&explanation);
    return run_fixture_teardown(state);
}

static void explain_after(fixture *f, rk_earlier_runs earlier) {
    run_fixture_load(f);
    rk_expect_ok(rk_explain(&f->run.model, earlier, &f->corpus, &explanation));
}

static void explain(fixture *f) {
    explain_after(f, (rk_earlier_runs){NULL, 0});
}

static void ask(fixture *f, const char *job, unsigned number) {
    run_fixture_keep(f, job, number, true);
    (void)run_fixture_ask(&f->run, job, number);
}

// The same in the earlier start.
static void ask_other(fixture *f, const char *job, unsigned file) {
    run_fixture_keep_entry(f, &(fixture_kept){.job = job, .file = file, .is_of_other_run = true});
    (void)run_fixture_ask(&f->other, job, file);
}

// Explains the requests for the first `count` programs of a job.
static void explain_first(fixture *f, const char *job, unsigned count) {
    for (unsigned i = 1; i <= count; i++)
        ask(f, job, i);
    explain(f);
}

static void explain_two(fixture *f, const char *job) {
    explain_first(f, job, 2);
}

static const rk_pattern *find_pattern(rk_pattern_kind kind) {
    for (size_t i = 0; i < explanation.pattern_count; i++)
        if (explanation.patterns[i].kind == kind)
            return &explanation.patterns[i];
    return NULL;
}

static void expect_cause(size_t index, rk_cause cause) {
    assert_true(index < explanation.count);
    assert_string_equal(rk_cause_name(explanation.items[index].cause), rk_cause_name(cause));
}

static void expect_in(const char *text, const char *part) {
    if (!text || !strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text ? text : "nothing");
}

static void expect_not_in(const char *text, const char *part) {
    if (text && strstr(text, part))
        fail_msg("'%s' is in '%s'", part, text);
}

// Notes that the run executed each of its requests that often, in so many steps.
static void execute(fixture *f, uint64_t executions, uint64_t step_count) {
    rk_run_model *model = &f->run.model;
    for (size_t i = 0; i < model->compile_count; i++) {
        model->compiles[i].executions = i;
        model->compiles[i].has_executions = true;
        executed[i] = (rk_run_executed){.executions = executions};
        memcpy(executed[i].key, model->compiles[i].key, sizeof executed[i].key);
    }
    model->executed = executed;
    model->executed_count = model->compile_count;
    f->run.processes[0].counts.executions = executions * model->compile_count;
    steps = (rk_run_steps){.steps = {.rhythm = 1,
                                     .executions = executions * model->compile_count,
                                     .programs = model->compile_count,
                                     .steps = step_count}};
    model->steps = &steps;
    model->step_count = step_count > 0;
}

// Shapes.

static void sizes_of_several_functions_are_no_family(void **state) {
    explain_first(*state, "kernels", 4);
    assert_null(find_pattern(RK_PATTERN_SHAPE_FAMILY));
    expect_cause(3, RK_CAUSE_SHAPE); // walk again, with another size
    assert_ptr_equal(explanation.items[3].nearest_of, explanation.items[0].compile);
}

// They are no parameters of another model: one line passes many numbers of rows.
static void results_of_many_sizes_are_no_state(void **state) {
    explain_first(*state, "sized_results", 4);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    expect_in(pattern->summary, "x of jit_step took 4 sizes along axis 0: 32, 64, 128, 256");
}

// Each number of rows has another width than in the earlier start.
static void one_size_of_a_start_is_no_family(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++) {
        ask_other(f, "sized_results", i);
        ask(f, "sized_results", i + 4);
    }
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    assert_null(find_pattern(RK_PATTERN_SHAPE_FAMILY));
    expect_cause(3, RK_CAUSE_SHAPE);
}

// Several axes of an input vary, most often at once.
static void sizes_that_vary_together_are_one_finding(void **state) {
    explain_first(*state, "neighbors", 4);
    assert_int_equal(explanation.pattern_count, 1);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 3);
    expect_in(pattern->summary,
              "mask of jit_step took 4 shapes: tensor<6x20xf32>, tensor<5x21xf32>");
}

// The lengths of two inputs vary, each by itself.
static void sizes_of_two_inputs_are_one_finding(void **state) {
    explain_first(*state, "translated", 5);
    assert_int_equal(explanation.pattern_count, 1);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 4);
    expect_in(pattern->summary, "target of jit_step took 2 sizes along axis 1: 12, 16");
    expect_in(pattern->summary, "; source took 3 sizes along axis 1: 8, 20, 24");
    expect_in(pattern->summary, "These are 5 programs of one function");
}

static void values_that_are_appended_need_an_array_of_fixed_size(void **state) {
    explain_first(*state, "appended", 4);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    expect_in(pattern->advice, "as large as it will be at the end");
    expect_not_in(pattern->advice, "buckets");
}

// One line calls the function for training and for evaluation.
static void each_of_two_sets_has_a_last_batch(void **state) {
    explain_first(*state, "sets", 4);
    for (size_t i = 1; i < 4; i += 2) {
        expect_cause(i, RK_CAUSE_SHAPE);
        assert_ptr_equal(explanation.items[i].nearest_of, explanation.items[i - 1].compile);
        expect_in(explanation.items[i].advice, "This looks like the last batch");
    }
}

static void the_rows_of_a_mapped_function_come_after_the_devices(void **state) {
    explain_two(*state, "shards");
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_in(explanation.items[1].advice, "This looks like the last batch");
}

static void a_weak_type_that_is_passed_on_has_the_name_of_the_input(void **state) {
    explain_two(*state, "passed");
    expect_cause(1, RK_CAUSE_DTYPE);
    assert_string_equal(rk_explained_head(&explanation.items[1])->attribute, "of input rate");
}

// One selection of rows gives several operations the same sizes.
static void operations_with_the_same_sizes_are_one_finding(void **state) {
    static char sine[] = "jit_sin", cosine[] = "jit_cos";
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++) {
        ask(f, "sines", i);
        f->run.compiles[f->run.model.compile_count - 1].name = sine;
        ask(f, "cosines", i);
        f->run.compiles[f->run.model.compile_count - 1].name = cosine;
    }
    explain(f);
    assert_int_equal(explanation.pattern_count, 1);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 6);
    expect_in(pattern->summary,
              "jit_sin and jit_cos together took 4 sizes along axis 0: 9, 7, 6, 5;");
    expect_in(pattern->summary, "; lines 7 and 8");
    expect_not_in(pattern->advice, "rekindle shapes"); // leaves operations out
}

static void the_same_values_in_another_container_are_a_cause(void **state) {
    fixture *f = *state;
    explain_two(f, "contained");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "they come in another container");
    assert_true(explanation.hidden_branch.known && !explanation.hidden_branch.answer);
    assert_false(rk_explained_needs_no_change(&explanation.items[1]));
}

// The first call returns nothing that the second one takes.
static void an_option_of_a_call_is_no_state(void **state) {
    ask(*state, "flagged", 1);
    ask(*state, "flagged", 2);
    execute(*state, 1, 9);
    executed[1].executions = 9;
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_false(explanation.items[1].is_startup);
    expect_in(explanation.items[1].advice, "Two lines of the source call this function");
    assert_true(explanation.input_shapes.known && explanation.input_shapes.answer);
}

static void an_array_from_outside_of_the_mesh_is_made_inside(void **state) {
    explain_two(*state, "meshed");
    expect_cause(1, RK_CAUSE_SHARDING);
    assert_string_equal(rk_explained_head(&explanation.items[1])->before, "no mesh");
    expect_in(explanation.items[1].advice, "it was made outside of jax.set_mesh");
}

static void a_learning_rate_of_zero_is_a_python_number(void **state) {
    explain_two(*state, "torch_last_rate");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "XLA_NO_SPECIAL_SCALARS=1");
}

// A dict with another key, and another shape with a result more, are no other containers.
static void other_keys_are_no_other_container(void **state) {
    fixture *f = *state;
    explain_two(f, "keyed");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_not_in(explanation.items[1].advice, "another container");
}

static void a_result_more_is_no_other_container(void **state) {
    fixture *f = *state;
    explain_two(f, "returned_more");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_not_in(explanation.items[1].advice, "another container");
}

// Nearly all sizes are the same: those of all operations are listed.
static void the_sizes_of_all_operations_are_listed(void **state) {
    static char sine[] = "jit_sin", cosine[] = "jit_cos";
    fixture *f = *state;
    for (unsigned i = 1; i <= 5; i++) {
        ask(f, "sines", i);
        f->run.compiles[f->run.model.compile_count - 1].name = sine;
        ask(f, "cosines", i < 5 ? i : 6);
        f->run.compiles[f->run.model.compile_count - 1].name = cosine;
    }
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 8);
    expect_in(pattern->summary, "jit_sin and jit_cos together took 6 sizes along axis 0: ");
}

// A decoder reads word after word in one call: these are no statistics of several tensors.
static void a_sequence_that_grows_has_other_shapes(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++)
        ask(f, "torch_decoded", i);
    execute(f, 10, 30);
    for (size_t i = 0; i < 4; i++)
        f->run.compiles[i].executions = 0; // all in one step
    explain(f);
    assert_true(explanation.input_shapes.answer);
    for (size_t i = 2; i < 4; i++)
        expect_cause(i, RK_CAUSE_SHAPE);
}

// An RNN generates a text, and only the read of each letter executes its state.
static void iterations_that_wait_for_a_read_are_graphs_that_grow(void **state) {
    explain_first(*state, "torch_spell", 5);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(explanation.pattern_count, 1); // the blocks are what waited
    assert_int_equal(pattern->member_count, 4);
    assert_int_equal(pattern->line, 11); // the loop, not the function that makes the input
    expect_in(pattern->summary, "4 graphs are compiled that grow");
    expect_in(pattern->advice, "call torch_xla.sync() in each iteration.");
}

// PyTorch/XLA passes two equal numbers as one input.
static void equal_numbers_do_not_hide_the_rows(void **state) {
    explain_two(*state, "torch_rows");
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_in(explanation.items[1].advice, "last batch");
    assert_false(explanation.hidden_branch.answer);
}

static void the_first_steps_of_two_models_are_two(void **state) {
    explain_two(*state, "torch_two");
    expect_cause(1, RK_CAUSE_FIRST);
}

// A loop over the letters of a word is unrolled.
static void lengths_of_an_unrolled_loop_are_a_family(void **state) {
    explain_first(*state, "torch_letters", 3);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 2);
    expect_in(pattern->summary, "3 sizes along axis 0");
}

// The letters of a word are numbers and vectors.
static void a_family_names_all_inputs_that_change(void **state) {
    explain_first(*state, "torch_words", 3);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    expect_in(pattern->summary, "has other sizes, too");
    expect_in(pattern->advice, "Several inputs have other sizes");
    expect_not_in(pattern->advice, "list of whole numbers");
}

static void a_check_and_a_value_are_two_reads(void **state) {
    explain_two(*state, "torch_checked");
    expect_cause(1, RK_CAUSE_FIRST);
}

// The third block has another batch than the first one. The second one has another part as well.
static void two_moved_slices_are_two_changes(void **state) {
    explain_first(*state, "torch_kernel", 4);
    assert_ptr_equal(explanation.items[2].nearest_of, explanation.items[0].compile);
    expect_cause(2, RK_CAUSE_CONSTANT);
}

// The best three of seven letters: compared with the best one of seven, not with that of eight.
static void another_change_is_not_taken_for_another_size(void **state) {
    explain_first(*state, "torch_letters", 4);
    assert_ptr_equal(explanation.items[3].nearest_of, explanation.items[1].compile);
    expect_cause(3, RK_CAUSE_STRUCTURE);
    expect_cause(2, RK_CAUSE_SHAPE);
}

static void sizes_of_one_function_are_a_family(void **state) {
    explain_first(*state, "lengths", 4);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 3);
    expect_in(find_pattern(RK_PATTERN_SHAPE_FAMILY)->advice, "buckets");
    expect_not_in(find_pattern(RK_PATTERN_SHAPE_FAMILY)->advice, "last batch");
    for (size_t i = 1; i < explanation.count; i++) // a last batch is no third size
        expect_not_in(explanation.items[i].advice, "last batch");
}

// 32 and 24 rows, which one line passes.
static void ask_for_two_batches(fixture *f, uint64_t first, uint64_t second) {
    ask(f, "shape", 1);
    ask(f, "shape", 2);
    execute(f, first, 0);
    executed[1].executions = second;
    explain(f);
    expect_cause(1, RK_CAUSE_SHAPE);
}

static void a_smaller_last_batch_is_padded_or_dropped(void **state) {
    ask_for_two_batches(*state, 30, 3);
    expect_in(explanation.items[1].advice, "looks like the last batch");
    expect_in(explanation.items[1].advice, "drop this batch instead");
}

// An evaluation of one full batch and a smaller one, or of two sets of data.
static void a_smaller_batch_for_each_full_one_may_be_the_last(void **state) {
    ask_for_two_batches(*state, 4, 4);
    expect_in(explanation.items[1].advice, "If the smaller one is the last batch of a data set");
    expect_in(explanation.items[1].advice, "If these are two sets of data");
}

// Rows of padding would change the statistics of the batch.
static void a_batch_that_is_normalized_is_not_padded(void **state) {
    fixture *f = *state;
    ask(f, "torch_norm", 1);
    ask(f, "torch_norm", 2);
    execute(f, 4, 0);
    explain(f);
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_in(explanation.items[1].advice, "If the model has BatchNorm, do not pad");
    RK_AUTO(rk_buf) text = {0};
    rk_advise_on_sizes(&explanation.items[1], 9, &text);
    expect_in(rk_buf_text(&text), "Use batches of one size");
    expect_not_in(rk_buf_text(&text), "buckets");
}

static void a_small_batch_of_many_steps_is_no_last_batch(void **state) {
    ask_for_two_batches(*state, 3, 30);
    expect_in(explanation.items[1].advice, "Otherwise pad this input to one size");
    expect_not_in(explanation.items[1].advice, "last batch");
}

static void a_batch_of_keras_is_not_padded(void **state) {
    explain_two(*state, "library");
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_in(explanation.items[1].advice, "use one batch_size in fit, evaluate and predict");
    expect_not_in(explanation.items[1].advice, "mask");
}

// Padding 50 rows to 400 would multiply the work.
static void shapes_that_differ_much_are_not_padded(void **state) {
    ask(*state, "kernels", 1);
    ask(*state, "kernels", 4);
    explain(*state);
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_in(explanation.items[1].advice, "differ too much to pad one to the other");
    expect_not_in(explanation.items[1].advice, "remainder");
}

static void parameters_of_another_layer_have_no_cause(void **state) {
    explain_two(*state, "layers");
    expect_cause(1, RK_CAUSE_FIRST);
    assert_false(explanation.input_shapes.answer);
}

// An evaluation updates nothing: the weights of a layer and their bias show its width.
static void the_evaluation_of_another_model_has_no_cause(void **state) {
    explain_two(*state, "evaluated");
    expect_cause(1, RK_CAUSE_FIRST);
}

// An update that returns one value for each parameter, of two ranks.
static void several_tensors_have_no_cause(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++)
        ask(f, "tensors", i);
    execute(f, 5, 5);
    for (size_t i = 0; i < f->run.model.compile_count; i++)
        f->run.compiles[i].executions = 0;
    explain(f);
    for (size_t i = 0; i < explanation.count; i++)
        expect_cause(i, RK_CAUSE_FIRST);
    assert_int_equal(explanation.pattern_count, 0);
}

// Python's number is a part of the first program.
static void a_number_that_becomes_an_array_is_a_cause(void **state) {
    explain_two(*state, "counted");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "jnp.asarray(0)");
    assert_false(rk_explained_needs_no_change(&explanation.items[1]));
}

// A new batch size, or a wider layer: no call of this run has the earlier size.
static void a_size_of_an_earlier_start_is_not_padded(void **state) {
    fixture *f = *state;
    ask_other(f, "shape", 1);
    ask(f, "shape", 2);
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_SHAPE);
    expect_in(explanation.items[0].advice, "differs from the size in that run");
}

static void another_mapped_function_is_no_shape(void **state) {
    explain_first(*state, "mapped", 3);
    expect_cause(1, RK_CAUSE_FIRST);
    expect_cause(2, RK_CAUSE_SHAPE);
    assert_ptr_equal(explanation.items[2].nearest_of, explanation.items[1].compile);
}

// Four models are trained one after the other: with and without features, which a closure chooses.
static void a_branch_beside_another_width_is_a_branch(void **state) {
    static char gradient[] = "jit__lambda", update[] = "jit_update";
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++) {
        ask(f, "features", i);
        f->run.compiles[f->run.model.compile_count - 1].name = gradient;
        if (i == 4) // the update of the model before it
            break;
        ask(f, "updates", i);
        f->run.compiles[f->run.model.compile_count - 1].name = update;
    }
    explain(f);
    expect_cause(2, RK_CAUSE_STRUCTURE);
    assert_string_equal(rk_explained_head(&explanation.items[2])->op, "stablehlo.sine");
    assert_true(explanation.hidden_branch.answer);
    assert_true(explanation.input_shapes.answer);
    expect_cause(4, RK_CAUSE_FIRST); // the update takes parameters of these shapes
    expect_cause(6, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[6].advice, "The values of an array are part of the program");
}

// Operations of the framework.

static void more_random_keys_are_no_counter(void **state) {
    explain_first(*state, "split", 3);
    assert_int_equal(explanation.pattern_count, 0);
    for (size_t i = 0; i < 3; i++)
        expect_cause(i, RK_CAUSE_FIRST);
}

static void advice_on_a_slice_names_the_position(void **state) {
    explain_first(*state, "sliced", 4);
    expect_cause(3, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[3].advice, "each time with another position");
    expect_in(explanation.items[3].advice, "np.asarray");
}

static void an_operation_of_a_package_may_be_of_a_jitted_function(void **state) {
    explain_first(*state, "traced", 5);
    expect_cause(4, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[4].advice,
              "Line 10 of train.py calls the package e3nn_jax, which runs broadcast_in_dim");
    expect_not_in(explanation.items[4].advice, "outside of any jitted function");
}

static void advice_on_an_operation_names_the_call(void **state) {
    explain_first(*state, "split", 5);
    assert_int_equal(explanation.pattern_count, 0);
    expect_cause(4, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[4].advice, "Line 6 of train.py calls threefry_split");
    expect_not_in(explanation.items[4].advice, "round the number up");
}

// Structure.

// A loop over a set: each process has another order.
static void explain_in_two_starts(fixture *f, const char *job) {
    ask_other(f, job, 1);
    ask(f, job, 2);
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
}

static void a_number_of_a_package_may_not_become_an_argument(void **state) {
    explain_in_two_starts(*state, "library_rate");
    expect_cause(0, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[0].advice, "If a library makes the function in this call");
}

static void another_order_in_another_start_is_no_branch(void **state) {
    explain_in_two_starts(*state, "ordered");
    expect_cause(0, RK_CAUSE_STRUCTURE);
    expect_in(explanation.items[0].advice, "PYTHONHASHSEED=0");
    assert_true(explanation.hidden_branch.known);
    assert_false(explanation.hidden_branch.answer);
}

static void inputs_that_changed_places_are_another_order(void **state) {
    explain_in_two_starts(*state, "places");
    expect_cause(0, RK_CAUSE_STRUCTURE);
    expect_in(explanation.items[0].advice, "PYTHONHASHSEED=0");
}

// The earlier start has the graph in another order, and one in the same order for fewer rows.
static void another_order_is_nearer_than_another_shape(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++)
        ask_other(f, "torch_shuffled", i);
    ask(f, "torch_shuffled", 3);
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_STRUCTURE);
    expect_in(explanation.items[0].advice, "a set of tensors");
}

// The first step of this start differs in layers from the first step of the earlier start, and in
// the optimizer's state from the second one.
static void a_first_step_is_compared_with_that_of_an_earlier_start(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++)
        ask_other(f, "torch_starts", i);
    ask(f, "torch_starts", 3);
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_STRUCTURE);
}

static void an_earlier_start_may_draw_other_random_numbers(void **state) {
    explain_in_two_starts(*state, "torch_seed");
    expect_cause(0, RK_CAUSE_STRUCTURE);
    expect_in(explanation.items[0].advice, "draws more or fewer random values than that run");
}

// The list of differences shows another size, and not the order that changed with it.
static void another_size_may_come_with_another_order(void **state) {
    static const char *const jobs[] = {"ordered", "shape"};
    fixture *f = *state;
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++) {
        ask_other(f, jobs[i], 1);
        ask(f, jobs[i], 2);
    }
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_in(explanation.items[1].advice, "But other programs have another order");
}

static void another_order_in_one_start_is_a_branch(void **state) {
    explain_two(*state, "ordered");
    expect_cause(1, RK_CAUSE_STRUCTURE);
    expect_in(explanation.items[1].advice, "branch in Python");
    assert_true(explanation.hidden_branch.answer);
}

// Inputs.

static void two_functions_have_no_optional_inputs(void **state) {
    explain_first(*state, "models", 3);
    assert_null(find_pattern(RK_PATTERN_OPTIONAL_INPUTS));
}

// The third class has no field that the second one lacks.
static void states_of_several_classes_are_of_several_functions(void **state) {
    explain_first(*state, "solvers", 3);
    for (size_t i = 0; i < 3; i++)
        expect_cause(i, RK_CAUSE_FIRST);
    assert_int_equal(explanation.pattern_count, 0);
    assert_false(explanation.hidden_branch.answer);
}

// One class alone may lack a field now and then.
static void a_field_that_is_not_always_there_is_a_cause(void **state) {
    ask(*state, "solvers", 2);
    ask(*state, "solvers", 3);
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
}

static void two_lines_with_inputs_of_their_own_call_two_functions(void **state) {
    explain_two(*state, "own_inputs");
    expect_cause(1, RK_CAUSE_FIRST);
    assert_false(explanation.hidden_branch.answer);
}

static void two_mapped_functions_are_two_functions(void **state) {
    explain_two(*state, "pmapped");
    expect_cause(0, RK_CAUSE_FIRST);
    expect_cause(1, RK_CAUSE_FIRST);
    assert_false(explanation.hidden_branch.answer);
}

// A library gives its name to both. Each is jitted and called once, on a line of its own.
static void two_functions_in_a_wrapper_are_two_functions(void **state) {
    explain_two(*state, "wrapped");
    expect_cause(0, RK_CAUSE_FIRST);
    expect_cause(1, RK_CAUSE_FIRST);
    assert_false(explanation.hidden_branch.answer);
}

static void functions_of_one_factory_have_no_optional_inputs(void **state) {
    explain_first(*state, "factory", 3);
    assert_null(find_pattern(RK_PATTERN_OPTIONAL_INPUTS));
    for (size_t i = 1; i < 3; i++) {
        expect_cause(i, RK_CAUSE_PARAMETERS);
        assert_true(rk_explained_needs_no_change(&explanation.items[i]));
    }
}

// The second program runs once, as the first: in the second step, an input is left from the first.
static void inputs_that_were_zeros_are_a_state(void **state) {
    for (unsigned i = 1; i <= 3; i++)
        ask(*state, "created", i);
    execute(*state, 1, 0);
    executed[2].executions = 9;
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_true(explanation.items[1].is_startup);
    expect_in(explanation.items[1].advice, "later calls take them");
    assert_true(explanation.items[2].is_startup);
    expect_in(explanation.items[2].advice, "no later call does");
    assert_false(explanation.hidden_branch.answer);
}

static void functions_with_other_arguments_are_two_functions(void **state) {
    explain_two(*state, "applied");
    assert_int_equal(explanation.items[1].cause, RK_CAUSE_FIRST);
}

static void two_scans_outside_of_jit_are_two_functions(void **state) {
    explain_two(*state, "unrolled");
    assert_int_equal(explanation.items[1].cause, RK_CAUSE_FIRST);
}

static void a_function_and_its_derivative_are_two_functions(void **state) {
    explain_two(*state, "derivative");
    expect_cause(1, RK_CAUSE_FIRST);
    assert_false(explanation.hidden_branch.answer);
}

// The inputs have names only in the call of the user.
static void the_passes_of_a_derivative_are_no_versions_of_the_function(void **state) {
    explain_first(*state, "called_derivative", 3);
    for (size_t i = 1; i < 3; i++)
        expect_cause(i, RK_CAUSE_FIRST);
    assert_false(explanation.hidden_branch.answer);
}

static void a_function_with_and_without_vmap_is_two_functions(void **state) {
    explain_two(*state, "vectorized");
    expect_cause(1, RK_CAUSE_FIRST);
    assert_true(explanation.input_shapes.known && !explanation.input_shapes.answer);
}

static void two_functions_that_one_call_takes_are_no_versions(void **state) {
    explain_two(*state, "static_function");
    expect_cause(1, RK_CAUSE_FIRST);
    assert_false(explanation.hidden_branch.answer);
}

static void one_function_on_two_lines_has_two_versions(void **state) {
    explain_two(*state, "turns");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_true(explanation.hidden_branch.answer);
    assert_true(rk_explained_needs_no_change(&explanation.items[1]));
    expect_in(explanation.items[1].advice, "Two lines of the source call this function");
    expect_in(explanation.items[1].advice, "pass the same inputs on both lines");
}

// The sizes of layers are no sizes of data.
static void layers_that_a_library_makes_are_no_family(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++)
        ask(f, "stacked", i);
    ask(f, "shape", 1);
    execute(f, 1, 10);
    steps.steps.first_execution = 4;
    explain(f);
    assert_null(find_pattern(RK_PATTERN_SHAPE_FAMILY));
    assert_false(explanation.input_shapes.answer);
}

static void two_functions_that_a_library_maps_are_two(void **state) {
    explain_two(*state, "mapped_apart");
    expect_cause(1, RK_CAUSE_FIRST);
}

// Keras names the steps of all models alike.
static void the_steps_of_two_models_are_no_branch(void **state) {
    explain_first(*state, "networks", 3);
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_cause(2, RK_CAUSE_PARAMETERS);
    assert_true(rk_explained_needs_no_change(&explanation.items[2]));
    assert_false(explanation.hidden_branch.answer);
}

// A library names all its steps alike.
static void two_samplers_are_two_functions(void **state) {
    explain_two(*state, "samplers");
    expect_cause(1, RK_CAUSE_FIRST);
    assert_false(explanation.hidden_branch.answer);
}

static void inputs_that_grow_are_not_optional(void **state) {
    explain_first(*state, "history", 4);
    assert_null(find_pattern(RK_PATTERN_OPTIONAL_INPUTS));
    expect_cause(3, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[3].advice, "a list that grows");
}

static void a_sum_that_starts_from_a_number_starts_from_a_tensor(void **state) {
    explain_two(*state, "torch_sum");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "torch.zeros(1, dtype=…).to(device)");
    expect_not_in(explanation.items[1].advice, "mask");
}

// Zeros that are made anew in each epoch are a constant of its first step, whichever program comes
// first. Nothing comes with the batch.
// Six models, one after the other: each new optimizer starts with zeros.
static void the_state_of_several_optimizers_needs_no_change(void **state) {
    fixture *f = *state;
    ask(f, "torch_state", 1);
    ask(f, "torch_state", 2);
    execute(f, 6, 12);
    executed[1].executions = 400;
    explain(f);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_true(rk_explained_needs_no_change(&explanation.items[1]));
    expect_in(explanation.items[1].advice, "such as an optimizer's state");
}

static void zeros_of_an_epoch_are_a_constant(void **state) {
    explain_two(*state, "torch_epoch");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    const rk_difference *head = rk_explained_head(&explanation.items[1]);
    assert_int_equal(head->kind, RK_DIFFERENCE_PARAMETER_ADDED);
    assert_null(head->before);
    assert_string_equal(head->constant, "0");
    assert_int_equal(head->constant_line, 7);
    expect_in(explanation.items[1].advice, "a constant in one program and an input in the other");
    expect_in(explanation.items[1].advice, "line 7 of train.py");
    expect_in(explanation.items[1].advice, "torch.zeros(1, dtype=…).to(device)");
    expect_not_in(explanation.items[1].advice, "batch");
    assert_true(explanation.hidden_branch.known && !explanation.hidden_branch.answer);
}

static void zeros_that_come_later_are_a_constant(void **state) {
    ask(*state, "torch_epoch", 2);
    ask(*state, "torch_epoch", 1);
    explain(*state);
    const rk_difference *head = rk_explained_head(&explanation.items[1]);
    assert_int_equal(head->kind, RK_DIFFERENCE_PARAMETER_REMOVED);
    assert_null(head->after);
    assert_string_equal(head->constant, "0");
    expect_in(explanation.items[1].advice, "line 7 of train.py");
}

// A rate of 1 is a constant of PyTorch/XLA's program, and any other rate an input.
static void a_special_number_is_no_tensor(void **state) {
    explain_two(*state, "torch_rate");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "a number that is -1 in some steps only");
    expect_in(explanation.items[1].advice, "XLA_NO_SPECIAL_SCALARS=1");
    expect_not_in(explanation.items[1].advice, "torch.zeros");
}

// The rate is 1 in the last step, which keeps its loss as well.
static void a_special_number_beside_a_result_is_no_branch(void **state) {
    explain_two(*state, "torch_rate_kept");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "a number that is -1 in some steps only");
    expect_in(explanation.items[1].advice, "The other differences remain");
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "a number is 0, 1 or -1 in some steps");
}

// The first steps do not train the second layer. Its state is created in the third one.
static void the_state_of_one_more_parameter_needs_no_change(void **state) {
    explain_two(*state, "torch_begins_later");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_true(explanation.items[1].is_startup);
    expect_in(explanation.items[1].advice, "An earlier step creates these values as zeros");
    assert_true(explanation.hidden_branch.known && !explanation.hidden_branch.answer);
}

static void a_loss_that_some_steps_keep_is_a_result(void **state) {
    ask(*state, "torch_log", 2);
    ask(*state, "torch_log", 1);
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "still exists at torch_xla.sync()");
    expect_not_in(explanation.items[1].advice, "neutral value");
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "only some steps keep them");
}

// A prediction after the training, without the loss.
static void a_part_of_the_step_that_ran_once_needs_no_change(void **state) {
    ask(*state, "torch_log", 2);
    ask(*state, "torch_log", 1);
    execute(*state, 1, 0);
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_true(rk_explained_needs_no_change(&explanation.items[1]));
    assert_false(explanation.hidden_branch.answer);
    expect_in(explanation.items[1].advice, "does a part of what the earlier one does");
}

static void another_order_of_a_graph_is_not_known_to_be_a_branch(void **state) {
    explain_two(*state, "torch_order");
    expect_cause(1, RK_CAUSE_STRUCTURE);
    expect_in(explanation.items[1].advice, "and why is not known");
    assert_true(explanation.items[1].is_reordered);
    assert_true(rk_explained_head(&explanation.items[1])->is_moved);
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "only in the order, the number or the operands");
}

// Two numbers that were read are equal in this start only.
static void numbers_that_are_equal_in_one_start_are_no_optional_input(void **state) {
    fixture *f = *state;
    (void)run_fixture_ask(&f->other, "torch_equal", 1);
    run_fixture_keep(f, "torch_equal", 1, true);
    ask(f, "torch_equal", 2);
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    expect_cause(0, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[0].advice, "Only single numbers differ among the inputs");
    assert_true(explanation.hidden_branch.known && !explanation.hidden_branch.answer);
}

// A branch may use a whole number, such as the position in a ring buffer.
static void whole_numbers_leave_the_branch_open(void **state) {
    explain_two(*state, "torch_equal_integers");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "or Python takes another branch, or another position");
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "other whole numbers");
}

// The first step has zeros in place of the state.
static void a_later_step_is_not_compared_with_the_first(void **state) {
    explain_first(*state, "torch_later", 3);
    assert_true(explanation.items[1].is_startup);
    assert_ptr_equal(explanation.items[2].nearest_of, explanation.items[1].compile);
    expect_cause(2, RK_CAUSE_STRUCTURE);
}

// One more input, which is no sum.
static void an_optional_input_is_no_sum(void **state) {
    explain_two(*state, "torch_key");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "with a neutral value where there is none");
    expect_not_in(explanation.items[1].advice, "mask");    // inputs have no names
    expect_not_in(explanation.items[1].advice, "such as"); // what the input is for is not known
    expect_not_in(explanation.items[1].advice, "Adam");
    expect_in(explanation.hidden_branch.evidence,
              "jit_step has the additional input parameter 1: tensor<8xf32>");
}

// A branch of the step that only some micro-batches take. No input comes with the batch.
static void an_update_now_and_then_is_a_branch(void **state) {
    ask(*state, "torch_micro", 2);
    ask(*state, "torch_micro", 3);
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "all that the other one does, and more");
    expect_not_in(explanation.items[1].advice, "neutral");
}

static void a_mask_is_named_if_an_input_has_that_name(void **state) {
    explain_two(*state, "masked");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "a mask of ones");
}

// Each has a second set of inputs, and all graphs of PyTorch/XLA have one name.
static void two_graphs_with_two_sets_are_not_one_with_three(void **state) {
    ask(*state, "torch_key", 1);
    ask(*state, "torch_key", 2);
    explain_two(*state, "torch_sum");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_cause(3, RK_CAUSE_PARAMETERS);
    assert_null(find_pattern(RK_PATTERN_OPTIONAL_INPUTS));
}

static void keys_that_come_and_go_are_optional(void **state) {
    explain_first(*state, "keys", 4);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_OPTIONAL_INPUTS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 3);
}

// Two graphs have the same number of inputs of one type, but another one of the optional inputs.
static void another_optional_input_is_no_branch(void **state) {
    static const unsigned order[] = {2, 3, 4, 1};
    for (size_t i = 0; i < RK_ARRAY_LEN(order); i++)
        ask(*state, "torch_pool", order[i]);
    explain(*state);
    expect_cause(1, RK_CAUSE_STRUCTURE);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_OPTIONAL_INPUTS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 3);
    expect_in(pattern->summary, "compiled again 3 times with other inputs");
    expect_in(pattern->summary, "(tensor<"); // numbers of parameters say nothing
}

// Fragments.

static void ask_for_eager_steps(fixture *f) {
    ask(f, "shape", 1);
    for (unsigned i = 1; i <= 4; i++) {
        run_fixture_keep_entry(f, &(fixture_kept){.job = "eager", .file = 1, .number = i});
        (void)run_fixture_ask(&f->run, "eager", i);
    }
    ask(f, "plain", 1);
    ask(f, "bound", 1);
}

static void operations_of_each_step_are_fragments(void **state) {
    ask_for_eager_steps(*state);
    execute(*state, 10, 10);
    explain(*state);
    assert_non_null(find_pattern(RK_PATTERN_FRAGMENTS));
}

// A checkpoint after some steps executes many operations, so the average step does, too.
static void operations_of_some_steps_are_no_fragments(void **state) {
    ask_for_eager_steps(*state);
    execute(*state, 10, 10);
    steps.steps.programs = 2;
    explain(*state);
    assert_null(find_pattern(RK_PATTERN_FRAGMENTS));
}

// An evaluation after some steps requests its operations later than the first steps.
static void operations_of_later_steps_are_no_fragments(void **state) {
    fixture *f = *state;
    ask_for_eager_steps(f);
    execute(f, 10, 10);
    for (size_t i = 1; i < f->run.model.compile_count; i++)
        f->run.compiles[i].executions = 50 + i; // a step has 7 executions
    explain(f);
    assert_null(find_pattern(RK_PATTERN_FRAGMENTS));
}

// The operations of a data loader, before the program of the step: all of them run before it is
// requested. `in_start`: how many executions precede that request; `programs`: in each step.
static void prepare_loader(fixture *f, uint64_t in_start, uint64_t programs) {
    for (unsigned i = 1; i <= 4; i++) {
        run_fixture_keep_entry(f, &(fixture_kept){.job = "eager", .file = 1, .number = i});
        (void)run_fixture_ask(&f->run, "eager", i);
    }
    ask(f, "plain", 1);
    ask(f, "bound", 1);
    ask(f, "shape", 1);
    execute(f, 100, 100);
    f->run.compiles[f->run.model.compile_count - 1].executions = in_start;
    steps.steps.programs = programs;
}

static void ask_for_a_loader(fixture *f, uint64_t in_start, uint64_t programs) {
    prepare_loader(f, in_start, programs);
    explain(f);
}

static void operations_of_a_data_loader_are_fragments(void **state) {
    ask_for_a_loader(*state, 6, 7);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(pattern->member_count, 6);
    expect_in(pattern->summary, "6 small programs outside of any jitted function");
    expect_in(pattern->summary, "in a usual step (the median), on lines 6 and 7");
    expect_in(pattern->advice, "NumPy on the host");
    expect_not_in(pattern->summary, "the seconds are those of");
}

// Then neither all of their lines nor all that they cost is known.
static void a_step_may_have_more_fragments_than_those_found(void **state) {
    ask_for_a_loader(*state, 6, 12);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    expect_in(pattern->summary, "11 small programs outside of any jitted function are executed in "
                                "a usual step (the median), on lines 6, 7 and perhaps others");
    expect_in(pattern->summary, "; the seconds are those of 6 of them");
}

static void expect_five_fragments(fixture *f) {
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 5);
}

// A line for a log runs in some steps only.
static void an_operation_of_some_steps_is_no_part_of_each(void **state) {
    prepare_loader(*state, 6, 7);
    executed[0].executions = 60; // in 100 steps
    expect_five_fragments(*state);
}

// A plot reads its points one by one, in some steps only.
static void an_operation_of_a_plot_is_no_part_of_each_step(void **state) {
    prepare_loader(*state, 6, 7);
    executed[0].executions = 13000; // in 100 steps
    executed[0].rounds = 60;
    expect_five_fragments(*state);
}

// The line is that of the first call.
static void an_operation_may_be_called_on_several_lines(void **state) {
    prepare_loader(*state, 6, 7);
    executed[0].executions = 200; // in 100 steps
    executed[0].rounds = 100;
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    expect_in(pattern->summary,
              "; a step calls some of them several times, perhaps also on other lines");
}

// Two loops have operations of their own: each operation runs in half of the steps.
static void operations_of_two_loops_have_no_line(void **state) {
    prepare_loader(*state, 6, 7);
    for (size_t i = 0; i < 6; i++)
        executed[i].rounds = 50; // in 100 steps
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_null(pattern->file);
    expect_in(pattern->summary, "in a usual step (the median), but not always the same ones");
    expect_in(pattern->advice, "The line in the steps is not known.");
}

// The start called five of the operations, and then a program that is not of the steps. Only the
// line of the sixth is known to be in the steps.
static void a_line_of_the_start_is_no_line_of_the_steps(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++) {
        run_fixture_keep_entry(f, &(fixture_kept){.job = "eager", .file = 1, .number = i});
        (void)run_fixture_ask(&f->run, "eager", i);
    }
    ask(f, "plain", 1);
    ask(f, "masked", 1);
    ask(f, "bound", 1);
    ask(f, "shape", 1);
    execute(f, 100, 100);
    executed[5].executions = executed[5].rounds = 1;
    f->run.compiles[7].executions = 6;
    steps.steps.programs = 7;
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 6);
    expect_in(pattern->summary,
              "in a usual step (the median), on the line shown and perhaps others");
    assert_int_equal(pattern->line, 7); // of "bound"
}

// After half of the steps, the batch has another size: one operation has two versions.
static void versions_of_an_operation_are_one_of_each_step(void **state) {
    fixture *f = *state;
    prepare_loader(f, 6, 7);
    ask(f, "rated", 1);
    ask(f, "rated", 2);
    execute(f, 100, 100);
    f->run.compiles[6].executions = 6;
    steps.steps.programs = 8;
    executed[7].executions = executed[7].rounds = executed[8].executions = executed[8].rounds = 50;
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    expect_not_in(pattern->summary, "several times");
    assert_int_equal(pattern->member_count, 8);
    expect_in(pattern->summary, "7 small programs outside of any jitted function are executed in "
                                "a usual step (the median), on lines 6 and 7");
    expect_not_in(pattern->summary, "others");
}

// They may all have run before the first step.
static void operations_of_a_long_start_are_no_fragments(void **state) {
    ask_for_a_loader(*state, 600, 3);
    assert_null(find_pattern(RK_PATTERN_FRAGMENTS));
}

// A step has more programs than one: they run in the steps, too.
static void operations_of_a_long_start_may_be_fragments(void **state) {
    ask_for_a_loader(*state, 600, 7);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    expect_in(pattern->summary,
              "the first calls, in the start or in the first step, are on lines 6 and 7");
    expect_not_in(pattern->advice, "NumPy");
}

static void without_steps_operations_are_no_fragments(void **state) {
    ask_for_eager_steps(*state);
    execute(*state, 10, 0);
    explain(*state);
    assert_null(find_pattern(RK_PATTERN_FRAGMENTS));
}

static void without_steps_graphs_are_no_fragments(void **state) {
    ask(*state, "torch_read", 1);
    ask(*state, "torch_read", 2);
    execute(*state, 5, 0);
    explain(*state);
    assert_int_equal(explanation.pattern_count, 0);
    for (size_t i = 0; i < 2; i++)
        expect_cause(i, RK_CAUSE_FIRST);
}

static void lists_of_other_lengths_are_no_start(void **state) {
    for (unsigned i = 1; i <= 4; i++)
        ask(*state, "torch_lists", i);
    execute(*state, 1, 0);
    explain(*state);
    for (size_t i = 1; i < 4; i++) { // the last one has two inputs more
        expect_cause(i, RK_CAUSE_PARAMETERS);
        assert_false(explanation.items[i].is_startup);
        expect_in(explanation.items[i].advice, "a list of tensors");
    }
}

// Several values of the type are returned, but whole numbers are no parameters of a model.
static void columns_of_a_batch_are_no_model(void **state) {
    ask(*state, "torch_columns", 1);
    ask(*state, "torch_columns", 2);
    execute(*state, 3, 0);
    explain(*state);
    expect_cause(1, RK_CAUSE_SHAPE);
}

// Each graph takes one tensor less than the one before. What decides how many is not known.
static void samples_of_a_memory_are_lists(void **state) {
    for (unsigned i = 1; i <= 6; i++)
        ask(*state, "torch_replay", i);
    execute(*state, 1, 0);
    explain(*state);
    for (size_t i = 1; i < 6; i++) {
        expect_cause(i, RK_CAUSE_PARAMETERS);
        expect_in(explanation.items[i].advice, "in it twice, as in a sample of a replay memory");
    }
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "a list of tensors decides how many");
}

static void graphs_that_grow_are_one_finding(void **state) {
    for (unsigned i = 1; i <= 5; i++)
        ask(*state, "torch_growing", i);
    execute(*state, 1, 0);
    explain(*state);
    assert_int_equal(explanation.pattern_count, 1);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 4);
    expect_in(pattern->summary, "4 graphs are compiled that grow: each has the operations of an "
                                "earlier one and some more (exponential)");
    expect_in(pattern->advice, "torch_xla.sync() in each iteration");
    assert_false(explanation.hidden_branch.answer);
}

static void an_optional_key_is_a_branch(void **state) {
    explain_two(*state, "torch_key");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_true(explanation.hidden_branch.known && explanation.hidden_branch.answer);
}

// Without steps, the graph may also be another part of the job.
static void a_graph_that_runs_once_in_no_step_is_no_certain_branch(void **state) {
    ask(*state, "torch_update", 1);
    ask(*state, "torch_update", 2);
    execute(*state, 1, 0);
    executed[0].executions = 2;
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "perhaps it is another part of the job");
}

// In the last epoch the rate is 1. The first graph was executed once, but its numbers are those of
// later graphs, too.
static void numbers_that_become_constants_do_not_belong_to_the_start(void **state) {
    for (unsigned i = 1; i <= 3; i++)
        ask(*state, "torch_epoch_rate", i);
    execute(*state, 1, 0);
    explain(*state);
    expect_cause(2, RK_CAUSE_PARAMETERS);
    assert_false(explanation.items[2].is_startup);
    expect_in(explanation.items[2].advice, "such as a rate and 1 minus this rate");
}

static void another_number_of_tensors_than_in_another_start_may_be_a_list(void **state) {
    explain_in_two_starts(*state, "torch_lists");
    expect_cause(0, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[0].advice, "another length than in that run");
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "another number of tensors of one type");
}

// Operations of the same process may have waited for a read.
static void beside_graphs_that_grow_a_branch_is_not_known(void **state) {
    ask(*state, "torch_key", 1);
    ask(*state, "torch_key", 2);
    explain_first(*state, "torch_growing", 5);
    assert_true(find_pattern(RK_PATTERN_FRAGMENTS)->grows);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "graphs of this run grow, and this may follow from it");
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "graphs of this run grow");
}

// The loss of another size is compared with the loss, not with the accuracy of the same line.
static void two_measures_of_one_line_are_two_programs(void **state) {
    explain_first(*state, "torch_measures", 4);
    expect_cause(1, RK_CAUSE_FIRST);
    for (size_t i = 2; i < 4; i++) {
        expect_cause(i, RK_CAUSE_SHAPE);
        assert_int_equal(explanation.items[i].nearest_of->seq,
                         explanation.items[i - 2].compile->seq);
    }
}

// Two numbers are equal for the first size only.
static void a_slice_comes_before_the_numbers_that_follow_from_it(void **state) {
    explain_two(*state, "torch_curriculum");
    expect_cause(1, RK_CAUSE_CONSTANT);
    assert_true(rk_is_of_slice(rk_explained_head(&explanation.items[1])));
    expect_in(explanation.items[1].advice, "determines sizes inside this program");
    assert_true(explanation.hidden_branch.known && !explanation.hidden_branch.answer);
}

static void a_position_that_is_written_is_no_size(void **state) {
    explain_two(*state, "torch_buffer");
    expect_cause(1, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[1].advice, "a position in a tensor, at which values are written");
    expect_in(explanation.items[1].advice, "index_copy");
}

static void layers_operation_by_operation_are_no_changing_size(void **state) {
    explain_first(*state, "layered", 4);
    for (size_t i = 0; i < 4; i++)
        expect_cause(i, RK_CAUSE_FIRST);
    assert_int_equal(explanation.pattern_count, 0);
    assert_true(explanation.input_shapes.known && !explanation.input_shapes.answer);
}

static void results_with_names_are_known_by_them(void **state) {
    explain_two(*state, "measured");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    const rk_differences *list = &explanation.items[1].differences;
    static const char *const removed[] = {"result['largest']", "result['count']", "result['zero']"};
    assert_int_equal(list->cause_count, RK_ARRAY_LEN(removed));
    for (size_t i = 0; i < RK_ARRAY_LEN(removed); i++) {
        assert_int_equal(list->items[i].kind, RK_DIFFERENCE_PARAMETER_REMOVED);
        assert_string_equal(list->items[i].attribute, removed[i]);
    }
}

// Samples between two steps are computed with the second one.
static void what_nothing_executed_is_a_part_of_the_next_step(void **state) {
    ask(*state, "torch_sampled", 2);
    ask(*state, "torch_sampled", 1);
    execute(*state, 3, 0);
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "computed between two steps, such as a sample");
}

static void a_number_in_the_place_of_a_tensor_has_another_type(void **state) {
    ask(*state, "torch_sampled", 3);
    ask(*state, "torch_sampled", 4);
    explain(*state);
    expect_cause(1, RK_CAUSE_DTYPE);
    expect_in(explanation.items[1].advice, "a Python number was in the place of a tensor");
    expect_not_in(explanation.items[1].advice, "autocast");
}

static void rows_of_padding_change_the_statistics(void **state) {
    ask(*state, "torch_sampled", 1);
    ask(*state, "torch_sampled", 5);
    execute(*state, 3, 0);
    executed[1].executions = 1;
    explain(*state);
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_in(explanation.items[1].advice,
              "With BatchNorm, rows of padding would change its statistics");
    expect_not_in(explanation.items[1].advice, "mask the padding");
}

// Two conditions, each of which is checked in some steps. The check is a part of the graph.
static void another_condition_is_no_version(void **state) {
    explain_two(*state, "torch_checks");
    expect_cause(1, RK_CAUSE_FIRST);
    assert_true(explanation.hidden_branch.known && !explanation.hidden_branch.answer);
}

// A loop until a condition holds: its graphs grow all the same.
static void checks_that_wait_for_a_value_are_graphs_that_grow(void **state) {
    explain_first(*state, "torch_until", 5);
    assert_non_null(find_pattern(RK_PATTERN_FRAGMENTS));
}

// A new state is zero, and predictions of the loop before are inputs and results of this step. No
// input has another shape: the weight has 7 rows, and the test data 230.
static void values_between_two_loops_are_no_other_shapes(void **state) {
    explain_two(*state, "torch_repeated");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "an average between two loops");
    assert_true(explanation.input_shapes.known && !explanation.input_shapes.answer);
    assert_false(explanation.hidden_branch.answer);
}

// The second program, which has one more input, is executed once, but it is not of the start.
static void a_number_at_the_end_of_a_schedule_is_not_of_the_start(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++)
        ask(f, "torch_schedule", i);
    execute(f, 9, 19);
    executed[1].executions = 1;
    explain(f);
    expect_cause(2, RK_CAUSE_PARAMETERS);
    assert_false(explanation.items[2].is_startup);
    assert_true(explanation.items[1].nearest_of != NULL);
    expect_in(explanation.items[2].advice, "if numbers are 0, 1 or -1 in some steps only");
}

static void what_waits_before_the_first_step_is_no_certain_branch(void **state) {
    fixture *f = *state;
    ask(f, "torch_demonstration", 1);
    ask(f, "torch_demonstration", 2);
    ask(f, "torch_demonstration", 1); // so the second one is not new for good
    execute(f, 1, 0);
    explain(f);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "torch_xla.sync() before the loop");
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "fewer values than an earlier graph");
}

// All lines of the third graph are lines of the first two.
static void work_on_known_lines_is_no_certain_branch(void **state) {
    fixture *f = *state;
    explain_first(f, "torch_waiting", 3);
    expect_cause(2, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[2].advice, "One graph does all that the other one does");
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "values that other graphs do not");
}

// The second one has most operations six times as often.
static void updates_for_episodes_of_other_lengths_are_versions(void **state) {
    explain_two(*state, "torch_episodes");
    expect_cause(1, RK_CAUSE_PARAMETERS);
}

static void inputs_of_other_kinds_are_no_other_shapes(void **state) {
    explain_two(*state, "torch_swapped");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "Each of the two graphs takes inputs");
    assert_false(explanation.input_shapes.answer);
    assert_false(explanation.hidden_branch.known);
}

static void parts_of_one_gradient_are_no_positions(void **state) {
    explain_two(*state, "torch_gradients");
    expect_cause(1, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[1].advice, "two parts of one gradient are read");
    expect_not_in(explanation.items[1].advice, "index_select");
}

static bool has_cause_of_kind(const rk_explained *item, rk_difference_kind kind) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->differences.items[i].kind == kind)
            return true;
    return false;
}

// The second program takes the state as an input, and cuts its batch at another position.
static void a_position_does_not_follow_from_an_input(void **state) {
    explain_first(*state, "torch_cut", 4);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_true(has_cause_of_kind(&explanation.items[1], RK_DIFFERENCE_ATTRIBUTE));
    expect_in(explanation.items[1].advice, "This value is a constant");
    expect_in(explanation.items[1].advice, "The other differences remain");
    expect_cause(2, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[2].advice, "the position of a slice");
}

// The first position is that of a program that another finding is about.
static void all_values_of_a_place_are_listed(void **state) {
    explain_first(*state, "torch_cut", 4);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_COUNTER);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 2);
    expect_in(pattern->summary,
              "positions on this line took at least 4 values: 0, 8, 16, 24; each has");
}

static void positions_follow_from_the_length_of_a_sequence(void **state) {
    explain_first(*state, "torch_lengths", 4);
    for (size_t i = 1; i < 4; i++) {
        expect_cause(i, RK_CAUSE_SHAPE);
        assert_false(has_cause_of_kind(&explanation.items[i], RK_DIFFERENCE_CONSTANT));
    }
    const rk_pattern *pattern = find_pattern(RK_PATTERN_SHAPE_FAMILY);
    assert_non_null(pattern);
    expect_in(pattern->summary, "took 4 sizes along axis 1 in 4 programs: 5, 7, 6, 9; each");
}

// A loss and an accuracy.
static void two_reads_on_two_lines_are_no_versions(void **state) {
    explain_two(*state, "torch_reads");
    expect_cause(1, RK_CAUSE_FIRST);
}

static void networks_that_share_their_data_have_fewer_inputs(void **state) {
    explain_two(*state, "torch_shared");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.items[1].advice, "tensors that share their data as one input");
    assert_false(explanation.hidden_branch.answer);
}

static void a_static_size_is_a_constant(void **state) {
    explain_two(*state, "shuffled");
    expect_cause(1, RK_CAUSE_CONSTANT);
    expect_in(explanation.items[1].advice, "A Python number determines sizes inside this program");
    assert_false(explanation.hidden_branch.answer);
}

// The earlier start read the value at another point.
static void a_graph_that_grows_has_no_cause_in_a_later_start(void **state) {
    fixture *f = *state;
    run_fixture_keep(f, "torch_growing", 8, true);
    (void)run_fixture_ask(&f->other, "torch_growing", 8);
    ask(f, "torch_growing", 7);
    for (unsigned i = 1; i <= 5; i++)
        ask(f, "torch_growing", i);
    execute(f, 1, 0);
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    for (size_t i = 0; i < explanation.count; i++)
        expect_cause(i, RK_CAUSE_FIRST);
}

static void the_first_graph_that_grows_is_a_part_of_the_finding(void **state) {
    for (unsigned i = 1; i <= 5; i++)
        ask(*state, "torch_grown", i);
    execute(*state, 1, 0);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 4);
    for (size_t i = 0; i < explanation.count; i++)
        expect_cause(i, RK_CAUSE_FIRST);
}

static void graphs_that_grow_by_a_whole_model_are_one_finding(void **state) {
    explain_first(*state, "torch_generate", 4);
    assert_int_equal(explanation.pattern_count, 1);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 3);
    expect_in(pattern->summary, "3 graphs are compiled that grow: each has the operations of an "
                                "earlier one and some more (about ");
    assert_false(explanation.hidden_branch.answer);
}

static void a_random_operation_between_two_steps_is_no_branch(void **state) {
    ask(*state, "torch_seed", 1);
    ask(*state, "torch_seed", 2);
    explain(*state);
    expect_cause(1, RK_CAUSE_STRUCTURE);
    expect_in(explanation.items[1].advice, "the state of the random numbers");
    assert_false(explanation.hidden_branch.answer);
}

// The width of a layer is another one than in the earlier start; the number of rows changes.
static void a_width_of_an_earlier_start_is_no_changing_size(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 4; i++)
        ask_other(f, "torch_widths", i);
    for (unsigned i = 5; i <= 8; i++)
        ask(f, "torch_widths", i);
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    assert_null(find_pattern(RK_PATTERN_SHAPE_FAMILY));
    for (size_t i = 0; i < explanation.count; i++)
        expect_cause(i, RK_CAUSE_SHAPE);
}

// Masks select other numbers of elements, and one of them none.
static void lists_of_other_lengths_are_other_sizes(void **state) {
    explain_two(*state, "torch_indices");
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_in(explanation.items[1].advice, "divided by mask.sum()");
    assert_false(explanation.hidden_branch.answer);
    assert_true(explanation.input_shapes.answer);
}

// Each step executes a model for the rows of three masks.
static void a_model_for_several_lists_has_several_sizes(void **state) {
    for (unsigned i = 1; i <= 3; i++)
        ask(*state, "torch_masks", i);
    execute(*state, 10, 10);
    explain(*state);
    expect_cause(1, RK_CAUSE_SHAPE);
    expect_cause(2, RK_CAUSE_SHAPE);
    assert_true(explanation.input_shapes.answer);
}

// Nothing executed the argument of the second call before it.
static void an_argument_that_waits_is_not_known_to_be_a_branch(void **state) {
    ask(*state, "torch_argument", 1);
    ask(*state, "torch_argument", 2);
    execute(*state, 1, 0);
    explain(*state);
    expect_cause(1, RK_CAUSE_PARAMETERS);
    expect_in(explanation.hidden_branch.evidence, "they were computed earlier and not executed");
    assert_false(explanation.hidden_branch.known);
}

static void a_step_for_another_model_is_not_known_to_be_a_branch(void **state) {
    explain_two(*state, "deeper");
    expect_cause(1, RK_CAUSE_PARAMETERS);
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "the function is called for another model");
}

static void a_loop_that_carries_more_values_is_not_new(void **state) {
    explain_two(*state, "carried");
    expect_cause(1, RK_CAUSE_STRUCTURE);
    const rk_differences *list = &explanation.items[1].differences;
    assert_string_equal(list->items[list->cause_count - 1].op, "stablehlo.while");
    assert_true(list->items[list->cause_count - 1].is_moved);
    for (size_t i = 0; i + 1 < list->cause_count; i++)
        assert_false(list->items[i].is_moved);
    expect_in(explanation.hidden_branch.evidence, "jit_step: reduce added: tensor");
}

static void the_position_of_a_slice_is_no_branch(void **state) {
    explain_two(*state, "torch_batches");
    expect_cause(1, RK_CAUSE_STRUCTURE);
    expect_in(explanation.items[1].advice, "the position of a slice");
    assert_false(explanation.hidden_branch.answer);
}

static void an_element_of_a_tensor_is_a_position(void **state) {
    explain_first(*state, "torch_elements", 4);
    for (size_t i = 1; i < 4; i++)
        expect_cause(i, RK_CAUSE_CONSTANT);
    assert_false(explanation.hidden_branch.answer);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_COUNTER);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 3);
    expect_in(pattern->advice, "the position of a slice or of an element");
}

// A number of each parameter is read in each step.
static void a_read_of_another_tensor_is_first(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++)
        ask(f, "torch_stats", i);
    execute(f, 10, 30);
    for (size_t i = 0; i < 3; i++)
        f->run.compiles[i].executions = 0;
    explain(f);
    for (size_t i = 0; i < 3; i++)
        expect_cause(i, RK_CAUSE_FIRST);
    assert_false(explanation.input_shapes.answer);
}

// Only the rank shows that it is another tensor.
static void a_read_in_another_step_has_another_shape(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++)
        ask(f, "torch_stats", i);
    execute(f, 10, 30);
    explain(f);
    expect_cause(1, RK_CAUSE_FIRST);
    expect_cause(2, RK_CAUSE_SHAPE);
}

// Each step executes one of the two.
static void graphs_that_take_turns_are_no_fragments(void **state) {
    fixture *f = *state;
    ask(f, "torch_read", 1);
    ask(f, "torch_read", 2);
    execute(f, 5, 5);
    steps.steps.executions = 5;
    for (size_t i = 0; i < 2; i++) { // a warm start
        f->run.compiles[i].compiled = false;
        f->run.compiles[i].outcome = RK_OUTCOME_HIT;
    }
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
}

// The start.

// Requests operations of a job: `count` times the program of the file.
static void ask_for_operations(fixture *f, const char *job, unsigned file, unsigned count) {
    for (unsigned i = 1; i <= count; i++) {
        unsigned number = 100 * (file - 1) + i;
        run_fixture_keep_entry(f, &(fixture_kept){.job = job, .file = file, .number = number});
        run_fixture_ask(&f->run, job, number)->compile_ns = 100000000u;
    }
}

// The same, and then the program of the steps. A function of jax.random is executed more often than
// the step.
static void start(fixture *f, const char *job, unsigned count) {
    ask(f, "split", 1);
    ask_for_operations(f, job, 1, count);
    ask(f, "shape", 1);
    execute(f, 10, 0);
    executed[0].executions = 1000;
}

static void the_place_is_below_a_launcher(void **state) {
    start(*state, "launched", 20);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    assert_int_equal(pattern->line, 8); // init(…), not run(main)
}

static void a_start_with_random_values_is_of_single_operations(void **state) {
    start(*state, "eager", 20);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 20);
}

// It is executed more often than the step, and requested before the operations.
static void a_small_function_of_the_start_is_not_the_step(void **state) {
    fixture *f = *state;
    ask(f, "optional", 1);
    ask_for_operations(f, "eager", 1, 20);
    ask(f, "minor", 1);
    execute(f, 10, 0);
    executed[0].executions = 100;
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 20);
}

// Neither call alone costs a second.
static void a_start_of_several_calls_is_one_finding(void **state) {
    fixture *f = *state;
    ask_for_operations(f, "calls", 2, 8);
    start(f, "calls", 8);
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 16);
    assert_true(pattern->line == 4 || pattern->line == 5);
    expect_in(pattern->summary, "in 2 calls");
}

static void a_function_that_runs_the_steps_is_not_the_place(void **state) {
    fixture *f = *state;
    ask_for_operations(f, "begin", 1, 8);
    ask_for_operations(f, "begin", 2, 12);
    ask(f, "begun", 1);
    execute(f, 10, 0);
    executed[20].executions = 100;
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 20);
    assert_int_equal(pattern->line, 10);
    expect_in(pattern->summary, "in the function main, which runs the rest of the job as well, "
                                "and most of the seconds are those of line 10");
    expect_not_in(pattern->advice, "the steps"); // which are not known
    // What the line calculates is not known: a loss, for example.
    expect_in(pattern->advice, "put what each line calculates into a function");
    expect_not_in(pattern->advice, "initial values");
    expect_not_in(pattern->advice, "model.init");
}

// Flax leaves its frames out: the line may call a method of the object, such as init.
static void a_called_object_is_not_named(void **state) {
    start(*state, "called", 20);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->summary, "in the call on this line");
    expect_not_in(pattern->summary, "Net");
}

// One program for each size of a layer, or one program for the function that makes all layers.
static void a_function_that_is_called_for_several_sizes_has_a_caller(void **state) {
    fixture *f = *state;
    for (unsigned file = 1; file <= 3; file++)
        ask_for_operations(f, "sized", file, 4);
    ask(f, "shape", 1);
    execute(f, 1, 12);
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 12);
    expect_in(pattern->advice, "jax.jit(layer). If it is called for one layer after the other, jit "
                               "the function around it instead: jax.jit(network).");
}

static void a_function_that_is_called_for_one_size_is_jitted(void **state) {
    fixture *f = *state;
    ask_for_operations(f, "sized", 1, 12);
    ask(f, "shape", 1);
    execute(f, 1, 12);
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->advice, "jax.jit(layer)");
    expect_not_in(pattern->advice, "network");
}

static void a_model_that_is_called_makes_no_initial_values(void **state) {
    start(*state, "applied_model", 20);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->advice, "use eqx.filter_jit on the function that contains this line");
    expect_not_in(pattern->advice, "initial values");
}

static void a_start_without_known_steps_is_before_no_step(void **state) {
    start(*state, "eager", 20);
    explain(*state);
    expect_in(find_pattern(RK_PATTERN_EAGER_STARTUP)->summary, "20 operations at the start are");
}

// Layers of equal shapes execute the program of their initial values again and again.
static void one_program_for_repeated_layers_may_take_longer(void **state) {
    fixture *f = *state;
    ask_for_operations(f, "drawn", 1, 10);
    ask(f, "shape", 1);
    execute(f, 4, 40);
    steps.steps.first_execution = 10; // the operations ran before
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->summary, "10 operations before the first step are compiled one by one, each "
                                "as a program of its own, in the call of Layer");
    expect_not_in(pattern->summary, "another finding");
    expect_in(pattern->advice, "it may even take longer");
    expect_in(pattern->advice, "eqx.filter_jit");
    expect_not_in(pattern->advice, "static_argnums"); // of jax.jit
}

// The operations of a data loader are of the start and of each step.
static void a_start_does_not_count_operations_of_the_steps(void **state) {
    enum { DRAWN = 10 };
    fixture *f = *state;
    ask_for_operations(f, "drawn", 1, DRAWN);
    prepare_loader(f, DRAWN + 6, 7);
    for (size_t i = DRAWN; i < f->run.model.compile_count; i++)
        f->run.compiles[i].compile_ns = 100000000u;
    for (size_t i = 0; i < DRAWN; i++)
        executed[i].executions = executed[i].rounds = 1;
    explain(f);
    assert_non_null(find_pattern(RK_PATTERN_FRAGMENTS));
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->summary, "10 operations");
    expect_in(pattern->summary, "operations that another finding counts are not among them");
}

// The operations of a second model come before its own steps.
static void a_second_model_is_not_before_the_first_step(void **state) {
    fixture *f = *state;
    ask_for_operations(f, "drawn", 1, 10);
    ask(f, "shape", 1);
    execute(f, 4, 40);
    steps.steps.first_execution = 4;
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->summary, "10 operations, 6 of them before the first step, are compiled");
}

// Each small program ran four times, so that layers may share it.
static void programs_that_ran_several_times_may_be_shared(void **state) {
    fixture *f = *state;
    ask_for_operations(f, "drawn", 1, 4);
    ask_for_operations(f, "scaled", 1, 12);
    ask(f, "shape", 1);
    execute(f, 4, 40);
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 16);
    expect_in(pattern->advice, "it may even take longer");
    expect_not_in(pattern->advice, "is saved");
}

static void one_program_for_different_layers_saves_a_part(void **state) {
    fixture *f = *state;
    ask_for_operations(f, "drawn", 1, 10);
    ask(f, "shape", 1);
    execute(f, 1, 10);
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->advice, "is saved: the one program takes time to compile as well.");
    expect_not_in(pattern->advice, "longer");
}

// Its journal does not say what it executed.
static void a_process_that_was_killed_has_a_start(void **state) {
    fixture *f = *state;
    ask(f, "split", 1);
    ask_for_operations(f, "eager", 1, 20);
    ask(f, "shape", 1);
    explain(f);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, 20);
    expect_in(pattern->advice,
              "With many layers it may even take longer"); // the layers are unknown
}

static void a_process_that_was_killed_in_its_start_has_no_steps(void **state) {
    fixture *f = *state;
    ask_for_operations(f, "eager", 1, 20);
    explain(f);
    assert_null(find_pattern(RK_PATTERN_EAGER_STARTUP));
}

static void a_committed_array_is_placed_once(void **state) {
    explain_two(*state, "committed");
    expect_cause(1, RK_CAUSE_SHARDING);
    expect_in(explanation.items[1].advice, "jax.device_put(state, sharding)");
}

static void advice_names_the_library_of_the_start(void **state) {
    start(*state, "linen", 20);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->advice, "jax.jit(model.init)");
    expect_not_in(pattern->advice, "nnx");
    expect_not_in(pattern->advice, "eqx");
}

static void a_package_of_which_nothing_is_known_is_named(void **state) {
    start(*state, "package", 20);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->advice, "The package numpyro runs these operations");
    expect_not_in(pattern->advice, "static_argnums");
}

// A line of the loop that calculates outside of any jitted function, and compiles so many programs.
static void ask_for_late_operations(fixture *f, unsigned count) {
    ask(f, "shape", 1);
    ask_for_operations(f, "eager", 1, count);
    execute(f, 1, 0);
    executed[0].executions = 1000;
    explain(f);
}

static void many_late_operations_of_a_line_are_one_finding(void **state) {
    ask_for_late_operations(*state, 12);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(pattern->member_count, 12);
    assert_int_equal(pattern->lost_ns, 1200000000);
    assert_non_null(pattern->file);
    // The journal of this run has no steps.
    expect_in(pattern->summary, "12 operations are compiled one by one, each as a program of its "
                                "own, on one line");
    expect_in(pattern->advice, "if the library that is called allows it.");
    expect_not_in(pattern->advice, "NumPy"); // what a library calculates with is its own choice
}

// Expects fragments with so many members at that line, and returns them.
static const rk_pattern *expect_fragments(size_t members, uint32_t line) {
    const rk_pattern *pattern = find_pattern(RK_PATTERN_FRAGMENTS);
    assert_non_null(pattern);
    assert_int_equal(pattern->member_count, members);
    assert_int_equal(pattern->line, line);
    return pattern;
}

static const rk_pattern *expect_only_fragments(size_t members, uint32_t line) {
    assert_int_equal(explanation.pattern_count, 1);
    return expect_fragments(members, line);
}

// The step, then operations of a job: `count` of its file 1, `others` of its file 2.
static void step_and_then(fixture *f, const char *step, const char *job, unsigned count,
                          unsigned others) {
    ask(f, step, 1);
    ask_for_operations(f, job, 1, count);
    ask_for_operations(f, job, 2, others);
    execute(f, 1, 1);
    executed[0].executions = 1000;
    steps.steps.executions = 1; // the first one: all others come later
    explain(f);
}

static void late_operations_of_a_call_name_its_function(void **state) {
    step_and_then(*state, "shape", "plain", 12, 0);
    const rk_pattern *pattern = expect_only_fragments(12, 7); // create(4)
    expect_in(pattern->summary, "12 operations after the first step are compiled one by one, each "
                                "as a program of its own, in the call of create (its line 6)");
    expect_in(pattern->advice, "jax.jit(create)");
}

// Two operations calculate the argument on the line of the call.
static void late_operations_of_a_call_may_be_on_its_line(void **state) {
    step_and_then(*state, "shape", "argument", 2, 10);
    const rk_pattern *pattern = expect_only_fragments(12, 7);
    expect_in(pattern->summary, "each as a program of its own: 10 in the call of create (its line "
                                "6), and 2 on the line of the call");
}

// The step, then the steps of a sampler, which calculates more when they are done: `ran` is their
// program, and `running` that of its operations.
static void step_and_then_a_sampler(fixture *f, const char *ran, const char *running) {
    ask(f, "shape", 1);
    ask(f, ran, 1);
    ask_for_operations(f, running, 1, 12);
    execute(f, 1, 1);
    executed[0].executions = 1000;
    executed[1].executions = 20;
    steps.steps.executions = 1;
    explain(f);
}

static void late_operations_of_a_library_with_steps_cannot_be_jitted(void **state) {
    step_and_then_a_sampler(*state, "ran", "running");
    const rk_pattern *pattern = expect_only_fragments(12, 11);
    expect_in(pattern->summary, ", on one line");
    expect_in(pattern->advice, "The library runs these operations by itself");
}

// The place is the call of a function of the user, and that function calls the library.
static void late_operations_below_a_function_with_steps_cannot_be_jitted(void **state) {
    step_and_then_a_sampler(*state, "sampled", "sampling");
    const rk_pattern *pattern = expect_only_fragments(12, 12); // sample(4)
    expect_in(pattern->summary, ", in the call of sample");
    expect_in(pattern->advice, "The library runs these operations by itself");
    expect_not_in(pattern->advice, "jax.jit");
}

// The step, then operations of a job: 11 of one size, one of each of three more sizes, and `others`
// of another line.
static void step_and_then_sizes(fixture *f, const char *job, unsigned others) {
    ask(f, "shape", 1);
    ask_for_operations(f, job, 1, 11);
    for (unsigned file = 2; file <= 4; file++)
        ask_for_operations(f, job, file, 1);
    ask_for_operations(f, job, 5, others);
    execute(f, 1, 1);
    executed[0].executions = 1000;
    steps.steps.executions = 1;
    explain(f);
}

// Line 12 calls the library, which comes back to line 9.
static void a_line_that_a_library_calls_for_other_sizes_is_the_place(void **state) {
    step_and_then_sizes(*state, "scored", 0);
    const rk_pattern *pattern = expect_fragments(11, 9);
    expect_in(pattern->summary, "11 operations after the first step are compiled one by one, each "
                                "as a program of its own, on one line");
    expect_in(pattern->advice, "Operations of this line have another size each time");
}

static void one_late_operation_of_another_line_does_not_count(void **state) {
    step_and_then_sizes(*state, "scored", 1);
    const rk_pattern *pattern = expect_fragments(11, 9);
    expect_in(pattern->advice, "Operations of this line have another size each time");
}

static void late_operations_of_two_lines_of_a_library_have_its_call_as_place(void **state) {
    step_and_then_sizes(*state, "scored", 2);
    const rk_pattern *pattern = expect_fragments(13, 12); // run(…)
    expect_not_in(pattern->advice, "another size");
}

static void a_function_that_the_user_calls_for_other_sizes_is_jitted(void **state) {
    step_and_then_sizes(*state, "rated", 0);
    const rk_pattern *pattern = expect_fragments(11, 8); // score(n)
    expect_in(pattern->advice, "jax.jit(score)");
}

static void late_operations_of_two_calls_are_one_finding(void **state) {
    step_and_then(*state, "shape", "twice", 12, 12);
    const rk_pattern *pattern = expect_only_fragments(24, 7);
    expect_in(pattern->summary, "in the calls of create on lines 7 and 8 (its line 6)");
}

// Neither of the two lines of main, which also runs the steps, is worth a finding alone.
static void late_operations_of_several_lines_are_one_finding(void **state) {
    step_and_then(*state, "begun", "begin", 6, 6);
    const rk_pattern *pattern = expect_only_fragments(12, 9);
    expect_in(pattern->summary, "on lines 9 and 10");
    expect_in(pattern->advice, "what these lines calculate into a function, and jit that, so that "
                               "it is one program. Pass arrays that change as arguments");
    expect_in(pattern->advice, "NumPy may calculate it");
}

static void few_late_operations_of_several_lines_are_no_finding(void **state) {
    step_and_then(*state, "begun", "begin", 6, 3);
    assert_int_equal(explanation.pattern_count, 0);
}

static void few_late_operations_are_no_finding(void **state) {
    ask_for_late_operations(*state, 9);
    assert_int_equal(explanation.pattern_count, 0);
}

static void advice_names_a_plain_function(void **state) {
    start(*state, "plain", 20);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_in(pattern->advice, "jax.jit(create)");
}

static void advice_does_not_name_a_bound_method(void **state) {
    start(*state, "bound", 20);
    explain(*state);
    const rk_pattern *pattern = find_pattern(RK_PATTERN_EAGER_STARTUP);
    assert_non_null(pattern);
    expect_not_in(pattern->advice, "jax.jit(create)");
    expect_in(pattern->advice, "changes objects");
    // The job uses none of these libraries.
    expect_not_in(pattern->advice, "lax");
    expect_not_in(pattern->advice, "eqx");
    expect_not_in(pattern->advice, "Keras");
}

// Blocks.

static void blocks_are_explained_in_the_words_of_the_framework(void **state) {
    (void)state;
    static char name[] = "SyncTensorsGraph.12";
    rk_run_compile compile = {.seq = 1, .name = name, .compile_ns = 1000};
    rk_explained item = {.compile = &compile, .blocks = {.count = 8, .op_count = 40, .share = 0.9}};
    rk_explanation x = {.items = &item, .count = 1};
    rk_explainer e = {.out = &x};
    rk_expect_ok(rk_find_repeated_blocks(&e));
    assert_int_equal(x.pattern_count, 1);
    expect_in(x.patterns[0].advice, "torch_xla.experimental.scan");
    // PyTorch unrolls some layers by itself.
    expect_in(x.patterns[0].advice, "such as nn.LSTM");
    expect_not_in(x.patterns[0].summary, "Python");
    expect_not_in(x.patterns[0].advice, "jax");
    x.items = NULL;
    x.count = 0;
    rk_explanation_cleanup(&x);
}

// Drift.

typedef struct drift {
    const char *job;
    const char *components_before, *components_after;
    const char *toolchain_before, *toolchain_after;
} drift;

static void keep_again(fixture *f, const drift *d) {
    run_fixture_keep_entry(f, &(fixture_kept){.job = d->job,
                                              .file = 1,
                                              .components = d->components_before,
                                              .toolchain = d->toolchain_before,
                                              .is_of_other_run = true});
    run_fixture_keep_entry(f, &(fixture_kept){.job = d->job,
                                              .file = 1,
                                              .environment = 1,
                                              .components = d->components_after,
                                              .toolchain = d->toolchain_after});
    (void)run_fixture_ask(&f->other, d->job, 1);
    (void)run_fixture_ask_in(&f->run, d->job, 1, 1);
}

#define DEVICES(n) "{\"kind\":\"topology\",\"name\":\"topology.devices\",\"value\":\"" n "\"}"

static void other_devices_are_a_cause_and_no_drift(void **state) {
    fixture *f = *state;
    static const char *const jobs[] = {"shape", "branch", "counter"};
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++)
        keep_again(f, &(drift){.job = jobs[i],
                               .components_before = DEVICES("4"),
                               .components_after = DEVICES("8")});
    explain(f);
    assert_int_equal(explanation.pattern_count, 0);
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++)
        expect_cause(i, RK_CAUSE_DEVICE);
}

static const char OLD[] = "{\"jax\":\"0.10.1\",\"jaxlib\":\"0.10.1\"}",
                  NEW[] = "{\"jax\":\"0.10.2\",\"jaxlib\":\"0.10.2\"}";

static void one_upgrade_is_one_pattern_also_if_some_programs_change(void **state) {
    fixture *f = *state;
    keep_again(f, &(drift){.job = "shape", .toolchain_before = OLD, .toolchain_after = NEW});
    keep_again(f, &(drift){.job = "branch",
                           .components_before = "{\"kind\":\"version\",\"name\":\"other\","
                                                "\"value\":\"1\"}",
                           .components_after = "{\"kind\":\"version\",\"name\":\"other\","
                                               "\"value\":\"2\"}",
                           .toolchain_before = OLD,
                           .toolchain_after = NEW});
    explain(f);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].member_count, 2);
    expect_in(explanation.patterns[0].summary, "other from 1 to 2");
}

// With `rewritten`, the new version writes each program in another way.
static void expect_upgraded_operations(fixture *f, bool rewritten) {
    for (unsigned i = 1; i <= 3; i++) {
        unsigned before = rewritten ? 10 + i : i;
        run_fixture_keep_entry(f, &(fixture_kept){.job = "split",
                                                  .file = i,
                                                  .number = before,
                                                  .toolchain = OLD,
                                                  .is_of_other_run = true});
        run_fixture_keep_entry(
            f, &(fixture_kept){.job = "split", .file = i, .toolchain = NEW, .environment = 1});
        (void)run_fixture_ask(&f->other, "split", before);
        (void)run_fixture_ask_in(&f->run, "split", i, 1);
    }
    explain_after(f, (rk_earlier_runs){&f->other.model, 1});
    for (size_t i = 0; i < 3; i++)
        expect_cause(i, RK_CAUSE_TOOLCHAIN);
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].member_count, 3);
}

static void an_upgrade_compiles_the_frameworks_operations_too(void **state) {
    expect_upgraded_operations(*state, false);
}

static void an_upgrade_that_rewrites_operations_counts_them(void **state) {
    expect_upgraded_operations(*state, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_fixture_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(sizes_of_several_functions_are_no_family),
        TEST(sizes_that_vary_together_are_one_finding),
        TEST(operations_with_the_same_sizes_are_one_finding),
        TEST(the_same_values_in_another_container_are_a_cause),
        TEST(an_option_of_a_call_is_no_state),
        TEST(an_array_from_outside_of_the_mesh_is_made_inside),
        TEST(a_learning_rate_of_zero_is_a_python_number),
        TEST(other_keys_are_no_other_container),
        TEST(a_result_more_is_no_other_container),
        TEST(the_sizes_of_all_operations_are_listed),
        TEST(a_sequence_that_grows_has_other_shapes),
        TEST(sizes_of_two_inputs_are_one_finding),
        TEST(values_that_are_appended_need_an_array_of_fixed_size),
        TEST(each_of_two_sets_has_a_last_batch),
        TEST(the_rows_of_a_mapped_function_come_after_the_devices),
        TEST(a_weak_type_that_is_passed_on_has_the_name_of_the_input),
        TEST(iterations_that_wait_for_a_read_are_graphs_that_grow),
        TEST(equal_numbers_do_not_hide_the_rows),
        TEST(the_first_steps_of_two_models_are_two),
        TEST(lengths_of_an_unrolled_loop_are_a_family),
        TEST(another_change_is_not_taken_for_another_size),
        TEST(a_family_names_all_inputs_that_change),
        TEST(a_check_and_a_value_are_two_reads),
        TEST(two_moved_slices_are_two_changes),
        TEST(sizes_of_one_function_are_a_family),
        TEST(a_smaller_last_batch_is_padded_or_dropped),
        TEST(a_smaller_batch_for_each_full_one_may_be_the_last),
        TEST(a_batch_that_is_normalized_is_not_padded),
        TEST(a_small_batch_of_many_steps_is_no_last_batch),
        TEST(a_batch_of_keras_is_not_padded),
        TEST(shapes_that_differ_much_are_not_padded),
        TEST(parameters_of_another_layer_have_no_cause),
        TEST(the_evaluation_of_another_model_has_no_cause),
        TEST(several_tensors_have_no_cause),
        TEST(a_number_that_becomes_an_array_is_a_cause),
        TEST(results_of_many_sizes_are_no_state),
        TEST(one_size_of_a_start_is_no_family),
        TEST(a_number_of_a_package_may_not_become_an_argument),
        TEST(a_size_of_an_earlier_start_is_not_padded),
        TEST(another_mapped_function_is_no_shape),
        TEST(a_branch_beside_another_width_is_a_branch),
        TEST(more_random_keys_are_no_counter),
        TEST(advice_on_a_slice_names_the_position),
        TEST(an_operation_of_a_package_may_be_of_a_jitted_function),
        TEST(advice_on_an_operation_names_the_call),
        TEST(another_order_in_another_start_is_no_branch),
        TEST(inputs_that_changed_places_are_another_order),
        TEST(another_order_is_nearer_than_another_shape),
        TEST(a_first_step_is_compared_with_that_of_an_earlier_start),
        TEST(an_earlier_start_may_draw_other_random_numbers),
        TEST(another_size_may_come_with_another_order),
        TEST(another_order_in_one_start_is_a_branch),
        TEST(two_functions_have_no_optional_inputs),
        TEST(two_functions_in_a_wrapper_are_two_functions),
        TEST(functions_of_one_factory_have_no_optional_inputs),
        TEST(inputs_that_were_zeros_are_a_state),
        TEST(functions_with_other_arguments_are_two_functions),
        TEST(two_scans_outside_of_jit_are_two_functions),
        TEST(a_function_and_its_derivative_are_two_functions),
        TEST(a_function_with_and_without_vmap_is_two_functions),
        TEST(two_functions_that_one_call_takes_are_no_versions),
        TEST(the_passes_of_a_derivative_are_no_versions_of_the_function),
        TEST(one_function_on_two_lines_has_two_versions),
        TEST(layers_that_a_library_makes_are_no_family),
        TEST(two_functions_that_a_library_maps_are_two),
        TEST(the_steps_of_two_models_are_no_branch),
        TEST(two_samplers_are_two_functions),
        TEST(inputs_that_grow_are_not_optional),
        TEST(a_sum_that_starts_from_a_number_starts_from_a_tensor),
        TEST(a_committed_array_is_placed_once),
        TEST(advice_names_the_library_of_the_start),
        TEST(many_late_operations_of_a_line_are_one_finding),
        TEST(few_late_operations_are_no_finding),
        TEST(late_operations_of_a_call_name_its_function),
        TEST(late_operations_of_a_call_may_be_on_its_line),
        TEST(late_operations_of_a_library_with_steps_cannot_be_jitted),
        TEST(late_operations_below_a_function_with_steps_cannot_be_jitted),
        TEST(a_line_that_a_library_calls_for_other_sizes_is_the_place),
        TEST(one_late_operation_of_another_line_does_not_count),
        TEST(late_operations_of_two_lines_of_a_library_have_its_call_as_place),
        TEST(a_function_that_the_user_calls_for_other_sizes_is_jitted),
        TEST(late_operations_of_two_calls_are_one_finding),
        TEST(late_operations_of_several_lines_are_one_finding),
        TEST(few_late_operations_of_several_lines_are_no_finding),
        TEST(the_state_of_several_optimizers_needs_no_change),
        TEST(zeros_of_an_epoch_are_a_constant),
        TEST(zeros_that_come_later_are_a_constant),
        TEST(a_special_number_is_no_tensor),
        TEST(a_special_number_beside_a_result_is_no_branch),
        TEST(the_state_of_one_more_parameter_needs_no_change),
        TEST(states_of_several_classes_are_of_several_functions),
        TEST(a_field_that_is_not_always_there_is_a_cause),
        TEST(two_lines_with_inputs_of_their_own_call_two_functions),
        TEST(two_mapped_functions_are_two_functions),
        TEST(a_package_of_which_nothing_is_known_is_named),
        TEST(a_loss_that_some_steps_keep_is_a_result),
        TEST(a_part_of_the_step_that_ran_once_needs_no_change),
        TEST(another_order_of_a_graph_is_not_known_to_be_a_branch),
        TEST(numbers_that_are_equal_in_one_start_are_no_optional_input),
        TEST(whole_numbers_leave_the_branch_open),
        TEST(a_later_step_is_not_compared_with_the_first),
        TEST(an_optional_input_is_no_sum),
        TEST(an_update_now_and_then_is_a_branch),
        TEST(a_mask_is_named_if_an_input_has_that_name),
        TEST(two_graphs_with_two_sets_are_not_one_with_three),
        TEST(keys_that_come_and_go_are_optional),
        TEST(another_optional_input_is_no_branch),
        TEST(operations_of_each_step_are_fragments),
        TEST(operations_of_some_steps_are_no_fragments),
        TEST(operations_of_later_steps_are_no_fragments),
        TEST(operations_of_a_data_loader_are_fragments),
        TEST(a_step_may_have_more_fragments_than_those_found),
        TEST(an_operation_of_some_steps_is_no_part_of_each),
        TEST(an_operation_of_a_plot_is_no_part_of_each_step),
        TEST(an_operation_may_be_called_on_several_lines),
        TEST(operations_of_two_loops_have_no_line),
        TEST(a_line_of_the_start_is_no_line_of_the_steps),
        TEST(versions_of_an_operation_are_one_of_each_step),
        TEST(operations_of_a_long_start_are_no_fragments),
        TEST(operations_of_a_long_start_may_be_fragments),
        TEST(without_steps_operations_are_no_fragments),
        TEST(without_steps_graphs_are_no_fragments),
        TEST(lists_of_other_lengths_are_no_start),
        TEST(columns_of_a_batch_are_no_model),
        TEST(samples_of_a_memory_are_lists),
        TEST(graphs_that_grow_are_one_finding),
        TEST(an_optional_key_is_a_branch),
        TEST(a_graph_that_runs_once_in_no_step_is_no_certain_branch),
        TEST(numbers_that_become_constants_do_not_belong_to_the_start),
        TEST(another_number_of_tensors_than_in_another_start_may_be_a_list),
        TEST(beside_graphs_that_grow_a_branch_is_not_known),
        TEST(two_measures_of_one_line_are_two_programs),
        TEST(a_slice_comes_before_the_numbers_that_follow_from_it),
        TEST(a_position_that_is_written_is_no_size),
        TEST(layers_operation_by_operation_are_no_changing_size),
        TEST(results_with_names_are_known_by_them),
        TEST(what_nothing_executed_is_a_part_of_the_next_step),
        TEST(a_number_in_the_place_of_a_tensor_has_another_type),
        TEST(rows_of_padding_change_the_statistics),
        TEST(another_condition_is_no_version),
        TEST(checks_that_wait_for_a_value_are_graphs_that_grow),
        TEST(two_reads_on_two_lines_are_no_versions),
        TEST(values_between_two_loops_are_no_other_shapes),
        TEST(a_number_at_the_end_of_a_schedule_is_not_of_the_start),
        TEST(what_waits_before_the_first_step_is_no_certain_branch),
        TEST(work_on_known_lines_is_no_certain_branch),
        TEST(updates_for_episodes_of_other_lengths_are_versions),
        TEST(inputs_of_other_kinds_are_no_other_shapes),
        TEST(parts_of_one_gradient_are_no_positions),
        TEST(a_position_does_not_follow_from_an_input),
        TEST(all_values_of_a_place_are_listed),
        TEST(positions_follow_from_the_length_of_a_sequence),
        TEST(networks_that_share_their_data_have_fewer_inputs),
        TEST(a_static_size_is_a_constant),
        TEST(a_graph_that_grows_has_no_cause_in_a_later_start),
        TEST(the_first_graph_that_grows_is_a_part_of_the_finding),
        TEST(graphs_that_grow_by_a_whole_model_are_one_finding),
        TEST(a_random_operation_between_two_steps_is_no_branch),
        TEST(a_width_of_an_earlier_start_is_no_changing_size),
        TEST(lists_of_other_lengths_are_other_sizes),
        TEST(a_model_for_several_lists_has_several_sizes),
        TEST(an_argument_that_waits_is_not_known_to_be_a_branch),
        TEST(a_step_for_another_model_is_not_known_to_be_a_branch),
        TEST(a_loop_that_carries_more_values_is_not_new),
        TEST(the_position_of_a_slice_is_no_branch),
        TEST(an_element_of_a_tensor_is_a_position),
        TEST(a_read_of_another_tensor_is_first),
        TEST(a_read_in_another_step_has_another_shape),
        TEST(graphs_that_take_turns_are_no_fragments),
        TEST(the_place_is_below_a_launcher),
        TEST(a_start_with_random_values_is_of_single_operations),
        TEST(a_small_function_of_the_start_is_not_the_step),
        TEST(a_start_of_several_calls_is_one_finding),
        TEST(a_function_that_runs_the_steps_is_not_the_place),
        TEST(a_called_object_is_not_named),
        TEST(a_function_that_is_called_for_several_sizes_has_a_caller),
        TEST(a_function_that_is_called_for_one_size_is_jitted),
        TEST(a_model_that_is_called_makes_no_initial_values),
        TEST(a_start_without_known_steps_is_before_no_step),
        TEST(one_program_for_repeated_layers_may_take_longer),
        TEST(a_start_does_not_count_operations_of_the_steps),
        TEST(a_second_model_is_not_before_the_first_step),
        TEST(programs_that_ran_several_times_may_be_shared),
        TEST(one_program_for_different_layers_saves_a_part),
        TEST(a_process_that_was_killed_has_a_start),
        TEST(a_process_that_was_killed_in_its_start_has_no_steps),
        TEST(advice_names_a_plain_function),
        TEST(advice_does_not_name_a_bound_method),
        cmocka_unit_test(blocks_are_explained_in_the_words_of_the_framework),
        TEST(other_devices_are_a_cause_and_no_drift),
        TEST(one_upgrade_is_one_pattern_also_if_some_programs_change),
        TEST(an_upgrade_compiles_the_frameworks_operations_too),
        TEST(an_upgrade_that_rewrites_operations_counts_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
