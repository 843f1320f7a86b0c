// Load notes: they are read as written, a dead process is judged by its loads in flight, and no
// other process is judged.
#include "sample.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "store/gc.h"
#include "store/load_note.h"
#include "store/load_verdict.h"
#include "support/faults.h"
#include "support/tempdir.h"

static const uint64_t first = 1000, second = 2000; // creation times of entries

typedef struct fixture {
    char *directory;
    rk_store *store;
    rk_digest key, other;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->directory = rk_test_tempdir();
    sample_ok(rk_store_open(f->directory, false, &f->store));
    f->key = sample_key(1).digest;
    f->other = sample_key(2).digest;
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

static unsigned files_in_loads(const fixture *f) {
    char *path = NULL;
    assert_true(asprintf(&path, "%s/" RK_LOADS_FOLDER, f->directory) > 0);
    unsigned count = sample_count_files(path);
    free(path);
    return count;
}

static void read_golden(const char *name, rk_buf *out) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_GOLDEN_DIR, name);
    sample_ok(rk_fs_read(path, 1 << 20, out));
}

static void the_golden_note_is_read_and_written(void **state) {
    (void)state;
    RK_AUTO(rk_buf) golden = {0};
    rk_load_note note;
    read_golden("load-note-v1", &golden);
    assert_true(rk_load_note_decode(rk_buf_span(&golden), &note));
    assert_int_equal(note.slots[0].state, RK_LOAD_LOADING);
    assert_int_equal(note.slots[0].created_ns, UINT64_C(1795268333191848000));
    assert_int_equal(note.slots[0].since_ns, UINT64_C(1795268399000000001));
    for (uint8_t i = 0; i < RK_DIGEST_BYTES; i++)
        assert_int_equal(note.slots[0].key.bytes[i], i);
    assert_int_equal(note.slots[1].state, RK_LOAD_FREE);
    assert_int_equal(note.slots[62].state, RK_LOAD_COMPILED);
    assert_int_equal(note.slots[62].created_ns, UINT64_MAX);
    uint8_t again[RK_LOAD_NOTE_BYTES];
    rk_load_note_encode(&note, again);
    memset(golden.data + 128, 0, 64); // the state that this version does not support
    assert_memory_equal(again, golden.data, sizeof again);
    assert_false(rk_load_note_decode(rk_span_of(golden.data, golden.len - 1), &note));
    for (size_t i = 0; i < 64; i++) {
        golden.data[i] ^= 4;
        assert_false(rk_load_note_decode(rk_buf_span(&golden), &note));
        golden.data[i] ^= 4;
    }
}

