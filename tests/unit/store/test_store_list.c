// Reading by a key prefix, visiting, and removing entries.
#include "sample.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
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

// A key whose digest begins with these bytes.
static rk_key key_beginning(uint8_t first, uint8_t second, uint8_t third) {
    rk_key key = sample_key(1);
    key.digest.bytes[0] = first;
    key.digest.bytes[1] = second;
    key.digest.bytes[2] = third;
    return key;
}

static uint64_t put(fixture *self, rk_entry_kind kind, const rk_key *key) {
    rk_entry entry = sample_entry(kind, 1);
    entry.key = *key;
    sample_ok(rk_store_put(self->store, &entry, NULL));
    RK_AUTO(rk_buf) data = {0};
    sample_ok(rk_entry_encode(&entry, &data));
    return data.len;
}

static void assert_read_fails(fixture *self, const char *prefix, rk_code code) {
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_fails(rk_store_read(self->store, RK_ENTRY_EXECUTABLE, prefix, RK_WANT_PAYLOAD, &lookup),
                 code);
    assert_false(lookup.found);
}

static void reads_by_prefix(void **state) {
    fixture *self = *state;
    rk_key keys[] = {key_beginning(0xab, 0xcd, 0x00), key_beginning(0xab, 0xcd, 0x01),
                     key_beginning(0xab, 0xce, 0x00)};
    assert_read_fails(self, "abcd", RK_NOT_FOUND);
    for (size_t i = 0; i < RK_ARRAY_LEN(keys); i++)
        (void)put(self, RK_ENTRY_EXECUTABLE, &keys[i]);
    (void)put(self, RK_ENTRY_PROGRAM, &keys[0]);
    assert_read_fails(self, "abc", RK_INVALID_ARGUMENT);
    assert_read_fails(self, "", RK_INVALID_ARGUMENT);
    assert_read_fails(self, "ABCE", RK_INVALID_ARGUMENT);
    assert_read_fails(self, "../../abcd", RK_INVALID_ARGUMENT);
    assert_read_fails(self, "abcg", RK_INVALID_ARGUMENT);
    assert_read_fails(self, "abcd", RK_INVALID_ARGUMENT); // ambiguous
    assert_read_fails(self, "abcf", RK_NOT_FOUND);
    assert_read_fails(self, "cdef", RK_NOT_FOUND);
    char hex[RK_DIGEST_HEX_CHARS + 2];
    for (size_t i = 0; i < RK_ARRAY_LEN(keys); i++) {
        rk_digest_to_hex(&keys[i].digest, hex);
        for (size_t len = i == 2 ? 4 : 6; len <= RK_DIGEST_HEX_CHARS; len += 29) {
            char prefix[RK_DIGEST_HEX_CHARS + 1] = {0};
            memcpy(prefix, hex, len);
            RK_AUTO(rk_store_lookup) lookup = {0};
            sample_ok(
                rk_store_read(self->store, RK_ENTRY_EXECUTABLE, prefix, RK_WANT_PAYLOAD, &lookup));
            assert_true(lookup.found);
            assert_true(rk_key_equal(&lookup.view.entry.key, &keys[i]));
            assert_true(lookup.view.entry.payload.len > 0);
        }
    }
    hex[RK_DIGEST_HEX_CHARS] = '0';
    hex[RK_DIGEST_HEX_CHARS + 1] = '\0';
    assert_read_fails(self, hex, RK_INVALID_ARGUMENT);
    RK_AUTO(rk_store_lookup) program = {0};
    sample_ok(rk_store_read(self->store, RK_ENTRY_PROGRAM, "abcd", RK_WANT_HEAD, &program));
    assert_true(program.found);
    assert_int_equal(program.view.entry.kind, RK_ENTRY_PROGRAM);
    assert_int_equal(program.view.entry.payload.len, 0);
    assert_true(program.view.payload_raw_bytes > 0);
}

