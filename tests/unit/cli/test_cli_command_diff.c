// What differs between two command lines.
#include "cli/command_diff.h"

#include "support/expect.h"

static void expect(const char *before, const char *after, const char *text) {
    RK_AUTO(rk_buf) out = {0};
    rk_command_diff_add(before, after, &out);
    assert_string_equal(out.len ? rk_buf_text(&out) : "", text);
}

static void equal_commands_have_no_difference(void **state) {
    (void)state;
    expect("job.py", "job.py", "");
    expect("job.py --lr 1e-3 --fast", "job.py --fast --lr 1e-3", "");
}

static void options_are_new_or_gone_or_have_other_values(void **state) {
    (void)state;
    expect("job.py", "job.py --lr 0.005", "--lr 0.005 is new");
    expect("job.py --fast --lr=1 x", "job.py", "--fast is gone, --lr 1 is gone, x is gone");
    expect("job.py --lr 1e-3", "job.py --lr 3e-3 --top-k 3", "--lr 1e-3 → 3e-3, --top-k 3 is new");
    expect("job.py --dims 8 16", "job.py --dims 8 -1", "--dims 8 16 → 8 -1");
    expect("job.py --log", "job.py --log all", "--log has the value all");
}

static void words_and_quotes_are_kept(void **state) {
    (void)state;
    expect("job.py train", "job.py eval", "eval is new, train is gone");
    expect("job.py --name 'a b'", "job.py --name 'a --c'", "--name 'a b' → 'a --c'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_commands_have_no_difference),
        cmocka_unit_test(options_are_new_or_gone_or_have_other_values),
        cmocka_unit_test(words_and_quotes_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