static void the_golden_verdict_is_read_and_written(void **state) {
    (void)state;
    RK_AUTO(rk_buf) golden = {0};
    RK_AUTO(rk_buf) again = {0};
    rk_load_verdict verdict;
    read_golden("load-verdict-v1", &golden);
    assert_true(rk_load_verdict_parse(rk_buf_span(&golden), &verdict));
    assert_true(verdict.aside);
    assert_int_equal(verdict.created_ns, UINT64_C(1795268333191848000));
    assert_int_equal(verdict.judged_ns, UINT64_C(1795268399000000001));
    assert_int_equal(verdict.signal, 11);
    rk_load_verdict_add_text(&verdict, &again);
    assert_string_equal(rk_buf_text(&again), rk_buf_text(&golden));
    static const char *const others[] = {
        "",
        "rekindle load 1 ",
        "rekindle load 1 sus",
        "rekindle load 1 suspect 1 2",
        "rekindle load 1 suspect 1 2 3",
        "rekindle load 1 suspect 1 2 3\n\n",
        "rekindle load 1 suspect 1 -2 3\n",
        "rekindle load 1 suspect 1  2 3\n",
        "rekindle load 1 suspect 99999999999999999999 2 3\n",
        "rekindle load 2 suspect 1 2 3\n",
        "rekindle load 1 guilty 1 2 3\n",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        assert_false(rk_load_verdict_parse(rk_span_text(others[i]), &verdict));
    assert_true(rk_load_verdict_parse(rk_span_text("rekindle load 1 suspect 1 2 0\n"), &verdict));
    assert_false(verdict.aside);
}

static void names_identify_the_process(void **state) {
    (void)state;
    RK_AUTO(rk_buf) name = {0};
    rk_process self, parsed;
    rk_process_self(&self);
    rk_load_note_add_name(&self, "preload", &name);
    assert_true(rk_load_note_parse_name(rk_buf_text(&name), &parsed));
    assert_true(rk_process_equal(&self, &parsed));
    static const char *const others[] = {"", "note-", "note-1", "note-x-preload", ".tmp-1-2-3"};
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        assert_false(rk_load_note_parse_name(others[i], &parsed));
}

// A process that loads (or compiles instead) and dies of `signal`; 0: ends by _exit.
typedef struct life {
    const rk_digest *keys[2];
    rk_load_state state;
    uint64_t created_ns;
    bool ends; // ends each load before the death
    int signal;
} life;

static rk_process live(const fixture *f, const life *how) {
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        rk_store *store = NULL;
        rk_loads *loads = NULL;
        char byte;
        (void)close(gate[1]);
        sample_ok(rk_store_open(f->directory, false, &store));
        sample_ok(rk_loads_open(store, "test", &loads));
        for (size_t i = 0; i < 2 && how->keys[i]; i++) {
            int slot = rk_loads_begin(loads, how->keys[i], how->created_ns, how->state);
            if (slot < 0)
                _exit(2);
            if (how->ends)
                rk_loads_end(loads, slot);
        }
        ssize_t got = read(gate[0], &byte, 1); // waits until the parent has read its identity
        (void)got;
        (void)signal(how->signal, SIG_DFL);
        if (how->signal)
            (void)raise(how->signal);
        _exit(3);
    }
    rk_process process;
    rk_process_of_child(child, &process);
    assert_true(rk_process_is_known(&process));
    (void)close(gate[0]);
    (void)close(gate[1]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, how->signal);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 3);
    return process;
}

static rk_load_doubt doubt_of(const fixture *f, const rk_digest *key, uint64_t created_ns) {
    rk_loads *loads = NULL;
    sample_ok(rk_loads_open(f->store, "test", &loads));
    rk_load_doubt doubt = rk_loads_doubt_entry(loads, key, created_ns);
    assert_int_equal(rk_loads_doubt_key(loads, key, NULL) == RK_LOAD_TRUSTED,
                     doubt == RK_LOAD_TRUSTED);
    rk_loads_free(loads);
    return doubt;
}

static void die_loading(const fixture *f, const rk_digest *key, uint64_t created_ns) {
    (void)live(f, &(life){.keys = {key},
                          .state = RK_LOAD_LOADING,
                          .created_ns = created_ns,
                          .signal = SIGKILL});
}

static void a_death_is_suspected_and_a_second_one_sets_aside(void **state) {
    const fixture *f = *state;
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    sample_ok(rk_store_put(f->store, &entry, NULL));
    die_loading(f, &f->key, first);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
    assert_int_equal(doubt_of(f, &f->key, second), RK_LOAD_TRIAL);
    assert_int_equal(doubt_of(f, &f->key, rk_realtime_ns() + 1000000000), RK_LOAD_SUSPECT);
    assert_int_equal(doubt_of(f, &f->other, first), RK_LOAD_TRUSTED);
    die_loading(f, &f->key, first); // the same entry again, as from several ranks: no change
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
    rk_key key = sample_key(1);
    assert_true(rk_store_has(f->store, RK_ENTRY_EXECUTABLE, &key));
    die_loading(f, &f->key, second);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_ASIDE);
    assert_int_equal(doubt_of(f, &f->key, 3), RK_LOAD_ASIDE);
    assert_false(rk_store_has(f->store, RK_ENTRY_EXECUTABLE, &key));
    assert_int_equal(files_in_loads(f), 1);
}

static void what_has_ended_is_not_blamed(void **state) {
    const fixture *f = *state;
    (void)live(f, &(life){.keys = {&f->key, &f->other},
                          .state = RK_LOAD_LOADING,
                          .created_ns = first,
                          .ends = true,
                          .signal = SIGSEGV});
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_TRUSTED);
    assert_int_equal(doubt_of(f, &f->other, first), RK_LOAD_TRUSTED);
    assert_int_equal(files_in_loads(f), 0);
}

