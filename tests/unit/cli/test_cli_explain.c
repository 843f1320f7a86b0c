#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/explain_view.h"
#include "support/expect.h"
#include "support/tempdir.h"

static char none[] = "", evidence[] = "no";

// A run that compiled two programs in three seconds.
typedef struct fixture {
    rk_run_model run;
    rk_run_compile compiles[2];
    rk_explained items[2];
    rk_explanation explanation;
} fixture;

static void make(fixture *f, rk_cause second) {
    *f = (fixture){.run = {.compile_count = 2}};
    f->run.job = none;
    for (size_t i = 0; i < 2; i++) {
        f->compiles[i] = (rk_run_compile){.seq = i + 1,
                                          .compiled = true,
                                          .failed = i && second == RK_CAUSE_FAILED,
                                          .name = none,
                                          .by_bytes = none,
                                          .compile_ns = (i + 1) * 1000000000};
        f->items[i] = (rk_explained){.compile = &f->compiles[i], .step = RK_NO_STEP};
    }
    f->items[0].cause = RK_CAUSE_SHAPE;
    f->items[1].cause = second;
    f->run.compiles = f->compiles;
    const rk_question question = {.known = true, .evidence = evidence};
    f->explanation = (rk_explanation){.run = &f->run,
                                      .items = f->items,
                                      .count = 2,
                                      .input_shapes = question,
                                      .profile_or_sharding = question,
                                      .hidden_branch = question};
}

// Prints to a file in place of standard output.
static void expect_text_of(const fixture *f, const rk_explain_how *how, const char *expected) {
    char *folder = rk_test_tempdir();
    rk_autofree char *path = rk_path_join(folder, "out");
    RK_AUTO(rk_buf) text = {0};
    int before = dup(STDOUT_FILENO);
    (void)fflush(stdout);
    assert_non_null(freopen(path, "w", stdout));
    rk_explain_view_print(&f->explanation, how);
    (void)fflush(stdout);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    (void)close(before);
    rk_expect_ok(rk_fs_read(path, 1 << 20, &text));
    if (!strstr(rk_buf_text(&text), expected))
        fail_msg("'%s' is not in '%s'", expected, rk_buf_text(&text));
    rk_test_tempdir_remove(folder);
}

static void expect_text(const fixture *f, const char *expected) {
    expect_text_of(f, &(rk_explain_how){.all = false}, expected);
}

static void the_second_program_of_a_start_is_said_to_need_no_change(void **state) {
    (void)state;
    fixture f;
    make(&f, RK_CAUSE_PARAMETERS);
    expect_text(&f, "2 compilations in 3.0 s: 2 of them have a cause, and cost 3.0 s\n");
    f.items[1].is_startup = true;
    expect_text(&f, "2 of them have a cause, and cost 3.0 s (1, with 2.0 s, needs no change)\n");
}

static void a_failure_is_no_cause_that_costs(void **state) {
    (void)state;
    fixture f;
    make(&f, RK_CAUSE_FAILED);
    expect_text(&f, "1 of them has a cause, and cost 1.0 s; 1 of them failed, after 2.0 s\n");
}

static void advice_that_is_no_cause_is_announced(void **state) {
    (void)state;
    fixture f;
    rk_pattern pattern = {.kind = RK_PATTERN_EAGER_STARTUP, .summary = none, .advice = none};
    make(&f, RK_CAUSE_FIRST);
    f.explanation.patterns = &pattern;
    f.explanation.pattern_count = 1;
    expect_text(&f, "cannot be read\n"); // it costs nearly nothing and is only counted
    pattern.lost_ns = 500000000;
    expect_text(&f, "; there is other advice\n");
}

static void seconds_that_other_findings_count_are_shown_too(void **state) {
    (void)state;
    fixture f;
    rk_pattern pattern = {.kind = RK_PATTERN_FRAGMENTS,
                          .summary = none,
                          .advice = none,
                          .lost_ns = 1000000000,
                          .shared_ns = 4000000000};
    make(&f, RK_CAUSE_FIRST);
    f.explanation.patterns = &pattern;
    f.explanation.pattern_count = 1;
    expect_text(&f, "operations one by one (fragments), 5.0 s\n");
    pattern.grows = true;
    expect_text(&f, "graphs that grow (fragments), 5.0 s\n");
}

static void new_programs_are_counted_too(void **state) {
    (void)state;
    fixture f;
    rk_known known = {.has_sketch = true};
    make(&f, RK_CAUSE_FIRST);
    f.items[1].program = &known;
    expect_text(&f, "1 of them has a cause, and cost 1.0 s; the other 1 is new\n");
}

static void a_reason_is_given_for_what_cannot_be_compared(void **state) {
    (void)state;
    fixture f;
    static char readonly[] = "readonly";
    make(&f, RK_CAUSE_FIRST);
    f.items[0].cause = RK_CAUSE_FIRST;
    f.items[0].unread_removal = f.items[1].unread_removal = RK_REMOVAL_BY_HAND;
    expect_text(&f, "2 of them cannot be compared with others: 2 programs were removed by "
                    "`rekindle rm` since\n");
    f.items[1].unread_removal = RK_REMOVAL_NONE;
    f.run.mode = readonly;
    expect_text(&f, "`rekindle rm` since, the mode of the run was readonly, so it was not stored");
}

