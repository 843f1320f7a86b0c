#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "support/faults.h"

// The n-th line of a file, from 0, as JSON. Owned: json_decref.
static json_t *line_of(const char *store, const char *run, const char *file, size_t number) {
    rk_autofree char *path = fixture_path(store, run, file);
    RK_AUTO(rk_buf) text = {0};
    fixture_ok(rk_fs_read(path, 1 << 24, &text));
    const char *line = rk_buf_text(&text);
    for (; number; number--) {
        line = strchr(line, '\n');
        assert_non_null(line);
        line++;
    }
    const char *end = strchr(line, '\n');
    assert_non_null(end);
    json_error_t error;
    json_t *object = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &error);
    if (!object)
        fail_msg("%s in: %.*s", error.text, (int)(end - line), line);
    return object;
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    if (!text)
        fail_msg("there is no text \"%s\"", key);
    return text;
}

static json_int_t int_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        fail_msg("there is no integer \"%s\"", key);
    return json_integer_value(value);
}

static uint64_t fixed_now(void) {
    return 1795262400123456789u; // 2026-11-21T12:00:00.123456789Z
}

static const rk_clock_table fixed_clock = {fixed_now, fixed_now, fixed_now};

static void the_start_says_who_and_when(void **state) {
    rk_clock_replace(&fixed_clock);
    rk_journal *journal = fixture_open(*state, "one");
    rk_clock_replace(NULL);
    assert_string_equal(rk_journal_run(journal), "one");
    rk_journal_close(journal);
    json_t *start = line_of(*state, "one", "0.jsonl", 0);
    assert_int_equal(int_of(start, "v"), 1);
    assert_true(json_real_value(json_object_get(start, "t")) == 1795262400.123457);
    assert_string_equal(text_of(start, "ev"), "start");
    assert_string_equal(text_of(start, "run"), "one");
    assert_string_equal(text_of(start, "job"), "train-0123456789ab");
    assert_string_equal(text_of(start, "mode"), "readwrite");
    assert_string_equal(text_of(start, "version"), "0.1.0");
    assert_string_equal(text_of(start, "way_in"), "preload");
    assert_int_equal(int_of(start, "rank"), 0);
    assert_int_equal(int_of(start, "pid"), getpid());
    assert_non_null(strstr(text_of(start, "executable"), "test_journal_events"));
    const json_t *argv = json_object_get(start, "argv");
    assert_int_equal(json_array_size(argv), 1);
    assert_non_null(strstr(json_string_value(json_array_get(argv, 0)), "test_journal_events"));
    json_decref(start);
}

