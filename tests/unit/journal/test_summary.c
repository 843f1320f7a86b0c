// Summaries of runs: they equal the journals, or are not used.
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tree.h"
#include "fixture.h"
#include "journal/command.h"
#include "journal/summary.h"
#include "journal/summary_text.h"
#include "support/faults.h"

static void write_compile(rk_journal *journal, uint64_t seq, rk_outcome outcome, bool has_key) {
    rk_key key = fixture_key((uint8_t)seq, 2, 3);
    bool hit = outcome == RK_OUTCOME_HIT, bypass = outcome == RK_OUTCOME_BYPASS;
    rk_journal_add_compile(journal, &(rk_journal_compile){.seq = seq,
                                                          .outcome = outcome,
                                                          .reason = hit ? NULL : "why \"not\"",
                                                          .name = bypass ? "jit_\x1b\xc3\xa4" : "",
                                                          .key = has_key ? &key : NULL,
                                                          .by_bytes = bypass ? "odd" : NULL,
                                                          .compiled = !hit,
                                                          .deserialize_failed = !hit,
                                                          .quarantined = bypass,
                                                          .preloaded = hit && seq % 2,
                                                          .ahead_of_time = seq == 3,
                                                          .found = seq == 3,
                                                          .refused = seq == 4,
                                                          .storing = outcome == RK_OUTCOME_MISS,
                                                          .compile_ns = hit ? 0 : 4000 * seq,
                                                          .load_ns = 1000 * seq,
                                                          .saved_ns = hit ? 9000000 : 0,
                                                          .waited_ns = 5000,
                                                          .waited_for = "node1/2",
                                                          .wait_end = "landed"});
}

static void write_others(rk_journal *journal) {
    rk_key key = fixture_key(9, 2, 3);
    rk_journal_add_stored(journal, &(rk_journal_stored){.key = &key, .stored = true});
    rk_journal_add_stored(journal, &(rk_journal_stored){.key = &key, .reason = "write_failed"});
    rk_journal_add_verified(journal, &(rk_journal_verified){.key = &key,
                                                            .name = "a",
                                                            .outcome = RK_VERIFIED_DIFFERENT,
                                                            .differs = "fingerprint",
                                                            .verify_ns = 77000});
    rk_journal_add_prefetch(journal, &(rk_journal_prefetch){.listed = 5,
                                                            .loaded = 4,
                                                            .claimed = 3,
                                                            .wasted = 1,
                                                            .load_ns = 11000,
                                                            .wasted_load_ns = 3000});
    rk_journal_add_counts(journal, &(rk_journal_counts){1, 2, 3, 4, 5});
    rk_journal_add_steps(journal, &(rk_journal_steps){.rhythm = 1, .executions = 2, .steps = 2});
    rk_journal_add_executed(journal, &(rk_journal_executed){.executions = 2}, 1);
    rk_journal_add_warm(journal, "steps", 2);
    rk_journal_add_memory(journal, &(rk_journal_memory){.client = 1, .when = "start"});
    rk_journal_add_unwatched(journal, "/opt/plugin.so", "it made no client");
    rk_journal_add_warning(journal, "the disk is \"full\"\n");
    rk_journal_add_warning(journal, "again");
    rk_journal_add_warning(journal, "again");
}

// A run of two processes, the second killed, with events of every counted kind.
static void write_run(const char *store, const char *run, uint64_t from) {
    for (int process = 0; process < 2; process++) {
        rk_journal *journal = fixture_open(store, run);
        write_compile(journal, from, RK_OUTCOME_HIT, true);
        write_compile(journal, from + 1, RK_OUTCOME_MISS, true);
        write_compile(journal, from + 2, RK_OUTCOME_BYPASS, true);
        write_compile(journal, from + 2, RK_OUTCOME_BYPASS, true);
        write_compile(journal, from + 3, RK_OUTCOME_BYPASS, false);
        write_compile(journal, from + 3, RK_OUTCOME_MISS, false);
        write_others(journal);
        if (process == 0)
            rk_journal_add_end(journal);
        rk_journal_close(journal);
    }
    const rk_run_command command = {.pid = 1234, .host = "node1.example", .signal_number = 9};
    fixture_ok(rk_run_add_command(store, run, &command));
}