// The programs are gone, but the journal has the steps.
static void a_function_that_is_compiled_again_and_again_is_named(void **state) {
    (void)state;
    fixture f;
    static char step[] = "jit_step";
    rk_run_compile compiles[3];
    rk_explained items[3];
    make(&f, RK_CAUSE_FIRST);
    for (size_t i = 0; i < 3; i++) {
        compiles[i] = f.compiles[1];
        compiles[i].name = step;
        items[i] = (rk_explained){.compile = &compiles[i], .step = 1 + 4 * i};
    }
    f.explanation.items = items;
    f.explanation.count = 3;
    expect_text(&f, "  jit_step was compiled 3 times, in steps 1, 5, 9 (6.0 s): something in it");
}

static void an_advice_is_given_once(void **state) {
    (void)state;
    static char advice[] = "Pad it.", other[] = "Drop it.";
    fixture f;
    make(&f, RK_CAUSE_SHAPE);
    f.items[0].advice = f.items[1].advice = advice;
    expect_text(
        &f, "another shape: , 2.0 s, request 2\n  Pad it.\n\n"
            "another shape: , 1.0 s, request 1\n  The advice for request 2 applies here, too.\n");
    f.items[0].advice = other;
    expect_text(&f, "another shape: , 1.0 s, request 1\n  Drop it.\n");
    static char file[] = "/home/me/train.py";
    rk_pattern patterns[] = {
        {.kind = RK_PATTERN_COUNTER, .summary = none, .advice = advice, .lost_ns = 5000000000},
        {.kind = RK_PATTERN_SHAPE_FAMILY, .summary = none, .advice = advice, .lost_ns = 4000000000},
    };
    f.explanation.patterns = patterns;
    f.explanation.pattern_count = 2;
    expect_text(&f, "changing sizes (shape_family), 4.0 s\n  \n  Pad it.\n"); // no line to refer to
    patterns[0].file = file;
    patterns[0].line = 12;
    expect_text(&f,
                "changing sizes (shape_family), 4.0 s\n  \n"
                "  The advice for a changing number on line 12 of train.py applies here, too.\n");
}

static void what_needs_no_change_for_one_reason_is_told_once(void **state) {
    (void)state;
    static char advice[] = "Nothing to fix.", other[] = "As intended.";
    fixture f;
    make(&f, RK_CAUSE_PARAMETERS);
    f.items[0].cause = RK_CAUSE_PARAMETERS;
    f.items[0].is_startup = f.items[1].is_startup = true;
    f.items[0].advice = f.items[1].advice = advice;
    expect_text(&f, "other inputs or results: , 2.0 s, request 2\n  Nothing to fix.\n"
                    "  The same holds for request 1 (1.0 s): --all shows it\n");
    f.items[0].advice = other;
    expect_text(&f,
                "Nothing to fix.\n\nother inputs or results: , 1.0 s, request 1\n  As intended.\n");
}

// A cause on a line is printed once, with what all its programs cost.
static void programs_of_one_line_are_told_once(void **state) {
    (void)state;
    static char advice[] = "Pad it.", file[] = "/home/me/train.py";
    rk_difference differences[2] = {{.kind = RK_DIFFERENCE_SHAPE, .file = file, .line = 7},
                                    {.kind = RK_DIFFERENCE_SHAPE, .file = file, .line = 7}};
    rk_pattern pattern = {
        .kind = RK_PATTERN_COUNTER, .summary = none, .advice = none, .lost_ns = 2500000000};
    fixture f;
    make(&f, RK_CAUSE_SHAPE);
    for (size_t i = 0; i < 2; i++) {
        f.items[i].advice = advice;
        f.items[i].differences =
            (rk_differences){.items = &differences[i], .count = 1, .cause_count = 1};
    }
    f.explanation.patterns = &pattern;
    f.explanation.pattern_count = 1;
    expect_text(&f, "  Pad it.\n  The same line and advice: request 1 (1.0 s): --all shows it\n\n"
                    "a changing number (counter), 2.5 s\n");
    differences[0].line = 8;
    expect_text(&f, "  Pad it.\n\nanother shape: , 1.0 s, request 1\n");
}

// Nine patterns cost more. One that costs time in each step is printed in any case.
static void a_pattern_of_each_step_is_always_printed(void **state) {
    (void)state;
    enum { COUNT = 10 };
    fixture f;
    rk_pattern patterns[COUNT];
    make(&f, RK_CAUSE_FIRST);
    for (size_t i = 0; i < COUNT; i++)
        patterns[i] = (rk_pattern){.kind = RK_PATTERN_COUNTER,
                                   .summary = none,
                                   .advice = none,
                                   .lost_ns = (COUNT - i) * 1000000000};
    patterns[COUNT - 1].kind = RK_PATTERN_FRAGMENTS;
    patterns[COUNT - 1].is_of_each_step = true;
    f.explanation.patterns = patterns;
    f.explanation.pattern_count = COUNT;
    expect_text(&f, "a step in pieces (fragments), 1.0 s\n");
    expect_text(&f, "\n1 more: --all shows everything\n");
}

