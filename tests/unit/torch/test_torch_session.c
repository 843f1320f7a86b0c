// What a start of a job restores, and what it keeps.
#include "sessions.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "support/tempdir.h"

static int set_up(void **state) {
    static scene s;
    s = (scene){0};
    scene_begin(&s);
    *state = &s;
    return 0;
}

static int tear_down(void **state) {
    scene_end(*state);
    return 0;
}

// A first start that made three files.
static void first(scene *s) {
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

static void files_are_restored(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) two = {0};
    first(s);
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
    first(s);
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
    first(s);
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
    first(s);
    scene_start(s, &two);
    scene_age(&two, "q5/kernel.py", 5);
    scene_stop(&two);
    assert_int_equal(two.counts.kept, 0);
}

static void other_machines_and_jobs_are_apart(void **state) {
    scene *s = *state;
    first(s);
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
    first(s);
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
    first(s);
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
    first(s);
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

static int small_disk(const char *path, struct statvfs *out) {
    (void)path;
    *out = (struct statvfs){.f_bsize = 4096, .f_frsize = 4096, .f_blocks = 100, .f_bavail = 27};
    return 0;
}

// Three small files need three blocks, and a quarter of a hundred blocks must stay free.
static void a_restore_leaves_a_quarter_of_the_disk(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) two = {0};
    rk_sys_table table = rk_sys_libc;
    rk_err *trouble = NULL;
    first(s);
    scene_move(s);
    table.statvfs_fn = small_disk;
    rk_sys_replace(&table);
    rk_expect_ok(scene_try(s, &two, &trouble));
    rk_sys_replace(NULL);
    assert_non_null(strstr(rk_err_message(trouble), two.directory.path));
    assert_non_null(strstr(rk_err_message(trouble), "XDG_CACHE_HOME"));
    rk_expect_code(RK_RESOURCE_EXHAUSTED, trouble);
    assert_int_equal(two.counts.restored, 0);
    assert_int_equal(two.counts.not_restored, 3);
    assert_int_equal(rk_test_count_entries(two.directory.path), 0);
    scene_stop(&two);
    assert_int_equal(two.counts.kept, 0);
}

static unsigned writes_until_full, writes_that_fail;

static ssize_t full_write(int fd, const void *data, size_t len) {
    if (writes_until_full > 0)
        writes_until_full--;
    else if (writes_that_fail > 0) {
        writes_that_fail--;
        errno = ENOSPC;
        return -1;
    }
    return rk_sys_libc.write_fn(fd, data, len);
}

static void a_full_disk_stops_a_restore(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) two = {0};
    rk_sys_table table = rk_sys_libc;
    rk_err *trouble = NULL;
    first(s);
    scene_move(s);
    s->cannot_keep = true; // the store's own notes go on the same disk
    table.write_fn = full_write;
    writes_until_full = 0;
    writes_that_fail = 1; // another program frees space after that
    rk_sys_replace(&table);
    rk_expect_ok(scene_try(s, &two, &trouble));
    rk_sys_replace(NULL);
    assert_non_null(trouble);
    assert_non_null(strstr(rk_err_message(trouble), "free space there"));
    rk_err_free(trouble);
    assert_int_equal(two.counts.restored, 0);
    assert_int_equal(two.counts.not_restored, 3);
}