static void the_living_are_not_judged(void **state) {
    const fixture *f = *state;
    rk_loads *loads = NULL;
    sample_ok(rk_loads_open(f->store, "mine", &loads));
    int slot = rk_loads_begin(loads, &f->key, first, RK_LOAD_LOADING);
    assert_true(slot >= 0);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_TRUSTED);
    assert_int_equal(files_in_loads(f), 1);
    rk_loads_end(loads, slot);
    rk_loads_free(loads);
    assert_int_equal(files_in_loads(f), 0);
}

static void a_process_of_another_host_is_never_dead(void **state) {
    const fixture *f = *state;
    die_loading(f, &f->key, first);
    char *command = NULL;
    assert_true(asprintf(&command, "cd %s/loads && for n in note-*; do mv $n ${n%%-*}x-test; done",
                         f->directory) > 0);
    assert_int_equal(system(command), 0);
    free(command);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_TRUSTED);
    assert_int_equal(files_in_loads(f), 1);
}

static void a_known_end_decides(void **state) {
    const fixture *f = *state;
    const life alone = {.keys = {&f->key}, .state = RK_LOAD_LOADING, .created_ns = first};
    rk_process dead = live(f, &alone);
    sample_ok(rk_loads_judge(f->store, &dead, RK_DEATH_HARMLESS, 0));
    assert_int_equal(files_in_loads(f), 0);
    life crash = alone;
    crash.signal = SIGSEGV;
    crash.keys[1] = &f->other;
    dead = live(f, &crash);
    sample_ok(rk_loads_judge(f->store, &dead, RK_DEATH_CRASH, SIGSEGV));
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT); // one of the two caused it
    assert_int_equal(doubt_of(f, &f->other, first), RK_LOAD_SUSPECT);
    crash.keys[1] = NULL;
    dead = live(f, &crash);
    rk_process another = dead;
    another.start_ticks++;
    sample_ok(rk_loads_judge(f->store, &another, RK_DEATH_CRASH, SIGSEGV));
    assert_int_equal(files_in_loads(f), 3);
    sample_ok(rk_loads_judge(f->store, &dead, RK_DEATH_CRASH, SIGSEGV));
    assert_int_equal(doubt_of(f, &f->key, second), RK_LOAD_ASIDE);
    rk_loads *loads = NULL;
    int number = 0;
    sample_ok(rk_loads_open(f->store, "test", &loads));
    assert_int_equal(rk_loads_doubt_key(loads, &f->key, &number), RK_LOAD_ASIDE);
    assert_int_equal(number, SIGSEGV);
    rk_loads_free(loads);
}

static void who_dies_without_the_load_acquits_it(void **state) {
    const fixture *f = *state;
    die_loading(f, &f->key, first);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
    (void)live(f, &(life){.keys = {&f->key},
                          .state = RK_LOAD_COMPILED,
                          .created_ns = first,
                          .signal = SIGKILL});
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_TRUSTED);
}

static void a_load_on_trial_acquits(void **state) {
    const fixture *f = *state;
    die_loading(f, &f->key, first);
    rk_loads *loads = NULL;
    sample_ok(rk_loads_open(f->store, "test", &loads));
    assert_int_equal(rk_loads_doubt_entry(loads, &f->key, second), RK_LOAD_TRIAL);
    rk_loads_acquit(loads, &f->key);
    assert_int_equal(rk_loads_doubt_entry(loads, &f->key, first), RK_LOAD_TRUSTED);
    rk_loads_free(loads);
    assert_int_equal(files_in_loads(f), 0);
}

static uint64_t shift_ns;
static uint64_t shifted_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + shift_ns;
}
static uint64_t plain_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void verdicts_expire_and_are_removed(void **state) {
    const fixture *f = *state;
    static const rk_clock_table later = {.monotonic_ns_fn = plain_ns, .realtime_ns_fn = shifted_ns};
    die_loading(f, &f->key, first);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
    shift_ns = RK_LOAD_VERDICT_NS - UINT64_C(60000000000);
    rk_clock_replace(&later);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
    shift_ns = RK_LOAD_VERDICT_NS;
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_TRUSTED);
    rk_clock_replace(NULL);
    assert_int_equal(files_in_loads(f), 0);
}

static void a_key_that_is_removed_is_trusted_again(void **state) {
    const fixture *f = *state;
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    uint64_t bytes = 0;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    sample_ok(rk_store_put(f->store, &entry, NULL));
    die_loading(f, &f->key, first);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
    rk_digest_to_hex(&f->key, hex);
    sample_ok(rk_store_remove(f->store, hex, &bytes));
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_TRUSTED);
}

