// A run explained: from programs in a store and a journal's model, both made here.
#include "diagnose/explain.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/expect.h"
#include "support/tempdir.h"

enum { REQUESTS_MAX = 16 };

typedef struct fixture {
    char *directory;
    rk_store *store;
    rk_library library;
    rk_run_process processes[2];
    rk_run_compile compiles[REQUESTS_MAX];
    rk_run_model run;
    rk_explanation explanation;
} fixture;

static char empty[] = "", run_name[] = "this-run", job_name[] = "job", absent[] = "absent";
static char step_name[] = "jit_step";

static int setup(void **state) {
    fixture *f = rk_calloc(1, sizeof *f);
    assert_non_null(f);
    f->directory = rk_test_tempdir();
    rk_expect_ok(rk_store_open(f->directory, false, &f->store));
    f->processes[1].rank = 1;
    f->run = (rk_run_model){.run = run_name,
                            .job = job_name,
                            .start_ns = UINT64_MAX / 2,
                            .processes = f->processes,
                            .process_count = 1,
                            .compiles = f->compiles};
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    rk_explanation_cleanup(&f->explanation);
    rk_library_cleanup(&f->library);
    rk_store_free(f->store);
    rk_test_tempdir_remove(f->directory);
    rk_free(f);
    return 0;
}

static rk_key key_of(const char *job, unsigned number) {
    rk_key key = {0};
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_format(&text, "%s.%u", job, number);
    rk_digest_of(rk_buf_span(&text), &key.program);
    rk_key_finish(&key, "");
    return key;
}

static void keep(fixture *f, const char *job, unsigned number, bool with_program) {
    char path[1024];
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) metadata = {0};
    RK_AUTO(rk_sketch) sketch = {0};
    bool made;
    (void)snprintf(path, sizeof path, "%s/%s.%u.mlir", RK_TEST_DATA, job, number);
    rk_expect_ok(rk_fs_read(path, 1 << 20, &code));
    rk_expect_ok(rk_sketch_of_program(rk_buf_span(&code), rk_span_text("mlir"), &sketch, &made));
    assert_true(made);
    rk_json json = rk_json_on(&metadata);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "name", "jit_step");
    rk_json_member_string(&json, "format", "mlir");
    rk_json_member_string(&json, "run", run_name);
    rk_json_member_string(&json, "job", job_name);
    rk_json_key(&json, "sketch");
    rk_sketch_write(&sketch, &json);
    rk_json_end_object(&json);
    rk_entry entry = {.kind = RK_ENTRY_PROGRAM,
                      .key = key_of(job, number),
                      .created_ns = 1,
                      .components = rk_span_text("{\"options\":[],\"environment\":[]}"),
                      .metadata = rk_buf_span(&metadata)};
    if (with_program)
        entry.payload = rk_buf_span(&code);
    rk_expect_ok(rk_store_put(f->store, &entry, NULL));
}

static rk_run_compile *ask(fixture *f, const char *job, unsigned number) {
    rk_key key = key_of(job, number);
    rk_run_compile *compile = &f->compiles[f->run.compile_count++];
    *compile = (rk_run_compile){.time_ns = f->run.start_ns + f->run.compile_count,
                                .seq = f->run.compile_count,
                                .client = 1,
                                .outcome = RK_OUTCOME_MISS,
                                .reason = absent,
                                .name = step_name,
                                .by_bytes = empty,
                                .waited_for = empty,
                                .wait_end = empty,
                                .compiled = true,
                                .compile_ns = 1000000000u};
    rk_digest_to_hex(&key.digest, compile->key);
    rk_digest_to_hex(&key.program, compile->program);
    return compile;
}

static void explain(fixture *f, rk_earlier_runs earlier) {
    rk_expect_ok(rk_library_load(f->store, (rk_library_watch){NULL, NULL}, &f->library));
    rk_expect_ok(rk_explain(&f->run, earlier, &f->library, &f->explanation));
}

static void expect_cause(const fixture *f, size_t index, rk_cause cause) {
    assert_true(index < f->explanation.count);
    assert_string_equal(rk_cause_name(f->explanation.items[index].cause), rk_cause_name(cause));
}

static void a_number_that_changes_is_a_counter(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++) {
        keep(f, "counter", i, true);
        (void)ask(f, "counter", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    const rk_explanation *x = &f->explanation;
    assert_int_equal(x->count, 3);
    expect_cause(f, 0, RK_CAUSE_FIRST);
    expect_cause(f, 1, RK_CAUSE_CONSTANT);
    expect_cause(f, 2, RK_CAUSE_CONSTANT);
    assert_ptr_equal(x->items[2].nearest_of, &f->compiles[1]);
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
            keep(f, jobs[i], k, true);
            (void)ask(f, jobs[i], k);
        }
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    assert_true(f->explanation.input_shapes.answer);
    assert_true(f->explanation.hidden_branch.answer);
    assert_true(f->explanation.profile_or_sharding.answer);
    assert_non_null(strstr(f->explanation.input_shapes.evidence, "tensor<24x8xf32>"));
}