static void load(const char *store, const char *run, rk_run_summary *out) {
    fixture_ok(rk_run_summary_load(store, run, out));
}

static void keep(const char *store, const char *run) {
    RK_AUTO(rk_run_summary) summary = {0};
    load(store, run, &summary);
    assert_false(summary.was_kept);
    assert_true(rk_run_summary_is_whole(&summary));
    fixture_ok(rk_run_summary_keep(store, &summary));
}

static bool was_kept(const char *store, const char *run) {
    RK_AUTO(rk_run_summary) summary = {0};
    load(store, run, &summary);
    return summary.was_kept;
}

static void read_journals(const char *store, const char *run, rk_run_summary *out) {
    RK_AUTO(rk_run_model) model = {0};
    fixture_load(store, run, &model);
    fixture_ok(rk_run_summary_of(&model, out));
}

// Compares files, processes, counters, programs and texts of two summaries.
static void assert_same(const rk_run_summary *a, const rk_run_summary *b) {
    RK_AUTO(rk_buf) left = {0};
    RK_AUTO(rk_buf) right = {0};
    fixture_ok(rk_summary_text_write(a, &left));
    fixture_ok(rk_summary_text_write(b, &right));
    assert_string_equal(rk_buf_text(&left), rk_buf_text(&right));
    assert_int_equal(a->run.start_ns, b->run.start_ns);
    assert_int_equal(a->run.last_ns, b->run.last_ns);
    assert_int_equal(a->run.ended, b->run.ended);
    assert_int_equal(rk_run_count_lost(&a->run), rk_run_count_lost(&b->run));
    assert_int_equal(rk_run_count_unknown_ends(&a->run), rk_run_count_unknown_ends(&b->run));
    assert_int_equal(a->totals.programs, b->totals.programs);
    assert_int_equal(a->totals.saved_ns, b->totals.saved_ns);
    assert_memory_equal(&a->run.counts, &b->run.counts, sizeof a->run.counts);
    assert_memory_equal(&a->run.preload, &b->run.preload, sizeof a->run.preload);
}

static void assert_as_journals(const char *store, const char *run) {
    RK_AUTO(rk_run_summary) loaded = {0};
    RK_AUTO(rk_run_summary) read = {0};
    load(store, run, &loaded);
    read_journals(store, run, &read);
    assert_same(&loaded, &read);
}

static uint64_t time_of(const struct stat *info) {
    return (uint64_t)info->st_mtim.tv_sec * 1000000000u + (uint64_t)info->st_mtim.tv_nsec;
}

static uint64_t newest_journal(const char *store, const char *run, const rk_run_summary *summary) {
    uint64_t newest_ns = 0;
    for (size_t i = 0; i < summary->run.process_count; i++) {
        struct stat info;
        rk_autofree char *path = fixture_path(store, run, summary->run.processes[i].file);
        assert_int_equal(stat(path, &info), 0);
        newest_ns = time_of(&info) > newest_ns ? time_of(&info) : newest_ns;
    }
    return newest_ns;
}

