#include <sys/stat.h>

#include "fixture.h"

static void put_run(const char *store, const char *run, const char *seconds) {
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_format(&text, "{\"v\":1,\"t\":%s,\"ev\":\"start\"}\n", seconds);
    fixture_put(store, run, "0.jsonl", rk_buf_text(&text));
}

typedef struct seen {
    rk_buf names;
    uint64_t last_start_ns;
} seen;

static rk_err *note(void *context, const rk_run_item *item) {
    seen *list = context;
    rk_buf_add_format(&list->names, "%s ", item->run);
    assert_true(item->start_ns >= list->last_start_ns);
    list->last_start_ns = item->start_ns;
    return NULL;
}

static void expect_list(const char *store, const char *wanted) {
    seen list = {0};
    fixture_ok(rk_run_list(store, note, &list));
    assert_string_equal(rk_buf_text(&list.names), wanted);
    rk_buf_cleanup(&list.names);
}

static void expect_found(const char *store, const char *wanted, const char *run) {
    rk_autofree char *found = NULL;
    fixture_ok(rk_run_find(store, wanted, &found));
    assert_string_equal(found, run);
}

static void expect_not_found(const char *store, const char *wanted, rk_code code,
                             const char *part) {
    char *found = NULL;
    rk_autoerr err = rk_run_find(store, wanted, &found);
    assert_int_equal(rk_err_code(err), code);
    assert_null(found);
    if (!strstr(rk_err_message(err), part))
        fail_msg("\"%s\" is not in: %s", part, rk_err_message(err));
}

static void the_newest_is_last_whatever_it_is_called(void **state) {
    put_run(*state, "ant", "1795262400.000003");
    put_run(*state, "bee", "1795262400.000002");
    put_run(*state, "zebra", "1795262400.000001");
    expect_list(*state, "zebra bee ant ");
    expect_found(*state, NULL, "ant");
}

static void two_starts_within_a_second_are_in_order(void **state) {
    rk_journal_close(fixture_open(*state, "b"));
    rk_journal_close(fixture_open(*state, "a"));
    expect_list(*state, "b a ");
    expect_found(*state, NULL, "a");
}

static void what_is_no_run_is_not_listed(void **state) {
    put_run(*state, "one", "1795262400.0");
    put_run(*state, ".hidden", "1795262400.0");
    rk_autofree char *empty = fixture_path(*state, "empty", "");
    fixture_ok(rk_fs_make_dirs(empty, 0700));
    rk_autofree char *file = fixture_path(*state, "file", "");
    fixture_ok(rk_fs_publish(file, "x", 1, 0600));
    expect_list(*state, "one ");
}

static void a_run_without_a_whole_first_line_counts_by_its_directory(void **state) {
    fixture_put(*state, "a-torn", "0.jsonl", "{\"v\":1,");
    put_run(*state, "old", "1000000000.25");
    expect_list(*state, "old a-torn ");
}

static void a_beginning_is_enough_if_it_is_the_only_one(void **state) {
    put_run(*state, "20261121T120000Z-a-1", "1795262400.0");
    put_run(*state, "20261121T120001Z-a-2", "1795262401.0");
    put_run(*state, "20261121T120001Z-a-22", "1795262402.0");
    expect_found(*state, "20261121T120000", "20261121T120000Z-a-1");
    expect_found(*state, "20261121T120001Z-a-2", "20261121T120001Z-a-2");
    expect_found(*state, "20261121T120001Z-a-22", "20261121T120001Z-a-22");
    expect_not_found(*state, "2026", RK_INVALID_ARGUMENT, "several runs");
    expect_not_found(*state, "2027", RK_NOT_FOUND, "rekindle runs");
    expect_not_found(*state, "../x", RK_INVALID_ARGUMENT, "not a run id");
    expect_not_found(*state, "", RK_INVALID_ARGUMENT, "not a run id");
}

static void a_whole_name_wins_over_longer_ones_that_are_older(void **state) {
    put_run(*state, "nightly-2", "1.0");
    put_run(*state, "nightly-3", "2.0");
    put_run(*state, "nightly", "3.0");
    expect_found(*state, "nightly", "nightly");
}

static void a_store_without_runs(void **state) {
    expect_list(*state, "");
    expect_not_found(*state, NULL, RK_NOT_FOUND, "rekindle run");
}

static rk_err *refuse(void *context, const rk_run_item *item) {
    (void)item;
    ++*(int *)context;
    return rk_error(RK_CANCELLED, "enough");
}

static void an_error_of_the_visit_ends_the_walk(void **state) {
    put_run(*state, "one", "1.0");
    put_run(*state, "two", "2.0");
    int visits = 0;
    rk_autoerr err = rk_run_list(*state, refuse, &visits);
    assert_int_equal(rk_err_code(err), RK_CANCELLED);
    assert_int_equal(visits, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(the_newest_is_last_whatever_it_is_called),
        TEST(two_starts_within_a_second_are_in_order),
        TEST(what_is_no_run_is_not_listed),
        TEST(a_run_without_a_whole_first_line_counts_by_its_directory),
        TEST(a_beginning_is_enough_if_it_is_the_only_one),
        TEST(a_whole_name_wins_over_longer_ones_that_are_older),
        TEST(a_store_without_runs),
        TEST(an_error_of_the_visit_ends_the_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
