// Failing system calls and allocations while a bundle is written or read. After a failure nothing
// stays, and an earlier bundle of that name is unchanged.
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process.h"
#include "base/sys.h"
#include "support/faults.h"
#include "support/tempdir.h"

typedef struct place {
    char *directory, *path, *source;
    rk_buf old; // what is under `path`
} place;

static place make_place(void) {
    place self = {.directory = rk_test_tempdir()};
    self.path = fixture_path(self.directory, "a.rkb");
    self.source = fixture_path(self.directory, "source");
    fixture_write(self.path, "earlier");
    self.old = fixture_load(self.path);
    RK_AUTO(rk_buf) content = {0};
    fixture_add_noise(&content, 300000, 5);
    fixture_add_noise(&content, 300000, 5);
    fixture_save(self.source, rk_buf_span(&content));
    return self;
}

static void free_place(place *self) {
    rk_buf_cleanup(&self->old);
    free(self->path);
    free(self->source);
    rk_test_tempdir_remove(self->directory);
}

static rk_err *write_items(rk_bundle_writer *writer, int fd) {
    static const rk_bundle_pair pairs[] = {{{(const uint8_t *)"a", 1}, {(const uint8_t *)"b", 1}}};
    static const char text[] = "a text that repeats, a text that repeats, a text that repeats";
    rk_bundle_new_item item = fixture_item("one");
    item.attributes = (rk_bundle_pairs){pairs, 1};
    RK_TRY(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
    RK_TRY(rk_bundle_writer_add(writer, &item, rk_span_text(text)));
    item.name = rk_span_text("two");
    RK_TRY(rk_bundle_writer_add_fd(writer, &item, fd, 600000));
    item.name = rk_span_text("three"); // the same content: read twice, written once
    RK_TRY(rk_bundle_writer_add_fd(writer, &item, fd, 600000));
    item.name = rk_span_text("four");
    item.is_incompressible = true;
    return rk_bundle_writer_add(writer, &item, rk_span_text("short"));
}

static rk_err *write_bundle(const place *self, int fd) {
    rk_sign_secret secret;
    rk_sign_public public_key;
    rk_autobundle_writer writer = NULL;
    fixture_key("signer", &secret, &public_key);
    RK_TRY(rk_bundle_writer_begin(self->path, 0600, fixture_head(), &writer));
    RK_TRY(write_items(writer, fd));
    return rk_bundle_writer_finish(writer, &secret, &public_key);
}

static void assert_unchanged(const place *self) {
    RK_AUTO(rk_buf) now = fixture_load(self->path);
    assert_true(rk_span_equal(rk_buf_span(&now), rk_buf_span(&self->old)));
    assert_int_equal(rk_test_count_entries(self->directory), 2);
}

static int open_source(const place *self) {
    int fd = open(self->source, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

// True if the whole new bundle is there. Otherwise the old one must be there.
static bool is_replaced(const place *self) {
    RK_AUTO(rk_buf) now = fixture_load(self->path);
    assert_int_equal(rk_test_count_entries(self->directory), 2);
    rk_expect_ok(fixture_check(rk_buf_span(&now)));
    return !rk_span_equal(rk_buf_span(&now), rk_buf_span(&self->old));
}

// Returns how often the bundle was replaced in spite of an error.
static unsigned fail_each(const place *self, unsigned calls, int error_number, bool lasting) {
    rk_autofd fd = open_source(self);
    unsigned replaced = 0;
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){
            .nth = nth, .calls = calls, .error_number = error_number, .lasting = lasting});
        rk_err *err = write_bundle(self, fd);
        bool happened = rk_fault_end();
        rk_code code = rk_err_code(err);
        rk_err_free(err);
        if (!happened) {
            assert_int_equal(code, RK_OK);
            return replaced;
        }
        if (is_replaced(self)) {
            replaced += code != RK_OK; // else without the call: removing leftovers, for example
            fixture_save(self->path, rk_buf_span(&self->old));
        } else {
            assert_int_not_equal(code, RK_OK);
        }
        assert_unchanged(self);
    }
}

static void nth_system_call_fails(void **state) {
    (void)state;
    place self = make_place();
    // The bundle is complete if only the folder's sync failed.
    assert_int_equal(fail_each(&self, 0, EIO, false), 1);
    free_place(&self);
}