static void a_kept_summary_equals_the_journals(void **state) {
    write_run(*state, "one", 1);
    keep(*state, "one");
    assert_true(was_kept(*state, "one"));
    assert_as_journals(*state, "one");
    RK_AUTO(rk_run_summary) summary = {0};
    load(*state, "one", &summary);
    assert_int_equal(summary.run.process_count, 2);
    assert_int_equal(summary.unkept_count, 2);
    assert_int_equal(summary.unkept[0].count, 4);
    assert_int_equal(summary.totals.warning_count, 2);
    assert_int_equal(summary.totals.not_stored, 2);
    assert_int_equal(summary.totals.programs, 6);
    // The summary gets the time of the newest journal, so that reading a run does not make it
    // younger.
    struct stat info;
    rk_autofree char *path = fixture_path(*state, "one", RK_RUN_SUMMARY_NAME);
    assert_int_equal(stat(path, &info), 0);
    assert_true(time_of(&info) == newest_journal(*state, "one", &summary));
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void several_runs_are_joined_as_if_read(void **state) {
    static const char *const runs[] = {"one", "two", "three"};
    RK_AUTO(rk_run_totals) joined = {0};
    RK_AUTO(rk_run_totals) read = {0};
    for (size_t i = 0; i < RK_ARRAY_LEN(runs); i++) {
        write_run(*state, runs[i], i + 1);
        keep(*state, runs[i]);
        RK_AUTO(rk_run_summary) summary = {0};
        RK_AUTO(rk_run_model) model = {0};
        load(*state, runs[i], &summary);
        fixture_load(*state, runs[i], &model);
        assert_true(summary.was_kept);
        fixture_ok(rk_run_totals_join(&joined, &summary.totals));
        fixture_ok(rk_run_totals_add(&read, &model));
    }
    assert_int_equal(joined.runs, 3);
    assert_true(joined.programs > 5 && joined.programs < 15); // some are in several runs
    assert_int_equal(joined.warning_count, 2);
    const rk_run_summary a = {.run.run = (char[]){""}, .totals = joined};
    const rk_run_summary b = {.run.run = (char[]){""}, .totals = read};
    assert_same(&a, &b);
}

static void set_time(const char *path, time_t seconds) {
    const struct timespec at[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, at, 0), 0);
}

static void append(const char *path, const char *text) {
    rk_autofd fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    assert_true(fd >= 0);
    fixture_ok(rk_fd_write_all(fd, text, strlen(text)));
}

static void any_other_journal_leads_back_to_all_of_them(void **state) {
    static const char warning[] = "{\"v\":1,\"t\":9,\"ev\":\"warning\",\"message\":\"late\"}\n";
    rk_autofree char *first = fixture_path(*state, "one", "0.jsonl");
    rk_autofree char *second = fixture_path(*state, "one", "3.jsonl");
    write_run(*state, "one", 1);
    keep(*state, "one");
    append(first, warning); // the process wrote once more
    assert_false(was_kept(*state, "one"));
    assert_as_journals(*state, "one");
    keep(*state, "one");
    append(second, warning); // another rank
    assert_false(was_kept(*state, "one"));
    assert_as_journals(*state, "one");
    set_time(first, 1000); // another file of the same size
    fixture_ok(rk_fs_remove(second));
    keep(*state, "one");
    assert_true(was_kept(*state, "one"));
    set_time(first, 1001);
    assert_false(was_kept(*state, "one"));
    keep(*state, "one");
    fixture_ok(rk_fs_remove(first));
    assert_false(was_kept(*state, "one"));
    assert_as_journals(*state, "one");
}

static void what_was_not_understood_is_not_summed_up(void **state) {
    static const char start[] = "{\"v\":1,\"t\":9,\"ev\":\"start\",\"run\":\"one\"}\n";
    static const char *const lines[] = {
        "{\"v\":2,\"t\":9,\"ev\":\"compile\"}\n",                 // of a later format
        "{\"v\":1,\"t\":9,\"ev\":\"what\"}\n",                    // of a later rekindle
        "{\"v\":1,\"t\":9,\"ev\":\"start\",\"run\":\"other\"}\n", // of another run
    };
    rk_autofree char *path = fixture_path(*state, "one", "0.jsonl");
    for (size_t i = 0; i <= RK_ARRAY_LEN(lines); i++) {
        fixture_put(*state, "one", "0.jsonl", start);
        if (i < RK_ARRAY_LEN(lines))
            append(path, lines[i]);
        RK_AUTO(rk_run_summary) summary = {0};
        load(*state, "one", &summary);
        assert_int_equal(rk_run_summary_is_whole(&summary), i == RK_ARRAY_LEN(lines));
    }
    fixture_put(*state, "one", "1.jsonl", ""); // the process ended before its first event
    RK_AUTO(rk_run_summary) summary = {0};
    load(*state, "one", &summary);
    assert_false(rk_run_summary_is_whole(&summary));
}

