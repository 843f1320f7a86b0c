// The store's size without a listing: equal to the result of a listing, or larger during a write.
#include "aged.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/reservation_internal.h"
#include "support/faults.h"
#include "support/tempdir.h"

#define NO_LIMIT ((uint64_t)1 << 40) // no limit in practice, but the account is kept and used

static int set_up(void **state) {
    *state = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    rk_test_tempdir_remove(*state);
    return 0;
}

static rk_store *open_store(const char *directory, uint64_t limit) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(directory, false, &store));
    sample_ok(rk_store_set_limit(store, limit));
    return store;
}

static void put(rk_store *store, rk_entry_kind kind, unsigned seed, size_t bytes) {
    (void)aged_put(store, kind,
                   &(aged){.seed = seed, .payload_bytes = bytes, .compile_seconds = 1});
}

static void assert_exact(rk_store *store) {
    assert_int_equal(aged_known_bytes(store), aged_real_bytes(store));
}

static void remove_seed(rk_store *store, unsigned seed) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    uint64_t bytes = 0;
    rk_key key = sample_key(seed);
    rk_digest_to_hex(&key.digest, hex);
    sample_ok(rk_store_remove(store, hex, &bytes));
}

static rk_err *remove_one(void *context, const char *name) {
    uint64_t bytes = 0;
    sample_ok(rk_store_remove_quarantined(context, name, &bytes));
    assert_true(bytes > 0);
    sample_fails(rk_store_remove_quarantined(context, name, &bytes), RK_NOT_FOUND);
    assert_int_equal(bytes, 0);
    return NULL;
}

static void remove_quarantined(rk_store *store) {
    uint64_t before = aged_known_bytes(store);
    sample_ok(rk_tree_list(rk_store_directory(store), "quarantine", 10, remove_one, store));
    assert_true(aged_known_bytes(store) < before);
}

static void puts_and_removals_are_counted(void **state) {
    rk_store *store = open_store(*state, NO_LIMIT);
    for (unsigned seed = 0; seed < 40; seed++) {
        put(store, RK_ENTRY_EXECUTABLE, seed, 100 * seed);
        if (seed % 3 == 0)
            put(store, RK_ENTRY_PROGRAM, seed, 50);
        assert_exact(store);
    }
    put(store, RK_ENTRY_EXECUTABLE, 7, 9000); // replaces an entry
    put(store, RK_ENTRY_EXECUTABLE, 30, 10);
    assert_exact(store);
    remove_seed(store, 3);
    remove_seed(store, 7);
    assert_exact(store);
    rk_key key = sample_key(9);
    assert_true(rk_store_quarantine(store, &key)); // moved, but still counted
    assert_exact(store);
    remove_quarantined(store);
    assert_exact(store);
    rk_store_free(store);
}

static void a_store_from_before_is_counted_once(void **state) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(*state, false, &store));
    for (unsigned seed = 0; seed < 20; seed++)
        put(store, RK_ENTRY_EXECUTABLE, seed, 1000);
    rk_store_free(store);
    store = open_store(*state, NO_LIMIT);
    put(store, RK_ENTRY_EXECUTABLE, 100, 1000);
    assert_exact(store);
    rk_store_free(store);
}

static void damaged_files_are_counted_again(void **state) {
    const char *const bases[] = {"", "rekindle usage 1\n", "rekindle usage\xff\n\n\nnonsense",
                                 "rekin"};
    rk_store *store = open_store(*state, NO_LIMIT);
    for (unsigned i = 0; i < RK_ARRAY_LEN(bases); i++) {
        put(store, RK_ENTRY_EXECUTABLE, 2 * i, 1000);
        rk_autofree char *base = rk_path_join(*state, "usage/base");
        sample_write_file(base, bases[i], strlen(bases[i]));
        rk_store_free(store); // the store had cached the account for a second
        store = open_store(*state, NO_LIMIT);
        put(store, RK_ENTRY_EXECUTABLE, 2 * i + 1, 1000);
        assert_exact(store);
    }
    rk_autofree char *log = rk_path_join(*state, "usage/log-1-strange");
    sample_write_file(log, "objects/zz +1 +5\nruns\nobjects/aa 1 99999999999999999999\n\n+1 +1",
                      59);
    assert_exact(store);
    rk_store_free(store);
}

