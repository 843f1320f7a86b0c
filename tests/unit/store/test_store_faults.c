// Every system call and every allocation fails once, or ends the process. The store stays sound.
#include "sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/faults.h"
#include "support/tempdir.h"

// A store with the old entry of seed 1, and the new entry that replaces it.
typedef struct fixture {
    char *root;
    rk_store *store;
    rk_entry old_entry, new_entry;
} fixture;

static fixture make_fixture(bool with_old) {
    fixture self = {.root = rk_test_tempdir()};
    self.old_entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    self.old_entry.payload = rk_span_text("the old payload, which is long enough to be compressed");
    self.new_entry = self.old_entry;
    self.new_entry.created_ns++;
    self.new_entry.payload = rk_span_text("the new payload, which is long enough to be compressed");
    sample_ok(rk_store_open(self.root, false, &self.store));
    if (with_old)
        sample_ok(rk_store_put(self.store, &self.old_entry, NULL));
    return self;
}

static void free_fixture(fixture *self) {
    rk_store_free(self->store);
    rk_test_tempdir_remove(self->root);
}

// The common type of the operations under test.
typedef rk_err *(*operation)(fixture *self);

static rk_err *put_new(fixture *self) {
    return rk_store_put(self->store, &self->new_entry, NULL);
}

static rk_err *get(fixture *self) {
    RK_AUTO(rk_store_lookup) lookup = {0};
    RK_TRY(rk_store_get(self->store, &self->old_entry.key, &lookup));
    if (lookup.found)
        sample_assert_same(&lookup.view.entry, &self->old_entry);
    return NULL;
}

static rk_err *quarantine(fixture *self) {
    (void)rk_store_quarantine(self->store, &self->old_entry.key);
    return NULL;
}

static rk_err *remove_old(fixture *self) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    uint64_t freed = 0;
    rk_digest_to_hex(&self->old_entry.key.digest, hex);
    return rk_store_remove(self->store, hex, &freed);
}

static rk_err *read_by_prefix(fixture *self) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&self->old_entry.key.digest, hex);
    hex[8] = '\0';
    RK_AUTO(rk_store_lookup) lookup = {0};
    RK_TRY(rk_store_read(self->store, RK_ENTRY_EXECUTABLE, hex, RK_WANT_PAYLOAD, &lookup));
    if (lookup.found)
        sample_assert_same(&lookup.view.entry, &self->old_entry);
    return NULL;
}

static rk_err *see(void *context, const rk_store_item *item) {
    (void)item;
    ++*(unsigned *)context;
    return NULL;
}

static rk_err *each(fixture *self) {
    unsigned count = 0;
    return rk_store_each(self->store, RK_ENTRY_EXECUTABLE, see, &count);
}

static rk_err *open_again(fixture *self) {
    rk_store *store = NULL;
    rk_err *err = rk_store_open(self->root, false, &store);
    assert_true((store != NULL) == (err == NULL));
    rk_store_free(store);
    return err;
}

static bool has_entry(fixture *self, const rk_entry *entry) {
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_get(self->store, &entry->key, &lookup));
    return lookup.found && lookup.view.entry.created_ns == entry->created_ns;
}

// The store has the old entry, the new one or none, but never a damaged one. A put restores the
// entry.
static void assert_sound(fixture *self) {
    // Opens the store again, like the next process. This one may have been refused a write and
    // stopped writing.
    rk_store_free(self->store);
    sample_ok(rk_store_open(self->root, false, &self->store));
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_get(self->store, &self->old_entry.key, &lookup));
    assert_int_equal(lookup.fault, RK_ENTRY_OK);
    if (lookup.found)
        sample_assert_same(&lookup.view.entry,
                           lookup.view.entry.created_ns == self->old_entry.created_ns
                               ? &self->old_entry
                               : &self->new_entry);
    sample_ok(rk_store_put(self->store, &self->new_entry, NULL));
    assert_true(has_entry(self, &self->new_entry));
    unsigned count = 0;
    sample_ok(rk_store_each(self->store, RK_ENTRY_EXECUTABLE, see, &count));
    assert_int_equal(count, 1);
}

static const struct {
    operation run;
    bool with_old;  // the store contains the old entry
    bool keeps_old; // the old entry stays, even if a call fails
    bool silent;    // best effort: a failing call gives no error
    unsigned least; // minimum number of system calls, to keep the test meaningful
} operations[] = {
    {put_new, false, false, false, 8},
    {put_new, true, false, false, 7},
    {get, true, true, false, 5},
    {get, false, true, false, 1},
    {quarantine, true, false, true, 2},
    {remove_old, true, false, false, 4},
    {read_by_prefix, true, true, false, 6},
    {each, true, true, false, 3},
    {open_again, true, true, false, 4},
};