// The job would fail at its first kernel, and does not with torch's own directory.
static void no_directory_on_a_full_disk(void **state) {
    scene *s = *state;
    rk_sys_table table = rk_sys_libc;
    first(s);
    s->cannot_keep = true;
    table.write_fn = full_write;
    for (unsigned i = 0; i < 2; i++) {
        RK_AUTO(rk_torch_session) two = {0};
        rk_err *trouble = NULL;
        writes_until_full = 0;
        writes_that_fail = i == 0 ? UINT_MAX : 0;
        rk_sys_replace(&table);
        rk_err *err = scene_try(s, &two, &trouble);
        rk_sys_replace(NULL);
        assert_int_equal(two.directory.path == NULL, i == 0);
        assert_int_equal(err != NULL, i == 0);
        if (err)
            assert_non_null(strstr(rk_err_message(err), "XDG_CACHE_HOME"));
        rk_err_free(err);
        rk_expect_ok(trouble);
    }
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

static void put_cut(const rk_torch_session *session, const char *name, unsigned seconds) {
    scene_put(session, name, "\177ELF");
    scene_age(session, name, seconds);
}

// torch.compile loads a library that exists, and the job dies if its end is missing.
static void unfinished_files_are_removed(void **state) {
    scene *s = *state;
    {
        RK_AUTO(rk_torch_session) one = {0};
        scene_start(s, &one);
        scene_put(&one, "q5/empty.py", "code");
        scene_stop(&one);
        put_cut(&one, "q5/old.so", 60);
        put_cut(&one, "q5/young.so", 0);
        put_cut(&one, "q5/result.pt2", 60); // no file that is kept
        scene_put(&one, "q5/empty.py", ""); // the machine lost its power
        scene_age(&one, "q5/empty.py", 60);
        scene_put(&one, "q5/other.cpp", "code");
        RK_AUTO(rk_torch_session) beside = {0};
        scene_start(s, &beside);
        scene_expect(&beside, "q5/old.so", "\177ELF"); // another start may be writing it
    }
    RK_AUTO(rk_torch_session) two = {0};
    scene_start(s, &two);
    scene_expect(&two, "q5/old.so", NULL);
    scene_expect(&two, "q5/young.so", "\177ELF");
    scene_expect(&two, "q5/result.pt2", "\177ELF");
    scene_expect(&two, "q5/empty.py", "code");
    scene_expect(&two, "q5/other.cpp", "code");
    assert_int_equal(two.counts.restored, 1);
}

// A file where a pack has a folder.
static void one_bad_name_does_not_stop_the_rest(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) two = {0};
    rk_err *trouble = NULL;
    {
        RK_AUTO(rk_torch_session) one = {0};
        scene_start(s, &one);
        scene_put(&one, "fxgraph/ab/0123", "graph");
        scene_put(&one, "q5/kernel.py", "code");
        scene_stop(&one);
    }
    scene_move(s);
    {
        RK_AUTO(rk_torch_session) one = {0};
        s->refreshes = true; // restores nothing
        scene_start(s, &one);
        s->refreshes = false;
        char path[2048];
        (void)snprintf(path, sizeof path, "%s/fxgraph", one.directory.path);
        rk_expect_ok(rk_fs_publish(path, "x", 1, 0600));
    }
    rk_expect_ok(scene_try(s, &two, &trouble));
    assert_non_null(trouble);
    rk_err_free(trouble);
    scene_expect(&two, "q5/kernel.py", "code");
    assert_int_equal(two.counts.restored, 1);
    assert_int_equal(two.counts.not_restored, 1);
}

static int no_links(int from_fd, const char *from, int to_fd, const char *to) {
    (void)from_fd, (void)from, (void)to_fd, (void)to;
    errno = EPERM;
    return -1;
}

static void links_are_not_needed(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) two = {0};
    rk_sys_table table = rk_sys_libc;
    first(s);
    scene_move(s);
    s->cannot_keep = true;
    table.linkat_fn = no_links;
    rk_sys_replace(&table);
    scene_start(s, &two);
    rk_sys_replace(NULL);
    assert_int_equal(two.counts.restored, 3);
    scene_expect(&two, "q5/kernel.py", "code");
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

// Links are not followed, and other kinds of files are ignored.
static void strange_files_are_ignored(void **state) {
    scene *s = *state;
    char path[2048];
    RK_AUTO(rk_torch_session) one = {0};
    scene_start(s, &one);
    scene_put(&one, "q5/kernel.py", "code");
    (void)snprintf(path, sizeof path, "%s/q5/link.py", one.directory.path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    (void)snprintf(path, sizeof path, "%s/q5/pipe", one.directory.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof path, "%s/elsewhere", one.directory.path);
    assert_int_equal(symlink("/etc", path), 0);
    scene_stop(&one);
    assert_int_equal(one.counts.kept, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        TEST(a_restore_leaves_a_quarter_of_the_disk),
        TEST(a_full_disk_stops_a_restore),
        TEST(no_directory_on_a_full_disk),
        TEST(only_what_the_job_wrote_is_made),
        TEST(unfinished_files_are_removed),
        TEST(one_bad_name_does_not_stop_the_rest),
        TEST(links_are_not_needed),
        TEST(strange_files_are_ignored),
        TEST(precompiled_headers_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
