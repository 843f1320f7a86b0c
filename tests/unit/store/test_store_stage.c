// Entries that are added together: failing system calls, killed processes, power cuts, files that
// are in the way. The store has complete entries only, and a second attempt finishes.
#include "sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sys.h"
#include "store/stage.h"
#include "store/store_file.h"
#include "support/faults.h"
#include "support/powerloss.h"
#include "support/tempdir.h"

enum { ENTRIES = 3 };

// Entry 2 is a program in the folder of another first byte.
static rk_entry entry_of(unsigned number) {
    rk_entry entry = sample_entry(number == 2 ? RK_ENTRY_PROGRAM : RK_ENTRY_EXECUTABLE, number);
    entry.key.digest.bytes[0] = number == 2 ? 0x01 : 0xab;
    return entry;
}

static rk_err *stage_one(rk_store *store, unsigned number, rk_staged *out_staged) {
    RK_AUTO(rk_buf) file = RK_BUF_INIT(RK_ENTRY_MAX_BYTES);
    rk_entry entry = entry_of(number);
    RK_TRY(rk_entry_encode(&entry, &file));
    RK_TRY(rk_staged_create(store, out_staged));
    RK_TRY(rk_staged_add(store, out_staged, rk_span_of(file.data, 100)));
    RK_TRY(rk_staged_add(store, out_staged, rk_span_of(file.data + 100, file.len - 100)));
    return rk_staged_sync(store, out_staged);
}

static rk_err *publish_one(rk_store *store, unsigned number, rk_staged *staged,
                           rk_stage_folders *folders) {
    rk_entry entry = entry_of(number);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    bool published = false, has = false, there = false;
    rk_digest_to_hex(&entry.key.digest, hex);
    RK_TRY(rk_store_has_sound(store, entry.kind, hex, &has, &there));
    if (!has)
        RK_TRY(rk_staged_publish(store, staged, &entry, there, &published));
    if (published)
        rk_stage_note_folder(folders, &entry);
    return NULL;
}

static rk_err *add_staged(rk_store *store, rk_staged staged[ENTRIES]) {
    rk_stage_folders folders = {0};
    RK_TRY(rk_stage_begin(store));
    for (unsigned i = 0; i < ENTRIES; i++)
        RK_TRY(stage_one(store, i, &staged[i]));
    for (unsigned i = 0; i < ENTRIES; i++)
        RK_TRY(publish_one(store, i, &staged[i], &folders));
    return rk_stage_end(store, &folders);
}

static rk_err *add_all(rk_store *store) {
    rk_staged staged[ENTRIES];
    for (unsigned i = 0; i < ENTRIES; i++)
        staged[i] = (rk_staged){.fd = -1};
    rk_err *err = add_staged(store, staged);
    for (unsigned i = 0; i < ENTRIES; i++)
        rk_staged_drop(store, &staged[i]);
    return err;
}

static rk_store *open_store(const char *root) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(root, false, &store));
    sample_ok(rk_store_set_limit(store, 1 << 20));
    return store;
}

// Returns the number of entries. None is damaged.
static unsigned count_entries(rk_store *store) {
    unsigned count = 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        rk_entry expected = entry_of(i);
        RK_AUTO(rk_store_lookup) lookup = {0};
        char hex[RK_DIGEST_HEX_CHARS + 1];
        rk_digest_to_hex(&expected.key.digest, hex);
        rk_err *err = rk_store_read(store, expected.kind, hex, RK_WANT_PAYLOAD, &lookup);
        bool absent = rk_err_code(err) == RK_NOT_FOUND;
        rk_err_free(err);
        if (absent)
            continue;
        assert_true(lookup.found);
        expected = entry_of(i);
        sample_assert_same(&lookup.view.entry, &expected);
        count++;
    }
    return count;
}

static unsigned count_temporaries(const char *root) {
    unsigned count = 0;
    DIR *directory = opendir(root);
    assert_non_null(directory);
    for (struct dirent *one; (one = readdir(directory));)
        count += strncmp(one->d_name, ".tmp", 4) == 0;
    (void)closedir(directory);
    return count;
}