static void text_of(const char *store, const char *run, rk_buf *out) {
    rk_autofree char *path = fixture_path(store, run, RK_RUN_SUMMARY_NAME);
    fixture_ok(rk_fs_read(path, RK_RUN_SUMMARY_MAX_BYTES, out));
}

static bool is_read(rk_span text) {
    RK_AUTO(rk_run_summary) summary = {0};
    return rk_summary_text_read(text, "one", &summary);
}

static void one_that_is_torn_or_damaged_anywhere_is_not_used(void **state) {
    RK_AUTO(rk_buf) text = {0};
    write_run(*state, "one", 1);
    keep(*state, "one");
    text_of(*state, "one", &text);
    assert_true(is_read(rk_buf_span(&text)));
    for (size_t len = 0; len < text.len; len++)
        assert_false(is_read(rk_span_of(text.data, len)));
    for (size_t i = 0; i < text.len; i++) {
        text.data[i] ^= 1;
        assert_false(is_read(rk_buf_span(&text)));
        text.data[i] ^= 1;
    }
    rk_autofree char *path = fixture_path(*state, "one", RK_RUN_SUMMARY_NAME);
    const size_t lengths[] = {0, text.len / 2, text.len - 1};
    for (size_t i = 0; i < RK_ARRAY_LEN(lengths); i++) {
        fixture_ok(rk_fs_publish(path, text.data, lengths[i], 0600));
        assert_false(was_kept(*state, "one"));
        assert_as_journals(*state, "one");
        keep(*state, "one"); // replaces it
        assert_true(was_kept(*state, "one"));
    }
    fixture_ok(rk_fs_remove(path));
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_false(was_kept(*state, "one"));
}

// Replaces `from` by `to` and corrects the digest.
static void forge(const rk_buf *text, const char *from, const char *to, rk_buf *out) {
    const char *all = rk_buf_text(text), *at = strstr(all, from), *end = strchr(all, '\n') + 1;
    assert_true(at && at < end);
    rk_buf_add(out, all, (size_t)(at - all));
    rk_buf_add_text(out, to);
    at += strlen(from);
    rk_buf_add(out, at, (size_t)(end - at));
    rk_digest digest;
    rk_digest_of(rk_buf_span(out), &digest);
    rk_buf_add_text(out, "{\"digest\":\"");
    rk_buf_add_hex(out, rk_digest_span(&digest));
    rk_buf_add_text(out, "\"}\n");
}

