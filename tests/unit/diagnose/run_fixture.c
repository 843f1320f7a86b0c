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

static rk_key key_of(const char *job, unsigned number) {
    rk_key key = {0};
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_format(&text, "%s.%u", job, number);
    rk_digest_of(rk_buf_span(&text), &key.program);
    rk_key_finish(&key, "");
    return key;
}

void run_fixture_keep(fixture *f, const char *job, unsigned number, bool with_program) {
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

rk_run_compile *run_fixture_ask(fixture_run *run, const char *job, unsigned number) {
    rk_key key = key_of(job, number);
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