// Every bit of the base counts.
static void a_flipped_bit_makes_a_base_unknown(void **state) {
    rk_store *store = open_store(*state, NO_LIMIT);
    for (unsigned seed = 0; seed < 5; seed++)
        put(store, RK_ENTRY_EXECUTABLE, seed, 1000);
    RK_AUTO_USAGE usage = NULL;
    sample_ok(rk_usage_read(store, &usage));
    RK_AUTO(rk_buf) text = {0};
    rk_usage_write_base(usage, &text);
    for (size_t bit = 0; bit < 8 * text.len; bit++) {
        RK_AUTO_USAGE parsed = rk_calloc(1, sizeof *parsed);
        text.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(rk_usage_parse_base(rk_buf_span(&text), parsed));
        text.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t len = 0; len < text.len; len++) {
        RK_AUTO_USAGE parsed = rk_calloc(1, sizeof *parsed);
        assert_false(rk_usage_parse_base(rk_span_of(text.data, len), parsed));
    }
    RK_AUTO_USAGE parsed = rk_calloc(1, sizeof *parsed);
    assert_true(rk_usage_parse_base(rk_buf_span(&text), parsed));
    assert_memory_equal(&parsed->table, &usage->table, sizeof parsed->table);
    assert_int_equal(parsed->log_count, 1);
    assert_int_equal(parsed->logs[0].folded, usage->logs[0].folded);
    rk_store_free(store);
}

static void in_a_child(const char *directory, void (*body)(rk_store *store)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body(open_store(directory, NO_LIMIT));
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static unsigned count_logs(const char *directory) {
    rk_autofree char *folder = rk_path_join(directory, "usage");
    return rk_test_count_entries(folder) - 2; // without base and clock
}

static unsigned next_seed;

static void put_and_die(rk_store *store) {
    put(store, RK_ENTRY_EXECUTABLE, next_seed, 500);
}

static void logs_of_the_dead_are_folded(void **state) {
    enum { PROCESSES = 40 };
    rk_store *store = open_store(*state, NO_LIMIT);
    put(store, RK_ENTRY_EXECUTABLE, 1000, 500);
    for (next_seed = 0; next_seed < PROCESSES; next_seed++) {
        in_a_child(*state, put_and_die);
        assert_exact(store);
        assert_true(count_logs(*state) < 20);
    }
    put(store, RK_ENTRY_EXECUTABLE, 1001, 500);
    assert_exact(store);
    rk_store_free(store);
}

// A writer that dies after its reservation. The reservation counts while the writer lives.
static void reserve_and_die(rk_store *store) {
    sample_ok(rk_usage_note(store, RK_PLACE_PENDING, (rk_usage_count){1, 5000}));
    RK_AUTO_USAGE usage = NULL;
    sample_ok(rk_usage_read(store, &usage));
    assert_int_equal(rk_usage_sum(usage).bytes, 5000);
    // Also if a base is written in the meantime.
    usage->known = true;
    sample_ok(rk_usage_publish(store, usage));
    assert_int_equal(aged_known_bytes(store), 5000);
}

static void what_the_dead_were_writing_does_not_count(void **state) {
    in_a_child(*state, reserve_and_die);
    rk_store *store = open_store(*state, NO_LIMIT);
    RK_AUTO_USAGE usage = NULL;
    sample_ok(rk_usage_read(store, &usage));
    assert_int_equal(rk_usage_find_finished(usage, 0), 1);
    assert_int_equal(rk_usage_sum(usage).bytes, 0);
    sample_ok(rk_usage_publish(store, usage));
    assert_int_equal(aged_known_bytes(store), 0);
    rk_autofree char *folder = rk_path_join(rk_store_directory(store), "usage");
    assert_non_null(folder);
    assert_int_equal(rk_test_count_entries(folder), 1); // the base; the log is gone
    rk_store_free(store);
}

// Another process took the log for that of a dead process and removed it.
static void a_removed_log_is_begun_again(void **state) {
    rk_store *store = open_store(*state, NO_LIMIT);
    put(store, RK_ENTRY_EXECUTABLE, 1, 500);
    RK_AUTO_USAGE usage = NULL;
    sample_ok(rk_usage_read(store, &usage));
    assert_int_equal(usage->log_count, 1);
    usage->logs[0].finished = true;
    sample_ok(rk_usage_publish(store, usage));
    put(store, RK_ENTRY_EXECUTABLE, 2, 500);
    assert_exact(store);
    rk_store_free(store);
}

static void a_long_log_is_closed(void **state) {
    rk_store *store = open_store(*state, NO_LIMIT);
    for (unsigned i = 0; i < 6000; i++) // 30 bytes each: more than two full logs
        sample_ok(rk_usage_note(store, i % RK_PLACE_COUNT, (rk_usage_count){1, 1000}));
    RK_AUTO_USAGE usage = NULL;
    sample_ok(rk_usage_read(store, &usage));
    assert_true(usage->log_count >= 2);
    assert_int_equal(rk_usage_sum(usage).bytes, 6000000);
    usage->known = true;
    assert_true(rk_usage_find_finished(usage, 0) >= 1);
    sample_ok(rk_usage_publish(store, usage));
    assert_int_equal(aged_known_bytes(store), 6000000);
    rk_store_free(store);
}

static void a_flushed_store_leaves_nothing_open(void **state) {
    rk_store *store = open_store(*state, NO_LIMIT);
    rk_store_flush_usage(store); // nothing was put
    for (unsigned i = 0; i < 3; i++) {
        put(store, RK_ENTRY_EXECUTABLE, i, 500);
        rk_store_flush_usage(store);
        rk_store_flush_usage(store);
        RK_AUTO_USAGE usage = NULL;
        sample_ok(rk_usage_read(store, &usage));
        assert_int_equal(usage->log_count, i + 1);
        assert_true(usage->logs[0].finished && usage->logs[i].finished);
        assert_exact(store);
    }
    rk_reservation reservation; // a reservation keeps the log open
    const rk_entry entry = {.kind = RK_ENTRY_EXECUTABLE};
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&entry.key.digest, hex);
    sample_ok(rk_reservation_take(store, &entry, hex, 700, &reservation));
    rk_store_flush_usage(store);
    uint64_t bytes = aged_real_bytes(store);
    assert_int_equal(aged_known_bytes(store), bytes + 700);
    rk_reservation_settle(store, &reservation, RK_ENTRY_EXECUTABLE, hex, false);
    assert_exact(store);
    rk_store_free(store);
}

