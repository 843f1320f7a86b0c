// Leases: one holder at a time, taken over from a dead holder, and never stuck after any failure or
// death.
#include "sample.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "store/lease.h"
#include "store/lease_text_internal.h"
#include "support/faults.h"
#include "support/tempdir.h"

static const uint64_t second_ns = 1000000000u;

typedef struct fixture {
    char *directory;
    rk_store *store;
    rk_digest key;
    rk_process self;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->directory = rk_test_tempdir();
    sample_ok(rk_store_open(f->directory, false, &f->store));
    f->key = sample_key(1).digest;
    rk_process_self(&f->self);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    rk_store_free(f->store);
    rk_test_tempdir_remove(f->directory);
    free(f);
    return 0;
}

static char *lease_path(const fixture *f) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&f->key, hex);
    char *path = NULL;
    assert_true(asprintf(&path, "%s/leases/%s", f->directory, hex) > 0);
    return path;
}

static unsigned files_in_leases(const fixture *f) {
    char *path = NULL;
    assert_true(asprintf(&path, "%s/leases", f->directory) > 0);
    unsigned count = sample_count_files(path);
    free(path);
    return count;
}

static rk_lease_view look(const fixture *f) {
    rk_lease_view view;
    sample_ok(rk_lease_read(f->store, &f->key, &view));
    return view;
}

static rk_lease take(const fixture *f) {
    rk_lease lease;
    sample_ok(rk_lease_take(f->store, &f->key, &f->self, &lease));
    return lease;
}

static rk_lease take_over(const fixture *f, const rk_lease_view *judged) {
    rk_lease lease;
    sample_ok(rk_lease_take_over(f->store, judged, &f->key, &f->self, &lease));
    return lease;
}

// Runs in a child that takes the lease and is killed.
static void take_and_die(void *context) {
    fixture *f = context;
    rk_process_self(&f->self);
    (void)take(f);
    (void)raise(SIGKILL);
}

static void leave_a_dead_lease(fixture *f) {
    assert_int_equal(rk_fault_in_child(take_and_die, f), 128 + SIGKILL);
    rk_lease_view view = look(f);
    assert_int_equal(view.state, RK_LEASE_HELD);
    assert_true(rk_lease_is_over(&view));
}

static void one_holder_at_a_time(void **state) {
    fixture *f = *state;
    assert_int_equal(look(f).state, RK_LEASE_NONE);
    rk_lease lease = take(f);
    assert_true(lease.identity != 0);
    rk_lease_view view = look(f);
    assert_int_equal(view.state, RK_LEASE_HELD);
    assert_true(rk_process_equal(&view.holder, &f->self));
    assert_true(view.identity == lease.identity);
    assert_false(view.compiled);
    assert_false(rk_lease_is_over(&view));
    assert_true(take(f).identity == 0);
    rk_lease_release(f->store, &lease);
    assert_true(lease.identity == 0);
    assert_int_equal(look(f).state, RK_LEASE_NONE);
    assert_int_equal(files_in_leases(f), 0);
    lease = take(f);
    assert_true(lease.identity != 0 && lease.identity != view.identity);
    rk_lease_release(f->store, &lease);
}

static void heartbeats_show(void **state) {
    fixture *f = *state;
    rk_lease lease = take(f);
    size_t size_bytes = look(f).size_bytes;
    assert_true(rk_lease_beat(f->store, &lease));
    assert_true(rk_lease_beat(f->store, &lease));
    rk_lease_view view = look(f);
    assert_int_equal(view.size_bytes, size_bytes + 2);
    assert_true(view.identity == lease.identity);
    assert_false(view.compiled);
    rk_lease_note_compiled(f->store, &lease, 4853079000);
    assert_true(rk_lease_beat(f->store, &lease));
    view = look(f);
    assert_true(view.compiled);
    assert_true(view.compile_ns == 4853079000);
    assert_true(view.identity == lease.identity);
    rk_lease_release(f->store, &lease);
    assert_false(rk_lease_beat(f->store, &lease));
}

static uint64_t faked_now_ns;
static uint64_t faked_realtime(void) {
    return faked_now_ns;
}
static uint64_t faked_monotonic(void) {
    return 0;
}