// `is_dead`: the first attempt was made by another process, which has ended.
static void assert_second_attempt(const char *root, bool is_dead) {
    rk_store *store = open_store(root);
    sample_ok(add_all(store));
    assert_int_equal(count_entries(store), ENTRIES);
    rk_store_free(store);
    if (is_dead)
        assert_int_equal(count_temporaries(root), 0);
}

static void nth_system_call_fails(void **state) {
    (void)state;
    static const int numbers[] = {EIO, ENOSPC, EROFS};
    for (unsigned nth = 1, n = 0; n < RK_ARRAY_LEN(numbers); nth++) {
        char *root = rk_test_tempdir();
        rk_store *store = open_store(root);
        rk_fault_begin(
            &(rk_fault_plan){.nth = nth,
                             .error_number = numbers[n],
                             .lasting = n > 0,
                             .calls = n > 0 ? RK_FAULT_EVERY_CHANGE : RK_FAULT_EVERY_SYSCALL});
        rk_err *err = add_all(store);
        bool happened = rk_fault_end();
        unsigned count = count_entries(store);
        assert_true(err || count == ENTRIES);
        rk_err_free(err);
        rk_store_free(store);
        if (nth % 4 == 1) // each waits for the disk often
            assert_second_attempt(root, false);
        rk_test_tempdir_remove(root);
        if (!happened) {
            assert_true(nth > 20);
            nth = 0;
            n++;
        }
    }
}

static void nth_allocation_fails(void **state) {
    (void)state;
    for (unsigned nth = 1;; nth++) {
        char *root = rk_test_tempdir();
        rk_store *store = open_store(root);
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = add_all(store);
        bool happened = rk_fault_end();
        assert_true(err || count_entries(store) == ENTRIES);
        rk_err_free(err);
        rk_store_free(store);
        if (nth % 8 == 1)
            assert_second_attempt(root, false);
        rk_test_tempdir_remove(root);
        if (!happened)
            break;
    }
}

static void add_in_child(void *context) {
    rk_store *store = context;
    rk_err_drop(add_all(store), "the parent looks at the files");
}

static void exit_at_nth_system_call(void **state) {
    (void)state;
    unsigned part = 0;
    for (unsigned nth = 1, status = RK_FAULT_EXIT_STATUS; status == RK_FAULT_EXIT_STATUS; nth++) {
        char *root = rk_test_tempdir();
        rk_store *store = open_store(root);
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .exits = true});
        status = (unsigned)rk_fault_in_child(add_in_child, store);
        (void)rk_fault_end();
        unsigned count = count_entries(store);
        part += count > 0 && count < ENTRIES;
        rk_store_free(store);
        assert_second_attempt(root, true);
        rk_test_tempdir_remove(root);
    }
    assert_true(part > 0);
}

static void power_cut(void **state) {
    (void)state;
    unsigned states = 0, found = 0;
    char *root = rk_test_tempdir();
    rk_store *store = open_store(root);
    rk_powerloss *record = rk_powerloss_begin(root);
    sample_ok(add_all(store));
    rk_powerloss_mark(record);
    rk_powerloss_end(record);
    rk_store_free(store);
    rk_test_tempdir_remove(root);
    for (unsigned cut = 0; cut <= rk_powerloss_count(record); cut++)
        for (unsigned choice = 0; choice < 15; choice++, states++) {
            char *left = rk_test_tempdir();
            rk_powerloss_build(record, cut, choice, left);
            store = open_store(left);
            unsigned count = count_entries(store);
            found += count;
            if (rk_powerloss_marks(record, cut))
                assert_int_equal(count, ENTRIES);
            rk_store_free(store);
            if (choice == 1)
                assert_second_attempt(left, false);
            rk_test_tempdir_remove(left);
        }
    print_message("power cuts: %u changes, %u states, %u entries, 0 wrong\n",
                  rk_powerloss_count(record), states, found);
    assert_true(found > 0);
    rk_powerloss_free(record);
}

