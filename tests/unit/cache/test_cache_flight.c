// Single flight: of all requests for one key, one compiles and the others wait. If the compiling
// thread or process fails, the others continue.
#include "support/cmocka.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "cache/flight.h"
#include "store/lease.h"
#include "support/expect.h"
#include "support/faults.h"
#include "support/tempdir.h"

enum { THREADS = 8, PROCESSES = 64 };
static const uint64_t second_ns = 1000000000u;

// Counters of a test's "compiler", shared with forked children.
typedef struct tally {
    atomic_int compiled, loaded, compiling, most_compiling, go;
    atomic_int waits[RK_WAIT_GAVE_UP + 1];
} tally;

typedef struct fixture {
    char *directory;
    rk_store *store;
    rk_flights *flights;
    rk_key key;
    tally *tally;
    rk_flights_options options;
    // Behaviour of the compiler.
    unsigned compile_ms;
    bool keeps, fails, between_processes;
} fixture;

static rk_key key_of(int number) {
    rk_key key = {0};
    memset(key.program.bytes, number, RK_DIGEST_BYTES);
    rk_key_finish(&key, "");
    return key;
}

static void start_flights(fixture *f) {
    rk_expect_ok(rk_flights_new(f->store, &f->options, &f->flights));
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->directory = rk_test_tempdir();
    rk_expect_ok(rk_store_open(f->directory, false, &f->store));
    f->key = key_of(1);
    f->tally =
        mmap(NULL, sizeof *f->tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(f->tally, MAP_FAILED);
    f->options = (rk_flights_options){.wait_ns = 60 * second_ns,
                                      .heartbeat_ns = second_ns / 10,
                                      .late_ns = 60 * second_ns,
                                      .publish_ns = 60 * second_ns};
    f->keeps = f->between_processes = true;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    rk_flights_free(f->flights);
    rk_store_free(f->store);
    (void)munmap(f->tally, sizeof *f->tally);
    rk_test_tempdir_remove(f->directory);
    free(f);
    return 0;
}

static bool look_up(const fixture *f) {
    return rk_store_has(f->store, RK_ENTRY_EXECUTABLE, &f->key);
}

static void put(const fixture *f) {
    rk_entry entry = {.kind = RK_ENTRY_EXECUTABLE,
                      .key = f->key,
                      .components = rk_span_text("{}"),
                      .metadata = rk_span_text("{}"),
                      .payload = rk_span_text("executable")};
    rk_err *err = rk_store_put(f->store, &entry, NULL);
    assert_null(err);
}

static void wait_for(const atomic_int *counter, int least) {
    while (atomic_load(counter) < least)
        (void)usleep(200);
}

static void count_most(tally *t) {
    int now = atomic_fetch_add(&t->compiling, 1) + 1, most = atomic_load(&t->most_compiling);
    while (now > most && !atomic_compare_exchange_weak(&t->most_compiling, &most, now))
        continue;
}

// Makes a request like the compile hook.
static void request(const fixture *f, rk_flight_wait *out_wait) {
    *out_wait = (rk_flight_wait){.key = &f->key, .between_processes = f->between_processes};
    bool hit = look_up(f);
    while (!hit && rk_flights_ask(f->flights, out_wait) == RK_FLIGHT_LOOK)
        hit = look_up(f);
    rk_flight_result result = RK_FLIGHT_PUBLISHED;
    if (hit) {
        atomic_fetch_add(&f->tally->loaded, 1);
    } else {
        count_most(f->tally);
        (void)usleep(1000 * f->compile_ms);
        atomic_fetch_sub(&f->tally->compiling, 1);
        atomic_fetch_add(&f->tally->compiled, 1);
        result = f->keeps ? RK_FLIGHT_PUBLISHED : RK_FLIGHT_NOT_KEPT;
        if (f->keeps)
            put(f);
    }
    atomic_fetch_add(&f->tally->waits[out_wait->wait_end], 1);
    if (out_wait->flight)
        rk_flight_finish(f->flights, out_wait->flight, result, 10 * second_ns);
}

static void *request_in_thread(void *argument) {
    const fixture *f = argument;
    rk_flight_wait wait;
    wait_for(&f->tally->go, 1);
    request(f, &wait);
    return NULL;
}

static void run_threads(fixture *f, size_t count) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, request_in_thread, f), 0);
    atomic_store(&f->tally->go, 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static unsigned leases(const fixture *f) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/leases", f->directory);
    return rk_test_count_entries(path);
}

