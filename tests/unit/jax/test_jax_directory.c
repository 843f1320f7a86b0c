// Files of packs in JAX's directory: the times of use, and the lock.
#include "jax/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "support/expect.h"
#include "support/faults.h"
#include "support/tempdir.h"

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ENTRY  "jit_f-" DIGITS
#define CHOICE "xla_gpu_per_fusion_autotune_cache_dir/abc.textproto"

static char *root;
static int folder;

static int set_up(void **state) {
    (void)state;
    root = rk_test_tempdir();
    folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder < 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_sys_replace(NULL);
    rk_clock_replace(NULL);
    (void)close(folder);
    rk_test_tempdir_remove(root);
    return 0;
}

static rk_pack_item item(const char *name, const char *content) {
    return (rk_pack_item){.name = rk_span_text(name),
                          .content = rk_span_text(content),
                          .modified_ns = UINT64_C(1700000000) * 1000000000};
}

static rk_err *restore(const char *name, const char *content, rk_pack_restored *sums) {
    const rk_pack_item one = item(name, content);
    return rk_jax_directory_restore(folder, root, &one, 1, sums);
}

static void put(const char *name, const void *content, size_t len) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    rk_expect_ok(rk_fs_publish(path, content, len, 0600));
}

// The content of a file. False if there is none.
static bool get(const char *name, rk_buf *out) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    rk_err *err = rk_fs_read(path, 1 << 20, out);
    bool there = !err;
    rk_err_free(err);
    return there;
}

static void assert_content(const char *name, const char *content) {
    RK_AUTO(rk_buf) text = {0};
    assert_true(get(name, &text));
    assert_string_equal(rk_buf_text(&text), content);
}

static void a_function_gets_a_time(void **state) {
    (void)state;
    RK_AUTO(rk_buf) time = {0};
    rk_pack_restored sums = {0};
    uint64_t before_ns = rk_realtime_ns();
    rk_expect_ok(restore(ENTRY "-cache", "code", &sums));
    assert_content(ENTRY "-cache", "code");
    assert_true(get(ENTRY "-atime", &time));
    assert_int_equal(time.len, 8);
    uint64_t used_ns = rk_load_u64le(time.data);
    assert_true(used_ns >= before_ns && used_ns <= rk_realtime_ns());
    assert_int_equal(sums.written, 1);
    assert_false(get(".lockfile", &time));
}

static void files_that_are_there_stay(void **state) {
    (void)state;
    rk_pack_restored sums = {0};
    put(ENTRY "-cache", "mine", 4);
    put(ENTRY "-atime", "12345678", 8);
    rk_expect_ok(restore(ENTRY "-cache", "code", &sums));
    assert_content(ENTRY "-cache", "mine");
    assert_content(ENTRY "-atime", "12345678");
    assert_int_equal(sums.present, 1);
}

// Such a file makes the eviction of JAX fail.
static void a_missing_time_is_added(void **state) {
    (void)state;
    RK_AUTO(rk_buf) time = {0};
    rk_pack_restored sums = {0};
    put(ENTRY "-cache", "mine", 4);
    rk_expect_ok(restore(ENTRY "-cache", "code", &sums));
    assert_true(get(ENTRY "-atime", &time));
    assert_int_equal(time.len, 8);
}

static void results_of_autotuning_have_no_time(void **state) {
    (void)state;
    RK_AUTO(rk_buf) none = {0};
    rk_pack_restored sums = {0};
    rk_expect_ok(restore(CHOICE, "choice", &sums));
    assert_content(CHOICE, "choice");
    assert_false(get("xla_gpu_per_fusion_autotune_cache_dir/abc-atime", &none));
}

static uint64_t now_ns;

static uint64_t fast_clock(void) {
    return now_ns += UINT64_C(1000000000); // a second for each look
}

