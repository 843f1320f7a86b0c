// Step detection in recorded training loops (loops/README.md), with the number of their steps.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "diagnose/steps/detect.h"
#include "diagnose/steps/steps.h"
#include "support/expect.h"

// RECORDINGS: the files in loops/.
enum { RANGES_MAX = 8192, PROGRAMS_MAX = 512, WARM_STEPS = 20, ANSWERS_MAX = 2, RECORDINGS = 82 };

typedef struct loop {
    const char *name;
    uint64_t answers[ANSWERS_MAX]; // of "steps"; 0: none
    bool may_be_unknown;
    uint64_t late; // compilations after 20 steps, as the file says
    rk_step_program programs[PROGRAMS_MAX];
    uint32_t program_count;
    rk_step_detector *detector;
    rk_run_process process;
    rk_run_steps ranges[RANGES_MAX];
    rk_run_model model;
    uint64_t late_seen;
} loop;

static void emit(void *context, const rk_step_range *range) {
    loop *l = context;
    assert_true(l->model.step_count < RANGES_MAX);
    l->ranges[l->model.step_count++].steps =
        (rk_journal_steps){.rhythm = range->rhythm,
                           .marked = range->is_marked,
                           .first_execution = range->first_execution,
                           .executions = range->sums.executions,
                           .steps = range->steps,
                           .programs = range->sums.programs,
                           .new_programs = range->sums.new_programs,
                           .work = range->sums.work};
}

static void play_word(loop *l, const char *word) {
    rk_step_detector_state state;
    switch (*word) {
    case 'h':
    case 'd':
        rk_step_detector_transfer(l->detector, *word == 'h', strtoull(word + 1, NULL, 10));
        break;
    case 'm':
        rk_step_detector_mark(l->detector);
        break;
    case 'c':
        rk_step_detector_get_state(l->detector, &state);
        l->late_seen += state.is_training && state.steps >= WARM_STEPS;
        rk_step_detector_compile(l->detector);
        break;
    default: {
        unsigned long program = strtoul(word, NULL, 10);
        assert_true(program < l->program_count);
        rk_step_detector_execute(l->detector, &l->programs[program]);
    }
    }
}

// Plays the words up to the end of a block or of the line; `text` is changed.
static void play(loop *l, char *text) {
    char *rest = NULL, *block = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (*word == '(') {
            block = rest;
            continue;
        }
        if (*word != ')') {
            if (!block)
                play_word(l, word);
            continue;
        }
        unsigned long times = strtoul(word + 2, NULL, 10);
        for (unsigned long i = 0; i < times; i++)
            for (char *at = block; at < word; at += strlen(at) + 1)
                play_word(l, at);
        block = NULL;
    }
}

static void read_line(loop *l, char *line, rk_buf *events) {
    unsigned long long first = 0, second = 0;
    rk_step_program p = {0};
    unsigned long long bytes = 0;
    int is_user_name, count;
    if (strncmp(line, "events ", 7) == 0) {
        rk_buf_add_text(events, line + 6);
    } else if (sscanf(line, "steps %llu %llu", &first, &second) >= 1) {
        l->answers[0] = first;
        l->answers[1] = second;
    } else if (sscanf(line, "late %llu", &first) == 1) {
        l->late = first;
    } else if (strcmp(line, "may be unknown") == 0) {
        l->may_be_unknown = true;
    } else {
        count = sscanf(line, "program %u %u %d %u %u %u %llu", &p.number, &p.name, &is_user_name,
                       &p.operations, &p.carried, &p.carried_types, &bytes);
        p.carried_bytes = bytes;
        if (count < 6 || p.number != l->program_count || p.number == PROGRAMS_MAX)
            fail_msg("%s: a line that is not known: %s", l->name, line);
        p.is_user_name = is_user_name;
        l->programs[l->program_count++] = p;
    }
}

static void load(loop *l, const char *path, rk_buf *events) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_expect_ok(rk_fs_read(path, 1 << 22, &text));
    char *rest = NULL, *copy = rk_strdup(rk_buf_text(&text));
    assert_non_null(copy);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(l, line, events);
    rk_free(copy);
}

static bool is_right(const loop *l, uint64_t count) {
    if (count == 0)
        return l->may_be_unknown;
    for (size_t i = 0; i < ANSWERS_MAX; i++)
        if (l->answers[i] && 10 * count >= 9 * l->answers[i] && 10 * count <= 11 * l->answers[i])
            return true;
    return false;
}

static bool check(const char *name) {
    static loop one;
    RK_AUTO(rk_buf) events = RK_BUF_INIT(0);
    RK_AUTO(rk_steps) steps = {0};
    char path[512];
    one = (loop){.name = name};
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_DATA, name);
    load(&one, path, &events);
    rk_expect_ok(rk_step_detector_new(emit, &one, &one.detector));
    char *words = rk_strdup(rk_buf_text(&events));
    assert_non_null(words);
    play(&one, words);
    rk_free(words);
    rk_step_detector_flush(one.detector, true);
    rk_step_detector_free(one.detector);
    one.model.processes = &one.process;
    one.model.process_count = 1;
    one.model.steps = one.ranges;
    rk_expect_ok(rk_steps_read(&one.model, &steps));
    uint64_t count = steps.processes[0].count;
    bool good = is_right(&one, count) && one.late_seen == one.late;
    if (!good || getenv("RK_TEST_VERBOSE"))
        print_message("%s: %llu steps, not %llu; %llu compilations after warm-up, not %llu\n", name,
                      (unsigned long long)count, (unsigned long long)one.answers[0],
                      (unsigned long long)one.late_seen, (unsigned long long)one.late);
    return good;
}

static void steps_are_counted(void **state) {
    (void)state;
    size_t count = 0, wrong = 0;
    DIR *directory = opendir(RK_TEST_DATA);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (!suffix || strcmp(suffix, ".loop") != 0)
            continue;
        count++;
        wrong += !check(entry->d_name);
    }
    assert_int_equal(closedir(directory), 0);
    assert_int_equal(count, RECORDINGS);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