static rk_lease_view look_at_lease(const fixture *f) {
    rk_lease_view view;
    rk_expect_ok(rk_lease_read(f->store, &f->key.digest, &view));
    return view;
}

static void alone_it_compiles_at_once(void **state) {
    fixture *f = *state;
    start_flights(f);
    rk_flight_wait wait;
    request(f, &wait);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(wait.waited_ns, 0);
    assert_int_equal(wait.wait_end, RK_WAIT_NONE);
    assert_int_equal(leases(f), 0);
    request(f, &wait);
    assert_int_equal(f->tally->loaded, 1);
}

static void of_many_threads_one_compiles(void **state) {
    fixture *f = *state;
    f->compile_ms = 50;
    start_flights(f);
    run_threads(f, THREADS);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(f->tally->loaded, THREADS - 1);
    assert_int_equal(leases(f), 0);
}

static void threads_need_no_lease(void **state) {
    fixture *f = *state;
    f->compile_ms = 50;
    f->between_processes = false;
    start_flights(f);
    run_threads(f, THREADS);
    assert_int_equal(f->tally->compiled, 1);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/leases", f->directory);
    assert_int_equal(access(path, F_OK), -1);
}

static void what_is_not_kept_is_compiled_by_all_at_once(void **state) {
    fixture *f = *state;
    f->compile_ms = 100;
    f->keeps = false;
    start_flights(f);
    run_threads(f, THREADS);
    assert_int_equal(f->tally->compiled, THREADS);
    assert_true(f->tally->most_compiling >= THREADS / 2);
    assert_int_equal(look_at_lease(f).state, RK_LEASE_NOT_KEPT);
}

static void an_abandoned_flight_is_taken_over_by_the_next(void **state) {
    fixture *f = *state;
    start_flights(f);
    rk_flight_wait first = {.key = &f->key, .between_processes = true};
    while (rk_flights_ask(f->flights, &first) == RK_FLIGHT_LOOK)
        continue;
    assert_non_null(first.flight);
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, request_in_thread, f), 0);
    atomic_store(&f->tally->go, 1);
    (void)usleep(20000);
    assert_int_equal(f->tally->compiled, 0);
    rk_flight_finish(f->flights, first.flight, RK_FLIGHT_ABANDONED, 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(f->tally->loaded, 1);
}

// Starts a flight that stays unfinished.
static rk_flight_wait start_flight(fixture *f) {
    rk_flight_wait wait = {.key = &f->key, .between_processes = f->between_processes};
    while (rk_flights_ask(f->flights, &wait) == RK_FLIGHT_LOOK)
        continue;
    assert_non_null(wait.flight);
    return wait;
}

static void a_wait_ends_at_its_deadline(void **state) {
    fixture *f = *state;
    f->options.wait_ns = second_ns / 20;
    start_flights(f);
    rk_flight_wait first = start_flight(f), second;
    request(f, &second);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(second.wait_end, RK_WAIT_GAVE_UP);
    assert_true(second.waited_ns >= f->options.wait_ns);
    assert_true(strlen(second.waited_for) > 0);
    rk_flight_finish(f->flights, first.flight, RK_FLIGHT_PUBLISHED, 0);
}

static void without_time_no_request_waits(void **state) {
    fixture *f = *state;
    f->options.wait_ns = 0;
    start_flights(f);
    rk_flight_wait first = start_flight(f), second;
    request(f, &second);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(second.wait_end, RK_WAIT_NONE);
    rk_flight_finish(f->flights, first.flight, RK_FLIGHT_PUBLISHED, 0);
}