static void fail_every_call(unsigned calls, int error_number, bool lasting) {
    for (size_t i = 0; i < RK_ARRAY_LEN(operations); i++) {
        for (unsigned nth = 1;; nth++) {
            fixture self = make_fixture(operations[i].with_old);
            rk_fault_begin(&(rk_fault_plan){
                .nth = nth, .calls = calls, .error_number = error_number, .lasting = lasting});
            rk_err *err = operations[i].run(&self);
            bool struck = rk_fault_end();
            if (!struck) {
                sample_ok(err);
                if (!(calls & RK_FAULT_ALLOC) && calls == RK_FAULT_EVERY_SYSCALL)
                    assert_true(nth > operations[i].least);
            }
            if (operations[i].keeps_old && operations[i].with_old)
                assert_true(has_entry(&self, &self.old_entry));
            if (operations[i].run == put_new && !err)
                assert_true(has_entry(&self, &self.new_entry));
            if (operations[i].run == put_new && !lasting) // no leftovers
                assert_true(sample_count_files(self.root) <= 1);
            if (operations[i].silent)
                assert_null(err);
            rk_err_free(err);
            assert_sound(&self);
            free_fixture(&self);
            if (!struck)
                break;
        }
    }
}

static void nth_system_call_fails(void **state) {
    (void)state;
    // First transient faults (also one that the store handles), then lasting ones.
    fail_every_call(RK_FAULT_EVERY_SYSCALL, EIO, false);
    fail_every_call(RK_FAULT_EVERY_SYSCALL, ENOENT, false);
    fail_every_call(RK_FAULT_EVERY_SYSCALL, ENOSPC, true);
    fail_every_call(RK_FAULT_EVERY_SYSCALL, EACCES, true);
}

static void nth_allocation_fails(void **state) {
    (void)state;
    fail_every_call(RK_FAULT_ALLOC, ENOMEM, false);
    fail_every_call(RK_FAULT_ALLOC, ENOMEM, true);
}

// A failed allocation gives an error with that reason, never a verdict on the bytes.
static void no_memory_is_no_damage(void **state) {
    (void)state;
    rk_entry entry = sample_entry(RK_ENTRY_PROGRAM, 1);
    RK_AUTO(rk_buf) data = RK_BUF_INIT(0);
    sample_ok(rk_entry_encode(&entry, &data));
    for (unsigned nth = 1;; nth++) {
        RK_AUTO(rk_entry_view) view = {0};
        RK_AUTO(rk_buf) again = RK_BUF_INIT(0);
        rk_entry_fault fault = RK_ENTRY_OK;
        const rk_fault_plan plan = {.nth = nth, .calls = RK_FAULT_ALLOC};
        rk_fault_begin(&plan);
        rk_err *err =
            rk_entry_decode(rk_buf_span(&data), &entry.key, RK_WANT_PAYLOAD, &view, &fault);
        bool struck = rk_fault_end();
        assert_int_equal(fault, RK_ENTRY_OK);
        rk_fault_begin(&plan);
        rk_err *encode_err = rk_entry_encode(&entry, &again);
        bool encode_struck = rk_fault_end();
        assert_int_equal(encode_struck ? 0 : data.len, again.len);
        sample_fails(encode_err, encode_struck ? RK_RESOURCE_EXHAUSTED : RK_OK);
        sample_fails(err, struck ? RK_RESOURCE_EXHAUSTED : RK_OK);
        if (!struck && !encode_struck)
            break;
    }
}

typedef struct exit_case {
    fixture *self;
    operation run;
    unsigned nth;
} exit_case;

static void run_until_exit(void *context) {
    exit_case *this = context;
    rk_fault_begin(&(rk_fault_plan){.nth = this->nth, .exits = true});
    rk_err_free(this->run(this->self));
}

static void exit_at_nth_system_call(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(operations); i++) {
        for (int status = RK_FAULT_EXIT_STATUS, nth = 1; status; nth++) {
            fixture self = make_fixture(operations[i].with_old);
            status = rk_fault_in_child(
                run_until_exit,
                &(exit_case){.self = &self, .run = operations[i].run, .nth = (unsigned)nth});
            assert_true(status == 0 || status == RK_FAULT_EXIT_STATUS);
            if (operations[i].keeps_old && operations[i].with_old)
                assert_true(has_entry(&self, &self.old_entry));
            assert_sound(&self);
            free_fixture(&self);
        }
    }
}

static int readonly_openat(int dir_fd, const char *path, int flags, mode_t mode) {
    if (flags & (O_WRONLY | O_RDWR | O_CREAT)) {
        errno = EROFS;
        return -1;
    }
    return rk_sys_libc.openat_fn(dir_fd, path, flags, mode);
}

static int readonly_renameat(int from_fd, const char *from, int to_fd, const char *to) {
    (void)from_fd;
    (void)from;
    (void)to_fd;
    (void)to;
    errno = EROFS;
    return -1;
}

static int readonly_unlinkat(int dir_fd, const char *path, int flags) {
    (void)dir_fd;
    (void)path;
    (void)flags;
    errno = EROFS;
    return -1;
}

static int readonly_mkdirat(int dir_fd, const char *path, mode_t mode) {
    (void)mode;
    errno = faccessat(dir_fd, path, F_OK, 0) == 0 ? EEXIST : EROFS;
    return -1;
}

static int readonly_mkdir(const char *path, mode_t mode) {
    return readonly_mkdirat(AT_FDCWD, path, mode);
}

