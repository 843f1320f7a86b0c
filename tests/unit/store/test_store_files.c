// The store as files in a directory: it returns the stored entries, and other files in it cause no
// errors.
#include "sample.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/faults.h"
#include "support/tempdir.h"

typedef struct fixture {
    char *directory; // temporary; contains the store
    char *root;      // of the store
    rk_store *store;
} fixture;

static int set_up(void **state) {
    fixture *self = calloc(1, sizeof *self);
    if (!self)
        return -1;
    self->directory = rk_test_tempdir();
    if (asprintf(&self->root, "%s/cache/rekindle", self->directory) < 0)
        return -1;
    sample_ok(rk_store_open(self->root, false, &self->store));
    *state = self;
    return 0;
}

static int tear_down(void **state) {
    fixture *self = *state;
    rk_store_free(self->store);
    rk_test_tempdir_remove(self->directory);
    free(self->root);
    free(self);
    return 0;
}

static unsigned mode_of(const char *path) {
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 07777;
}

static void put(rk_store *store, rk_entry_kind kind, unsigned seed) {
    rk_entry entry = sample_entry(kind, seed);
    sample_ok(rk_store_put(store, &entry, NULL));
}

static void assert_hit(rk_store *store, unsigned seed) {
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, seed);
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_get(store, &entry.key, &lookup));
    assert_true(lookup.found);
    assert_int_equal(lookup.fault, RK_ENTRY_OK);
    assert_false(lookup.quarantined);
    sample_assert_same(&lookup.view.entry, &entry);
}

static void assert_miss(rk_store *store, unsigned seed, rk_entry_fault fault, bool quarantined) {
    rk_key key = sample_key(seed);
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_get(store, &key, &lookup));
    assert_false(lookup.found);
    assert_int_equal(lookup.fault, fault);
    assert_int_equal(lookup.quarantined, quarantined);
    assert_null(lookup.file.data);
}

static void put_then_get(void **state) {
    fixture *self = *state;
    assert_string_equal(rk_store_directory(self->store), self->root);
    assert_miss(self->store, 1, RK_ENTRY_OK, false);
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    put(self->store, RK_ENTRY_PROGRAM, 1);
    assert_hit(self->store, 1);
    assert_miss(self->store, 2, RK_ENTRY_OK, false);
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    assert_hit(self->store, 1);
    assert_int_equal(sample_count_files(self->root), 2);
}

static void modes_are_private(void **state) {
    fixture *self = *state;
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    rk_key key = sample_key(1);
    char *path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &key);
    assert_int_equal(mode_of(path), 0600);
    for (char *slash; (slash = strrchr(path, '/')) && strlen(path) > strlen(self->root);) {
        *slash = '\0';
        assert_int_equal(mode_of(path), 0700);
    }
    free(path);
}

static void nothing_is_made_before_the_first_put(void **state) {
    fixture *self = *state;
    assert_miss(self->store, 1, RK_ENTRY_OK, false);
    rk_autofree char *marker = rk_path_join(self->root, "REKINDLE_STORE");
    assert_int_equal(unlink(marker), 0);
    assert_int_equal(rmdir(self->root), 0);   // it was empty
    put(self->store, RK_ENTRY_EXECUTABLE, 1); // created again
    assert_hit(self->store, 1);
}

static void has(void **state) {
    fixture *self = *state;
    rk_key key = sample_key(1);
    put(self->store, RK_ENTRY_PROGRAM, 1);
    assert_true(rk_store_has(self->store, RK_ENTRY_PROGRAM, &key));
    assert_false(rk_store_has(self->store, RK_ENTRY_EXECUTABLE, &key));
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    assert_true(rk_store_has(self->store, RK_ENTRY_EXECUTABLE, &key));
}

static void damage_is_set_aside_and_repaired(void **state) {
    fixture *self = *state;
    char *quarantine = rk_path_join(self->root, "quarantine");
    rk_key key = sample_key(1);
    char *path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &key);
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    for (unsigned round = 1; round <= 3; round++) {
        assert_int_equal(truncate(path, 300), 0);
        assert_miss(self->store, 1, RK_ENTRY_TRUNCATED, true);
        assert_int_equal(sample_count_files(quarantine), round);
        assert_miss(self->store, 1, RK_ENTRY_OK, false);
        put(self->store, RK_ENTRY_EXECUTABLE, 1);
        assert_hit(self->store, 1);
    }
    assert_true(rk_store_quarantine(self->store, &key));
    assert_int_equal(sample_count_files(quarantine), 4);
    assert_miss(self->store, 1, RK_ENTRY_OK, false);
    assert_false(rk_store_quarantine(self->store, &key)); // no entry is left
    assert_int_equal(sample_count_files(quarantine), 4);
    rk_free(quarantine);
    free(path);
}

