// Steps as read from a journal.
#include "diagnose/steps/steps.h"

#include "support/expect.h"
#include "support/faults.h"

// A model of one process. Owns no text.
typedef struct made {
    rk_run_process processes[2];
    rk_run_steps steps[32];
    rk_run_compile compiles[32];
    rk_run_model model;
} made;

static void make(made *m) {
    *m = (made){0};
    m->model.processes = m->processes;
    m->model.process_count = 1;
    m->model.steps = m->steps;
    m->model.compiles = m->compiles;
}

static void range(made *m, uint32_t pattern, uint64_t first, uint64_t executions, uint64_t steps,
                  uint64_t new_programs) {
    m->steps[m->model.step_count++].steps = (rk_journal_steps){.rhythm = pattern,
                                                               .first_execution = first,
                                                               .executions = executions,
                                                               .steps = steps,
                                                               .programs = 1,
                                                               .new_programs = new_programs};
}

static const rk_run_compile *compile(made *m, uint64_t executions) {
    rk_run_compile *one = &m->compiles[m->model.compile_count++];
    *one = (rk_run_compile){
        .compiled = true, .has_executions = true, .executions = executions, .compile_ns = 1000};
    return one;
}

// A loop of 40 steps, and one of 60 steps with other programs and half as much work again.
static void make_two_loops(made *m, uint64_t bytes_of_second) {
    make(m);
    range(m, 1, 0, 80, 40, 2);
    range(m, 2, 80, 120, 60, 2);
    for (size_t i = 0; i < 2; i++) {
        rk_journal_steps *steps = &m->steps[i].steps;
        steps->work = (i ? 150 : 100) * steps->steps;
        steps->transfers.host_to_device = 3 * steps->steps;
        steps->transfers.host_to_device_bytes = (i ? bytes_of_second : 64) * steps->steps;
    }
}

static void loops_that_do_the_same_count_together(void **state) {
    (void)state;
    made m;
    RK_AUTO(rk_steps) steps = {0}, apart = {0};
    make_two_loops(&m, 64);
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_int_equal(rk_steps_longest(&steps)->count, 100);
    make_two_loops(&m, 32);
    rk_expect_ok(rk_steps_read(&m.model, &apart));
    assert_int_equal(rk_steps_longest(&apart)->count, 60);
}

// An evaluation after each epoch is no loop that goes on.
static void loops_that_take_turns_do_not_count_together(void **state) {
    (void)state;
    made m;
    RK_AUTO(rk_steps) steps = {0};
    make_two_loops(&m, 64);
    range(&m, 1, 200, 20, 10, 0);
    m.steps[2].steps.work = 10;
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_int_equal(rk_steps_longest(&steps)->count, 60);
}

// The loop goes on with other programs, and no pattern of them was found.
static void steps_that_stop_early_are_not_known(void **state) {
    (void)state;
    const uint64_t work_after[] = {20, 30};
    for (size_t i = 0; i < RK_ARRAY_LEN(work_after); i++) {
        made m;
        RK_AUTO(rk_steps) steps = {0};
        make(&m);
        range(&m, 0, 0, 10, 0, 3); // the initialization
        range(&m, 1, 10, 100, 50, 2);
        range(&m, 0, 110, 60, 0, 1);
        m.steps[0].steps.work = 60;
        m.steps[1].steps.work = 100;
        m.steps[2].steps.work = work_after[i];
        rk_expect_ok(rk_steps_read(&m.model, &steps));
        assert_int_equal(steps.processes[0].count, i ? 0 : 50);
    }
}

// Loops that run operation by operation carry hardly any work: one before a step, or one at the
// end. An evaluation before a step carries work, and a short loop at the end is not most of the
// run.
static void steps_beside_other_loops_are_not_known(void **state) {
    (void)state;
    const uint64_t work_of_long[] = {3000, 300};
    for (size_t i = 0; i < RK_ARRAY_LEN(work_of_long); i++) {
        made m;
        RK_AUTO(rk_steps) steps = {0};
        make(&m);
        range(&m, 1, 0, 150, 50, 2);
        range(&m, 1, 150, 600, 1, 0);
        range(&m, 1, 750, 150, 50, 0);
        for (size_t k = 0; k < 3; k++)
            m.steps[k].steps.work = k == 1 ? work_of_long[i] : 5000;
        rk_expect_ok(rk_steps_read(&m.model, &steps));
        assert_int_equal(steps.processes[0].count, i ? 0 : 101);
    }
    const uint64_t executions_at_end[] = {290, 310};
    for (size_t i = 0; i < RK_ARRAY_LEN(executions_at_end); i++) {
        made m;
        RK_AUTO(rk_steps) steps = {0};
        make(&m);
        range(&m, 1, 0, 300, 100, 2);
        range(&m, 0, 300, executions_at_end[i], 0, 0);
        m.steps[0].steps.work = 10000;
        rk_expect_ok(rk_steps_read(&m.model, &steps));
        assert_int_equal(steps.processes[0].count, i ? 0 : 100);
    }
}