static void only_the_owner_can_read_it(void **state) {
    rk_journal_close(fixture_open(*state, "one"));
    rk_autofree char *directory = fixture_path(*state, "one", "");
    rk_autofree char *file = fixture_path(*state, "one", "0.jsonl");
    struct stat info;
    assert_int_equal(stat(directory, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
}

static void a_compile_has_all_its_fields(void **state) {
    rk_journal *journal = fixture_open(*state, "one");
    rk_key key = fixture_key(1, 2, 3);
    rk_journal_add_compile(journal, &(rk_journal_compile){
                                        .seq = 7,
                                        .client = 2,
                                        .outcome = RK_OUTCOME_MISS,
                                        .reason = "absent",
                                        .name = "jit_step",
                                        .key = &key,
                                        .compiled = true,
                                        .deserialize_failed = true,
                                        .request_ns = 1234567890,
                                        .compile_ns = 1000000500,
                                        .load_ns = 1,
                                        .program_bytes = 4096,
                                        .executions = 12,
                                    });
    rk_journal_add_compile(journal, &(rk_journal_compile){.seq = 8,
                                                          .outcome = RK_OUTCOME_HIT,
                                                          .name = "",
                                                          .saved_ns = 5000000000,
                                                          .waited_ns = 1500000000,
                                                          .waited_for = "node1/7",
                                                          .wait_end = "landed"});
    rk_journal_close(journal);
    json_t *miss = line_of(*state, "one", "0.jsonl", 1);
    char *text = json_dumps(json_object_get(miss, "key"), JSON_ENCODE_ANY);
    assert_int_equal(strlen(text), 66);
    free(text);
    json_object_del(miss, "key");
    json_object_del(miss, "t");
    json_t *wanted = json_pack(
        "{s:i,s:s,s:i,s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:b,s:b,s:b,s:f,s:f,s:f,s:f,s:i,s:i}", "v", 1,
        "ev", "compile", "seq", 7, "client", 2, "outcome", "miss", "reason", "absent", "name",
        "jit_step", "program", "0101010101010101010101010101010101010101010101010101010101010101",
        "options", "0202020202020202020202020202020202020202020202020202020202020202",
        "environment", "0303030303030303030303030303030303030303030303030303030303030303",
        "compiled", 1, "failed", 0, "deserialize_failed", 1, "quarantined", 0, "request_seconds",
        1.234568, "compile_seconds", 1.000001, "load_seconds", 0.0, "saved_seconds", 0.0,
        "program_bytes", 4096, "executions", 12);
    assert_non_null(wanted);
    assert_true(json_equal(miss, wanted));
    json_decref(miss);
    json_decref(wanted);
    json_t *hit = line_of(*state, "one", "0.jsonl", 2);
    assert_string_equal(text_of(hit, "outcome"), "hit");
    assert_string_equal(text_of(hit, "source"), "local");
    assert_null(json_object_get(hit, "key"));
    assert_null(json_object_get(hit, "reason"));
    assert_null(json_object_get(hit, "ahead_of_time"));
    assert_true(json_real_value(json_object_get(hit, "saved_seconds")) == 5.0);
    assert_true(json_real_value(json_object_get(hit, "waited_seconds")) == 1.5);
    assert_string_equal(text_of(hit, "waited_for"), "node1/7");
    assert_string_equal(text_of(hit, "wait_end"), "landed");
    json_decref(hit);
}

static void a_second_process_of_a_rank_gets_its_own_file(void **state) {
    setenv("SLURM_PROCID", "9", 1);
    setenv("JAX_PROCESS_ID", "3", 1);
    setenv("RANK", "x", 1); // not a number: the next variable counts
    for (int i = 0; i < 4; i++)
        rk_journal_close(fixture_open(*state, "one"));
    char second[64], third[64], fourth[64];
    (void)snprintf(second, sizeof second, "3.%ld.jsonl", (long)getpid());
    (void)snprintf(third, sizeof third, "3.%ld.2.jsonl", (long)getpid());
    (void)snprintf(fourth, sizeof fourth, "3.%ld.3.jsonl", (long)getpid());
    const char *const files[] = {"3.jsonl", second, third, fourth};
    for (size_t i = 0; i < RK_ARRAY_LEN(files); i++) {
        json_t *start = line_of(*state, "one", files[i], 0);
        assert_int_equal(int_of(start, "rank"), 3);
        json_decref(start);
    }
}

static void a_run_id_is_made_where_none_is_given(void **state) {
    rk_clock_replace(&fixed_clock);
    rk_journal *journal = fixture_open(*state, "");
    rk_clock_replace(NULL);
    const char *run = rk_journal_run(journal);
    assert_memory_equal(run, "20261121T120000Z-", 17);
    assert_true(rk_run_id_valid(run));
    char ending[32];
    (void)snprintf(ending, sizeof ending, "-%ld", (long)getpid());
    assert_string_equal(strrchr(run, '-'), ending);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, run, &model);
    rk_journal_close(journal);
}

static void a_run_id_cannot_leave_its_directory(void **state) {
    char long_one[RK_RUN_ID_MAX_CHARS + 2];
    memset(long_one, 'r', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    const char *const bad[] = {"../x", "a/b", ".", "..", ".x", "a b", "a\nb", "\xc3\xa4", long_one};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++) {
        rk_journal_start start = fixture_start(*state, bad[i]);
        rk_journal *journal = NULL;
        rk_autoerr err = rk_journal_open(&start, &journal);
        assert_int_equal(rk_err_code(err), RK_INVALID_ARGUMENT);
        assert_null(journal);
    }
    long_one[RK_RUN_ID_MAX_CHARS] = '\0';
    rk_journal_close(fixture_open(*state, long_one));
}

static void lines_are_bounded_and_stay_json(void **state) {
    enum { HUGE_BYTES = 1 << 20 };
    char *huge = malloc(HUGE_BYTES + 1);
    assert_non_null(huge);
    // Control characters take six bytes each in JSON, and no byte is part of valid UTF-8.
    for (size_t i = 0; i < HUGE_BYTES; i++)
        huge[i] = "\x01\xc3\"\xff"[i % 4];
    huge[HUGE_BYTES] = '\0';
    rk_key key = fixture_key(1, 2, 3);
    rk_journal *journal = fixture_open(*state, "one");
    rk_journal_add_warning(journal, huge);
    rk_journal_add_compile(
        journal, &(rk_journal_compile){
                     .outcome = RK_OUTCOME_BYPASS, .reason = huge, .name = huge, .key = &key});
    memset(huge, '\x01', HUGE_BYTES); // six bytes each in JSON
    rk_journal_add_client(journal,
                          &(rk_journal_client){.plugin = huge,
                                               .build_id = huge,
                                               .platform_name = rk_span_of(huge, HUGE_BYTES),
                                               .platform_version = rk_span_of(huge, HUGE_BYTES),
                                               .environment = &key.environment,
                                               .components_json = rk_span_of(huge, HUGE_BYTES)});
    rk_journal_add_end(journal);
    assert_null(rk_journal_take_failure(journal));
    rk_journal_close(journal);
    free(huge);

    rk_autofree char *path = fixture_path(*state, "one", "0.jsonl");
    RK_AUTO(rk_buf) text = {0};
    fixture_ok(rk_fs_read(path, 1 << 24, &text));
    for (const char *line = rk_buf_text(&text); *line;) {
        size_t len = strcspn(line, "\n");
        assert_true(len < 64 << 10);
        line += len + 1;
    }
    json_t *warning = line_of(*state, "one", "0.jsonl", 1);
    assert_non_null(strstr(text_of(warning, "message"), "…[1048576]"));
    json_decref(warning);
    json_t *client = line_of(*state, "one", "0.jsonl", 3);
    assert_true(json_is_true(json_object_get(client, "components_cut")));
    assert_null(json_object_get(client, "components"));
    json_decref(client);
    json_t *end = line_of(*state, "one", "0.jsonl", 4);
    assert_string_equal(text_of(end, "ev"), "end");
    json_decref(end);
}

static void warnings_contain_no_password(void **state) {
    rk_journal *journal = fixture_open(*state, "one");
    rk_journal_add_warning(journal, "redis://user:canary@host is not reachable");
    rk_journal_close(journal);
    json_t *warning = line_of(*state, "one", "0.jsonl", 1);
    assert_string_equal(text_of(warning, "message"), "redis://***@host is not reachable");
    json_decref(warning);
}

// Runs this program again as "journal-child" with these arguments. main() below handles the child.
static void run_child(const char *store, const char *const *arguments, size_t count) {
    char **words = calloc(count + 4, sizeof *words);
    assert_non_null(words);
    words[0] = strdup("test");
    words[1] = strdup("journal-child");
    words[2] = strdup(store);
    for (size_t i = 0; i < count; i++)
        words[i + 3] = strdup(arguments[i]);
    pid_t child = fork();
    if (child == 0) {
        (void)execv("/proc/self/exe", words);
        _exit(1);
    }
    for (size_t i = 0; words[i]; i++)
        free(words[i]);
    free(words);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_long_command_line_is_cut(void **state) {
    enum { MANY = 300, LONG_CHARS = 1000 };
    char *word = malloc(LONG_CHARS + 1);
    assert_non_null(word);
    memset(word, 'w', LONG_CHARS);
    word[LONG_CHARS] = '\0';
    const char *arguments[MANY];
    for (size_t i = 0; i < MANY; i++)
        arguments[i] = word;
    // The first command line is longer than a line may be, the second longer than the part that is
    // read.
    static const size_t counts[] = {100, MANY};
    static const char *const files[] = {"1.jsonl", "2.jsonl"};
    for (size_t i = 0; i < RK_ARRAY_LEN(counts); i++) {
        char rank[] = {files[i][0], '\0'};
        setenv("RANK", rank, 1);
        run_child(*state, arguments, counts[i]);
        json_t *start = line_of(*state, "child", files[i], 0);
        assert_true(json_is_true(json_object_get(start, "argv_cut")));
        size_t kept = json_array_size(json_object_get(start, "argv"));
        assert_true(kept > 20 && kept < 40);
        json_decref(start);
    }
    free(word);
}

static void text_is_cut_between_characters(void **state) {
    enum { CHARS = 10000 };
    for (size_t shift = 0; shift < 3; shift++) {
        RK_AUTO(rk_buf) text = {0};
        rk_buf_add(&text, "abc", shift);
        for (size_t i = 0; i < CHARS; i++)
            rk_buf_add_text(&text, "\xe2\x82\xac"); // the euro sign
        rk_journal *journal = fixture_open(*state, "one");
        rk_journal_add_warning(journal, rk_buf_text(&text));
        rk_journal_close(journal);
    }
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.warning_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(strstr(model.warnings[i].message, "…["));
        assert_null(strstr(model.warnings[i].message, "\xef\xbf\xbd"));
    }
}

static void the_command_line_contains_no_secret(void **state) {
    static const char *const arguments[] = {"--token", "canary", "--lr", "1e-3"};
    run_child(*state, arguments, RK_ARRAY_LEN(arguments));
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "child", &model);
    assert_int_equal(model.process_count, 1);
    assert_int_equal(model.processes[0].argc, 7);
    assert_string_equal(model.processes[0].argv[3], "--token");
    assert_string_equal(model.processes[0].argv[4], "***");
    assert_string_equal(model.processes[0].argv[6], "1e-3");
    rk_autofree char *path = fixture_path(*state, "child", "0.jsonl");
    RK_AUTO(rk_buf) text = {0};
    fixture_ok(rk_fs_read(path, 1 << 20, &text));
    assert_null(strstr(rk_buf_text(&text), "canary"));
}