#define SIXTY_FIVE "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void other_versions_and_missing_members_are_not_used(void **state) {
    static const struct {
        const char *from, *to;
        bool read;
    } cases[] = {
        {"{\"v\":1,", "{\"later\":[],\"v\":1,", true}, // an additional member
        {"{\"v\":1,", "{\"v\":2,", false},
        {"{\"v\":1,", "{", false},
        {"\"run\":\"one\"", "\"run\":\"two\"", false},
        {"\"hits\":", "\"was_hits\":", false},
        {"\"hits\":", "\"hits\":-", false},
        {"\"hits\":", "\"hits\":99999999999999999999", false},
        {"\"hits\":", "\"hits\":0.", false},
        {"\"programs\":", "\"were\":", false},
        {"\"programs\":[\"", "\"programs\":[\"x", false},
        {"\"programs\":[", "\"programs\":[1,", false},
        {"\"warnings\":[", "\"warnings\":[null,", false},
        {"\"bypassed_programs\":[", "\"bypassed_programs\":[{},", false},
        {"\"bypassed_programs\":[", "\"bypassed_programs\":1,\"x\":[", false},
        {"\"processes\":[", "\"processes\":[{},", false},
        {"\"ended\":true", "\"ended\":1", false},
        {"\"host\":\"", "\"guest\":\"", false},
        {"\"job\":", "\"jobs\":", false},
        {"\"command\":{", "\"commands\":{", false},
        {"\"command\":{", "\"command\":null,\"x\":{", false},
        {"\"known\":", "\"known\":1,\"x\":", false},
        {"\"signal\":", "\"signal\":4294967296,\"x\":", false},
        {"\"host\":\"node1.", "\"host\":\"" SIXTY_FIVE, false},
        {"\"rank\":", "\"rank\":4294967296,\"x\":", false},
        {"\"storing\":", "\"storing\":null,\"x\":", false},
        {"\"processes\":[", "\"processes\":{},\"x\":[", false},
    };
    RK_AUTO(rk_buf) text = {0};
    write_run(*state, "one", 1);
    keep(*state, "one");
    text_of(*state, "one", &text);
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        RK_AUTO(rk_buf) forged = {0};
        forge(&text, cases[i].from, cases[i].to, &forged);
        if (is_read(rk_buf_span(&forged)) != cases[i].read)
            fail_msg("%s", cases[i].to);
    }
}

static void repeat(const char *text, size_t count, rk_buf *out) {
    while (count-- > 0)
        rk_buf_add_text(out, text);
}

// Hostile summaries with a valid digest: nested, of maximal size, with sums that overflow.
static void hostile_ones_do_no_harm(void **state) {
    static const struct {
        const char *from, *before, *repeated, *after;
        size_t count;
        bool read;
    } cases[] = {
        {"{\"v\":1,", "{\"later\":", "[", ",\"v\":1,", 500000, false},
        {"{\"v\":1,", "{\"later\":", "{\"a\":", "1,\"v\":1,", 100000, false},
        {"\"processes\":[", "\"processes\":[", "{},", "", 300000, false},
        {"\"bypassed_programs\":[", "\"bypassed_programs\":[", "1,", "", 400000, false},
        {"\"warnings\":[", "\"warnings\":[", "\"\\u0000\",", "", 1, false},
        {"\"warnings\":[", "\"warnings\":[", "\"\",", "", 300000, true},
        {"\"hits\":", "\"hits\":9223372036854775807,\"x\":", "", "", 0, true},
        {"\"host_to_device_bytes\":", "\"host_to_device_bytes\":1e999,\"x\":", "", "", 0, false},
        {"\"last_ns\":", "\"last_ns\":9223372036854775807,\"x\":", "", "", 0, true},
    };
    RK_AUTO(rk_buf) text = {0};
    write_run(*state, "one", 1);
    keep(*state, "one");
    text_of(*state, "one", &text);
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        RK_AUTO(rk_buf) to = {0};
        RK_AUTO(rk_buf) forged = {0};
        RK_AUTO(rk_run_summary) summary = {0};
        RK_AUTO(rk_run_totals) all = {0};
        rk_buf_add_text(&to, cases[i].before);
        repeat(cases[i].repeated, cases[i].count, &to);
        rk_buf_add_text(&to, cases[i].after);
        forge(&text, cases[i].from, rk_buf_text(&to), &forged);
        if (rk_summary_text_read(rk_buf_span(&forged), "one", &summary) != cases[i].read)
            fail_msg("%zu: %s", i, cases[i].before);
        fixture_ok(rk_run_totals_join(&all, &summary.totals));
        fixture_ok(rk_run_totals_join(&all, &summary.totals));
    }
    RK_AUTO(rk_buf) large = {0}; // larger than any summary that rekindle writes
    rk_autofree char *path = fixture_path(*state, "one", RK_RUN_SUMMARY_NAME);
    RK_AUTO(rk_buf) spaces = {0};
    rk_buf_add_text(&spaces, "{\"v\":1,");
    repeat(" ", RK_RUN_SUMMARY_MAX_BYTES, &spaces);
    forge(&text, "{\"v\":1,", rk_buf_text(&spaces), &large);
    fixture_ok(rk_fs_publish(path, large.data, large.len, 0600));
    assert_false(was_kept(*state, "one"));
    assert_as_journals(*state, "one");
}