// Each step has a program of its own, and several patterns find some of the steps.
static void steps_that_several_patterns_find_are_not_known(void **state) {
    (void)state;
    for (uint64_t own = 0; own < 2; own++) {
        made m;
        RK_AUTO(rk_steps) steps = {0};
        make(&m);
        range(&m, 0, 0, 4, 0, 4);
        range(&m, 1, 4, 12, 12, own ? 12 : 1);
        range(&m, 2, 16, 56, 56, own ? 56 : 1);
        m.steps[0].steps.work = 4;
        m.steps[1].steps.work = 12;
        m.steps[2].steps.work = 56;
        rk_expect_ok(rk_steps_read(&m.model, &steps));
        assert_int_equal(steps.processes[0].count, own ? 0 : 56);
    }
}

static void compilations_have_their_steps(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 0, 0, 3, 0, 3);
    range(&m, 1, 3, 4, 1, 2);     // step 1: executions 3 to 6
    range(&m, 1, 7, 400, 100, 0); // steps 2 to 101
    range(&m, 0, 407, 10, 0, 1);
    range(&m, 1, 417, 4, 1, 0); // step 102
    const uint64_t at[] = {0, 2, 3, 6, 7, 10, 11, 406, 407, 416, 417, 421, 500};
    const uint64_t step[] = {0, 0, 1, 1, 2, 2, 3, 101, 102, 102, 102, 103, 103};
    for (size_t i = 0; i < RK_ARRAY_LEN(at); i++)
        (void)compile(&m, at[i]);
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    for (size_t i = 0; i < RK_ARRAY_LEN(at); i++)
        assert_int_equal(rk_steps_of_compile(&steps, &m.compiles[i]), step[i]);
    const rk_process_steps *process = rk_steps_longest(&steps);
    assert_int_equal(process->count, 102);
    assert_int_equal(process->sums.executions, 408);
    assert_int_equal(process->point_count, 3);
    assert_int_equal(process->curve[1].step, 1);
    assert_int_equal(process->curve[1].programs, 5);
    assert_int_equal(process->curve[2].step, 102);
    assert_true(process->is_flat);
    assert_int_equal(process->flat_after, 3); // the step of the last compilation before the gap
    assert_int_equal(process->late, 6);
    assert_int_equal(process->late_ns, 6000);
    assert_false(rk_steps_is_late(&steps, &m.compiles[6]));
    assert_true(rk_steps_is_late(&steps, &m.compiles[7]));
}

static void later_ranges_replace_earlier_ones(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 1, 0, 1, 1, 1); // first, each execution is a step
    range(&m, 1, 1, 13, 13, 0);
    range(&m, 2, 5, 500, 100, 1); // then five executions are a step
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_int_equal(steps.processes[0].count, 100);
    assert_int_equal(steps.processes[0].spans[0].first_execution, 5);
}

// The second line begins in the middle of the first one, and counts what follows.
static void what_a_later_range_counts_does_not_count_twice(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 0, 0, 9, 0, 6);
    range(&m, 1, 9, 20, 10, 2);
    m.steps[1].steps.programs_before = 6;
    m.steps[1].steps.transfers.host_to_device = 40;
    range(&m, 1, 19, 20, 10, 1); // of the 10 steps before, 5 remain
    m.steps[2].steps.programs_before = 7;
    m.steps[2].steps.transfers.host_to_device = 40;
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    const rk_process_steps *process = &steps.processes[0];
    assert_int_equal(process->count, 15);
    assert_int_equal(process->curve[process->point_count - 1].programs, 8);
    assert_int_equal(process->sums.transfers.host_to_device, 60);
}