// The compilation ended long ago, but the store is slow: compiling again is faster than waiting.
static void publishing_is_not_waited_for_longer_than_it_is_worth(void **state) {
    fixture *f = *state;
    f->options.publish_ns = second_ns / 20;
    start_flights(f);
    rk_flight_wait first = start_flight(f), second;
    rk_flight_compiled(f->flights, first.flight, 1000);
    request(f, &second);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(second.wait_end, RK_WAIT_SLOW);
    rk_flight_finish(f->flights, first.flight, RK_FLIGHT_PUBLISHED, 0);
}

// Processes.

static void as_process(void *context) {
    fixture *f = context;
    start_flights(f);
    rk_flight_wait wait;
    wait_for(&f->tally->go, 1);
    request(f, &wait);
    rk_flights_close(f->flights);
}

// A child that also ends when an assertion in the parent fails. Otherwise ctest would wait for it.
static pid_t start_child(void) {
    pid_t parent = getpid(), child = fork();
    assert_true(child >= 0);
    if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        _exit(1);
    return child;
}

static void start_processes(fixture *f, pid_t *children, int count) {
    for (int i = 0; i < count; i++) {
        children[i] = start_child();
        if (children[i] == 0) {
            as_process(f);
            _exit(0);
        }
    }
}

static void wait_for_processes(const pid_t *children, int count) {
    for (int i = 0; i < count; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

static void of_many_processes_one_compiles(void **state) {
    fixture *f = *state;
    pid_t children[PROCESSES];
    f->compile_ms = 200;
    start_processes(f, children, PROCESSES);
    atomic_store(&f->tally->go, 1);
    wait_for_processes(children, PROCESSES);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(f->tally->loaded, PROCESSES - 1);
    assert_int_equal(leases(f), 0);
}

static void processes_too_compile_at_once_what_is_not_kept(void **state) {
    fixture *f = *state;
    enum { COUNT = 16 };
    pid_t children[COUNT];
    f->compile_ms = 1000;
    f->keeps = false;
    start_processes(f, children, COUNT);
    atomic_store(&f->tally->go, 1);
    wait_for_processes(children, COUNT);
    assert_int_equal(f->tally->compiled, COUNT);
    assert_true(f->tally->most_compiling >= COUNT / 2);
    assert_int_equal(f->tally->waits[RK_WAIT_NOT_KEPT], COUNT - 1);
}

static void start_flight_and_stay(void *context) {
    fixture *f = context;
    start_flights(f);
    (void)start_flight(f);
    atomic_store(&f->tally->go, 2);
    for (;;)
        (void)pause();
}

static pid_t start_holder(fixture *f) {
    pid_t holder = start_child();
    if (holder == 0)
        start_flight_and_stay(f);
    wait_for(&f->tally->go, 2);
    return holder;
}

static void end_holder(pid_t holder) {
    assert_int_equal(kill(holder, SIGKILL), 0);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
}

// Ten holders in a row are killed while they compile. Each time one of the waiting processes takes
// over.
static void killed_holders_are_replaced_at_once(void **state) {
    fixture *f = *state;
    enum { KILLS = 10, COUNT = 8 };
    for (int round = 0; round < KILLS; round++) {
        atomic_store(&f->tally->go, 0);
        f->key = key_of(100 + round);
        pid_t holder = start_holder(f), children[COUNT];
        start_processes(f, children, COUNT);
        (void)usleep(20000);
        assert_int_equal(f->tally->compiled, round);
        end_holder(holder);
        wait_for_processes(children, COUNT);
        assert_int_equal(f->tally->compiled, round + 1);
        assert_int_equal(leases(f), 0);
    }
}

static void a_process_gives_up_too_and_then_avoids_that_holder(void **state) {
    fixture *f = *state;
    f->options.wait_ns = second_ns / 5;
    pid_t holder = start_holder(f);
    start_flights(f);
    rk_flight_wait wait;
    request(f, &wait);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(wait.wait_end, RK_WAIT_GAVE_UP);
    assert_true(wait.waited_ns >= f->options.wait_ns);
    char name[96];
    (void)snprintf(name, sizeof name, "/%ld", (long)holder);
    assert_non_null(strstr(wait.waited_for, name));
    // The holder is alive, so its lease remains. This process waits less for it the next time.
    assert_int_equal(look_at_lease(f).holder.pid, holder);
    char path[512], hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&f->key.digest, hex);
    (void)snprintf(path, sizeof path, "%s/objects/%.2s/%s.rkx", f->directory, hex, hex);
    assert_int_equal(unlink(path), 0);
    request(f, &wait);
    assert_int_equal(f->tally->compiled, 2);
    assert_true(wait.waited_ns < f->options.wait_ns);
    end_holder(holder);
}

static char *lease_path(const fixture *f) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    char *path = NULL;
    rk_digest_to_hex(&f->key.digest, hex);
    assert_true(asprintf(&path, "%s/leases/%s", f->directory, hex) > 0);
    return path;
}