static void what_is_in_the_way(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        char *root = rk_test_tempdir();
        rk_store *store = open_store(root);
        rk_entry entry = entry_of(0);
        char *path = sample_path(root, RK_ENTRY_EXECUTABLE, &entry.key);
        sample_write_file(path, "damaged", 7);
        if (kind > 0)
            assert_int_equal(unlink(path), 0);
        if (kind == 1)
            assert_int_equal(mkdir(path, 0700), 0);
        if (kind == 2)
            assert_int_equal(symlink("/etc/passwd", path), 0);
        sample_ok(add_all(store));
        assert_int_equal(count_entries(store), ENTRIES);
        rk_store_free(store);
        free(path);
        rk_test_tempdir_remove(root);
    }
}

// An entry that another process stores in between stays.
static void a_good_entry_stays(void **state) {
    (void)state;
    char *root = rk_test_tempdir();
    rk_store *store = open_store(root);
    rk_staged staged = {.fd = -1};
    rk_entry entry = entry_of(0), other = entry_of(0);
    bool published = true;
    sample_ok(stage_one(store, 0, &staged));
    other.created_ns += 5;
    sample_ok(rk_store_put(store, &other, NULL));
    sample_ok(rk_staged_publish(store, &staged, &entry, false, &published));
    assert_false(published);
    rk_staged_drop(store, &staged);
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_get(store, &entry.key, &lookup));
    assert_int_equal(lookup.view.entry.created_ns, other.created_ns);
    rk_store_free(store);
    rk_test_tempdir_remove(root);
}

static int refuse_links(int from_fd, const char *from, int to_fd, const char *to) {
    (void)from_fd;
    (void)from;
    (void)to_fd;
    (void)to;
    errno = EPERM;
    return -1;
}

static void file_systems_without_links(void **state) {
    (void)state;
    char *root = rk_test_tempdir();
    rk_store *store = open_store(root);
    rk_sys_table table = rk_sys_libc;
    table.linkat_fn = refuse_links;
    rk_sys_replace(&table);
    rk_err *err = add_all(store);
    rk_sys_replace(NULL);
    sample_ok(err);
    assert_int_equal(count_entries(store), ENTRIES);
    assert_int_equal(count_temporaries(root), 0);
    rk_store_free(store);
    rk_test_tempdir_remove(root);
}

static void readonly_stores_refuse(void **state) {
    (void)state;
    char *root = rk_test_tempdir();
    rk_store *store = NULL;
    sample_ok(rk_store_open(root, true, &store));
    sample_fails(rk_stage_begin(store), RK_PERMISSION_DENIED);
    rk_store_free(store);
    rk_test_tempdir_remove(root);
}

// Opening is undone exactly: a folder, a marker, or neither were there before.
static void opening_is_undone(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        char *root = rk_test_tempdir(), path[4096], marker[4200];
        rk_store *store = NULL;
        (void)snprintf(path, sizeof path, "%s/store", root);
        (void)snprintf(marker, sizeof marker, "%s/REKINDLE_STORE", path);
        if (kind > 0)
            assert_int_equal(mkdir(path, 0700), 0);
        if (kind == 2) { // a store with a marker
            sample_ok(rk_store_open(path, false, &store));
            rk_store_free(store);
        }
        rk_store_before before = rk_store_look(path);
        sample_ok(rk_store_open(path, false, &store));
        if (kind == 3)
            sample_ok(add_all(store)); // no longer empty
        rk_store_undo_open(store, before);
        assert_int_equal(access(path, F_OK), kind > 0 ? 0 : -1);
        assert_int_equal(access(marker, F_OK), kind > 1 ? 0 : -1);
        rk_test_tempdir_remove(root);
    }
}

int main(void) {
    // The tests wait for the disk a few thousand times.
    struct stat info;
    if (!getenv("TMPDIR") && stat("/dev/shm", &info) == 0 && access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nth_system_call_fails),      cmocka_unit_test(nth_allocation_fails),
        cmocka_unit_test(exit_at_nth_system_call),    cmocka_unit_test(power_cut),
        cmocka_unit_test(what_is_in_the_way),         cmocka_unit_test(a_good_entry_stays),
        cmocka_unit_test(file_systems_without_links), cmocka_unit_test(readonly_stores_refuse),
        cmocka_unit_test(opening_is_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
