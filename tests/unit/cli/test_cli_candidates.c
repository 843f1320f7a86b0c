#include "cli/candidates.h"

#include <string.h>

#include "cli/place.h"
#include "cli/verbs.h"
#include "support/expect.h"

// Returns what may replace the last word of a command line, which is split at single spaces: the
// words, separated by blanks, without their descriptions. There is no store.
static const char *candidates(const char *typed) {
    enum { MOST_WORDS = 16, MOST_BYTES = 4096 };
    static char text[MOST_BYTES], line[MOST_BYTES];
    char *words[MOST_WORDS];
    size_t count = 0;
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    (void)snprintf(line, sizeof line, "%s", typed);
    for (char *next = line; next; count++) {
        assert_true(count < MOST_WORDS);
        words[count] = next;
        next = strchr(next, ' ');
        if (next)
            *next++ = '\0';
    }
    rk_place_set_variable("REKINDLE_DIR", "/nonexistent/store");
    rk_candidates_add(&rk_verbs, words, count, &out);
    size_t len = 0;
    for (const char *from = rk_buf_text(&out); *from; from += strcspn(from, "\n") + 1) {
        size_t word = strcspn(from, "\t\n");
        assert_true(len + word + 2 < sizeof text);
        if (len > 0)
            text[len++] = ' ';
        memcpy(text + len, from, word);
        len += word;
    }
    text[len] = '\0';
    return text;
}

static void lists_commands(void **state) {
    (void)state;
    assert_string_equal(candidates("ex"), "explain");
    assert_string_equal(candidates("r"), "run runs rm");
    assert_string_equal(candidates("-"), "--help --version");
    assert_string_equal(candidates("nonsense"), "");
    assert_string_equal(candidates("nonsense "), "");
    assert_string_equal(candidates("help ver"), "verify version");
}

static void lists_every_command(void **state) {
    (void)state;
    const char *listed = candidates("");
    for (size_t i = 0; i < rk_verbs.count; i++)
        assert_non_null(strstr(listed, rk_verbs.items[i]->usage->verb));
}

static void describes_in_one_clause(void **state) {
    (void)state;
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    char verb[] = "run", option[] = "--jo", *words[] = {verb, option};
    rk_candidates_add(&rk_verbs, words, 2, &out);
    assert_string_equal(rk_buf_text(&out), "--job\tthe name of the job\n");
    rk_buf_clear(&out);
    char help[] = "--he", *more[] = {verb, help};
    rk_candidates_add(&rk_verbs, more, 2, &out);
    assert_string_equal(rk_buf_text(&out), "--help\thow to use this command\n");
}

static void lists_options(void **state) {
    (void)state;
    assert_string_equal(candidates("explain -"), "--run --all --stack --json --dir --help");
    assert_string_equal(candidates("explain --r"), "--run");
    // Without operands, options are all that can follow.
    assert_string_equal(candidates("version "), "--json --help");
    assert_string_equal(candidates("show "), "");
}

static void lists_an_option_once(void **state) {
    (void)state;
    assert_string_equal(candidates("explain --all -s --run last --"), "--json --dir --help");
    assert_string_equal(candidates("explain -as --run=last --"), "--json --dir --help");
    assert_string_equal(candidates("explain -rlast --"), "--all --stack --json --dir --help");
}

static void lists_values_with_names(void **state) {
    (void)state;
    assert_string_equal(candidates("ls --sort "), "seconds size time name key");
    assert_string_equal(candidates("ls -s s"), "seconds size");
    assert_string_equal(candidates("run --log w"), "warn");
    assert_string_equal(candidates("keys "), "generate trust distrust list");
    assert_string_equal(candidates("keys trust "), "");
    assert_string_equal(candidates("completion "), "bash zsh fish");
    assert_string_equal(candidates("run --job "), ""); // any name
}

static void completes_after_an_equals_sign(void **state) {
    (void)state;
    assert_string_equal(candidates("run --mode=re"),
                        "--mode=readwrite --mode=readonly --mode=refresh");
    // as bash splits it
    assert_string_equal(candidates("run --mode ="), "readwrite readonly refresh off");
    assert_string_equal(candidates("run --mode = reado"), "readonly");
    assert_string_equal(candidates("run --mode = off --mo"), "");
    assert_string_equal(candidates("run --nonsense=re"), "");
    assert_string_equal(candidates("ls --json=x"), "");
}

static void asks_for_paths(void **state) {
    (void)state;
    assert_string_equal(candidates("show --output "), ":files");
    assert_string_equal(candidates("show -o x"), ":files");
    assert_string_equal(candidates("show --output=x"), ":files");
    assert_string_equal(candidates("stats --dir "), ":folders");
    assert_string_equal(candidates("stats --dir=x"), ":folders");
    assert_string_equal(candidates("probe lib"), ":files");
    assert_string_equal(candidates("diff "), ":files");
}

static void finds_the_command_of_a_job(void **state) {
    (void)state;
    assert_string_equal(candidates("run -- "), ":command 2");
    assert_string_equal(candidates("run -- python tr"), ":command 2");
    assert_string_equal(candidates("run pyth"), ":command 1");
    assert_string_equal(candidates("run --mode off python --"), ":command 3");
    assert_string_equal(candidates("run --mode = off -- python --"), ":command 5");
    assert_string_equal(candidates("verify --runs 5 -- "), ":command 4");
    assert_string_equal(candidates("run "), "-- --dir --mode --job --log --cpu-plugin --help");
    assert_string_equal(candidates("run -"), "-- --dir --mode --job --log --cpu-plugin --help");
    assert_string_equal(candidates("run --job "), "");
}

static void lists_options_after_the_last_operand(void **state) {
    (void)state;
    assert_string_equal(candidates("help explain "), "--json --help");
    assert_string_equal(candidates("probe x "), "--timeout --json --help");
    assert_string_equal(candidates("probe -- -"), ":files");
    assert_string_equal(candidates("diff -1 -2 --s"), "--stack");
}

static void lists_nothing_without_a_store(void **state) {
    (void)state;
    assert_string_equal(candidates("explain --run "), "");
    assert_string_equal(candidates("show "), "");
    assert_string_equal(candidates("show --dir /dev/null "), "");
    assert_string_equal(candidates("show --dir https://host/x "), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_commands),
        cmocka_unit_test(lists_every_command),
        cmocka_unit_test(describes_in_one_clause),
        cmocka_unit_test(lists_options),
        cmocka_unit_test(lists_an_option_once),
        cmocka_unit_test(lists_values_with_names),
        cmocka_unit_test(completes_after_an_equals_sign),
        cmocka_unit_test(asks_for_paths),
        cmocka_unit_test(finds_the_command_of_a_job),
        cmocka_unit_test(lists_options_after_the_last_operand),
        cmocka_unit_test(lists_nothing_without_a_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