// The sum is read again before every put if little space is left, else once a second.
static void a_sum_is_trusted_while_there_is_space(void **state) {
    const uint64_t gib = (uint64_t)1 << 30;
    rk_store *store = open_store(*state, 10 * gib);
    assert_false(rk_usage_has_space(store, 1));
    rk_usage_note_sum(store, 0);
    assert_true(rk_usage_has_space(store, 7 * gib));
    assert_false(rk_usage_has_space(store, gib)); // less than a quarter would be left
    assert_true(rk_usage_has_space(store, gib / 2));
    rk_usage_note_sum(store, 8 * gib);
    assert_false(rk_usage_has_space(store, 1));
    rk_store_free(store);
    store = open_store(*state, gib);
    rk_usage_note_sum(store, 0);
    assert_false(rk_usage_has_space(store, 1));
    rk_store_free(store);
}

static void no_account_without_a_limit_set(void **state) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(*state, false, &store));
    put(store, RK_ENTRY_EXECUTABLE, 1, 500);
    assert_int_equal(sample_count_files(*state), 1);
    rk_store_free(store);
    sample_ok(rk_store_open(*state, true, &store));
    sample_ok(rk_store_set_limit(store, 100));
    assert_int_equal(sample_count_files(*state), 1);
    rk_store_free(store);
}

// If a call fails, the put is stored or not. The account agrees, or is too high until the next
// count.
static void every_call_fails_once(void **state) {
    (void)state;
    for (unsigned nth = 1;; nth++) {
        char *directory = rk_test_tempdir();
        rk_store *store = open_store(directory, NO_LIMIT);
        put(store, RK_ENTRY_EXECUTABLE, 1, 500);
        rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 2);
        rk_fault_begin(&(rk_fault_plan){.nth = nth});
        rk_err *err = rk_store_put(store, &entry, NULL);
        bool struck = rk_fault_end();
        if (!struck)
            sample_ok(err);
        rk_err_free(err);
        put(store, RK_ENTRY_EXECUTABLE, 3, 500);
        assert_true(aged_known_bytes(store) >= aged_real_bytes(store));
        rk_gc_report report;
        sample_ok(rk_store_gc(
            store, &(rk_gc_options){.max_bytes = NO_LIMIT, .older_than_ns = UINT64_MAX}, &report));
        assert_true(aged_known_bytes(store) >= aged_real_bytes(store));
        rk_store_free(store);
        store = open_store(directory, NO_LIMIT); // after the close nothing is pending
        put(store, RK_ENTRY_EXECUTABLE, 4, 500);
        sample_ok(rk_store_gc(
            store, &(rk_gc_options){.max_bytes = NO_LIMIT, .older_than_ns = UINT64_MAX}, &report));
        assert_exact(store);
        rk_store_free(store);
        rk_test_tempdir_remove(directory);
        if (!struck)
            break;
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(puts_and_removals_are_counted),       TEST(a_store_from_before_is_counted_once),
        TEST(damaged_files_are_counted_again),     TEST(a_flipped_bit_makes_a_base_unknown),
        TEST(logs_of_the_dead_are_folded),         TEST(what_the_dead_were_writing_does_not_count),
        TEST(a_removed_log_is_begun_again),        TEST(a_long_log_is_closed),
        TEST(a_flushed_store_leaves_nothing_open), TEST(a_sum_is_trusted_while_there_is_space),
        TEST(no_account_without_a_limit_set),      TEST(every_call_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
