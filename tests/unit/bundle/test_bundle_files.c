// Files that are added by several threads: the bundle is the same as if they were added one after
// the other.
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/parallel.h"
#include "base/relay.h"
#include "support/faults.h"
#include "support/tempdir.h"

enum { FILES_MAX = 24, LARGE_BYTES = 3 * RK_RELAY_PART_BYTES + 77 };

// What happens to a file.
typedef enum fate { KEPT, LEFT_OUT, NOT_KEPT } fate;

typedef struct file {
    size_t len;
    unsigned seed; // of the content
    fate fate;
    // While it is added:
    rk_hasher whole;
    rk_digest before; // given to the tap last
    size_t tapped;
    bool is_judged;
} file;

typedef struct place {
    char *directory, *path;
    file files[FILES_MAX];
    size_t count, ended, stepped;
    char names[FILES_MAX][32];
} place;

static const rk_bundle_pair pair = {{(const uint8_t *)"a", 1}, {(const uint8_t *)"b", 1}};

static place make_place(const file *files, size_t count) {
    place self = {.directory = rk_test_tempdir(), .count = count};
    self.path = fixture_path(self.directory, "a.rkb");
    memcpy(self.files, files, count * sizeof *files);
    for (size_t i = 0; i < count; i++) {
        RK_AUTO(rk_buf) content = {0};
        (void)snprintf(self.names[i], sizeof self.names[i], "file%zu", i);
        char *path = fixture_path(self.directory, self.names[i]);
        fixture_add_noise(&content, files[i].len, files[i].seed);
        fixture_save(path, rk_buf_span(&content));
        free(path);
    }
    return self;
}

static void free_place(place *self) {
    free(self->path);
    rk_test_tempdir_remove(self->directory);
}

static int open_file(const place *self, size_t index) {
    RK_AUTO(rk_buf) path = {0};
    rk_buf_add_format(&path, "%s/%s", self->directory, self->names[index]);
    return path.failed ? -1 : open(rk_buf_text(&path), O_RDONLY | O_CLOEXEC);
}

static void add(void *context, rk_span part) {
    file *one = context;
    rk_hasher_add(&one->whole, part.data, part.len);
}

static void tap(void *context, rk_span part, const rk_hasher *before) {
    file *one = context;
    rk_hasher hasher = *before;
    rk_hasher_finish(&hasher, &one->before);
    one->tapped += part.len;
}

static rk_err *open_next(void *context, size_t index, int *out_fd, uint64_t *out_len,
                         rk_bundle_watcher *out_watcher) {
    place *self = context;
    file *one = &self->files[index];
    if (one->fate == LEFT_OUT)
        return NULL;
    *out_fd = open_file(self, index);
    if (*out_fd < 0)
        return rk_err_no_memory();
    *out_len = one->len;
    one->tapped = 0;
    rk_hasher_init(&one->whole);
    if (index % 4)
        *out_watcher = (rk_bundle_watcher){.context = one, .add = add, .tap = tap};
    return NULL;
}

static void step(void *context, size_t bytes) {
    ((place *)context)->stepped += bytes;
}

static rk_err *judge(void *context, size_t index) {
    ((place *)context)->files[index].is_judged = true;
    return NULL;
}

static rk_err *end(void *context, size_t index, rk_bundle_new_item *out_item, bool *out_keep) {
    place *self = context;
    assert_true(self->files[index].is_judged);
    assert_true(index >= self->ended);
    self->ended = index + 1;
    *out_keep = self->files[index].fate == KEPT;
    *out_item = fixture_item(self->names[index]);
    out_item->attributes = (rk_bundle_pairs){&pair, 1};
    return NULL;
}

static rk_err *add_together(place *self, size_t threads, rk_bundle_writer *writer) {
    const rk_bundle_files files = {self,      self->count, LARGE_BYTES, threads,
                                   open_next, step,        judge,       end};
    self->ended = self->stepped = 0;
    return rk_bundle_writer_add_files(writer, &files);
}

static rk_err *add_one_by_one(const place *self, rk_bundle_writer *writer) {
    rk_err *err = NULL;
    for (size_t i = 0; i < self->count && !err; i++) {
        rk_autofd fd = open_file(self, i);
        rk_bundle_new_item item = fixture_item(self->names[i]);
        item.attributes = (rk_bundle_pairs){&pair, 1};
        item.is_incompressible = true;
        if (self->files[i].fate == KEPT)
            err = rk_bundle_writer_add_fd(writer, &item, fd, self->files[i].len);
    }
    return err;
}

