// What a start of a job restores, and what it keeps.
#include "sessions.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "support/tempdir.h"

static void files_are_restored(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) two = {0};
    scene_first(s);
    scene_move(s);
    scene_start(s, &two);
    assert_int_equal(two.counts.restored, 3);
    assert_int_equal(two.counts.present, 0);
    assert_int_equal(two.counts.restored_bytes, 5 + 4 + 5);
    scene_expect(&two, "fxgraph/ab/fab/0123", "graph");
    scene_expect(&two, "q5/kernel.py", "code");
    scene_expect(&two, "dynamo/code_state_train.pkl", "sizes");
    scene_expect(&two, "locks/kernel.lock", NULL);
    scene_stop(&two);
    assert_int_equal(two.counts.kept, 0);
    assert_int_equal(two.counts.made, 0);
}

// The directory stays: no end and no start removes a file of the job.
static void the_directory_stays(void **state) {
    scene *s = *state;
    scene_first(s);
    {
        RK_AUTO(rk_torch_session) two = {0};
        scene_start(s, &two);
        assert_int_equal(two.counts.restored, 0);
        assert_int_equal(two.counts.present, 3);
        scene_put(&two, "q5/result.pt2", "weights");
        scene_stop(&two);
        assert_int_equal(two.counts.made, 0); // no file of a known kind
        assert_int_equal(two.counts.kept, 0);
    }
    RK_AUTO(rk_torch_session) next = {0};
    s->cannot_keep = true;
    scene_start(s, &next);
    scene_expect(&next, "q5/result.pt2", "weights");
    scene_put(&next, "q5/more.py", "more");
    rk_expect_ok(rk_torch_session_end(&next, false, RK_TORCH_SUCCEEDED));
    assert_int_equal(next.counts.made, 1);
    assert_int_equal(next.counts.kept, 0);
}

static void stat_file(const rk_torch_session *session, const char *name, struct stat *out) {
    char path[2048];
    (void)snprintf(path, sizeof path, "%s/%s", session->directory.path, name);
    assert_int_equal(stat(path, out), 0);
}

static void times_and_permissions_are_kept(void **state) {
    scene *s = *state;
    struct stat before, after;
    char path[2048];
    {
        RK_AUTO(rk_torch_session) one = {0};
        scene_start(s, &one);
        scene_put(&one, "q5/run.py", "program");
        scene_put(&one, "q5/text.py", "text");
        scene_age(&one, "q5/run.py", 1000);
        (void)snprintf(path, sizeof path, "%s/q5/run.py", one.directory.path);
        assert_int_equal(chmod(path, 0755), 0);
        stat_file(&one, "q5/run.py", &before);
        scene_stop(&one);
    }
    RK_AUTO(rk_torch_session) two = {0};
    scene_move(s);
    scene_start(s, &two);
    stat_file(&two, "q5/run.py", &after);
    assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    assert_int_equal(after.st_mode & 07777, 0700);
    stat_file(&two, "q5/text.py", &after);
    assert_int_equal(after.st_mode & 07777, 0600);
}

static void a_changed_file_replaces_the_old_one(void **state) {
    scene *s = *state;
    scene_first(s);
    for (int i = 0; i < 3; i++) {
        RK_AUTO(rk_torch_session) next = {0};
        char text[32];
        (void)snprintf(text, sizeof text, "sizes %d", i);
        scene_start(s, &next);
        scene_put(&next, "dynamo/code_state_train.pkl", text);
        scene_stop(&next);
        assert_int_equal(next.counts.kept, 1);
        assert_int_equal(scene_packs(s), 2); // inductor, pgo
    }
    RK_AUTO(rk_torch_session) last = {0};
    scene_move(s);
    scene_start(s, &last);
    scene_expect(&last, "dynamo/code_state_train.pkl", "sizes 2");
    assert_int_equal(last.counts.restored, 3);
}

static void a_touched_file_is_not_new(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) two = {0};
    scene_first(s);
    scene_start(s, &two);
    scene_age(&two, "q5/kernel.py", 5);
    scene_stop(&two);
    assert_int_equal(two.counts.kept, 0);
}

static void other_machines_and_jobs_are_apart(void **state) {
    scene *s = *state;
    scene_first(s);
    char *path = NULL;
    for (unsigned i = 0; i < 3; i++) {
        RK_AUTO(rk_torch_session) one = {0};
        s->environment = i % 2;
        s->job = i == 2 ? "other" : "train";
        scene_start(s, &one);
        assert_int_equal(one.counts.present, i == 0 ? 3 : 0);
        if (path)
            assert_string_not_equal(path, one.directory.path);
        free(path);
        path = strdup(one.directory.path);
        scene_stop(&one);
    }
    free(path);
}