static void full_disk(void **state) {
    (void)state;
    static const int numbers[] = {ENOSPC, EDQUOT, EROFS, EFBIG};
    for (size_t i = 0; i < RK_ARRAY_LEN(numbers); i++) {
        place self = make_place();
        unsigned replaced = fail_each(&self, RK_FAULT_WRITE | RK_FAULT_OPEN, numbers[i], true);
        assert_int_equal(replaced, 0);
        free_place(&self);
    }
    place self = make_place();
    rk_autofd fd = open_source(&self);
    rk_fault_begin(&(rk_fault_plan){
        .nth = 2, .calls = RK_FAULT_WRITE, .error_number = ENOSPC, .lasting = true});
    rk_err *err = write_bundle(&self, fd);
    assert_true(rk_fault_end());
    fixture_expect(err, RK_RESOURCE_EXHAUSTED, self.path);
    assert_unchanged(&self);
    free_place(&self);
}

static void write_in_child(void *context) {
    const place *self = context;
    rk_autofd fd = open_source(self);
    rk_err_drop(write_bundle(self, fd), "the parent looks at the files");
}

// A killed writer may leave its temporary file, and never a part of a bundle under the path.
static void exit_at_nth_system_call(void **state) {
    (void)state;
    unsigned complete = 0, exited = 0;
    for (unsigned nth = 1;; nth++) {
        place self = make_place();
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .exits = true});
        int status = rk_fault_in_child(write_in_child, &self);
        (void)rk_fault_end();
        RK_AUTO(rk_buf) now = fixture_load(self.path);
        rk_expect_ok(fixture_check(rk_buf_span(&now)));
        complete += !rk_span_equal(rk_buf_span(&now), rk_buf_span(&self.old));
        free_place(&self);
        if (status != RK_FAULT_EXIT_STATUS)
            break;
        exited++;
    }
    assert_true(exited > 10);
    assert_true(complete >= 2 && complete <= 4); // at the calls after the renaming
}

static void nth_allocation_fails(void **state) {
    (void)state;
    place self = make_place();
    rk_autofd fd = open_source(&self);
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = write_bundle(&self, fd);
        bool happened = rk_fault_end();
        rk_code code = rk_err_code(err);
        rk_err_free(err);
        if (!happened)
            break;
        if (code == RK_OK) { // while leftovers were removed
            assert_true(is_replaced(&self));
            fixture_save(self.path, rk_buf_span(&self.old));
            continue;
        }
        assert_int_equal(code, RK_RESOURCE_EXHAUSTED);
        assert_unchanged(&self);
    }
    free_place(&self);
}

static void short_and_interrupted_calls(void **state) {
    (void)state;
    place self = make_place();
    rk_autofd fd = open_source(&self);
    rk_expect_ok(write_bundle(&self, fd));
    RK_AUTO(rk_buf) expected = fixture_load(self.path);
    rk_fault_begin(&(rk_fault_plan){.most_io_bytes = 1000, .interrupts = true});
    rk_err *written = write_bundle(&self, fd);
    rk_bundle *bundle = NULL;
    rk_err *opened = rk_bundle_open(self.path, &bundle);
    rk_err *checked = opened ? NULL : rk_bundle_check(bundle, NULL, NULL);
    rk_bundle_free(bundle);
    (void)rk_fault_end();
    rk_expect_ok(written);
    rk_expect_ok(opened);
    rk_expect_ok(checked);
    RK_AUTO(rk_buf) got = fixture_load(self.path);
    assert_true(rk_span_equal(rk_buf_span(&got), rk_buf_span(&expected)));
    free_place(&self);
}

static rk_err *read_all(const char *path) {
    rk_autobundle bundle = NULL;
    RK_AUTO(rk_buf) whole = {0};
    RK_TRY(rk_bundle_open(path, &bundle));
    RK_TRY(rk_bundle_check(bundle, NULL, NULL));
    const rk_bundle_module *module = rk_bundle_module_find(bundle, "pjrt");
    return rk_bundle_read_whole(bundle, module, module->items, 1 << 20, &whole);
}