static void reading_moves_nothing(void **state) {
    fixture *self = *state;
    rk_key key = key_beginning(0xab, 0xcd, 0x00);
    rk_key other = key_beginning(0xab, 0xce, 0x00);
    (void)put(self, RK_ENTRY_EXECUTABLE, &key);
    char *path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &key);
    char *wrong = sample_path(self->root, RK_ENTRY_EXECUTABLE, &other);
    assert_int_equal(link(path, wrong), 0);
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_read(self->store, RK_ENTRY_EXECUTABLE, "abce", RK_WANT_HEAD, &lookup));
    assert_false(lookup.found);
    assert_int_equal(lookup.fault, RK_ENTRY_OTHER_KEY);
    assert_int_equal(unlink(wrong), 0);
    assert_int_equal(truncate(path, 20), 0);
    sample_ok(rk_store_read(self->store, RK_ENTRY_EXECUTABLE, "abcd", RK_WANT_HEAD, &lookup));
    assert_false(lookup.found);
    assert_int_equal(lookup.fault, RK_ENTRY_TRUNCATED);
    assert_false(lookup.quarantined);
    assert_int_equal(access(path, F_OK), 0);
    free(path);
    free(wrong);
}

typedef struct seen {
    char hexes[600][RK_DIGEST_HEX_CHARS + 1];
    unsigned count;
    unsigned stop_after; // stops with RK_NOT_FOUND, which is not a missing folder
    uint64_t bytes;
} seen;

static rk_err *see(void *context, const rk_store_item *item) {
    seen *self = context;
    assert_true(self->count < RK_ARRAY_LEN(self->hexes));
    memcpy(self->hexes[self->count], item->hex, sizeof self->hexes[0]);
    self->count++;
    self->bytes += item->stored_bytes;
    assert_non_null(strstr(item->path, item->hex));
    assert_int_equal(access(item->path, F_OK), 0);
    assert_true(item->modified_ns > 1500000000000000000u);
    if (self->count == self->stop_after)
        return rk_error(RK_NOT_FOUND, "enough");
    return NULL;
}

static void visits_in_order(void **state) {
    enum { COUNT = 300 };
    fixture *self = *state;
    seen none = {0};
    sample_ok(rk_store_each(self->store, RK_ENTRY_EXECUTABLE, see, &none));
    assert_int_equal(none.count, 0);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        rk_key key = sample_key(i);
        bytes += put(self, RK_ENTRY_EXECUTABLE, &key);
    }
    rk_key program = sample_key(0);
    (void)put(self, RK_ENTRY_PROGRAM, &program);
    seen *all = calloc(1, sizeof *all);
    assert_non_null(all);
    sample_ok(rk_store_each(self->store, RK_ENTRY_EXECUTABLE, see, all));
    assert_int_equal(all->count, COUNT);
    assert_int_equal(all->bytes, bytes);
    for (unsigned i = 1; i < COUNT; i++)
        assert_true(strcmp(all->hexes[i - 1], all->hexes[i]) < 0);
    *all = (seen){.stop_after = 7};
    sample_fails(rk_store_each(self->store, RK_ENTRY_EXECUTABLE, see, all), RK_NOT_FOUND);
    assert_int_equal(all->count, 7);
    *all = (seen){0};
    sample_ok(rk_store_each(self->store, RK_ENTRY_PROGRAM, see, all));
    assert_int_equal(all->count, 1);
    free(all);
}