static void starts_at_the_same_time_keep_both(void **state) {
    scene *s = *state;
    {
        RK_AUTO(rk_torch_session) one = {0};
        RK_AUTO(rk_torch_session) two = {0};
        scene_start(s, &one);
        scene_start(s, &two);
        assert_string_equal(one.directory.path, two.directory.path);
        scene_put(&one, "q5/of_one.py", "1");
        scene_put(&two, "q5/of_two.py", "2");
        scene_age(&one, "q5/of_one.py", 60);
        scene_stop(&one); // a file of the last seconds may still be written
        assert_int_equal(one.counts.kept, 1);
        rk_torch_session_cleanup(&one); // as its process does when it ends
        scene_expect(&two, "q5/of_one.py", "1");
        scene_stop(&two);
        assert_int_equal(two.counts.kept, 1); // the first start has stored the other one
    }
    RK_AUTO(rk_torch_session) next = {0};
    scene_move(s);
    scene_start(s, &next);
    scene_expect(&next, "q5/of_one.py", "1");
    scene_expect(&next, "q5/of_two.py", "2");
}

static void a_killed_job_keeps_what_is_complete(void **state) {
    scene *s = *state;
    {
        RK_AUTO(rk_torch_session) one = {0};
        scene_start(s, &one);
        scene_put(&one, "q5/old.py", "old");
        scene_age(&one, "q5/old.py", 60);
        scene_put(&one, "q5/young.py", "half");
        scene_put(&one, "q5/cut.so", "\177ELF");
        scene_age(&one, "q5/cut.so", 60);
        rk_expect_ok(rk_torch_session_end(&one, true, RK_TORCH_KILLED));
        assert_int_equal(one.counts.kept, 1);
    }
    RK_AUTO(rk_torch_session) next = {0};
    scene_move(s);
    scene_start(s, &next);
    scene_expect(&next, "q5/old.py", "old");
    scene_expect(&next, "q5/young.py", NULL);
    scene_expect(&next, "q5/cut.so", NULL);
}

static void nothing_is_kept_if_it_may_not(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) one = {0};
    scene_start(s, &one);
    scene_put(&one, "q5/kernel.py", "code");
    rk_expect_ok(rk_torch_session_end(&one, false, RK_TORCH_SUCCEEDED));
    assert_int_equal(scene_packs(s), 0);
}

static void refresh(scene *s, rk_torch_end how) {
    RK_AUTO(rk_torch_session) two = {0};
    s->refreshes = true;
    scene_start(s, &two);
    scene_expect(&two, "q5/kernel.py", NULL);
    scene_put(&two, "q5/newer.py", "newer");
    scene_age(&two, "q5/newer.py", 60);
    rk_expect_ok(rk_torch_session_end(&two, true, how));
    s->refreshes = false;
}

static void refresh_begins_empty_and_replaces(void **state) {
    scene *s = *state;
    scene_first(s);
    refresh(s, RK_TORCH_SUCCEEDED);
    RK_AUTO(rk_torch_session) next = {0};
    scene_start(s, &next);
    scene_expect(&next, "q5/newer.py", "newer");
    scene_expect(&next, "q5/kernel.py", NULL);
    scene_expect(&next, "dynamo/code_state_train.pkl", "sizes"); // of another module
}

// Other starts still need what it did not come to make.
static void a_refresh_that_fails_replaces_nothing(void **state) {
    scene *s = *state;
    scene_first(s);
    refresh(s, RK_TORCH_FAILED);
    refresh(s, RK_TORCH_KILLED);
    RK_AUTO(rk_torch_session) next = {0};
    scene_move(s);
    scene_start(s, &next);
    scene_expect(&next, "q5/newer.py", "newer");
    scene_expect(&next, "q5/kernel.py", "code");
}

// Without a pack and without files, a directory of rekindle's would only be colder than torch's.
static void no_directory_if_it_does_not_help(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) none = {0};
    RK_AUTO(rk_torch_session) some = {0};
    s->cannot_keep = true;
    scene_start(s, &none);
    assert_null(none.directory.path);
    s->refreshes = true;
    scene_start(s, &none);
    assert_null(none.directory.path);
    s->refreshes = false;
    s->cannot_keep = false;
    scene_first(s);
    s->cannot_keep = true;
    scene_move(s);
    scene_start(s, &some);
    assert_non_null(some.directory.path);
    scene_expect(&some, "q5/kernel.py", "code");
}