// A lease of another host, whose holder this host cannot check.
static void write_foreign_lease(const fixture *f) {
    char *path = lease_path(f);
    char *folder = strdup(path);
    *strrchr(folder, '/') = '\0';
    (void)mkdir(folder, 0700);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("rekindle lease 1 held 1795268333191848000 0 5f3ed4acfc21c51c "
                      "7562-3b1f-effffffc-0123456789abcdef0123456789abcdef-elsewhere\n",
                      file) > 0);
    assert_int_equal(fclose(file), 0);
    free(folder);
    free(path);
}

static void a_silent_holder_elsewhere_is_late(void **state) {
    fixture *f = *state;
    f->options.late_ns = second_ns / 10;
    write_foreign_lease(f);
    start_flights(f);
    rk_flight_wait wait;
    request(f, &wait);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(wait.wait_end, RK_WAIT_TAKEN_OVER);
    assert_true(wait.waited_ns >= f->options.late_ns);
    assert_string_equal(wait.waited_for, "elsewhere/30050");
    assert_int_equal(leases(f), 0);
}

static atomic_bool silent;

static void *send_heartbeats(void *argument) {
    char *path = lease_path(argument);
    while (!atomic_load(&silent)) {
        FILE *file = fopen(path, "a");
        assert_non_null(file);
        assert_int_equal(fputc('.', file), '.');
        assert_int_equal(fclose(file), 0);
        (void)usleep(20000);
    }
    free(path);
    return NULL;
}