static const fixture *starts_late;
static rk_load_doubt late_doubt;

// Another process of the job starts just after a note is removed.
static int remove_and_start(int dir_fd, const char *path, int flags) {
    int status = rk_sys_libc.unlinkat_fn(dir_fd, path, flags);
    rk_sys_replace(NULL);
    late_doubt = doubt_of(starts_late, &starts_late->key, first);
    return status;
}

static void who_starts_while_another_judges_knows_it_too(void **state) {
    const fixture *f = *state;
    rk_sys_table table = rk_sys_libc;
    table.unlinkat_fn = remove_and_start;
    die_loading(f, &f->key, first);
    starts_late = f;
    late_doubt = RK_LOAD_ASIDE;
    rk_sys_replace(&table);
    sample_ok(rk_loads_judge(f->store, NULL, RK_DEATH_UNKNOWN, 0));
    rk_sys_replace(NULL);
    assert_int_equal(late_doubt, RK_LOAD_SUSPECT);
}

static int no_space(int fd) {
    (void)fd;
    errno = ENOSPC;
    return -1;
}

static void a_verdict_that_could_not_be_written_is_not_lost(void **state) {
    const fixture *f = *state;
    rk_sys_table table = rk_sys_libc;
    table.fsync_fn = no_space;
    die_loading(f, &f->key, first);
    rk_sys_replace(&table);
    rk_err_free(rk_loads_judge(f->store, NULL, RK_DEATH_UNKNOWN, 0));
    rk_sys_replace(NULL);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
    assert_int_equal(files_in_loads(f), 1);
}

static void what_the_process_loaded_before_exec_is_not_blamed(void **state) {
    const fixture *f = *state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { // exec keeps the process, but its loads no longer count
        rk_store *store = NULL;
        rk_loads *loads = NULL;
        sample_ok(rk_store_open(f->directory, false, &store));
        sample_ok(rk_loads_open(store, "test", &loads));
        int slot = rk_loads_begin(loads, &f->key, first, RK_LOAD_LOADING);
        sample_ok(rk_loads_open(store, "test", &loads)); // as in the new program
        _exit(slot < 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_TRUSTED);
    assert_int_equal(files_in_loads(f), 0);
}

static void files_of_others_stay(void **state) {
    const fixture *f = *state;
    char hex[RK_DIGEST_HEX_CHARS + 1], path[4096];
    static const char text[] = "somebody's", later[] = "rekindle load 2 of a later version\n";
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    const rk_digest keys[] = {f->key, f->other};
    const rk_span texts[] = {rk_span_text(text), rk_span_text(later)};
    for (size_t i = 0; i < RK_ARRAY_LEN(keys); i++) {
        rk_digest_to_hex(&keys[i], hex);
        (void)snprintf(path, sizeof path, "%s/" RK_LOADS_FOLDER "/%s", f->directory, hex);
        sample_write_file(path, texts[i].data, texts[i].len);
        assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    }
    sample_ok(rk_loads_judge(f->store, NULL, RK_DEATH_UNKNOWN, 0));
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_TRUSTED);
    assert_int_equal(doubt_of(f, &f->other, first), RK_LOAD_TRUSTED);
    assert_int_equal(files_in_loads(f), 2);
}

static void gc_judges_too(void **state) {
    const fixture *f = *state;
    rk_gc_report report;
    const rk_gc_options options = {.max_bytes = UINT64_MAX, .older_than_ns = UINT64_MAX};
    die_loading(f, &f->key, first);
    (void)live(
        f,
        &(life){.keys = {&f->other}, .state = RK_LOAD_LOADING, .created_ns = first, .ends = true});
    sample_ok(rk_store_gc(f->store, &options, &report));
    assert_int_equal(files_in_loads(f), 1);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
}