static void what_is_like_nothing_is_first(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++) {
        keep(f, "unlike", i, true);
        (void)ask(f, "unlike", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(f, 0, RK_CAUSE_FIRST);
    expect_cause(f, 1, RK_CAUSE_FIRST);
    assert_int_equal(f->explanation.pattern_count, 0);
    assert_int_equal(f->explanation.lost_ns, 0);
}

// REKINDLE_KEEP_PROGRAMS=0.
static void sketches_alone_explain_inputs(void **state) {
    fixture *f = *state;
    for (unsigned i = 1; i <= 2; i++) {
        keep(f, "shape", i, false);
        (void)ask(f, "shape", i);
    }
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(f, 1, RK_CAUSE_SHAPE);
    const rk_difference *d = &f->explanation.items[1].differences.items[0];
    assert_string_equal(d->attribute, "x");
    assert_string_equal(d->after, "tensor<24x8xf32>");
    assert_int_equal(d->line, 10);
}

static void the_same_again_is_a_storm(void **state) {
    fixture *f = *state;
    keep(f, "shape", 1, true);
    for (unsigned i = 0; i < 4; i++)
        (void)ask(f, "shape", 1);
    // Loaded from the store, and still asked for in vain.
    f->compiles[3].compiled = false;
    f->compiles[3].outcome = RK_OUTCOME_HIT;
    f->compiles[3].reason = empty;
    explain(f, (rk_earlier_runs){NULL, 0});
    assert_int_equal(f->explanation.count, 4);
    expect_cause(f, 0, RK_CAUSE_FIRST);
    for (size_t i = 1; i < 4; i++)
        expect_cause(f, i, RK_CAUSE_DUPLICATE);
    assert_int_equal(f->explanation.pattern_count, 1);
    assert_int_equal(f->explanation.patterns[0].kind, RK_PATTERN_DUPLICATE_STORM);
    assert_int_equal(f->explanation.patterns[0].line, 10);
}

static void what_was_stored_and_is_gone_was_evicted(void **state) {
    fixture *f = *state;
    keep(f, "shape", 1, true);
    rk_run_compile *compile = ask(f, "shape", 1);
    rk_run_stored stored = {.stored = true, .reason = empty};
    memcpy(stored.key, compile->key, sizeof stored.key);
    rk_run_compile before = *compile;
    rk_run_model earlier = {.run = job_name,
                            .compiles = &before,
                            .compile_count = 1,
                            .stored = &stored,
                            .stored_count = 1};
    explain(f, (rk_earlier_runs){&earlier, 1});
    expect_cause(f, 0, RK_CAUSE_EVICTED);
}

static void damage_and_bypass_have_causes_of_their_own(void **state) {
    fixture *f = *state;
    static char damaged[] = "damaged", callback[] = "host callback (xla_python_cpu_callback)";
    keep(f, "shape", 1, true);
    keep(f, "branch", 1, true);
    ask(f, "shape", 1)->reason = damaged;
    rk_run_compile *bypassed = ask(f, "branch", 1);
    bypassed->outcome = RK_OUTCOME_BYPASS;
    bypassed->reason = callback;
    explain(f, (rk_earlier_runs){NULL, 0});
    expect_cause(f, 0, RK_CAUSE_DAMAGED);
    expect_cause(f, 1, RK_CAUSE_UNCACHEABLE);
}

static void the_first_program_in_which_ranks_differ_is_told(void **state) {
    fixture *f = *state;
    f->run.process_count = 2;
    for (unsigned i = 1; i <= 2; i++) {
        keep(f, "branch", i, true);
        keep(f, "shape", i, true);
    }
    (void)ask(f, "shape", 1);
    ask(f, "shape", 1)->process = 1;
    (void)ask(f, "branch", 1);
    ask(f, "branch", 2)->process = 1;
    explain(f, (rk_earlier_runs){NULL, 0});
    bool found = false;
    for (size_t i = 0; i < f->explanation.pattern_count; i++) {
        const rk_pattern *pattern = &f->explanation.patterns[i];
        if (pattern->kind != RK_PATTERN_RANK_DIVERGENCE)
            continue;
        found = true;
        assert_int_equal(pattern->line, 9);
    }
    assert_true(found);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_number_that_changes_is_a_counter),
        TEST(the_questions_are_answered),
        TEST(what_is_like_nothing_is_first),
        TEST(sketches_alone_explain_inputs),
        TEST(the_same_again_is_a_storm),
        TEST(what_was_stored_and_is_gone_was_evicted),
        TEST(damage_and_bypass_have_causes_of_their_own),
        TEST(the_first_program_in_which_ranks_differ_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