static void a_run_with_very_many_programs_has_none(void **state) {
    rk_journal *journal = fixture_open(*state, "one");
    for (unsigned i = 0; i < 16000; i++) {
        rk_key key = fixture_key(1, 2, 3);
        memcpy(&key.program, &i, sizeof i);
        rk_journal_add_compile(journal, &(rk_journal_compile){.seq = i, .name = "", .key = &key});
    }
    rk_journal_close(journal);
    RK_AUTO(rk_run_summary) summary = {0};
    load(*state, "one", &summary);
    assert_int_equal(summary.totals.programs, 16000);
    rk_autoerr err = rk_run_summary_keep(*state, &summary);
    assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
    assert_int_equal(rk_err_errno(err), 0);
    assert_false(was_kept(*state, "one"));
}

// Written by another program from docs/journal.md alone. Never rewritten.
static void version_1_is_read(void **state) {
    (void)state;
    RK_AUTO(rk_buf) text = {0};
    RK_AUTO(rk_run_summary) summary = {0};
    fixture_ok(rk_fs_read(RK_TEST_GOLDEN_DIR "/summary-v1.json", 1 << 20, &text));
    assert_true(rk_summary_text_read(rk_buf_span(&text), "20261121T133847Z-node1-30039", &summary));
    assert_true(summary.lacks_members); // later counters: the journals are read where they exist
    const rk_run_model *run = &summary.run;
    assert_string_equal(run->job, "train-8f4eda08cc25");
    assert_string_equal(run->mode, "readwrite");
    assert_string_equal(run->version, "0.1.0");
    assert_int_equal(run->process_count, 2);
    assert_string_equal(run->processes[1].file, "1.jsonl");
    assert_string_equal(run->processes[1].host, "node1");
    assert_int_equal(run->processes[1].file_bytes, 4321);
    assert_int_equal(run->processes[1].modified_ns, 1795268350720000123);
    assert_int_equal(run->processes[1].pid, 30041);
    assert_int_equal(run->processes[1].rank, 1);
    assert_true(run->processes[0].ended && !run->processes[1].ended && !run->ended);
    assert_int_equal(run->start_ns, 1795268327927860000);
    assert_int_equal(run->last_ns, 1795268350720000000);
    assert_true(run->command.known);
    assert_int_equal(run->command.pid, 30041);
    assert_string_equal(run->command.host, "node1");
    assert_int_equal(run->command.signal_number, 9);
    assert_int_equal(run->command.exit_status, 0);
    assert_int_equal(run->processes[0].storing, 4);
    assert_int_equal(run->processes[1].stored, 1);
    assert_int_equal(rk_run_count_lost(run), 2);
    assert_int_equal(rk_run_count_unknown_ends(run), 0);
    const rk_run_totals *totals = &summary.totals;
    assert_int_equal(totals->runs, 1);
    assert_int_equal(totals->programs, 2);
    assert_int_equal(totals->hits, 4);
    assert_int_equal(totals->compiled, 5);
    assert_int_equal(totals->preload.wasted, 1);
    assert_int_equal(totals->counts.executions, 20);
    assert_int_equal(totals->saved_ns, 12000000000 - 700000000 - 100000000);
    assert_int_equal(totals->warning_count, 1);
    assert_string_equal(totals->warnings[0], "the store is \"full\": \xc3\xa4");
    assert_int_equal(summary.unkept_count, 1);
    assert_string_equal(summary.unkept[0].name, "jit_callback");
    assert_string_equal(summary.unkept[0].reason, "host_callback");
    assert_int_equal(summary.unkept[0].count, 1);
    assert_true(summary.was_kept);
}