static void add_in_child(void *context) {
    rk_journal *journal = context;
    rk_journal_add_warning(journal, "from the child");
    rk_journal_add_end(journal);
    assert_null(rk_journal_take_failure(journal));
    rk_journal_close(journal);
}

static void a_forked_child_is_silent(void **state) {
    rk_journal *journal = fixture_open(*state, "one");
    assert_int_equal(rk_fault_in_child(add_in_child, journal), 0);
    rk_journal_add_warning(journal, "from the parent");
    rk_journal_close(journal);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.warning_count, 1);
    assert_string_equal(model.warnings[0].message, "from the parent");
    assert_false(model.ended);
}

// The descriptor of this process for the open file `path`.
static int descriptor_of(const char *path) {
    enum { MOST = 1024 };
    struct stat wanted, info;
    assert_int_equal(stat(path, &wanted), 0);
    for (int fd = 0; fd < MOST; fd++)
        if (fstat(fd, &info) == 0 && info.st_dev == wanted.st_dev && info.st_ino == wanted.st_ino)
            return fd;
    fail_msg("%s is not open", path);
    return -1;
}

// A program that becomes a daemon closes all descriptors. Another file may then get our descriptor.
static void a_descriptor_that_was_taken_over_is_left_alone(void **state) {
    rk_journal *journal = fixture_open(*state, "one");
    rk_autofree char *others = rk_path_join(*state, "others");
    rk_autofree char *path = fixture_path(*state, "one", "0.jsonl");
    int ours = descriptor_of(path);
    int opened = open(others, O_RDWR | O_CREAT, 0600);
    int fd = dup2(opened, ours);
    assert_int_equal(fd, ours);
    close(opened);
    rk_journal_add_warning(journal, "lost");
    rk_autoerr failure = rk_journal_take_failure(journal);
    assert_int_equal(rk_err_code(failure), RK_ABORTED);
    rk_journal_close(journal);
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0); // still open
    assert_int_equal(info.st_size, 0);
    close(fd);
}