static void reading_fails(void **state) {
    (void)state;
    place self = make_place();
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = read_all(self.path);
        bool happened = rk_fault_end();
        rk_code code = rk_err_code(err);
        rk_err_free(err);
        assert_int_equal(code, happened ? RK_RESOURCE_EXHAUSTED : RK_OK);
        if (!happened)
            break;
    }
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){
            .nth = nth,
            .calls = RK_FAULT_OPEN | RK_FAULT_READ | RK_FAULT_FSTAT,
            .error_number = EIO,
        });
        rk_err *err = read_all(self.path);
        bool happened = rk_fault_end();
        assert_true(!happened || strstr(rk_err_message(err), self.path));
        assert_int_equal(rk_err_errno(err), happened ? EIO : 0);
        rk_err_free(err);
        if (!happened)
            break;
    }
    free_place(&self);
}

static void dropped_writer_leaves_nothing(void **state) {
    (void)state;
    place self = make_place();
    rk_autofd fd = open_source(&self);
    rk_bundle_writer *writer = NULL;
    rk_expect_ok(rk_bundle_writer_begin(self.path, 0600, fixture_head(), &writer));
    assert_true(rk_test_count_entries(self.directory) <= 3); // the new file may have no name yet
    rk_expect_ok(write_items(writer, fd));
    assert_true(rk_bundle_writer_file_bytes(writer) > 300000);
    rk_bundle_writer_free(writer);
    rk_bundle_writer_free(NULL);
    assert_unchanged(&self);
    free_place(&self);
}

// A file system without O_TMPFILE, or one without /proc.
static int refuse_nameless(int dir_fd, const char *path, int flags, mode_t mode) {
    if ((flags & O_TMPFILE) != O_TMPFILE)
        return rk_sys_libc.openat_fn(dir_fd, path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
}

static int hide_proc(const char *path, struct stat *out_stat) {
    if (strncmp(path, "/proc/", 6) != 0)
        return rk_sys_libc.lstat_fn(path, out_stat);
    errno = ENOENT;
    return -1;
}

static void file_systems_without_nameless_files(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        place self = make_place();
        rk_autofd fd = open_source(&self);
        rk_bundle_writer *writer = NULL;
        rk_sys_table table = rk_sys_libc;
        table.openat_fn = i ? table.openat_fn : refuse_nameless;
        table.lstat_fn = i ? hide_proc : table.lstat_fn;
        rk_sys_replace(&table);
        rk_expect_ok(rk_bundle_writer_begin(self.path, 0600, fixture_head(), &writer));
        assert_int_equal(rk_test_count_entries(self.directory), 3);
        rk_bundle_writer_free(writer);
        assert_unchanged(&self);
        rk_expect_ok(write_bundle(&self, fd));
        rk_sys_replace(NULL);
        assert_true(is_replaced(&self));
        free_place(&self);
    }
}

// The temporary file of a killed writer is removed, and nothing else.
static void leftovers_are_removed(void **state) {
    (void)state;
    place self = make_place();
    rk_autofd fd = open_source(&self);
    rk_process process;
    static const char *const others[] = {".tmp-notes", ".tmp-1-2-3"};
    RK_AUTO(rk_buf) name = {0};
    rk_process_self(&process);
    process.start_ticks += 1; // the same process id, of an earlier process
    rk_buf_add_text(&name, ".tmp-");
    rk_process_add_text(&process, &name);
    rk_buf_add_text(&name, "-0123456789abcdef");
    char *left = fixture_path(self.directory, rk_buf_text(&name));
    fixture_write(left, "a part of a bundle");
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++) {
        char *path = fixture_path(self.directory, others[i]);
        fixture_write(path, "of another program");
        free(path);
    }
    rk_expect_ok(write_bundle(&self, fd));
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(rk_test_count_entries(self.directory), 4);
    free(left);
    free_place(&self);
}