static void there_are_slots_for_loads(void **state) {
    const fixture *f = *state;
    rk_loads *loads = NULL;
    sample_ok(rk_loads_open(f->store, "test", &loads));
    unsigned compiled = 0, loading = 0;
    for (unsigned i = 0; i < 2 * RK_LOAD_SLOTS; i++)
        compiled += rk_loads_begin(loads, &f->key, first, RK_LOAD_COMPILED) >= 0;
    for (unsigned i = 0; i < 2 * RK_LOAD_SLOTS; i++)
        loading += rk_loads_begin(loads, &f->key, first, RK_LOAD_LOADING) >= 0;
    assert_int_equal(compiled, 31);
    assert_int_equal(loading, RK_LOAD_SLOTS - 31);
    rk_loads_free(loads);
}

static void a_readonly_store_is_left_alone(void **state) {
    const fixture *f = *state;
    rk_store *store = NULL;
    rk_loads *loads = NULL;
    die_loading(f, &f->key, first);
    sample_ok(rk_store_open(f->directory, true, &store));
    sample_ok(rk_loads_open(store, "test", &loads));
    assert_int_equal(rk_loads_begin(loads, &f->key, first, RK_LOAD_LOADING), -1);
    assert_int_equal(rk_loads_doubt_entry(loads, &f->key, first), RK_LOAD_TRUSTED);
    rk_loads_free(loads);
    rk_store_free(store);
    assert_int_equal(files_in_loads(f), 1);
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
}

static void without_notes_everything_goes_on(void **state) {
    const fixture *f = *state;
    assert_int_equal(rk_loads_begin(NULL, &f->key, first, RK_LOAD_LOADING), -1);
    rk_loads_end(NULL, -1);
    rk_loads_acquit(NULL, &f->key);
    rk_loads_free(NULL);
    assert_int_equal(rk_loads_doubt_key(NULL, &f->key, NULL), RK_LOAD_TRUSTED);
}

static bool fail_at(const fixture *f, unsigned nth, unsigned calls, bool lasting) {
    rk_loads *loads = NULL;
    rk_fault_begin(&(rk_fault_plan){
        .nth = nth, .calls = calls, .error_number = nth % 2 ? EIO : ENOSPC, .lasting = lasting});
    rk_err_free(rk_loads_open(f->store, "test", &loads));
    int slot = rk_loads_begin(loads, &f->other, first, RK_LOAD_LOADING);
    int more = rk_loads_begin(loads, &f->other, second, RK_LOAD_LOADING);
    rk_loads_end(loads, slot);
    rk_loads_end(loads, more);
    bool reached = rk_fault_end();
    rk_loads_free(loads);
    return reached;
}

// If a call fails, no living process is blamed, and no empty note stays.
static void each_call_may_fail(void **state) {
    const fixture *f = *state;
    for (int lasting = 0; lasting < 2; lasting++)
        for (int allocations = 0; allocations < 2; allocations++)
            for (unsigned nth = 1;; nth++) {
                die_loading(f, &f->key, first);
                if (!fail_at(f, nth, allocations ? RK_FAULT_ALLOC : 0, lasting))
                    break;
                assert_true(nth < 1000);
                assert_int_equal(doubt_of(f, &f->other, first), RK_LOAD_TRUSTED);
                rk_load_doubt doubt = doubt_of(f, &f->key, first);
                assert_true(doubt == RK_LOAD_SUSPECT || doubt == RK_LOAD_TRUSTED);
            }
    assert_int_equal(doubt_of(f, &f->key, first), RK_LOAD_SUSPECT);
    assert_int_equal(files_in_loads(f), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_golden_note_is_read_and_written),
        TEST(the_golden_verdict_is_read_and_written),
        TEST(names_identify_the_process),
        TEST(a_death_is_suspected_and_a_second_one_sets_aside),
        TEST(what_has_ended_is_not_blamed),
        TEST(the_living_are_not_judged),
        TEST(a_process_of_another_host_is_never_dead),
        TEST(a_known_end_decides),
        TEST(who_dies_without_the_load_acquits_it),
        TEST(a_load_on_trial_acquits),
        TEST(verdicts_expire_and_are_removed),
        TEST(a_key_that_is_removed_is_trusted_again),
        TEST(who_starts_while_another_judges_knows_it_too),
        TEST(a_verdict_that_could_not_be_written_is_not_lost),
        TEST(what_the_process_loaded_before_exec_is_not_blamed),
        TEST(files_of_others_stay),
        TEST(gc_judges_too),
        TEST(there_are_slots_for_loads),
        TEST(a_readonly_store_is_left_alone),
        TEST(without_notes_everything_goes_on),
        TEST(each_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