static void visits_entries_only(void **state) {
    fixture *self = *state;
    rk_key key = key_beginning(0xab, 0xcd, 0x00);
    (void)put(self, RK_ENTRY_EXECUTABLE, &key);
    char *path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &key);
    const char *strangers[] = {"objects/README", "objects/ab/.tmp-1-1", "objects/xy/file",
                               "objects/ab/short.rkx", "objects/cd"};
    for (size_t i = 0; i < RK_ARRAY_LEN(strangers); i++) {
        rk_autofree char *stranger = rk_path_join(self->root, strangers[i]);
        sample_write_file(stranger, "x", 1);
    }
    char other[4096];
    (void)snprintf(other, sizeof other, "%.*srkp", (int)strlen(path) - 3, path);
    sample_write_file(other, "x", 1); // the suffix of another kind
    rk_key elsewhere = key_beginning(0xcc, 0xcd, 0x00);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&elsewhere.digest, hex);
    (void)snprintf(other, sizeof other, "%s/objects/ab/%s.rkx", self->root, hex);
    sample_write_file(other, "x", 1); // the key belongs into another folder
    (void)put(self, RK_ENTRY_EXECUTABLE, &elsewhere);
    rk_key linked = key_beginning(0xab, 0xcd, 0x01);
    char *link_path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &linked);
    assert_int_equal(symlink(path, link_path), 0);
    seen all = {0};
    sample_ok(rk_store_each(self->store, RK_ENTRY_EXECUTABLE, see, &all));
    assert_int_equal(all.count, 2);
    free(link_path);
    free(path);
}

typedef struct remover {
    const char *doomed; // path to remove
    unsigned visits;
} remover;

static rk_err *remove_doomed(void *context, const rk_store_item *item) {
    remover *self = context;
    assert_string_not_equal(item->path, self->doomed);
    self->visits++;
    (void)unlink(self->doomed);
    return NULL;
}

static void what_goes_meanwhile_is_skipped(void **state) {
    fixture *self = *state;
    for (uint8_t third = 0; third < 3; third++) {
        rk_key key = key_beginning(0xab, 0xcd, third);
        (void)put(self, RK_ENTRY_EXECUTABLE, &key);
    }
    rk_key second = key_beginning(0xab, 0xcd, 1);
    char *doomed = sample_path(self->root, RK_ENTRY_EXECUTABLE, &second);
    remover seen_by = {.doomed = doomed};
    sample_ok(rk_store_each(self->store, RK_ENTRY_EXECUTABLE, remove_doomed, &seen_by));
    assert_int_equal(seen_by.visits, 2); // the entries before and after it
    free(doomed);
}

static void removes_both_kinds(void **state) {
    fixture *self = *state;
    rk_key keys[] = {key_beginning(0xab, 0xcd, 0x00), key_beginning(0xab, 0xcd, 0x01)};
    uint64_t freed = 1;
    sample_fails(rk_store_remove(self->store, "abcd", &freed), RK_NOT_FOUND);
    uint64_t bytes = put(self, RK_ENTRY_EXECUTABLE, &keys[0]);
    bytes += put(self, RK_ENTRY_PROGRAM, &keys[0]);
    // Two keys, one of each kind: ambiguous, although each kind has only one.
    uint64_t second = put(self, RK_ENTRY_PROGRAM, &keys[1]);
    sample_fails(rk_store_remove(self->store, "abcd", &freed), RK_INVALID_ARGUMENT);
    assert_int_equal(freed, 0);
    assert_int_equal(sample_count_files(self->root), 3);
    sample_ok(rk_store_remove(self->store, "abcd00", &freed));
    assert_int_equal(freed, bytes);
    assert_int_equal(sample_count_files(self->root), 2); // the entry, and the record of removals
    sample_ok(rk_store_remove(self->store, "abcd", &freed));
    assert_int_equal(freed, second);
    assert_int_equal(sample_count_files(self->root), 1); // the record
    sample_fails(rk_store_remove(self->store, "abcd", &freed), RK_NOT_FOUND);
    sample_fails(rk_store_remove(self->store, "ab", &freed), RK_INVALID_ARGUMENT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(reads_by_prefix),     TEST(reading_moves_nothing),          TEST(visits_in_order),
        TEST(visits_entries_only), TEST(what_goes_meanwhile_is_skipped), TEST(removes_both_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