static void a_remote_holder_with_heartbeats_is_waited_for(void **state) {
    fixture *f = *state;
    f->options.late_ns = second_ns;
    f->options.wait_ns = 3 * second_ns;
    write_foreign_lease(f);
    start_flights(f);
    pthread_t thread;
    atomic_store(&silent, false);
    assert_int_equal(pthread_create(&thread, NULL, send_heartbeats, f), 0);
    rk_flight_wait wait;
    request(f, &wait);
    atomic_store(&silent, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(wait.wait_end, RK_WAIT_GAVE_UP);
}

static void this_process_sends_heartbeats(void **state) {
    fixture *f = *state;
    f->options.heartbeat_ns = second_ns / 100;
    start_flights(f);
    rk_flight_wait wait = start_flight(f);
    rk_lease_view view = look_at_lease(f);
    size_t size_bytes = view.size_bytes;
    for (int i = 0; view.size_bytes < size_bytes + 3; i++) {
        assert_true(i < 10000);
        (void)usleep(1000);
        view = look_at_lease(f);
    }
    assert_false(view.compiled);
    rk_flight_compiled(f->flights, wait.flight, 77);
    for (int i = 0; !view.compiled; i++) {
        assert_true(i < 10000);
        (void)usleep(1000);
        view = look_at_lease(f);
    }
    assert_int_equal(view.compile_ns, 77);
    rk_flight_finish(f->flights, wait.flight, RK_FLIGHT_PUBLISHED, 0);
    assert_int_equal(leases(f), 0);
}

// A process waits for a holder that is slow to publish, then compiles itself.
static void slow_publishing_shows_between_processes(void **state) {
    fixture *f = *state;
    f->options.heartbeat_ns = second_ns / 100;
    f->options.publish_ns = second_ns / 20;
    pid_t holder = start_child();
    if (holder == 0) {
        start_flights(f);
        rk_flight_wait wait = start_flight(f);
        rk_flight_compiled(f->flights, wait.flight, 1000);
        atomic_store(&f->tally->go, 2);
        for (;;)
            (void)pause();
    }
    wait_for(&f->tally->go, 2);
    start_flights(f);
    rk_flight_wait wait;
    request(f, &wait);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(wait.wait_end, RK_WAIT_SLOW);
    end_holder(holder);
}

static void an_end_gives_all_leases_back(void **state) {
    fixture *f = *state;
    enum { COUNT = 5 };
    start_flights(f);
    rk_key keys[COUNT];
    rk_flight_wait waits[COUNT];
    for (int i = 0; i < COUNT; i++) {
        keys[i] = key_of(i + 1);
        f->key = keys[i];
        waits[i] = start_flight(f);
        waits[i].key = &keys[i];
    }
    assert_int_equal(leases(f), COUNT);
    rk_flights_close(f->flights);
    assert_int_equal(leases(f), 0);
    f->key = key_of(99);
    rk_flight_wait late;
    request(f, &late);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(leases(f), 0);
    for (int i = 0; i < COUNT; i++)
        rk_flight_finish(f->flights, waits[i].flight, RK_FLIGHT_NOT_KEPT, second_ns);
    assert_int_equal(leases(f), 0);
}

// Cancelled threads.

typedef struct cancelled {
    fixture *f;
    rk_flight_wait wait;
    atomic_bool begun;
} cancelled;

static void finish_abandoned(void *argument) {
    cancelled *self = argument;
    if (self->wait.flight)
        rk_flight_finish(self->f->flights, self->wait.flight, RK_FLIGHT_ABANDONED, 0);
}

// Waits like the compile hook: the thread can be cancelled only while it waits.
static void *wait_until_cancelled(void *argument) {
    cancelled *self = argument;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    self->wait = (rk_flight_wait){
        .key = &self->f->key, .between_processes = true, .cancel_state = PTHREAD_CANCEL_ENABLE};
    pthread_cleanup_push(finish_abandoned, self);
    atomic_store(&self->begun, true);
    while (rk_flights_ask(self->f->flights, &self->wait) == RK_FLIGHT_LOOK)
        continue;
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancel_a_waiter(fixture *f) {
    cancelled waiter = {.f = f};
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, wait_until_cancelled, &waiter), 0);
    while (!atomic_load(&waiter.begun))
        (void)usleep(1000);
    (void)usleep(20000);
    assert_int_equal(pthread_cancel(thread), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

static void a_cancelled_thread_delays_no_other(void **state) {
    fixture *f = *state;
    start_flights(f);
    rk_flight_wait first = start_flight(f);
    cancel_a_waiter(f); // waits for a thread
    rk_flight_finish(f->flights, first.flight, RK_FLIGHT_ABANDONED, 0);
    write_foreign_lease(f);
    cancel_a_waiter(f); // waits for a process
    char *path = lease_path(f);
    assert_int_equal(unlink(path), 0);
    free(path);
    run_threads(f, THREADS);
    assert_int_equal(f->tally->compiled, 1);
    assert_int_equal(f->tally->loaded, THREADS - 1);
}

// Faults: every request gets an answer, and nothing is left that delays the next process.
// Makes one request with a fault in it. Threads of this process exist only between rk_fault_begin
// and rk_fault_end.
static void request_with_fault(fixture *f, const rk_fault_plan *plan) {
    rk_fault_begin(plan);
    rk_err *err = rk_flights_new(f->store, &f->options, &f->flights);
    if (!err) {
        rk_flight_wait wait = {.key = &f->key, .between_processes = true};
        while (rk_flights_ask(f->flights, &wait) == RK_FLIGHT_LOOK)
            continue;
        if (wait.flight)
            rk_flight_finish(f->flights, wait.flight, RK_FLIGHT_PUBLISHED, 0);
        rk_err_free(wait.refusal);
        rk_flights_free(f->flights);
    }
    f->flights = NULL;
    rk_err_free(err);
    (void)rk_fault_end();
    char *path = lease_path(f);
    (void)unlink(path);
    free(path);
}

// The number of calls of a wait depends on its duration. This covers all of them.
enum { FAULTS = 80 };

static void any_failing_call_ends_in_an_answer(void **state) {
    fixture *f = *state;
    static const int errors[] = {EIO, EROFS};
    f->options.wait_ns = second_ns / 100;
    f->options.late_ns = second_ns / 200;
    for (unsigned i = 0; i < 4 * FAULTS; i++) {
        if (i % 2)
            write_foreign_lease(f);
        request_with_fault(f, &(rk_fault_plan){.nth = 1 + i / 4,
                                               .error_number = errors[i / 2 % 2],
                                               .lasting = i / 4 % 2 != 0});
    }
}

// The lease is written first, so a full store is detected there. The error is returned only once.
static void a_full_store_is_met_once(void **state) {
    fixture *f = *state;
    rk_fault_begin(&(rk_fault_plan){
        .nth = 1, .calls = RK_FAULT_LINK, .error_number = ENOSPC, .lasting = true});
    rk_err *err = rk_flights_new(f->store, &f->options, &f->flights);
    rk_flight_wait waits[2] = {0};
    for (size_t i = 0; !err && i < RK_ARRAY_LEN(waits); i++) {
        waits[i] = (rk_flight_wait){.key = &f->key, .between_processes = true};
        while (rk_flights_ask(f->flights, &waits[i]) == RK_FLIGHT_LOOK)
            continue;
        rk_flight_finish(f->flights, waits[i].flight, RK_FLIGHT_NOT_KEPT, second_ns);
    }
    rk_flights_free(f->flights);
    f->flights = NULL;
    unsigned links = rk_fault_count();
    (void)rk_fault_end();
    rk_expect_ok(err);
    assert_int_equal(rk_err_errno(waits[0].refusal), ENOSPC);
    assert_null(waits[1].refusal);
    rk_err_free(waits[0].refusal);
    assert_int_equal(links, 1);
    assert_false(rk_store_accepts(f->store));
    assert_int_equal(leases(f), 0);
}

static void no_memory_means_no_waiting(void **state) {
    fixture *f = *state;
    f->options.wait_ns = second_ns / 100;
    for (unsigned nth = 1; nth <= FAULTS; nth++) {
        if (nth % 2)
            write_foreign_lease(f);
        request_with_fault(f, &(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
    }
}

static void every_end_has_a_name(void **state) {
    (void)state;
    for (rk_wait_end end = RK_WAIT_NONE; end <= RK_WAIT_GAVE_UP; end++)
        assert_true(strlen(rk_wait_end_name(end)) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        // Tests that fork come first, so that no thread of a failed test exists at the fork.
        TEST(of_many_processes_one_compiles),
        TEST(processes_too_compile_at_once_what_is_not_kept),
        TEST(killed_holders_are_replaced_at_once),
        TEST(a_process_gives_up_too_and_then_avoids_that_holder),
        TEST(slow_publishing_shows_between_processes),
        TEST(alone_it_compiles_at_once),
        TEST(of_many_threads_one_compiles),
        TEST(threads_need_no_lease),
        TEST(what_is_not_kept_is_compiled_by_all_at_once),
        TEST(an_abandoned_flight_is_taken_over_by_the_next),
        TEST(a_wait_ends_at_its_deadline),
        TEST(without_time_no_request_waits),
        TEST(publishing_is_not_waited_for_longer_than_it_is_worth),
        TEST(a_silent_holder_elsewhere_is_late),
        TEST(a_remote_holder_with_heartbeats_is_waited_for),
        TEST(this_process_sends_heartbeats),
        TEST(an_end_gives_all_leases_back),
        TEST(a_cancelled_thread_delays_no_other),
        TEST(any_failing_call_ends_in_an_answer),
        TEST(a_full_store_is_met_once),
        TEST(no_memory_means_no_waiting),
        TEST(every_end_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
