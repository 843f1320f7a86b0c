#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "fixture.h"
#include "support/faults.h"

static void write_run(const char *store, rk_journal **out_journal, rk_err **out_err) {
    rk_journal_start start = fixture_start(store, "one");
    rk_key key = fixture_key(1, 2, 3);
    *out_err = rk_journal_open(&start, out_journal);
    rk_journal_add_compile(*out_journal, &(rk_journal_compile){.seq = 1, .name = "a", .key = &key});
    rk_journal_add_warning(*out_journal, "b");
    rk_journal_add_end(*out_journal);
}

static void writing_survives_every_failing_call(void **state) {
    static const unsigned kinds[] = {RK_FAULT_EVERY_SYSCALL, RK_FAULT_ALLOC};
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++) {
        unsigned nth = 1;
        for (bool reached = true; reached; nth++) {
            char *store = rk_test_tempdir();
            rk_journal *journal = NULL;
            rk_err *err = NULL;
            rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = kinds[i], .error_number = ENOSPC});
            write_run(store, &journal, &err);
            rk_err *failure = rk_journal_take_failure(journal);
            rk_journal_close(journal);
            reached = rk_fault_end();
            assert_true((err == NULL) == (journal != NULL));
            // Either no journal is made, or all its events are whole.
            RK_AUTO(rk_run_model) model = {0};
            rk_err_drop(rk_run_load(store, "one", &model), "there may be no run");
            assert_int_equal(model.bad_lines + model.torn_lines, 0);
            if (err)
                assert_int_equal(model.process_count, 0);
            else
                assert_true(model.ended == (failure == NULL));
            rk_err_free(err);
            rk_err_free(failure);
            rk_test_tempdir_remove(store);
        }
        assert_true(nth > 5);
    }
    (void)state;
}

// The second half of a line is lost. The next line must not continue it.
static ssize_t write_half(int fd, const void *data, size_t len) {
    if (len < 40) {
        errno = ENOSPC;
        return -1;
    }
    return rk_sys_libc.write_fn(fd, data, len / 2);
}

static void a_disk_that_fills_up_tears_at_most_the_last_line(void **state) {
    rk_journal *journal = fixture_open(*state, "one");
    rk_sys_table table = rk_sys_libc;
    table.write_fn = write_half;
    rk_sys_replace(&table);
    rk_journal_add_warning(journal,
                           "half of this reaches the disk, and then half of the rest, and so on");
    rk_sys_replace(NULL);
    rk_journal_add_warning(journal, "silent");
    rk_journal_close(journal);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.torn_lines, 1);
    assert_int_equal(model.warning_count, 0);
}

static ssize_t write_in_pieces(int fd, const void *data, size_t len) {
    static unsigned calls;
    if (calls++ % 2) {
        errno = EINTR;
        return -1;
    }
    return rk_sys_libc.write_fn(fd, data, len > 7 ? 7 : len);
}

static void short_and_interrupted_writes_go_on(void **state) {
    rk_sys_table table = rk_sys_libc;
    table.write_fn = write_in_pieces;
    rk_sys_replace(&table);
    rk_journal *journal = fixture_open(*state, "one");
    rk_journal_add_warning(journal, "whole in the end");
    rk_journal_close(journal);
    rk_sys_replace(NULL);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.warning_count, 1);
    assert_int_equal(model.torn_lines + model.bad_lines, 0);
}

static rk_err *ignore(void *context, const rk_run_item *item) {
    (void)context;
    (void)item;
    return NULL;
}

static void read_everything(const char *store, rk_err **out_err) {
    RK_AUTO(rk_run_model) model = {0};
    RK_AUTO(rk_run_totals) totals = {0};
    rk_autofree char *found = NULL;
    *out_err = rk_run_list(store, ignore, NULL);
    if (!*out_err)
        *out_err = rk_run_find(store, "on", &found);
    if (!*out_err)
        *out_err = rk_run_load(store, "one", &model);
    if (!*out_err)
        *out_err = rk_run_totals_add(&totals, &model);
    if (!*out_err)
        assert_int_equal(totals.hits + totals.misses + totals.bypassed, model.compile_count);
}

static void reading_survives_every_failing_call(void **state) {
    rk_journal *journal = NULL;
    rk_err *err = NULL;
    write_run(*state, &journal, &err);
    rk_journal_add_client(journal, &(rk_journal_client){.components_json = rk_span_text("[1]")});
    rk_journal_close(journal);
    assert_null(err);
    json_set_alloc_funcs(rk_malloc, rk_free);
    static const unsigned kinds[] = {RK_FAULT_EVERY_SYSCALL, RK_FAULT_ALLOC};
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++) {
        unsigned nth = 1;
        for (bool reached = true; reached; nth++) {
            rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = kinds[i]});
            read_everything(*state, &err);
            reached = rk_fault_end();
            if (!reached)
                assert_null(err);
            rk_err_free(err);
        }
        assert_true(nth > 5);
    }
    json_set_alloc_funcs(malloc, free);
}

static void a_store_that_cannot_be_written_is_an_error_with_its_reason(void **state) {
    rk_autofree char *file = rk_path_join(*state, "runs");
    fixture_ok(rk_fs_publish(file, "x", 1, 0600));
    rk_journal_start start = fixture_start(*state, "one");
    rk_journal *journal = NULL;
    rk_autoerr err = rk_journal_open(&start, &journal);
    assert_non_null(err);
    assert_null(journal);
    assert_non_null(strstr(rk_err_message(err), "/runs"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(writing_survives_every_failing_call),
        TEST(a_disk_that_fills_up_tears_at_most_the_last_line),
        TEST(short_and_interrupted_writes_go_on),
        TEST(reading_survives_every_failing_call),
        TEST(a_store_that_cannot_be_written_is_an_error_with_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