// The same job with two stores has two directories: neither store gets the other's files.
static void stores_are_apart(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) one = {0};
    RK_AUTO(rk_torch_session) two = {0};
    scene_start(s, &one);
    (void)snprintf(s->store, sizeof s->store, "%s/other", s->root);
    scene_start(s, &two);
    assert_string_not_equal(one.directory.path, two.directory.path);
}

// A start within the tick of a clock in which the last job wrote a file.
static void only_what_the_job_wrote_is_made(void **state) {
    scene *s = *state;
    {
        RK_AUTO(rk_torch_session) one = {0};
        scene_start(s, &one);
        scene_put(&one, "q5/old.py", "old");
        scene_put(&one, "q5/changed.py", "old");
        rk_expect_ok(rk_torch_session_end(&one, false, RK_TORCH_SUCCEEDED));
        assert_int_equal(one.counts.made, 2);
    }
    RK_AUTO(rk_torch_session) two = {0};
    scene_start(s, &two);
    scene_put(&two, "q5/changed.py", "newer");
    scene_put(&two, "q5/new.py", "new");
    scene_age(&two, "q5/new.py", 3600); // a copy that keeps its time
    rk_expect_ok(rk_torch_session_end(&two, false, RK_TORCH_SUCCEEDED));
    assert_int_equal(two.counts.made, 2);
}

// A file that looks like a whole library.
static void put_library(const rk_torch_session *session, const char *name) {
    const Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3}};
    char path[2048];
    scene_put(session, name, "");
    (void)snprintf(path, sizeof path, "%s/%s", session->directory.path, name);
    rk_expect_ok(rk_fs_publish(path, &head, sizeof head, 0755));
}

static void put_header(const scene *s, const char *machine, const char *name, const char *text) {
    char path[2048], folder[1024];
    (void)snprintf(folder, sizeof folder, "%s/%s/precompiled_headers", s->root, machine);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    rk_expect_ok(rk_fs_make_dirs(folder, 0755));
    rk_expect_ok(rk_fs_publish(path, text, strlen(text), 0644));
    uint64_t then_s = rk_realtime_ns() / 1000000000 - 60;
    const struct timespec times[2] = {{.tv_sec = (time_t)then_s}, {.tv_sec = (time_t)then_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

// They lie in the user's own directory, and are written there on another machine.
static void precompiled_headers_are_kept(void **state) {
    scene *s = *state;
    char first_own[1024], second_own[1024], path[2048];
    RK_AUTO(rk_buf) data = {0};
    (void)snprintf(first_own, sizeof first_own, "%s/one", s->root);
    (void)snprintf(second_own, sizeof second_own, "%s/two", s->root);
    put_header(s, "one", "cabc.h.gch", "header");
    put_header(s, "one", "other.txt", "text");
    for (int kernels = 0; kernels < 2; kernels++) {
        RK_AUTO(rk_torch_session) one = {0};
        scene_move(s);
        s->own = first_own;
        scene_start(s, &one);
        scene_put(&one, "q5/code.py", "code");
        if (kernels)
            put_library(&one, "q5/kernel.so");
        scene_stop(&one);
        assert_int_equal(one.counts.kept, kernels ? 2 : 1); // headers belong to kernels
    }
    RK_AUTO(rk_torch_session) two = {0};
    s->own = second_own;
    scene_start(s, &two);
    (void)snprintf(path, sizeof path, "%s/precompiled_headers/cabc.h.gch", second_own);
    rk_expect_ok(rk_fs_read(path, 100, &data));
    assert_string_equal(rk_buf_text(&data), "header");
    scene_stop(&two);
    assert_int_equal(two.counts.kept, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(files_are_restored),
        TEST(the_directory_stays),
        TEST(times_and_permissions_are_kept),
        TEST(a_changed_file_replaces_the_old_one),
        TEST(a_touched_file_is_not_new),
        TEST(other_machines_and_jobs_are_apart),
        TEST(starts_at_the_same_time_keep_both),
        TEST(a_killed_job_keeps_what_is_complete),
        TEST(nothing_is_kept_if_it_may_not),
        TEST(refresh_begins_empty_and_replaces),
        TEST(a_refresh_that_fails_replaces_nothing),
        TEST(no_directory_if_it_does_not_help),
        TEST(stores_are_apart),
        TEST(only_what_the_job_wrote_is_made),
        TEST(precompiled_headers_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