static void not_kept_is_valid_for_its_time(void **state) {
    fixture *f = *state;
    static const rk_clock_table faked = {.monotonic_ns_fn = faked_monotonic,
                                         .realtime_ns_fn = faked_realtime};
    faked_now_ns = 1000 * second_ns;
    rk_clock_replace(&faked);
    rk_lease lease = take(f);
    rk_lease_release_not_kept(f->store, &lease, &f->self, 10 * second_ns);
    assert_true(lease.identity == 0);
    rk_lease_view view = look(f);
    assert_int_equal(view.state, RK_LEASE_NOT_KEPT);
    assert_int_equal(files_in_leases(f), 1);
    const struct {
        uint64_t now_s;
        bool over;
    } moments[] = {{1000, false}, {1009, false}, {991, false},
                   {1010, true},  {990, true},   {30000000, true}};
    for (size_t i = 0; i < RK_ARRAY_LEN(moments); i++) {
        faked_now_ns = moments[i].now_s * second_ns;
        assert_int_equal(rk_lease_is_over(&view), moments[i].over);
    }
    assert_true(take(f).identity == 0);
    lease = take_over(f, &view);
    assert_true(lease.identity != 0);
    assert_int_equal(look(f).state, RK_LEASE_HELD);
    rk_lease_release(f->store, &lease);
    rk_clock_replace(NULL);
}

static void what_is_not_ours_is_left_alone(void **state) {
    fixture *f = *state;
    rk_lease old = take(f);
    rk_lease_view view = look(f);
    rk_lease current = take_over(f, &view); // as if this process had been late
    assert_true(current.identity != 0);
    assert_false(rk_lease_beat(f->store, &old));
    rk_lease_note_compiled(f->store, &old, 1);
    rk_lease copy = old;
    rk_lease_release_not_kept(f->store, &copy, &f->self, second_ns);
    rk_lease_release(f->store, &old);
    view = look(f);
    assert_int_equal(view.state, RK_LEASE_HELD);
    assert_true(view.identity == current.identity);
    assert_false(view.compiled);
    rk_lease_release(f->store, &current);
    assert_int_equal(files_in_leases(f), 0);
}

static void a_dead_holder_is_replaced(void **state) {
    fixture *f = *state;
    leave_a_dead_lease(f);
    rk_lease_view view = look(f);
    assert_true(take(f).identity == 0);
    rk_lease lease = take_over(f, &view);
    assert_true(lease.identity != 0);
    assert_true(rk_process_equal(&(rk_process){0}, &f->self) == false);
    rk_lease_view now = look(f);
    assert_true(rk_process_equal(&now.holder, &f->self));
    assert_int_equal(files_in_leases(f), 1);
    rk_lease_release(f->store, &lease);
}

static void an_outdated_judgement_takes_nothing(void **state) {
    fixture *f = *state;
    leave_a_dead_lease(f);
    rk_lease_view judged = look(f);
    rk_lease first = take_over(f, &judged);
    assert_true(first.identity != 0);
    assert_true(take_over(f, &judged).identity == 0);
    assert_true(look(f).identity == first.identity);
    rk_lease_release(f->store, &first);
    assert_true(take_over(f, &judged).identity == 0); // the lease is free: use rk_lease_take
    assert_int_equal(files_in_leases(f), 0);
}

