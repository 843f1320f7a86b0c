// A separate store for each test, and an environment without a rank.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "journal/journal.h"
#include "journal/read.h"
#include "support/cmocka.h"
#include "support/tempdir.h"

// Sets `*state` to the store's directory.
static inline int fixture_begin(void **state) {
    static const char *const ranks[] = {"RANK",     "JAX_PROCESS_ID", "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK", "SLURM_PROCID",   "TPU_WORKER_ID"};
    for (size_t i = 0; i < RK_ARRAY_LEN(ranks); i++)
        (void)unsetenv(ranks[i]);
    *state = rk_test_tempdir();
    return 0;
}

static inline int fixture_end(void **state) {
    rk_test_tempdir_remove(*state);
    return 0;
}

static inline rk_journal_start fixture_start(const char *store, const char *run) {
    return (rk_journal_start){
        .store_directory = store,
        .run = run,
        .job = "train-0123456789ab",
        .mode = "readwrite",
        .version = "0.1.0",
        .way_in = "preload",
    };
}

static inline void fixture_ok(rk_err *err) {
    if (err)
        fail_msg("%s", rk_err_message(err));
}

// Owned: rk_journal_close.
static inline rk_journal *fixture_open(const char *store, const char *run) {
    rk_journal_start start = fixture_start(store, run);
    rk_journal *journal = NULL;
    fixture_ok(rk_journal_open(&start, &journal));
    return journal;
}

// A key whose parts are derived from three numbers.
static inline rk_key fixture_key(uint8_t program, uint8_t options, uint8_t environment) {
    rk_key key;
    memset(&key.program, program, sizeof key.program);
    memset(&key.options, options, sizeof key.options);
    memset(&key.environment, environment, sizeof key.environment);
    rk_key_finish(&key, "");
    return key;
}

static inline void fixture_load(const char *store, const char *run, rk_run_model *out_model) {
    fixture_ok(rk_run_load(store, run, out_model));
}

// Owned: rk_free.
static inline char *fixture_path(const char *store, const char *run, const char *file) {
    RK_AUTO(rk_buf) path = {0};
    rk_buf_add_format(&path, "%s/runs/%s%s%s", store, run, file[0] ? "/" : "", file);
    assert_null(rk_buf_status(&path));
    size_t len = 0;
    return (char *)rk_buf_detach(&path, &len);
}

// Creates a journal with these bytes, as if from a process that has ended.
static inline void fixture_put(const char *store, const char *run, const char *file,
                               const char *text) {
    rk_autofree char *directory = fixture_path(store, run, "");
    rk_autofree char *path = fixture_path(store, run, file);
    fixture_ok(rk_fs_make_dirs(directory, 0700));
    fixture_ok(rk_fs_publish(path, text, strlen(text), 0600));
}