// Most repetitions only read a number. The few others are the steps: an evaluation in some of them
// carries less.
static void steps_of_very_unequal_work_are_not_known(void **state) {
    (void)state;
    const uint64_t work[] = {40, 400};
    for (size_t i = 0; i < RK_ARRAY_LEN(work); i++) {
        made m;
        RK_AUTO(rk_steps) steps = {0};
        make(&m);
        range(&m, 1, 0, 90, 90, 1);
        range(&m, 1, 90, 10, 10, 1);
        m.steps[0].steps.work = 90;
        m.steps[1].steps.work = work[i];
        rk_expect_ok(rk_steps_read(&m.model, &steps));
        assert_int_equal(steps.processes[0].count, i ? 0 : 100);
    }
}

static void the_step_with_the_most_executions_counts(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 1, 0, 90, 90, 1);
    range(&m, 2, 90, 60, 30, 1);
    range(&m, 1, 150, 5, 5, 0);
    range(&m, 2, 155, 60, 30, 0);
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_int_equal(steps.processes[0].count, 60);
}

static void steps_that_carry_little_work_are_not_known(void **state) {
    (void)state;
    made m;
    for (int carries = 0; carries < 2; carries++) {
        make(&m);
        range(&m, 1, 0, 500, 500, 1); // operations of the framework
        m.steps[0].steps.work = 1500;
        range(&m, 0, 500, 10, 0, 5);
        m.steps[1].steps.work = 2000;
        range(&m, 2, 510, 10, 10, 1); // few executions of a large program
        m.steps[2].steps.work = carries ? 4000 : 2000;
        RK_AUTO(rk_steps) steps = {0};
        rk_expect_ok(rk_steps_read(&m.model, &steps));
        const rk_process_steps *process = rk_steps_longest(&steps);
        assert_int_equal(process ? process->count : 0, carries ? 10 : 0);
    }
}

static void the_last_step_with_anything_new_is_known(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 1, 0, 2, 2, 3);
    range(&m, 1, 2, 9, 9, 0);
    for (int late = 0; late < 3; late++) {
        if (late)
            (void)compile(&m, late == 1 ? 4 : 11); // in step 5, then after step 11
        RK_AUTO(rk_steps) steps = {0};
        rk_expect_ok(rk_steps_read(&m.model, &steps));
        const rk_process_steps *process = rk_steps_longest(&steps);
        assert_false(process->is_flat);
        assert_int_equal(process->last_new, late == 0 ? 1 : late == 1 ? 5 : 12);
    }
}

// The last evaluation is no complete step: no range contains it. The programs were loaded.
static void programs_after_the_last_step_are_in_the_curve(void **state) {
    (void)state;
    static rk_run_executed executed[] = {{0, "a", 1, 1},     {0, "b", 60, 60}, {0, "a", 1, 1},
                                         {0, "b", 100, 100}, {0, "c", 2, 2},   {1, "d", 1, 1}};
    made m;
    make(&m);
    range(&m, 0, 0, 1, 0, 1);
    range(&m, 1, 1, 100, 100, 1);
    m.model.executed = executed;
    m.model.executed_count = RK_ARRAY_LEN(executed);
    for (uint64_t after = 0; after < 2; after++) {
        m.processes[0].counts.executions = 101 + 2 * after;
        RK_AUTO(rk_steps) steps = {0};
        rk_expect_ok(rk_steps_read(&m.model, &steps));
        const rk_process_steps *process = rk_steps_longest(&steps);
        const rk_step_point *last = &process->curve[process->point_count - 1];
        assert_int_equal(process->flat_after, 1);
        assert_int_equal(process->last_new, after ? 101 : 1);
        assert_int_equal(last->step, after ? 101 : 1);
        assert_int_equal(last->programs, after ? 3 : 2);
    }
}

static void marks_count_more_than_that(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 1, 0, 1000, 1000, 1);
    range(&m, 7, 1000, 8, 2, 0);
    m.steps[1].steps.marked = true;
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_int_equal(steps.processes[0].count, 2);
    assert_true(steps.processes[0].is_marked);
}

