#include "sessions.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "support/tempdir.h"

void scene_begin(scene *s) {
    s->root = rk_test_tempdir();
    s->job = "train";
    (void)snprintf(s->store, sizeof s->store, "%s/store", s->root);
    rk_expect_ok(rk_store_open(s->store, false, &s->opened));
    rk_expect_ok(rk_store_set_limit(s->opened, UINT64_MAX));
}

void scene_end(scene *s) {
    rk_store_free(s->opened);
    rk_test_tempdir_remove(s->root);
    *s = (scene){0};
}

rk_err *scene_try(scene *s, rk_torch_session *out, rk_err **out_trouble) {
    char base[1024];
    (void)snprintf(base, sizeof base, "%s/machine%u/torch-compile", s->root, s->machine);
    const rk_torch_options options = {.base = base,
                                      .store = s->store,
                                      .own = s->own,
                                      .restores = !s->refreshes,
                                      .keeps = !s->cannot_keep};
    *out = (rk_torch_session){
        .packs.place = {.store = s->opened,
                        .job = s->job,
                        .name_space = "",
                        .run = "run",
                        .components_json = rk_span_text("[]")},
    };
    rk_digest_of(rk_span_of(&s->environment, sizeof s->environment), &out->packs.place.environment);
    return rk_torch_session_begin(out, &options, out_trouble);
}

void scene_move(scene *s) {
    s->machine++;
}

void scene_start(scene *s, rk_torch_session *out) {
    rk_err *trouble = NULL;
    rk_expect_ok(scene_try(s, out, &trouble));
    rk_expect_ok(trouble);
}

void scene_stop(rk_torch_session *session) {
    rk_expect_ok(rk_torch_session_end(session, true, RK_TORCH_SUCCEEDED));
}

void scene_put(const rk_torch_session *session, const char *name, const char *content) {
    char path[2048], folder[2048];
    (void)snprintf(path, sizeof path, "%s/%s", session->directory.path, name);
    (void)snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    rk_expect_ok(rk_fs_make_dirs(folder, 0775)); // as Python does with umask 2
    rk_expect_ok(rk_fs_publish(path, content, strlen(content), 0644));
}

void scene_age(const rk_torch_session *session, const char *name, unsigned seconds) {
    char path[2048];
    struct timespec times[2];
    (void)snprintf(path, sizeof path, "%s/%s", session->directory.path, name);
    uint64_t then_ns = rk_realtime_ns() - seconds * UINT64_C(1000000000);
    times[0] = times[1] = (struct timespec){.tv_sec = (time_t)(then_ns / 1000000000),
                                            .tv_nsec = (long)(then_ns % 1000000000)};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

char *scene_get(const rk_torch_session *session, const char *name) {
    char path[2048];
    RK_AUTO(rk_buf) data = {0};
    (void)snprintf(path, sizeof path, "%s/%s", session->directory.path, name);
    rk_err *err = rk_fs_read(path, 1 << 20, &data);
    bool there = !err;
    rk_err_free(err);
    return there ? strdup(rk_buf_text(&data)) : NULL;
}

void scene_expect(const rk_torch_session *session, const char *name, const char *content) {
    char *got = scene_get(session, name);
    if (!content) {
        assert_null(got);
        return;
    }
    assert_non_null(got);
    assert_string_equal(got, content);
    free(got);
}

static rk_err *count(void *context, const rk_store_item *item) {
    (void)item;
    *(unsigned *)context += 1;
    return NULL;
}

unsigned scene_packs(const scene *s) {
    unsigned found = 0;
    rk_expect_ok(rk_store_each(s->opened, RK_ENTRY_EXECUTABLE, count, &found));
    return found;
}

int scene_set_up(void **state) {
    static scene s;
    s = (scene){0};
    scene_begin(&s);
    *state = &s;
    return 0;
}

int scene_tear_down(void **state) {
    scene_end(*state);
    return 0;
}

void scene_first(scene *s) {
    RK_AUTO(rk_torch_session) one = {0};
    scene_start(s, &one);
    assert_int_equal(one.counts.restored, 0);
    scene_put(&one, "fxgraph/ab/fab/0123", "graph");
    scene_put(&one, "q5/kernel.py", "code");
    scene_put(&one, "dynamo/code_state_train.pkl", "sizes");
    scene_put(&one, "locks/kernel.lock", "");
    scene_stop(&one);
    assert_int_equal(one.counts.kept, 3);
    assert_int_equal(one.counts.not_kept, 0);
}