static void write_small_run(const char *store) {
    rk_journal *journal = fixture_open(store, "one");
    write_compile(journal, 1, RK_OUTCOME_HIT, true);
    write_compile(journal, 2, RK_OUTCOME_BYPASS, true);
    rk_journal_add_warning(journal, "a");
    rk_journal_add_end(journal);
    rk_journal_close(journal);
}

static rk_err *load_and_keep(const char *store, rk_run_summary *out) {
    RK_TRY(rk_run_summary_load(store, "one", out));
    bool wanted = !out->was_kept && rk_run_summary_is_whole(out);
    return wanted ? rk_run_summary_keep(store, out) : NULL;
}

static rk_err *count_temporary(void *context, const char *name) {
    *(unsigned *)context += name[0] == '.';
    return NULL;
}

static void every_failing_call_leaves_the_right_figures(void **state) {
    RK_AUTO(rk_run_summary) expected = {0};
    write_small_run(*state);
    read_journals(*state, "one", &expected);
    rk_autofree char *path = fixture_path(*state, "one", RK_RUN_SUMMARY_NAME);
    rk_autofree char *directory = fixture_path(*state, "one", "");
    for (int is_there = 0; is_there < 2; is_there++) {
        unsigned nth = 1, temporaries = 0;
        for (bool reached = true; reached; nth++) {
            RK_AUTO(rk_run_summary) summary = {0};
            if (!is_there)
                rk_err_drop(rk_fs_remove(path), "there may be none");
            rk_fault_begin(&(rk_fault_plan){
                .nth = nth, .calls = RK_FAULT_EVERY_SYSCALL, .error_number = ENOSPC});
            rk_err *err = load_and_keep(*state, &summary);
            reached = rk_fault_end();
            if (!err)
                assert_same(&summary, &expected);
            rk_err_free(err);
            assert_as_journals(*state, "one");
        }
        assert_true(nth > 10);
        fixture_ok(rk_fs_list(directory, 100, count_temporary, &temporaries));
        assert_int_equal(temporaries, 0);
        assert_true(was_kept(*state, "one"));
    }
}

static void short_memory_is_survived(void **state) {
    unsigned nth = 1;
    write_small_run(*state);
    json_set_alloc_funcs(rk_malloc, rk_free);
    for (bool reached = true; reached; nth++) {
        RK_AUTO(rk_run_summary) summary = {0};
        rk_autofree char *path = fixture_path(*state, "one", RK_RUN_SUMMARY_NAME);
        rk_err_drop(rk_fs_remove(path), "there may be none");
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = load_and_keep(*state, &summary);
        reached = rk_fault_end();
        assert_true(reached || !err);
        rk_err_free(err);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(nth > 50);
    assert_true(was_kept(*state, "one"));
    assert_as_journals(*state, "one");
}

typedef struct dying {
    const char *store;
    unsigned nth;
} dying;

static void keep_and_die(void *context) {
    const dying *plan = context;
    RK_AUTO(rk_run_summary) summary = {0};
    rk_fault_begin(&(rk_fault_plan){.nth = plan->nth, .exits = true});
    fixture_ok(load_and_keep(plan->store, &summary));
    (void)rk_fault_end();
}

static void dying_anywhere_leaves_the_right_figures(void **state) {
    write_small_run(*state);
    unsigned nth = 1;
    for (int status = -1; status != 0; nth++) {
        dying plan = {*state, nth};
        status = rk_fault_in_child(keep_and_die, &plan);
        assert_true(status == 0 || status == RK_FAULT_EXIT_STATUS);
        assert_as_journals(*state, "one");
    }
    assert_true(nth > 10);
    assert_true(was_kept(*state, "one"));
}

// Other processes keep summaries while a process writes its journal.
static void readers_beside_a_writer_are_never_behind(void **state) {
    enum { READERS = 3, EVENTS = 60 };
    rk_journal *journal = fixture_open(*state, "one");
    pid_t readers[READERS];
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = fork();
        while (readers[i] == 0) {
            RK_AUTO(rk_run_summary) summary = {0};
            rk_err_drop(load_and_keep(*state, &summary), "the next time");
            if (summary.run.ended)
                _exit(0);
        }
    }
    for (uint64_t n = 1; n <= EVENTS; n++) {
        write_compile(journal, n, RK_OUTCOME_HIT, true);
        RK_AUTO(rk_run_summary) summary = {0};
        load(*state, "one", &summary);
        assert_int_equal(summary.totals.hits, n);
        assert_int_equal(summary.totals.programs, n);
        assert_as_journals(*state, "one");
    }
    rk_journal_add_end(journal);
    rk_journal_close(journal);
    for (size_t i = 0; i < READERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(readers[i], &status, 0), readers[i]);
        assert_int_equal(status, 0);
    }
    assert_as_journals(*state, "one");
}