// An entry of a newer format stays for the version that can read it, until this version stores its
// own.
static void another_version_stays(void **state) {
    fixture *self = *state;
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    RK_AUTO(rk_buf) data = {0};
    sample_ok(rk_entry_encode(&entry, &data));
    data.data[8] = 2;
    char *path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &entry.key);
    sample_write_file(path, data.data, data.len);
    assert_miss(self->store, 1, RK_ENTRY_UNKNOWN_VERSION, false);
    assert_miss(self->store, 1, RK_ENTRY_UNKNOWN_VERSION, false);
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    assert_hit(self->store, 1);
    free(path);
}

static void swapped_files_are_misses(void **state) {
    fixture *self = *state;
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    put(self->store, RK_ENTRY_EXECUTABLE, 2);
    put(self->store, RK_ENTRY_PROGRAM, 3);
    rk_key keys[] = {sample_key(1), sample_key(2), sample_key(3)};
    char *first = sample_path(self->root, RK_ENTRY_EXECUTABLE, &keys[0]);
    char *second = sample_path(self->root, RK_ENTRY_EXECUTABLE, &keys[1]);
    assert_int_equal(rename(first, second), 0);
    assert_miss(self->store, 2, RK_ENTRY_OTHER_KEY, true);
    // A program file under the executable's name has the same key but another kind.
    char *program = sample_path(self->root, RK_ENTRY_PROGRAM, &keys[2]);
    put(self->store, RK_ENTRY_EXECUTABLE, 3);
    char *third = sample_path(self->root, RK_ENTRY_EXECUTABLE, &keys[2]);
    assert_int_equal(rename(program, third), 0);
    assert_miss(self->store, 3, RK_ENTRY_OTHER_KEY, true);
    free(first);
    free(second);
    free(third);
    free(program);
}

static void make_socket(const char *path) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    // The path is too long for a socket address: bind to a short name, then move.
    (void)snprintf(address.sun_path, sizeof address.sun_path, "/tmp/rekindle-%ld", (long)getpid());
    (void)unlink(address.sun_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(rename(address.sun_path, path), 0);
    assert_int_equal(close(fd), 0);
}

// Various odd files in place of the entry: each is a miss without a hang, and the next put repairs
// it, with and without an earlier look-up.
static void odd_files_are_misses(void **state) {
    fixture *self = *state;
    rk_key key = sample_key(1);
    char *path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &key);
    char *elsewhere = rk_path_join(self->directory, "elsewhere");
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    for (unsigned odd = 0; odd < 10; odd++) {
        assert_int_equal(rename(path, elsewhere), 0);
        if (odd / 2 == 0)
            assert_int_equal(mkfifo(path, 0600), 0);
        else if (odd / 2 == 1)
            assert_int_equal(mkdir(path, 0700), 0);
        else if (odd / 2 == 2)
            assert_int_equal(symlink(elsewhere, path), 0); // to a valid entry
        else if (odd / 2 == 3)
            assert_int_equal(symlink("nowhere", path), 0);
        else
            make_socket(path);
        assert_false(rk_store_has(self->store, RK_ENTRY_EXECUTABLE, &key));
        if (odd % 2)
            assert_miss(self->store, 1, RK_ENTRY_NOT_AN_ENTRY, true);
        put(self->store, RK_ENTRY_EXECUTABLE, 1);
        assert_hit(self->store, 1);
        assert_int_equal(access(elsewhere, F_OK), 0);
    }
    rk_free(elsewhere);
    free(path);
}

// A file larger than any entry is refused by its size, without being read.
static void huge_file_is_a_miss(void **state) {
    fixture *self = *state;
    rk_key key = sample_key(1);
    char *path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &key);
    sample_write_file(path, "x", 1);
    if (truncate(path, (off_t)RK_ENTRY_MAX_BYTES + 1) != 0)
        skip();
    assert_miss(self->store, 1, RK_ENTRY_NOT_AN_ENTRY, true);
    free(path);
}