static void a_curve_that_always_grows_is_never_flat(void **state) {
    (void)state;
    made m;
    make(&m);
    for (uint64_t i = 0; i < 30; i++)
        range(&m, 1, 15 * i, 15, 15, 1);
    (void)compile(&m, 440);
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_int_equal(steps.processes[0].count, 450);
    assert_false(steps.processes[0].is_flat);
    assert_int_equal(steps.processes[0].late, 0);
    assert_false(rk_steps_is_late(&steps, &m.compiles[0]));
}

static void each_step_of_a_range_has_its_new_programs(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 1, 0, 6, 3, 6);  // 2 new programs in each of 3 steps
    range(&m, 1, 6, 8, 4, 3);  // joined: not known in which steps
    range(&m, 1, 14, 4, 2, 0); // nothing new
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    const rk_process_steps *process = rk_steps_longest(&steps);
    const rk_step_point points[] = {{1, 2}, {2, 4}, {3, 6}, {4, 9}};
    assert_int_equal(process->point_count, RK_ARRAY_LEN(points));
    for (size_t i = 0; i < RK_ARRAY_LEN(points); i++) {
        assert_int_equal(process->curve[i].step, points[i].step);
        assert_int_equal(process->curve[i].programs, points[i].programs);
    }
    assert_int_equal(process->last_new, 4);
}

static void loads_and_aot_compilations_are_not_late(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 1, 0, 100, 100, 1);
    (void)compile(&m, 0);
    (void)compile(&m, 50);
    m.compiles[1].compiled = false;
    (void)compile(&m, 60);
    m.compiles[2].ahead_of_time = true;
    (void)compile(&m, 70);
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_int_equal(steps.processes[0].late, 1);
    assert_true(rk_steps_is_late(&steps, &m.compiles[3]));
    assert_false(rk_steps_is_late(&steps, &m.compiles[1]));
    assert_false(rk_steps_is_late(&steps, &m.compiles[2]));
}

static void without_steps_nothing_is_said(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 0, 0, 100, 0, 1);
    const rk_run_compile *one = compile(&m, 3);
    RK_AUTO(rk_steps) steps = {0};
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_null(rk_steps_longest(&steps));
    assert_true(rk_steps_of_compile(&steps, one) == RK_NO_STEP);
    assert_false(rk_steps_is_late(&steps, one));
    rk_steps_cleanup(&steps);
    // Journals of older versions do not record the number of executions.
    range(&m, 1, 100, 100, 100, 1);
    m.compiles[0].has_executions = false;
    rk_expect_ok(rk_steps_read(&m.model, &steps));
    assert_non_null(rk_steps_longest(&steps));
    assert_true(rk_steps_of_compile(&steps, one) == RK_NO_STEP);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    made m;
    make(&m);
    range(&m, 1, 0, 100, 100, 1);
    m.processes[0].counts.executions = 101; // one after the last step
    for (unsigned nth = 1;; nth++) {
        RK_AUTO(rk_steps) steps = {0};
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_steps_read(&m.model, &steps);
        bool reached = rk_fault_end();
        rk_code code = rk_err_code(err);
        rk_err_free(err);
        assert_int_equal(code, reached ? RK_RESOURCE_EXHAUSTED : RK_OK);
        if (!reached)
            break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_that_do_the_same_count_together),
        cmocka_unit_test(loops_that_take_turns_do_not_count_together),
        cmocka_unit_test(steps_that_stop_early_are_not_known),
        cmocka_unit_test(steps_beside_other_loops_are_not_known),
        cmocka_unit_test(steps_that_several_patterns_find_are_not_known),
        cmocka_unit_test(compilations_have_their_steps),
        cmocka_unit_test(later_ranges_replace_earlier_ones),
        cmocka_unit_test(what_a_later_range_counts_does_not_count_twice),
        cmocka_unit_test(steps_of_very_unequal_work_are_not_known),
        cmocka_unit_test(the_step_with_the_most_executions_counts),
        cmocka_unit_test(steps_that_carry_little_work_are_not_known),
        cmocka_unit_test(the_last_step_with_anything_new_is_known),
        cmocka_unit_test(programs_after_the_last_step_are_in_the_curve),
        cmocka_unit_test(marks_count_more_than_that),
        cmocka_unit_test(a_curve_that_always_grows_is_never_flat),
        cmocka_unit_test(each_step_of_a_range_has_its_new_programs),
        cmocka_unit_test(loads_and_aot_compilations_are_not_late),
        cmocka_unit_test(without_steps_nothing_is_said),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