static void files_that_change_are_refused(void **state) {
    (void)state;
    place self = make_place();
    rk_autofd fd = open_source(&self);
    static const uint64_t wrong[] = {0, 1, 599999, 600001, (uint64_t)1 << 40};
    for (size_t i = 0; i < RK_ARRAY_LEN(wrong); i++) {
        rk_autobundle_writer writer = NULL;
        rk_bundle_new_item item = fixture_item("one");
        rk_expect_ok(rk_bundle_writer_begin(self.path, 0600, fixture_head(), &writer));
        rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
        fixture_expect(rk_bundle_writer_add_fd(writer, &item, fd, wrong[i]), RK_ABORTED,
                       "item one: the file has not");
        // A failed writer publishes nothing.
        fixture_expect(rk_bundle_writer_add(writer, &item, rk_span_text("x")),
                       RK_FAILED_PRECONDITION, "given up after an error");
        fixture_expect(rk_bundle_writer_finish(writer, NULL, NULL), RK_FAILED_PRECONDITION,
                       "given up after an error");
    }
    assert_unchanged(&self);
    free_place(&self);
}

static void calls_in_the_wrong_order(void **state) {
    (void)state;
    place self = make_place();
    rk_autobundle_writer writer = NULL;
    rk_bundle_new_item item = fixture_item("one");
    rk_expect_ok(rk_bundle_writer_begin(self.path, 0600, fixture_head(), &writer));
    fixture_expect(rk_bundle_writer_add(writer, &item, rk_span_text("x")), RK_FAILED_PRECONDITION,
                   "an item needs a module");
    rk_expect_ok(rk_bundle_writer_finish(writer, NULL, NULL));
    fixture_expect(rk_bundle_writer_finish(writer, NULL, NULL), RK_FAILED_PRECONDITION,
                   "is finished");
    fixture_expect(rk_bundle_writer_begin_module(writer, "pjrt", NULL), RK_FAILED_PRECONDITION,
                   "is finished");
    free_place(&self);
}

// The header and the attributes that a reader would refuse.
static void writer_refuses_wrong_texts(void **state) {
    (void)state;
    place self = make_place();
    rk_bundle_writer *writer = NULL;
    const rk_bundle_pair bad[] = {{rk_span_text(""), rk_span_text("x")},
                                  {rk_span_text("a\n"), rk_span_text("x")},
                                  {rk_span_text("a"), rk_span_text("\xff")}};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++) {
        rk_bundle_head head = {.made_with = {&bad[i], 1}};
        fixture_expect(rk_bundle_writer_begin(self.path, 0600, &head, &writer), RK_INVALID_ARGUMENT,
                       "under \"made_with\"");
    }
    const rk_bundle_pair twice[] = {{rk_span_text("a"), rk_span_text("x")},
                                    {rk_span_text("a"), rk_span_text("y")}};
    rk_bundle_head head = {.annotations = {twice, 2}};
    fixture_expect(rk_bundle_writer_begin(self.path, 0600, &head, &writer), RK_INVALID_ARGUMENT,
                   "\"a\" occurs twice");
    rk_expect_ok(rk_bundle_writer_begin(self.path, 0600, fixture_head(), &writer));
    rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
    rk_bundle_new_item item = fixture_item("one");
    item.attributes = (rk_bundle_pairs){twice, 2};
    fixture_expect(rk_bundle_writer_add(writer, &item, rk_span_text("x")), RK_INVALID_ARGUMENT,
                   "\"a\" occurs twice");
    item.attributes = (rk_bundle_pairs){bad, 3};
    fixture_expect(rk_bundle_writer_add(writer, &item, rk_span_text("x")), RK_INVALID_ARGUMENT,
                   "has an empty name");
    item.attributes.count = 65;
    fixture_expect(rk_bundle_writer_add(writer, &item, rk_span_text("x")), RK_OUT_OF_RANGE,
                   "more than the 64 allowed");
    rk_bundle_writer_free(writer);
    assert_unchanged(&self);
    free_place(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nth_system_call_fails),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(exit_at_nth_system_call),
        cmocka_unit_test(nth_allocation_fails),
        cmocka_unit_test(short_and_interrupted_calls),
        cmocka_unit_test(reading_fails),
        cmocka_unit_test(dropped_writer_leaves_nothing),
        cmocka_unit_test(file_systems_without_nameless_files),
        cmocka_unit_test(leftovers_are_removed),
        cmocka_unit_test(files_that_change_are_refused),
        cmocka_unit_test(calls_in_the_wrong_order),
        cmocka_unit_test(writer_refuses_wrong_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
