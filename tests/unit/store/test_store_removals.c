// The record of removed executables.
#include "sample.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/sys.h"
#include "store/gc.h"
#include "store/removals.h"
#include "support/tempdir.h"

typedef struct fixture {
    char *root;
    rk_store *store;
} fixture;

static int set_up(void **state) {
    fixture *self = calloc(1, sizeof *self);
    if (!self)
        return -1;
    self->root = rk_test_tempdir();
    sample_ok(rk_store_open(self->root, false, &self->store));
    *state = self;
    return 0;
}

static int tear_down(void **state) {
    fixture *self = *state;
    rk_store_free(self->store);
    rk_test_tempdir_remove(self->root);
    free(self);
    return 0;
}

static void put(const fixture *self, unsigned seed, char out_hex[RK_DIGEST_HEX_CHARS + 1]) {
    for (unsigned kind = RK_ENTRY_EXECUTABLE; kind <= RK_ENTRY_PROGRAM; kind++) {
        rk_entry entry = sample_entry((rk_entry_kind)kind, seed);
        rk_digest_to_hex(&entry.key.digest, out_hex);
        sample_ok(rk_store_put(self->store, &entry, NULL));
    }
}

static rk_removal find(const fixture *self, const char *hex, uint64_t after_ns,
                       uint64_t before_ns) {
    RK_AUTO(rk_buf) record = {0};
    sample_ok(rk_removals_read(self->store, &record));
    return rk_removals_find(&record, hex, after_ns, before_ns);
}

static void each_removal_is_recorded(void **state) {
    const fixture *self = *state;
    char removed[RK_DIGEST_HEX_CHARS + 1], collected[RK_DIGEST_HEX_CHARS + 1];
    uint64_t bytes, start_ns = rk_realtime_ns();
    rk_gc_report report;
    put(self, 1, removed);
    put(self, 2, collected);
    assert_int_equal(find(self, removed, 0, UINT64_MAX), RK_REMOVAL_NONE);
    sample_ok(rk_store_remove(self->store, removed, &bytes));
    const rk_gc_options all = {.max_bytes = 0, .older_than_ns = UINT64_MAX, .recent_too = true};
    sample_ok(rk_store_gc(self->store, &all, &report));
    assert_int_equal(find(self, removed, start_ns, UINT64_MAX), RK_REMOVAL_BY_HAND);
    assert_int_equal(find(self, collected, start_ns, UINT64_MAX), RK_REMOVAL_COLLECTED);
    assert_int_equal(find(self, collected, 0, start_ns), RK_REMOVAL_NONE);
    assert_int_equal(find(self, collected, UINT64_MAX, UINT64_MAX), RK_REMOVAL_NONE);
}

static void a_dry_run_records_nothing(void **state) {
    const fixture *self = *state;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_gc_report report;
    put(self, 1, hex);
    const rk_gc_options dry = {
        .max_bytes = 0, .older_than_ns = UINT64_MAX, .recent_too = true, .dry_run = true};
    sample_ok(rk_store_gc(self->store, &dry, &report));
    assert_int_equal(find(self, hex, 0, UINT64_MAX), RK_REMOVAL_NONE);
}

static void what_is_set_aside_is_recorded(void **state) {
    const fixture *self = *state;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    put(self, 1, hex);
    rk_key key = sample_key(1);
    assert_true(rk_store_quarantine(self->store, &key));
    assert_int_equal(find(self, hex, 0, UINT64_MAX), RK_REMOVAL_SET_ASIDE);
}

static void the_latest_lines_stay(void **state) {
    const fixture *self = *state;
    char first[RK_DIGEST_HEX_CHARS + 1], last[RK_DIGEST_HEX_CHARS + 1];
    rk_key key = sample_key(1);
    rk_digest_to_hex(&key.digest, first);
    key = sample_key(2);
    rk_digest_to_hex(&key.digest, last);
    RK_AUTO(rk_buf) lines = RK_BUF_INIT(8u << 20);
    rk_removals_add(&lines, RK_REMOVAL_EVICTED, first);
    for (int i = 0; i < 30000; i++)
        rk_removals_add(&lines, RK_REMOVAL_EVICTED, last);
    rk_removals_note(self->store, &lines);
    assert_int_equal(find(self, first, 0, UINT64_MAX), RK_REMOVAL_NONE);
    assert_int_equal(find(self, last, 0, UINT64_MAX), RK_REMOVAL_EVICTED);
    rk_removals_note_one(self->store, RK_REMOVAL_BY_HAND, first);
    assert_int_equal(find(self, first, 0, UINT64_MAX), RK_REMOVAL_BY_HAND);
}

static void a_file_of_another_program_stays(void **state) {
    static const char text[] = "notes on removals of furniture\n";
    const fixture *self = *state;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    uint64_t bytes;
    rk_autofree char *path = rk_path_join(self->root, "usage/removals");
    RK_AUTO(rk_buf) after = {0};
    put(self, 1, hex);
    sample_write_file(path, text, sizeof text - 1);
    sample_ok(rk_store_remove(self->store, hex, &bytes));
    sample_ok(rk_fs_read(path, 1 << 20, &after));
    assert_string_equal(rk_buf_text(&after), text);
    assert_int_equal(find(self, hex, 0, UINT64_MAX), RK_REMOVAL_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_removal_is_recorded),        TEST(a_dry_run_records_nothing),
        TEST(what_is_set_aside_is_recorded),   TEST(the_latest_lines_stay),
        TEST(a_file_of_another_program_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
