#include "run_fixture.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/tempdir.h"

static char empty[] = "", run_name[] = "this-run", other_name[] = "other-run", job_name[] = "job";
static char absent[] = "absent", step_name[] = "jit_step";

static void start(fixture_run *run, char *name) {
    run->processes[1].rank = 1;
    run->model = (rk_run_model){.run = name,
                                .job = job_name,
                                .start_ns = UINT64_MAX / 2,
                                .processes = run->processes,
                                .process_count = 1,
                                .compiles = run->compiles};
}

int run_fixture_setup(void **state) {
    fixture *f = rk_calloc(1, sizeof *f);
    assert_non_null(f);
    f->directory = rk_test_tempdir();
    rk_expect_ok(rk_store_open(f->directory, false, &f->store));
    start(&f->run, run_name);
    start(&f->other, other_name);
    *state = f;
    return 0;
}

int run_fixture_teardown(void **state) {
    fixture *f = *state;
    rk_corpus_cleanup(&f->corpus);
    rk_store_free(f->store);
    rk_test_tempdir_remove(f->directory);
    rk_free(f);
    return 0;
}

void run_fixture_load(fixture *f) {
    rk_expect_ok(rk_corpus_load(f->store, (rk_corpus_watch){NULL, NULL}, &f->corpus));
}

static void digest_of(const char *job, unsigned number, rk_digest *out_digest) {
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_format(&text, "%s.%u", job, number);
    rk_digest_of(rk_buf_span(&text), out_digest);
}

static rk_key key_of(const char *job, unsigned number, unsigned environment) {
    rk_key key = {0};
    digest_of(job, number, &key.program);
    if (environment)
        digest_of("environment", environment, &key.environment);
    rk_key_finish(&key, "");
    return key;
}

// The programs of PyTorch/XLA (programs/make_torch) are HLO.
static const char *format_of(const char *job) {
    return strncmp(job, "torch_", 6) == 0 ? "hlo" : "mlir";
}

static void write_metadata(const fixture_kept *kept, const rk_sketch *sketch, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "name", "jit_step");
    rk_json_member_string(&json, "format", format_of(kept->job));
    rk_json_member_string(&json, "run", kept->is_of_other_run ? other_name : run_name);
    rk_json_member_string(&json, "job", job_name);
    rk_json_key(&json, "sketch");
    rk_sketch_write(sketch, &json);
    if (kept->toolchain) {
        rk_json_key(&json, "toolchain");
        rk_buf_add_text(out, kept->toolchain);
        json.needs_comma = true;
    }
    rk_json_end_object(&json);
}

void run_fixture_keep_entry(fixture *f, const fixture_kept *kept) {
    char path[1024];
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) metadata = {0};
    RK_AUTO(rk_buf) components = {0};
    RK_AUTO(rk_sketch) sketch = {0};
    bool made;
    unsigned number = kept->number ? kept->number : kept->file;
    (void)snprintf(path, sizeof path, "%s/%s.%u.%s", RK_TEST_DATA, kept->job, kept->file,
                   format_of(kept->job));
    rk_expect_ok(rk_fs_read(path, 1 << 20, &code));
    rk_expect_ok(rk_sketch_of_program(rk_buf_span(&code), rk_span_text(format_of(kept->job)),
                                      &sketch, &made));
    assert_true(made);
    write_metadata(kept, &sketch, &metadata);
    rk_buf_add_format(&components, "{\"options\":[],\"environment\":[%s]}",
                      kept->components ? kept->components : "");
    rk_entry entry = {.kind = RK_ENTRY_PROGRAM,
                      .key = key_of(kept->job, number, kept->environment),
                      .created_ns = 1,
                      .components = rk_buf_span(&components),
                      .metadata = rk_buf_span(&metadata)};
    if (!kept->without_program)
        entry.payload = rk_buf_span(&code);
    rk_expect_ok(rk_store_put(f->store, &entry, NULL));
}

void run_fixture_keep(fixture *f, const char *job, unsigned number, bool with_program) {
    run_fixture_keep_entry(
        f, &(fixture_kept){.job = job, .file = number, .without_program = !with_program});
}

rk_run_compile *run_fixture_ask(fixture_run *run, const char *job, unsigned number) {
    return run_fixture_ask_in(run, job, number, 0);
}

rk_run_compile *run_fixture_ask_in(fixture_run *run, const char *job, unsigned number,
                                   unsigned environment) {
    rk_key key = key_of(job, number, environment);
    assert_true(run->model.compile_count < RUN_FIXTURE_REQUESTS_MAX);
    rk_run_compile *compile = &run->compiles[run->model.compile_count++];
    *compile = (rk_run_compile){.time_ns = run->model.start_ns + run->model.compile_count,
                                .seq = run->model.compile_count,
                                .client = 1,
                                .outcome = RK_OUTCOME_MISS,
                                .reason = absent,
                                .name = step_name,
                                .by_bytes = empty,
                                .error = empty,
                                .waited_for = empty,
                                .wait_end = empty,
                                .compiled = true,
                                .compile_ns = 1000000000u};
    rk_digest_to_hex(&key.digest, compile->key);
    rk_digest_to_hex(&key.program, compile->program);
    return compile;
}