// Many processes find the same lease dead. One of them gets it.
static void one_of_many_takes_over(void **state) {
    fixture *f = *state;
    enum { ROUNDS = 30, PROCESSES = 12 };
    for (int round = 0; round < ROUNDS; round++) {
        leave_a_dead_lease(f);
        rk_lease_view judged = look(f);
        atomic_int *start = mmap(NULL, 2 * sizeof *start, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(start, MAP_FAILED);
        pid_t children[PROCESSES];
        for (int i = 0; i < PROCESSES; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            if (children[i] == 0) {
                rk_process_self(&f->self);
                while (!atomic_load(start))
                    continue;
                rk_lease mine;
                if (rk_lease_take_over(f->store, &judged, &f->key, &f->self, &mine))
                    _exit(1);
                atomic_fetch_add(start + 1, mine.identity != 0);
                while (atomic_load(start) == 1) // stays alive, so that its lease is valid
                    (void)usleep(100);
                _exit(0);
            }
        }
        atomic_store(start, 1);
        for (int i = 0; i < 200 && atomic_load(start + 1) == 0; i++)
            (void)usleep(1000);
        (void)usleep(2000);
        atomic_store(start, 2);
        for (int i = 0; i < PROCESSES; i++) {
            int status = 0;
            assert_int_equal(waitpid(children[i], &status, 0), children[i]);
            assert_int_equal(status, 0);
        }
        assert_int_equal(atomic_load(start + 1), 1);
        assert_int_equal(munmap(start, 2 * sizeof *start), 0);
        sample_ok(rk_lease_sweep(f->store, NULL));
        assert_int_equal(files_in_leases(f), 0);
    }
}

// All operations on a lease in one process.
static void live(void *context) {
    fixture *f = context;
    rk_process_self(&f->self);
    rk_lease lease;
    rk_err *err = rk_lease_take(f->store, &f->key, &f->self, &lease);
    if (!err && !lease.identity) {
        rk_lease_view view;
        err = rk_lease_read(f->store, &f->key, &view);
        if (!err && view.state != RK_LEASE_NONE)
            err = rk_lease_take_over(f->store, &view, &f->key, &f->self, &lease);
    }
    rk_err_free(err);
    if (lease.identity) {
        (void)rk_lease_beat(f->store, &lease);
        rk_lease_note_compiled(f->store, &lease, 5);
    }
    rk_lease_release_not_kept(f->store, &lease, &f->self, 1);
    err = rk_lease_take(f->store, &f->key, &f->self, &lease);
    rk_err_free(err);
    rk_lease_release(f->store, &lease);
}

typedef struct dying {
    fixture *f;
    unsigned nth;
    unsigned calls;
} dying;

static void live_and_exit_at_the_nth_call(void *context) {
    dying *plan = context;
    rk_fault_begin(&(rk_fault_plan){.nth = plan->nth, .calls = plan->calls, .exits = true});
    live(plan->f);
    (void)rk_fault_end();
}

// The next process gets the lease, if necessary by taking it over, as a waiting process does.
static void expect_not_stuck(fixture *f) {
    rk_lease lease = take(f);
    for (int attempt = 0; attempt < 3 && !lease.identity; attempt++) {
        rk_lease_view view = look(f);
        assert_int_not_equal(view.state, RK_LEASE_NONE);
        (void)usleep(1); // lets the NOT_KEPT state of 1 ns expire
        assert_true(rk_lease_is_over(&view));
        lease = take_over(f, &view);
    }
    assert_true(lease.identity != 0);
    rk_lease_release(f->store, &lease);
}

static void a_death_at_any_call_leaves_no_lease_stuck(void **state) {
    fixture *f = *state;
    for (int before = 0; before < 2; before++) { // without a lease, then with a dead one
        for (unsigned nth = 1;; nth++) {
            if (before)
                leave_a_dead_lease(f);
            dying plan = {f, nth, RK_FAULT_EVERY_SYSCALL};
            int status = rk_fault_in_child(live_and_exit_at_the_nth_call, &plan);
            expect_not_stuck(f);
            sample_ok(rk_lease_sweep(f->store, NULL));
            // Only claims may be left. They are removed when they are old or in the way.
            assert_true(files_in_leases(f) <= 1);
            if (status != RK_FAULT_EXIT_STATUS)
                break;
            assert_true(nth < 500);
        }
    }
}

static void a_failure_at_any_call_leaves_no_lease_stuck(void **state) {
    fixture *f = *state;
    static const int errors[] = {EIO, EROFS, ESTALE};
    for (size_t i = 0; i < RK_ARRAY_LEN(errors); i++) {
        for (unsigned nth = 1;; nth++) {
            leave_a_dead_lease(f);
            rk_fault_begin(&(rk_fault_plan){.nth = nth, .error_number = errors[i]});
            live(f);
            bool struck = rk_fault_end();
            // A lease that could not be released is still ours. To other processes it becomes late.
            rk_lease_view view = look(f);
            if (view.state != RK_LEASE_NONE && !rk_lease_is_over(&view)) {
                rk_lease ours = {f->key, view.identity};
                rk_lease_release(f->store, &ours);
            }
            if (look(f).state != RK_LEASE_NONE)
                expect_not_stuck(f);
            sample_ok(rk_lease_sweep(f->store, NULL));
            if (!struck)
                break;
            assert_true(nth < 500);
        }
    }
}

static void no_memory_anywhere(void **state) {
    fixture *f = *state;
    for (unsigned nth = 1;; nth++) {
        leave_a_dead_lease(f);
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        live(f);
        if (!rk_fault_end())
            break;
        rk_lease_view view = look(f);
        rk_lease ours = {f->key, view.identity};
        rk_lease_release(f->store, &ours);
        assert_true(nth < 500);
    }
}

static void other_bytes_have_no_known_holder(void **state) {
    fixture *f = *state;
    RK_AUTO(rk_buf) text = {0};
    const rk_lease_view view = {.state = RK_LEASE_HELD, .holder = f->self, .created_ns = 12};
    rk_lease_text_add(&view, "0000000000000001", &text);
    char *path = lease_path(f);
    for (size_t len = 0; len < text.len; len++) {
        sample_write_file(path, text.data, len);
        rk_lease_view seen = look(f);
        assert_int_equal(seen.state, RK_LEASE_HELD);
        assert_int_equal(seen.holder.pid, 0);
        assert_false(rk_lease_is_over(&seen));
        assert_true(take(f).identity == 0);
        rk_lease lease = take_over(f, &seen); // as after it became late
        assert_true(lease.identity != 0);
        rk_lease_release(f->store, &lease);
    }
    static const char who[] = "1-1-1-00000000000000000000000000000001-h\n";
    static const char *const others[] = {
        "rekindle lease 2 held 1 0 0000000000000000 ",
        "rekindle lease 1 lent 1 0 0000000000000000 ",
        "rekindle lease 1 held 99999999999999999999 0 0000000000000000 ",
        "rekindle lease 1 held 1 0 000000000000000 ",
        "",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++) {
        rk_buf_clear(&text);
        rk_buf_add_text(&text, others[i]);
        rk_buf_add_text(&text, who);
        sample_write_file(path, text.data, text.len);
        rk_lease_view seen = look(f);
        assert_int_equal(seen.holder.pid, 0);
        assert_int_equal(seen.state, RK_LEASE_HELD);
    }
    assert_int_equal(unlink(path), 0);
    free(path);
}

// The format of docs/format.md.
static void the_documented_bytes_are_read(void **state) {
    fixture *f = *state;
    static const char text[] =
        "rekindle lease 1 held 1795268333191848000 0 5f3ed4acfc21c51c "
        "7562-3b1f-effffffc-0123456789abcdef0123456789abcdef-node1\n....compiled 4853079000\n..";
    char *path = lease_path(f);
    sample_write_file(path, text, sizeof text - 1);
    rk_lease_view view = look(f);
    assert_int_equal(view.state, RK_LEASE_HELD);
    assert_true(view.created_ns == 1795268333191848000);
    assert_int_equal(view.holder.pid, 0x7562);
    assert_int_equal(view.holder.start_ticks, 0x3b1f);
    assert_int_equal(view.holder.pid_namespace, 0xeffffffc);
    assert_true(view.holder.boot[1] == 0x0123456789abcdef);
    assert_string_equal(view.holder.host, "node1");
    assert_true(view.compiled && view.compile_ns == 4853079000);
    static const char not_kept[] =
        "rekindle lease 1 not-kept 1795268333191848000 10000000000 5f3ed4acfc21c51c "
        "7562-3b1f-effffffc-0123456789abcdef0123456789abcdef-node1\n";
    sample_write_file(path, not_kept, sizeof not_kept - 1);
    view = look(f);
    assert_int_equal(view.state, RK_LEASE_NOT_KEPT);
    assert_true(view.valid_ns == 10000000000);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void what_is_no_file_is_an_error(void **state) {
    fixture *f = *state;
    rk_lease lease = take(f);
    char *path = lease_path(f);
    assert_int_equal(unlink(path), 0);
    rk_lease_view view;
    assert_int_equal(symlink("/etc/hostname", path), 0);
    rk_err *err = rk_lease_read(f->store, &f->key, &view);
    assert_non_null(err);
    rk_err_free(err);
    assert_true(take(f).identity == 0);
    rk_lease_release(f->store, &lease); // does not follow the link either
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void a_sweep_takes_what_is_over(void **state) {
    fixture *f = *state;
    uint64_t removed = 99;
    sample_ok(rk_lease_sweep(f->store, &removed)); // no folder yet
    assert_int_equal(removed, 0);
    f->key = sample_key(1).digest;
    rk_lease live_one = take(f);
    f->key = sample_key(2).digest;
    leave_a_dead_lease(f);
    f->key = sample_key(3).digest;
    rk_process_self(&f->self);
    rk_lease not_kept = take(f);
    rk_lease_release_not_kept(f->store, &not_kept, &f->self, 3600 * second_ns);
    f->key = sample_key(4).digest;
    not_kept = take(f);
    rk_lease_release_not_kept(f->store, &not_kept, &f->self, 1);
    f->key = sample_key(5).digest;
    dying plan = {f, 1, RK_FAULT_WRITE}; // half of its temporary file is written
    assert_int_equal(rk_fault_in_child(live_and_exit_at_the_nth_call, &plan), RK_FAULT_EXIT_STATUS);
    char *path = NULL;
    assert_true(asprintf(&path, "%s/leases/.nfs00000001", f->directory) > 0);
    sample_write_file(path, "x", 1);
    assert_int_equal(files_in_leases(f), 6);
    sample_ok(rk_lease_sweep(f->store, &removed));
    assert_int_equal(removed, 3); // the dead lease, the expired NOT_KEPT lease, the temporary file
    assert_int_equal(files_in_leases(f), 3);
    assert_true(rk_lease_beat(f->store, &live_one));
    rk_lease_release(f->store, &live_one);
    free(path);
}

static void a_store_for_reading_has_no_leases(void **state) {
    fixture *f = *state;
    rk_store *readonly = NULL;
    sample_ok(rk_store_open(f->directory, true, &readonly));
    rk_lease lease;
    sample_fails(rk_lease_take(readonly, &f->key, &f->self, &lease), RK_PERMISSION_DENIED);
    assert_true(lease.identity == 0);
    sample_ok(rk_lease_sweep(readonly, NULL));
    rk_store_free(readonly);
}

// A file system without hard links.
static int no_links(int from_fd, const char *from, int to_fd, const char *to) {
    (void)from_fd, (void)from, (void)to_fd, (void)to;
    errno = EPERM;
    return -1;
}

// NFS linked the file but lost the reply. The retry finds that the name exists.
static int link_then_deny(int from_fd, const char *from, int to_fd, const char *to) {
    int status = rk_sys_libc.linkat_fn(from_fd, from, to_fd, to);
    errno = EEXIST;
    return status ? status : -1;
}

static void odd_file_systems(void **state) {
    fixture *f = *state;
    rk_sys_table table = rk_sys_libc;
    rk_lease lease;
    table.linkat_fn = no_links;
    rk_sys_replace(&table);
    rk_err *err = rk_lease_take(f->store, &f->key, &f->self, &lease);
    rk_sys_replace(NULL);
    sample_fails(err, RK_UNIMPLEMENTED);
    assert_int_equal(files_in_leases(f), 0);
    table.linkat_fn = link_then_deny;
    rk_sys_replace(&table);
    err = rk_lease_take(f->store, &f->key, &f->self, &lease);
    rk_sys_replace(NULL);
    sample_ok(err);
    assert_true(lease.identity != 0);
    assert_true(look(f).identity == lease.identity);
    rk_lease_release(f->store, &lease);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_holder_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(heartbeats_show, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_kept_is_valid_for_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_ours_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dead_holder_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_outdated_judgement_takes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_of_many_takes_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_death_at_any_call_leaves_no_lease_stuck, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_failure_at_any_call_leaves_no_lease_stuck, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(no_memory_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_bytes_have_no_known_holder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_documented_bytes_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sweep_takes_what_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_store_for_reading_has_no_leases, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_file_systems, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