static void after_a_failing_write_it_is_silent_and_says_so_once(void **state) {
    rk_journal *journal = fixture_open(*state, "one");
    errno = EAGAIN;
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_WRITE, .error_number = ENOSPC});
    rk_journal_add_warning(journal, "lost");
    assert_int_equal(rk_fault_count(), 1);
    rk_journal_add_warning(journal, "not even tried");
    assert_int_equal(rk_fault_count(), 1);
    assert_true(rk_fault_end());
    rk_journal_add_warning(journal, "nor now");
    assert_int_equal(errno, EAGAIN); // the host's errno is unchanged
    rk_err *failure = rk_journal_take_failure(journal);
    assert_int_equal(rk_err_errno(failure), ENOSPC);
    assert_non_null(strstr(rk_err_message(failure), "run one"));
    rk_err_free(failure);
    assert_null(rk_journal_take_failure(journal));
    rk_journal_close(journal);
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(*state, "one", &model);
    assert_int_equal(model.warning_count, 0);
}

static void nothing_happens_without_a_journal(void **state) {
    (void)state;
    rk_journal_add_warning(NULL, "x");
    rk_journal_add_end(NULL);
    rk_journal_add_compile(NULL, &(rk_journal_compile){0});
    rk_journal_add_stored(NULL, &(rk_journal_stored){0});
    rk_journal_add_client(NULL, &(rk_journal_client){0});
    rk_journal_add_counts(NULL, &(rk_journal_counts){0});
    assert_null(rk_journal_take_failure(NULL));
    rk_journal_close(NULL);
}

static int be_the_child(const char *store) {
    rk_journal_start start = fixture_start(store, "child");
    rk_journal *journal = NULL;
    rk_autoerr err = rk_journal_open(&start, &journal);
    rk_journal_add_end(journal);
    rk_journal_close(journal);
    return err ? 1 : 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "journal-child") == 0)
        return be_the_child(argv[2]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(the_start_says_who_and_when),
        TEST(only_the_owner_can_read_it),
        TEST(a_compile_has_all_its_fields),
        TEST(a_second_process_of_a_rank_gets_its_own_file),
        TEST(a_run_id_is_made_where_none_is_given),
        TEST(a_run_id_cannot_leave_its_directory),
        TEST(lines_are_bounded_and_stay_json),
        TEST(warnings_contain_no_password),
        TEST(the_command_line_contains_no_secret),
        TEST(a_long_command_line_is_cut),
        TEST(text_is_cut_between_characters),
        TEST(a_forked_child_is_silent),
        TEST(a_descriptor_that_was_taken_over_is_left_alone),
        TEST(after_a_failing_write_it_is_silent_and_says_so_once),
        TEST(nothing_happens_without_a_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
