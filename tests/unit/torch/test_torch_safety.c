// What could make a job fail that works without rekindle: a full disk, unfinished files, kernels in
// part.
#include "sessions.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "support/tempdir.h"

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
    scene_first(s);
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
    scene_first(s);
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
    scene_first(s);
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
        put_cut(&one, "q5/young.so", 10);
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
    scene_first(s);
    scene_move(s);
    s->cannot_keep = true;
    table.linkat_fn = no_links;
    rk_sys_replace(&table);
    scene_start(s, &two);
    rk_sys_replace(NULL);
    assert_int_equal(two.counts.restored, 3);
    scene_expect(&two, "q5/kernel.py", "code");
}

static void put_group(const rk_torch_session *session, const char *folder, const char *cubin) {
    char name[256], text[8192];
    const char *path = session->directory.path;
    (void)snprintf(name, sizeof name, "triton/%s/k.json", folder);
    scene_put(session, name, "{}");
    (void)snprintf(name, sizeof name, "triton/%s/__grp__k.json", folder);
    (void)snprintf(text, sizeof text,
                   "{\"child_paths\": {\"k.json\": \"%s/triton/%s/k.json\", \"k.cubin\": \"%s\"}}",
                   path, folder, cubin);
    scene_put(session, name, text);
}

// Triton takes a kernel whose metadata is there, and dies if another file of it is not.
static void kernels_of_triton_are_whole_or_not_there(void **state) {
    scene *s = *state;
    char cubin[4096];
    {
        RK_AUTO(rk_torch_session) one = {0};
        scene_start(s, &one);
        scene_put(&one, "triton/WHOLE/k.cubin", "code");
        (void)snprintf(cubin, sizeof cubin, "%s/triton/WHOLE/k.cubin", one.directory.path);
        put_group(&one, "WHOLE", cubin);
        put_group(&one, "PART", "/nowhere/k.cubin");
        scene_put(&one, "triton/OTHER/__grp__k.json",
                  "{\"child_paths\": {\"k.json\": \"/nowhere\"}}");
        scene_put(&one, "triton/NONE/__grp__k.json", "[]");
        scene_stop(&one);
    }
    RK_AUTO(rk_torch_session) two = {0};
    scene_start(s, &two);
    scene_expect(&two, "triton/PART/__grp__k.json", NULL);
    static const char *const kept[] = {"WHOLE", "OTHER", "NONE"};
    for (size_t i = 0; i < RK_ARRAY_LEN(kept); i++) {
        char name[256];
        (void)snprintf(name, sizeof name, "triton/%s/__grp__k.json", kept[i]);
        char *text = scene_get(&two, name);
        assert_non_null(text);
        free(text);
    }
    scene_expect(&two, "triton/PART/k.json", "{}");
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_restore_leaves_a_quarter_of_the_disk),
        TEST(a_full_disk_stops_a_restore),
        TEST(no_directory_on_a_full_disk),
        TEST(unfinished_files_are_removed),
        TEST(one_bad_name_does_not_stop_the_rest),
        TEST(links_are_not_needed),
        TEST(kernels_of_triton_are_whole_or_not_there),
        TEST(strange_files_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