static void readonly_never_writes(void **state) {
    fixture *self = *state;
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    put(self->store, RK_ENTRY_EXECUTABLE, 2);
    rk_key damaged = sample_key(2);
    char *path = sample_path(self->root, RK_ENTRY_EXECUTABLE, &damaged);
    assert_int_equal(truncate(path, 100), 0);
    rk_store *reader = NULL;
    sample_ok(rk_store_open(self->root, true, &reader));
    assert_hit(reader, 1);
    assert_miss(reader, 2, RK_ENTRY_TRUNCATED, false);
    assert_false(rk_store_quarantine(reader, &damaged));
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 3);
    sample_fails(rk_store_put(reader, &entry, NULL), RK_PERMISSION_DENIED);
    uint64_t freed = 0;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&damaged.digest, hex);
    sample_fails(rk_store_remove(reader, hex, &freed), RK_PERMISSION_DENIED);
    assert_int_equal(sample_count_files(self->root), 2);
    assert_int_equal(access(path, F_OK), 0);
    rk_store_free(reader);
    free(path);
}

// Links and folders of other users within the store are neither read nor written.
static void strange_folders_are_not_used(void **state) {
    fixture *self = *state;
    rk_key key = sample_key(1);
    char *folder = sample_path(self->root, RK_ENTRY_EXECUTABLE, &key);
    *strrchr(folder, '/') = '\0';
    char *objects = rk_path_join(self->root, "objects");
    char *elsewhere = rk_path_join(self->directory, "elsewhere");
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    for (int i = 0; i < 3; i++) {
        char *place = i == 0 ? folder : objects;
        RK_AUTO(rk_store_lookup) lookup = {0};
        put(self->store, RK_ENTRY_EXECUTABLE, 1);
        if (i == 2) {
            assert_int_equal(chmod(place, 0777), 0);
        } else {
            assert_int_equal(rename(place, elsewhere), 0);
            assert_int_equal(symlink(elsewhere, place), 0);
        }
        sample_fails(rk_store_get(self->store, &key, &lookup), RK_PERMISSION_DENIED);
        assert_false(lookup.found);
        assert_false(rk_store_has(self->store, RK_ENTRY_EXECUTABLE, &key));
        assert_false(rk_store_quarantine(self->store, &key));
        sample_fails(rk_store_put(self->store, &entry, NULL), RK_PERMISSION_DENIED);
        if (i == 2) {
            assert_int_equal(chmod(place, 0700), 0);
        } else {
            assert_int_equal(unlink(place), 0);
            assert_int_equal(rename(elsewhere, place), 0);
        }
        assert_hit(self->store, 1);
    }
    rk_free(elsewhere);
    rk_free(objects);
    free(folder);
}

static void killed_in_put(void *context) {
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_RENAME, .exits = true});
    rk_err_drop(rk_store_put(context, &entry, NULL), "the process ends in it");
}

static void leftovers_are_swept_by_the_next_put(void **state) {
    fixture *self = *state;
    put(self->store, RK_ENTRY_EXECUTABLE, 1);
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(rk_fault_in_child(killed_in_put, self->store), RK_FAULT_EXIT_STATUS);
    assert_int_equal(sample_count_files(self->root), 4);
    put(self->store, RK_ENTRY_EXECUTABLE, 1); // this process has already swept that folder
    assert_int_equal(sample_count_files(self->root), 4);
    rk_store *another = NULL;
    sample_ok(rk_store_open(self->root, false, &another));
    put(another, RK_ENTRY_EXECUTABLE, 1);
    assert_int_equal(sample_count_files(self->root), 1);
    assert_hit(another, 1);
    rk_store_free(another);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(put_then_get),
        TEST(modes_are_private),
        TEST(nothing_is_made_before_the_first_put),
        TEST(has),
        TEST(damage_is_set_aside_and_repaired),
        TEST(another_version_stays),
        TEST(swapped_files_are_misses),
        TEST(odd_files_are_misses),
        TEST(huge_file_is_a_miss),
        TEST(readonly_never_writes),
        TEST(strange_folders_are_not_used),
        TEST(leftovers_are_swept_by_the_next_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
