// Concurrent writers, and writers that are killed.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "support/faults.h"

enum { EVENTS_EACH = 200 };

static void write_events(rk_journal *journal, uint64_t from) {
    rk_key key = fixture_key(1, 2, 3);
    for (uint64_t i = 0; i < EVENTS_EACH; i++) {
        rk_journal_add_compile(journal, &(rk_journal_compile){.seq = from + i,
                                                              .outcome = RK_OUTCOME_HIT,
                                                              .name = "jit_step",
                                                              .key = &key});
        rk_journal_add_counts(journal, &(rk_journal_counts){.executions = i + 1});
    }
}

static pid_t start_writer(const char *store, const char *rank) {
    pid_t child = fork();
    if (child != 0)
        return child;
    setenv("RANK", rank, 1);
    rk_journal_start start = fixture_start(store, "one");
    rk_journal *journal = NULL;
    if (rk_journal_open(&start, &journal))
        _exit(1);
    write_events(journal, 1);
    rk_journal_add_end(journal);
    rk_journal_close(journal);
    _exit(0);
}

static void many_processes_write_one_run(void **state) {
    enum { PROCESSES = 16 };
    static const char *const ranks[] = {"0", "1", "2"}; // several processes per rank
    pid_t children[PROCESSES];
    for (size_t i = 0; i < PROCESSES; i++)
        children[i] = start_writer(*state, ranks[i % RK_ARRAY_LEN(ranks)]);
    for (size_t i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.process_count, PROCESSES);
    assert_true(model.ended);
    assert_int_equal(model.compile_count, PROCESSES * EVENTS_EACH);
    assert_int_equal(model.counts.executions, PROCESSES * EVENTS_EACH);
    assert_int_equal(model.torn_lines + model.bad_lines, 0);
    RK_AUTO(rk_run_totals) totals = {0};
    fixture_ok(rk_run_totals_add(&totals, &model));
    assert_int_equal(totals.programs, 1);
    assert_int_equal(totals.hits, PROCESSES * EVENTS_EACH);
}

static void *write_from_thread(void *context) {
    write_events(context, 1);
    return NULL;
}

static void many_threads_write_whole_lines(void **state) {
    enum { THREADS = 8 };
    rk_journal *journal = fixture_open(*state, "one");
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_from_thread, journal), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    rk_journal_close(journal);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.compile_count, THREADS * EVENTS_EACH);
    assert_int_equal(model.torn_lines + model.bad_lines, 0);
    for (size_t i = 1; i < model.compile_count; i++)
        assert_true(model.compiles[i - 1].time_ns <= model.compiles[i].time_ns);
}

static void *fork_while_writing(void *context) {
    rk_journal *journal = context;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            // A thread that does not exist in the child may hold the lock.
            rk_journal_add_warning(journal, "from the child");
            rk_journal_add_end(journal);
            _exit(0);
        }
        int status = 0;
        (void)waitpid(child, &status, 0);
    }
    return NULL;
}

static void a_fork_in_the_middle_neither_hangs_nor_writes(void **state) {
    rk_journal *journal = fixture_open(*state, "one");
    pthread_t writer, forker;
    assert_int_equal(pthread_create(&writer, NULL, write_from_thread, journal), 0);
    assert_int_equal(pthread_create(&forker, NULL, fork_while_writing, journal), 0);
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(pthread_join(forker, NULL), 0);
    rk_journal_close(journal);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.compile_count, EVENTS_EACH);
    assert_int_equal(model.warning_count, 0);
    assert_false(model.ended);
}

static void write_until_killed(void *context) {
    rk_journal *journal = fixture_open(context, "one");
    for (uint64_t seq = 1;; seq += EVENTS_EACH)
        write_events(journal, seq);
}

static void kill_9_leaves_whole_lines(void **state) {
    pid_t child = fork();
    if (child == 0) {
        write_until_killed(*state);
        _exit(1);
    }
    // Waits until the child has written. The result does not depend on the duration.
    rk_autofree char *path = fixture_path(*state, "one", "0.jsonl");
    struct stat info = {0};
    while (stat(path, &info) != 0 || info.st_size < 100000)
        (void)usleep(1000);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.bad_lines, 0);
    assert_true(model.torn_lines <= 1);
    assert_false(model.ended);
    assert_true(model.compile_count > 0);
    for (size_t i = 0; i < model.compile_count; i++)
        assert_int_equal(model.compiles[i].seq, i + 1);
}

static void write_a_few(void *context) {
    rk_journal *journal = fixture_open(context, "one");
    rk_journal_add_warning(journal, "one");
    rk_journal_add_warning(journal, "two");
    rk_journal_add_end(journal);
    rk_journal_close(journal);
}

typedef struct dying {
    const char *store;
    unsigned nth;
} dying;

static void write_and_die(void *context) {
    const dying *plan = context;
    rk_fault_begin(&(rk_fault_plan){.nth = plan->nth, .exits = true});
    const char *store = plan->store;
    rk_journal *journal = fixture_open(store, "one");
    rk_journal_add_warning(journal, "one");
    rk_journal_add_warning(journal, "two");
    rk_journal_add_end(journal);
    rk_journal_close(journal);
    (void)rk_fault_end();
}

// The writer ends at each system call in turn, with half of a write done. The run is always
// readable.
static void dying_anywhere_leaves_a_readable_run(void **state) {
    fixture_put(*state, "one", "9.jsonl", "{\"v\":1,\"t\":1,\"ev\":\"end\"}\n");
    uint64_t torn = 0;
    unsigned nth = 1;
    for (;; nth++) {
        rk_autofree char *path = fixture_path(*state, "one", "0.jsonl");
        rk_err_drop(rk_fs_remove(path), "there may be none");
        dying plan = {*state, nth};
        int status = rk_fault_in_child(write_and_die, &plan);
        assert_true(status == 0 || status == RK_FAULT_EXIT_STATUS);
        RK_AUTO(rk_run_model) model = {0};
        fixture_load(*state, "one", &model);
        assert_int_equal(model.bad_lines, 0);
        assert_true(model.warning_count <= 2);
        torn += model.torn_lines;
        if (status == 0)
            break;
    }
    assert_true(nth > 8);
    assert_int_equal(torn, 4); // each line was torn once
    rk_autofree char *path = fixture_path(*state, "one", "0.jsonl");
    fixture_ok(rk_fs_remove(path));
    write_a_few(*state);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_true(model.ended);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(many_processes_write_one_run),
        TEST(many_threads_write_whole_lines),
        TEST(a_fork_in_the_middle_neither_hangs_nor_writes),
        TEST(kill_9_leaves_whole_lines),
        TEST(dying_anywhere_leaves_a_readable_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