// `threads` 0: one by one. An item before and one after show that both ways can be mixed.
static rk_err *write_bundle(place *self, size_t threads) {
    rk_autobundle_writer writer = NULL;
    rk_bundle_new_item item = fixture_item("before");
    RK_TRY(rk_bundle_writer_begin(self->path, 0600, fixture_head(), &writer));
    RK_TRY(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
    RK_TRY(rk_bundle_writer_add(writer, &item, rk_span_text("before")));
    RK_TRY(threads ? add_together(self, threads, writer) : add_one_by_one(self, writer));
    item.name = rk_span_text("behind");
    RK_TRY(rk_bundle_writer_add(writer, &item, rk_span_text("behind")));
    return rk_bundle_writer_finish(writer, NULL, NULL);
}

static void check_watchers(const place *self) {
    size_t all = 0;
    for (size_t i = 0; i < self->count; i++) {
        RK_AUTO(rk_buf) content = {0};
        rk_digest digest, expected;
        if (self->files[i].fate == LEFT_OUT)
            continue;
        all += self->files[i].len;
        if (i % 4 == 0)
            continue;
        fixture_add_noise(&content, self->files[i].len, self->files[i].seed);
        rk_hasher hasher = self->files[i].whole;
        rk_hasher_finish(&hasher, &digest);
        rk_digest_of(rk_buf_span(&content), &expected);
        assert_true(rk_digest_equal(&digest, &expected));
        assert_int_equal(self->files[i].tapped, self->files[i].len);
    }
    assert_int_equal(self->stepped, all);
}

static void compare_ways(const file *files, size_t count) {
    place self = make_place(files, count);
    rk_expect_ok(write_bundle(&self, 0));
    RK_AUTO(rk_buf) expected = fixture_load(self.path);
    rk_expect_ok(fixture_check(rk_buf_span(&expected)));
    for (size_t threads = 1; threads <= RK_PARALLEL_THREADS_MAX; threads++) {
        for (int round = 0; round < 5; round++) {
            rk_expect_ok(write_bundle(&self, threads));
            RK_AUTO(rk_buf) got = fixture_load(self.path);
            assert_true(rk_span_equal(rk_buf_span(&got), rk_buf_span(&expected)));
            check_watchers(&self);
        }
    }
    free_place(&self);
}

static void same_bundle(void **state) {
    (void)state;
    file many[FILES_MAX];
    for (unsigned i = 0; i < FILES_MAX; i++)
        many[i] = (file){.len = i * 7919u % 200000, .seed = i};
    many[7].len = LARGE_BYTES;
    compare_ways(many, FILES_MAX);
    compare_ways(many, 1);
    compare_ways(many, 0);
}

// The files behind one that is not kept move.
static void some_files_are_not_kept(void **state) {
    (void)state;
    file many[FILES_MAX];
    for (unsigned i = 0; i < FILES_MAX; i++)
        many[i] = (file){.len = i * 7919u % 200000, .seed = i};
    many[0].fate = many[23].fate = LEFT_OUT;
    many[2].fate = many[9].fate = many[22].fate = NOT_KEPT;
    many[9].len = LARGE_BYTES;
    many[5].seed = many[4].seed; // the same content twice: written once
    many[5].len = many[4].len;
    compare_ways(many, FILES_MAX);
    many[2].fate = many[4].fate = LEFT_OUT;
    compare_ways(many, FILES_MAX);
    for (unsigned i = 0; i < FILES_MAX; i++)
        many[i].fate = NOT_KEPT;
    compare_ways(many, FILES_MAX);
}

static void wrong_lengths_are_refused(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= RK_PARALLEL_THREADS_MAX; threads++) {
        const file three[] = {{.len = 100000}, {.len = 1000, .seed = 1}, {.len = 10, .seed = 2}};
        place self = make_place(three, 3);
        self.files[1].len++;
        fixture_expect(write_bundle(&self, threads), RK_ABORTED, "the file has not 1001 bytes");
        assert_int_equal(rk_test_count_entries(self.directory), 3);
        free_place(&self);
    }
}

// After a fault nothing stays.
static void fail_each(unsigned calls, int error_number) {
    const file three[] = {{.len = 300000},
                          {.len = 100, .seed = 1, .fate = NOT_KEPT},
                          {.len = LARGE_BYTES, .seed = 2}};
    place self = make_place(three, 3);
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = calls, .error_number = error_number});
        rk_err *err = write_bundle(&self, 1 + nth % 2);
        bool happened = rk_fault_end();
        assert_true(happened || !err);
        rk_err_free(err);
        assert_int_equal(rk_test_count_entries(self.directory), err ? 3 : 4);
        if (!err)
            (void)remove(self.path);
        if (!happened)
            break;
    }
    free_place(&self);
}

static void nth_call_fails(void **state) {
    (void)state;
    fail_each(RK_FAULT_READ | RK_FAULT_WRITE | RK_FAULT_UTIME, EIO);
    fail_each(RK_FAULT_ALLOC, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bundle),
        cmocka_unit_test(some_files_are_not_kept),
        cmocka_unit_test(wrong_lengths_are_refused),
        cmocka_unit_test(nth_call_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