// Two starts of a run share a directory: what they made is not summed, what they stored is.
static void torch_compile_is_counted_once(void **state) {
    const rk_journal_start start = fixture_start(*state, "one");
    const rk_run_torch first = {.restored = 3, .present = 4, .made = 5, .kept = 2, .not_kept = 1};
    const rk_run_torch second = {.present = 7, .made = 2, .kept = 2, .not_restored = 1};
    RK_AUTO(rk_run_summary) summary = {0};
    fixture_ok(rk_run_add_torch(&start, &(rk_run_torch_note){.torch = &first}));
    fixture_ok(rk_run_add_torch(&start, &(rk_run_torch_note){.torch = &second, .warning = "full"}));
    keep(*state, "one");
    load(*state, "one", &summary);
    assert_true(summary.was_kept);
    assert_int_equal(summary.totals.torch.starts, 2);
    assert_int_equal(summary.totals.torch.restored, 3);
    assert_int_equal(summary.totals.torch.present, 11);
    assert_int_equal(summary.totals.torch.not_restored, 1);
    assert_int_equal(summary.totals.torch.made, 5);
    assert_int_equal(summary.totals.torch.kept, 4);
    assert_int_equal(summary.totals.torch.not_kept, 1);
    assert_int_equal(summary.totals.warning_count, 1);
    assert_null(summary.run.torch_why);
}

static void why_torch_compile_was_left_alone_is_kept(void **state) {
    const rk_journal_start start = fixture_start(*state, "one");
    RK_AUTO(rk_run_summary) summary = {0};
    fixture_ok(rk_run_add_torch(&start, &(rk_run_torch_note){.why = "sh is not a Python"}));
    keep(*state, "one");
    load(*state, "one", &summary);
    assert_true(summary.was_kept);
    assert_int_equal(summary.totals.torch.starts, 0);
    assert_string_equal(summary.run.torch_why, "sh is not a Python");
    assert_as_journals(*state, "one");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(a_kept_summary_equals_the_journals),
        TEST(several_runs_are_joined_as_if_read),
        TEST(any_other_journal_leads_back_to_all_of_them),
        TEST(what_was_not_understood_is_not_summed_up),
        TEST(one_that_is_torn_or_damaged_anywhere_is_not_used),
        TEST(other_versions_and_missing_members_are_not_used),
        TEST(hostile_ones_do_no_harm),
        TEST(a_run_with_very_many_programs_has_none),
        TEST(version_1_is_read),
        TEST(torch_compile_is_counted_once),
        TEST(why_torch_compile_was_left_alone_is_kept),
        TEST(every_failing_call_leaves_the_right_figures),
        TEST(short_memory_is_survived),
        TEST(dying_anywhere_leaves_the_right_figures),
        TEST(readers_beside_a_writer_are_never_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