static rk_sys_table readonly_file_system(void) {
    rk_sys_table table = rk_sys_libc;
    table.openat_fn = readonly_openat;
    table.renameat_fn = readonly_renameat;
    table.unlinkat_fn = readonly_unlinkat;
    table.mkdirat_fn = readonly_mkdirat;
    table.mkdir_fn = readonly_mkdir;
    return table;
}

static void read_only_file_system(void **state) {
    (void)state;
    fixture self = make_fixture(true);
    char *path = sample_path(self.root, RK_ENTRY_EXECUTABLE, &self.old_entry.key);
    rk_autofree char *other = rk_path_join(self.root, "other");
    rk_entry another = sample_entry(RK_ENTRY_EXECUTABLE, 2);
    for (int readonly = 0; readonly < 2; readonly++) {
        rk_sys_table table = readonly_file_system();
        rk_sys_replace(&table);
        rk_store *store = NULL;
        sample_ok(rk_store_open(self.root, readonly, &store));
        fixture view = self;
        view.store = store;
        assert_true(has_entry(&view, &self.old_entry));
        sample_fails(rk_store_put(store, &self.new_entry, NULL), RK_PERMISSION_DENIED);
        sample_fails(rk_store_put(store, &another, NULL), RK_PERMISSION_DENIED);
        sample_fails(remove_old(&view), RK_PERMISSION_DENIED);
        assert_false(rk_store_quarantine(store, &self.old_entry.key));
        rk_store_free(store);
        sample_fails(rk_store_open(other, false, &store), RK_PERMISSION_DENIED);
        rk_sys_replace(NULL);
        assert_true(has_entry(&self, &self.old_entry));
    }
    assert_int_equal(truncate(path, 300), 0);
    rk_sys_table table = readonly_file_system();
    rk_sys_replace(&table);
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_get(self.store, &self.old_entry.key, &lookup));
    rk_sys_replace(NULL);
    assert_int_equal(lookup.fault, RK_ENTRY_TRUNCATED);
    assert_false(lookup.found);
    assert_false(lookup.quarantined);
    free(path);
    free_fixture(&self);
}

static uint64_t now_ns;

static uint64_t chosen_now(void) {
    return now_ns;
}

// Puts and quarantines. Returns the number of changing calls.
static unsigned try_to_change(fixture *self, rk_code expected) {
    rk_fault_begin(&(rk_fault_plan){.calls = RK_FAULT_EVERY_CHANGE & ~(unsigned)RK_FAULT_OPEN});
    rk_err *err = rk_store_put(self->store, &self->new_entry, NULL);
    (void)rk_store_quarantine(self->store, &self->new_entry.key);
    unsigned changes = rk_fault_count();
    rk_fault_end();
    sample_fails(err, expected);
    return changes;
}

static void after_a_refusal_nothing_is_tried(void **state) {
    (void)state;
    static const struct {
        int error_number;
        rk_code code;
        bool passes; // after one minute
    } cases[] = {{EROFS, RK_PERMISSION_DENIED, false},
                 {EACCES, RK_PERMISSION_DENIED, false},
                 {ENOSPC, RK_RESOURCE_EXHAUSTED, true},
                 {EDQUOT, RK_RESOURCE_EXHAUSTED, true}};
    const rk_clock_table clock = {chosen_now, chosen_now, chosen_now};
    rk_clock_replace(&clock);
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        now_ns = 1000000000;
        fixture self = make_fixture(true);
        assert_true(rk_store_accepts(self.store));
        rk_fault_begin(&(rk_fault_plan){
            .nth = 1, .calls = RK_FAULT_RENAME, .error_number = cases[i].error_number});
        rk_err *err = rk_store_put(self.store, &self.new_entry, NULL);
        assert_true(rk_fault_end());
        sample_fails(err, cases[i].code);
        assert_false(rk_store_accepts(self.store));
        assert_int_equal(try_to_change(&self, cases[i].code), 0);
        now_ns += (uint64_t)59 * 1000000000;
        assert_int_equal(try_to_change(&self, cases[i].code), 0);
        assert_true(has_entry(&self, &self.old_entry)); // reading still works
        now_ns += (uint64_t)2 * 1000000000;
        if (cases[i].passes)
            assert_true(try_to_change(&self, RK_OK) > 0);
        else
            assert_int_equal(try_to_change(&self, cases[i].code), 0);
        free_fixture(&self);
    }
    // Other errors are not refusals.
    fixture self = make_fixture(true);
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_FSYNC, .error_number = EIO});
    rk_err *err = rk_store_put(self.store, &self.new_entry, NULL);
    assert_true(rk_fault_end());
    sample_fails(err, RK_DATA_LOSS);
    assert_true(try_to_change(&self, RK_OK) > 0);
    free_fixture(&self);
    rk_clock_replace(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nth_system_call_fails),
        cmocka_unit_test(nth_allocation_fails),
        cmocka_unit_test(no_memory_is_no_damage),
        cmocka_unit_test(exit_at_nth_system_call),
        cmocka_unit_test(read_only_file_system),
        cmocka_unit_test(after_a_refusal_nothing_is_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