static void a_held_lock_is_waited_for(void **state) {
    (void)state;
    RK_AUTO(rk_buf) none = {0};
    rk_pack_restored sums = {0};
    static const rk_clock_table clock = {.monotonic_ns_fn = fast_clock,
                                         .realtime_ns_fn = fast_clock};
    put(".lockfile", "", 0);
    rk_expect_ok(restore(ENTRY "-cache", "code", &sums));
    int held = openat(folder, ".lockfile", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    rk_clock_replace(&clock);
    rk_err *err = restore("jit_g-" DIGITS "-cache", "code", &sums);
    rk_clock_replace(NULL);
    assert_int_equal(rk_err_code(err), RK_UNAVAILABLE);
    assert_non_null(strstr(rk_err_message(err), ".lockfile for 10 seconds"));
    rk_err_free(err);
    assert_false(get("jit_g-" DIGITS "-cache", &none));
    assert_false(get("jit_g-" DIGITS "-atime", &none));
    (void)close(held);
    rk_expect_ok(restore("jit_g-" DIGITS "-cache", "code", &sums));
}

// A link in the place of the lock or the time is not followed.
static void links_are_not_followed(void **state) {
    (void)state;
    RK_AUTO(rk_buf) none = {0};
    rk_pack_restored sums = {0};
    assert_int_equal(symlinkat("outside", folder, ENTRY "-atime"), 0);
    rk_expect_ok(restore(ENTRY "-cache", "code", &sums));
    assert_false(get("outside", &none));
    assert_int_equal(symlinkat("outside", folder, ".lockfile"), 0);
    rk_err *err = restore("jit_g-" DIGITS "-cache", "code", &sums);
    assert_non_null(err);
    rk_err_free(err);
    assert_false(get("outside", &none));
}

static int (*real_openat)(int, const char *, int, mode_t);

static int full_disk(int dir_fd, const char *path, int flags, mode_t mode) {
    if (flags & O_CREAT) {
        errno = ENOSPC;
        return -1;
    }
    return real_openat(dir_fd, path, flags, mode);
}

static void a_full_disk_leaves_nothing(void **state) {
    (void)state;
    RK_AUTO(rk_buf) none = {0};
    rk_pack_restored sums = {0};
    rk_sys_table table = rk_sys_libc;
    real_openat = table.openat_fn;
    table.openat_fn = full_disk;
    rk_sys_replace(&table);
    rk_err *err = restore(ENTRY "-cache", "code", &sums);
    rk_sys_replace(NULL);
    assert_int_equal(rk_err_errno(err), ENOSPC);
    rk_err_free(err);
    assert_false(get(ENTRY "-cache", &none));
    assert_false(get(ENTRY "-atime", &none));
}

static void an_error_ends_one_file_alone(void **state) {
    (void)state;
    rk_pack_restored sums = {0};
    const rk_pack_item items[] = {item(CHOICE, "choice"), item(ENTRY "-cache", "code"),
                                  item("jit_g-" DIGITS "-cache", "code")};
    put("xla_gpu_per_fusion_autotune_cache_dir", "", 0); // no folder
    rk_err *err = rk_jax_directory_restore(folder, root, items, RK_ARRAY_LEN(items), &sums);
    assert_int_equal(rk_err_errno(err), ENOTDIR);
    rk_err_free(err);
    assert_content(ENTRY "-cache", "code");
    assert_int_equal(sums.failed, 1);
    assert_int_equal(sums.written, 2);
}

static void every_file_that_fails_is_counted(void **state) {
    (void)state;
    static const rk_clock_table clock = {.monotonic_ns_fn = fast_clock,
                                         .realtime_ns_fn = fast_clock};
    const rk_pack_item items[] = {item(ENTRY "-cache", "code"),
                                  item("jit_g-" DIGITS "-cache", "code"), item(CHOICE, "choice")};
    rk_pack_restored sums = {0}, full = {0};
    put(".lockfile", "", 0);
    int held = openat(folder, ".lockfile", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    rk_clock_replace(&clock);
    rk_err *err = rk_jax_directory_restore(folder, root, items, RK_ARRAY_LEN(items), &sums);
    rk_clock_replace(NULL);
    assert_int_equal(rk_err_code(err), RK_UNAVAILABLE);
    rk_err_free(err);
    (void)close(held);
    assert_int_equal(sums.failed, 3);
    assert_false(sums.is_full);
    rk_sys_table table = rk_sys_libc;
    real_openat = table.openat_fn;
    table.openat_fn = full_disk;
    rk_sys_replace(&table);
    err = rk_jax_directory_restore(folder, root, items, RK_ARRAY_LEN(items), &full);
    rk_sys_replace(NULL);
    assert_int_equal(rk_err_errno(err), ENOSPC);
    rk_err_free(err);
    assert_int_equal(full.failed, 3);
    assert_true(full.is_full);
}

// A function that is there is whole and has a time, whatever failed.
static void assert_sound(void) {
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) time = {0};
    if (!get(ENTRY "-cache", &code))
        return;
    assert_string_equal(rk_buf_text(&code), "code");
    assert_true(get(ENTRY "-atime", &time));
    assert_int_equal(time.len, 8);
}

static void clear(void) {
    (void)unlinkat(folder, ENTRY "-cache", 0);
    (void)unlinkat(folder, ENTRY "-atime", 0);
}

static void any_failure_leaves_a_sound_directory(void **state) {
    (void)state;
    put(".lockfile", "", 0);
    for (unsigned nth = 1;; nth++) {
        rk_pack_restored sums = {0};
        clear();
        rk_fault_begin(&(rk_fault_plan){
            .nth = nth, .calls = RK_FAULT_EVERY_SYSCALL & ~RK_FAULT_CLOSE, .error_number = EIO});
        rk_err *err = restore(ENTRY "-cache", "code", &sums);
        bool failed = rk_fault_end();
        assert_sound();
        if (!failed)
            rk_expect_ok(err);
        else
            rk_err_free(err);
        if (!failed)
            break;
    }
}

static void restore_and_die(void *context) {
    rk_pack_restored sums = {0};
    rk_fault_begin(&(rk_fault_plan){.nth = *(const unsigned *)context, .exits = true});
    rk_err_free(restore(ENTRY "-cache", "code", &sums));
    bool ignored = rk_fault_end();
    (void)ignored;
}

static void a_kill_leaves_a_sound_directory(void **state) {
    (void)state;
    put(".lockfile", "", 0);
    for (unsigned nth = 1;; nth++) {
        clear();
        int status = rk_fault_in_child(restore_and_die, &nth);
        RK_AUTO(rk_buf) code = {0};
        RK_AUTO(rk_buf) time = {0};
        bool there = get(ENTRY "-cache", &code);
        // A time that was cut off counts as an old one.
        assert_true(!there || get(ENTRY "-atime", &time));
        if (there)
            assert_string_equal(rk_buf_text(&code), "code");
        if (status != RK_FAULT_EXIT_STATUS)
            break;
    }
    assert_content(ENTRY "-cache", "code");
}

static void names_of_the_directory(void **state) {
    (void)state;
    static const char *const own[] = {".lockfile", ENTRY "-cache", ENTRY "-atime",
                                      "xla_gpu_kernel_cache_file", ".tmp-1-2"};
    static const char *const others[] = {"notes.txt", "cache", ".bashrc", "q5"};
    for (size_t i = 0; i < RK_ARRAY_LEN(own); i++)
        assert_true(rk_jax_directory_has_name(own[i]));
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        assert_false(rk_jax_directory_has_name(others[i]));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_function_gets_a_time),          TEST(files_that_are_there_stay),
        TEST(a_missing_time_is_added),         TEST(results_of_autotuning_have_no_time),
        TEST(a_held_lock_is_waited_for),       TEST(links_are_not_followed),
        TEST(a_full_disk_leaves_nothing),      TEST(any_failure_leaves_a_sound_directory),
        TEST(a_kill_leaves_a_sound_directory), TEST(names_of_the_directory),
        TEST(an_error_ends_one_file_alone),    TEST(every_file_that_fails_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