// Two compilations on one line cost less than 1 % each.
static void compilations_that_cost_nearly_nothing_are_counted_one_by_one(void **state) {
    (void)state;
    static char advice[] = "Pad it.", file[] = "/home/me/train.py";
    rk_difference difference = {.kind = RK_DIFFERENCE_SHAPE, .file = file, .line = 7};
    rk_pattern pattern = {
        .kind = RK_PATTERN_COUNTER, .summary = none, .advice = none, .lost_ns = 300000000000};
    rk_run_compile compile;
    rk_explained items[3];
    fixture f;
    make(&f, RK_CAUSE_SHAPE);
    compile = f.compiles[1];
    compile.compile_ns = 300000000000;
    for (size_t i = 0; i < 2; i++) {
        items[i] = f.items[i];
        items[i].advice = advice;
        items[i].differences = (rk_differences){.items = &difference, .count = 1, .cause_count = 1};
    }
    items[2] = (rk_explained){.compile = &compile, .step = RK_NO_STEP};
    f.explanation.items = items;
    f.explanation.count = 3;
    f.explanation.patterns = &pattern;
    f.explanation.pattern_count = 1;
    expect_text(&f,
                "\n2 more that cost less than 5 % of the compile time each: --all shows them\n");
}

static void a_compilation_after_the_last_step_belongs_to_no_step(void **state) {
    (void)state;
    fixture f;
    make(&f, RK_CAUSE_SHAPE);
    f.items[1].step = 21;
    expect_text(&f, "another shape: , 2.0 s, request 2, step 21\n");
    f.items[1].is_after_steps = true;
    expect_text(&f, "another shape: , 2.0 s, request 2, after step 20\n");
}

static void a_difference_that_costs_nearly_nothing_is_only_counted(void **state) {
    (void)state;
    fixture f;
    make(&f, RK_CAUSE_SHAPE);
    f.compiles[0].compile_ns = 19000000;
    expect_text(&f, ", 2.0 s, request 2\n\n1 more that costs less than 5 % of the compile time: "
                    "--all shows it\n");
    f.items[0].cause = RK_CAUSE_UNCACHEABLE;
    expect_text(&f, "not stored: ");
    f.items[0].cause = RK_CAUSE_SHAPE;
    f.items[1].cause = RK_CAUSE_FIRST;
    expect_text(&f, "1 of them has a cause, and cost 19 ms");
    expect_text(&f, "\n1 finding that costs less than 5 % of the compile time: --all shows it\n");
    f.compiles[0].compile_ns = 21000000;
    expect_text(&f, "another shape: , 21 ms, request 1\n");
}

// Less than 5 %, and less than 5 s or not.
static void a_small_part_is_shown_if_it_takes_long(void **state) {
    (void)state;
    fixture f;
    make(&f, RK_CAUSE_SHAPE);
    f.compiles[1].compile_ns = 96000000000;
    f.compiles[0].compile_ns = 4000000000;
    expect_text(&f, "\n1 more that costs less than 5 % of the compile time: --all shows it\n");
    f.compiles[1].compile_ns = 192000000000;
    f.compiles[0].compile_ns = 8000000000;
    expect_text(&f, "another shape: , 8.0 s, request 1\n");
}

static void commands_in_advice_are_for_the_run_that_is_explained(void **state) {
    (void)state;
    static char advice[] = "Pad it to a size that `rekindle shapes` recommends.";
    fixture f;
    make(&f, RK_CAUSE_FIRST);
    f.items[0].advice = advice;
    expect_text(&f, "a size that `rekindle shapes` recommends.");
    expect_text_of(&f, &(rk_explain_how){.run = "-4"},
                   "a size that `rekindle shapes --run -4` recommends.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_program_of_a_start_is_said_to_need_no_change),
        cmocka_unit_test(a_failure_is_no_cause_that_costs),
        cmocka_unit_test(advice_that_is_no_cause_is_announced),
        cmocka_unit_test(seconds_that_other_findings_count_are_shown_too),
        cmocka_unit_test(new_programs_are_counted_too),
        cmocka_unit_test(a_reason_is_given_for_what_cannot_be_compared),
        cmocka_unit_test(a_function_that_is_compiled_again_and_again_is_named),
        cmocka_unit_test(an_advice_is_given_once),
        cmocka_unit_test(what_needs_no_change_for_one_reason_is_told_once),
        cmocka_unit_test(programs_of_one_line_are_told_once),
        cmocka_unit_test(a_pattern_of_each_step_is_always_printed),
        cmocka_unit_test(compilations_that_cost_nearly_nothing_are_counted_one_by_one),
        cmocka_unit_test(a_compilation_after_the_last_step_belongs_to_no_step),
        cmocka_unit_test(a_difference_that_costs_nearly_nothing_is_only_counted),
        cmocka_unit_test(a_small_part_is_shown_if_it_takes_long),
        cmocka_unit_test(commands_in_advice_are_for_the_run_that_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
