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
enum {
    RANGES_MAX = 8192,
    PROGRAMS_MAX = 512,
    EXECUTIONS_MAX = 4096,
    WARM_STEPS = 20,
    ANSWERS_MAX = 2,
    RECORDINGS = 123,
};

typedef struct loop {
    const char *name;
    uint64_t answers[ANSWERS_MAX]; // of "steps"; 0: none
    bool may_be_unknown, is_exact;
    uint64_t late;        // compilations after 20 steps, as the file says
    uint64_t flush_every; // words; 0: only at the end
    int dies;             // DIES_…; 0: not
    bool is_dead;
    uint64_t words, largest_executions;
    uint64_t step_of[EXECUTIONS_MAX]; // of each execution
    rk_step_program programs[PROGRAMS_MAX];
    uint32_t program_count;
    rk_step_detector *detector;
    rk_run_process process;
    rk_run_steps ranges[RANGES_MAX];
    rk_run_model model;
    uint64_t late_seen;
    bool was_executed[PROGRAMS_MAX];
    uint64_t distinct; // programs that were executed
    rk_step_sums seen; // all events up to now
} loop;

// A range counts nothing that was not seen yet, and not more programs than executions.
static void expect_possible(const loop *l, const rk_step_range *range) {
    const rk_step_sums *sums = &range->sums;
    assert_true(sums->programs <= sums->executions && sums->new_programs <= sums->executions);
    assert_true(range->steps > 1 || sums->new_programs <= sums->programs);
    assert_true(sums->executions <= l->seen.executions && sums->compiles <= l->seen.compiles);
    assert_true(sums->host_to_device <= l->seen.host_to_device &&
                sums->host_to_device_bytes <= l->seen.host_to_device_bytes);
    assert_true(sums->device_to_host <= l->seen.device_to_host &&
                sums->device_to_host_bytes <= l->seen.device_to_host_bytes);
}

static void emit(void *context, const rk_step_range *range) {
    loop *l = context;
    assert_true(l->model.step_count < RANGES_MAX);
    expect_possible(l, range);
    // Earlier ranges of these executions are void.
    while (l->model.step_count > 0 &&
           l->ranges[l->model.step_count - 1].steps.first_execution >= range->first_execution)
        l->model.step_count--;
    l->ranges[l->model.step_count++].steps =
        (rk_journal_steps){.rhythm = range->rhythm,
                           .marked = range->is_marked,
                           .first_execution = range->first_execution,
                           .executions = range->sums.executions,
                           .steps = range->steps,
                           .programs = range->sums.programs,
                           .new_programs = range->sums.new_programs,
                           .programs_before = range->programs_before,
                           .work = range->sums.work};
}

enum { DIES_BEFORE_ITS_LOOP = 1, DIES_IN_ITS_THIRD_STEP };

// A single operation of the framework is not the largest program, if there are others.
static uint64_t size_of(const rk_step_program *program) {
    return rk_step_program_score(program) + (program->is_operation ? 0 : UINT64_C(1) << 32);
}

// Returns whether the job dies instead of this execution.
static bool ends_at(loop *l, unsigned long program) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < l->program_count; i++)
        if (size_of(&l->programs[i]) > size_of(&l->programs[largest]))
            largest = i;
    if (l->dies == DIES_BEFORE_ITS_LOOP)
        return !l->programs[program].is_operation;
    l->largest_executions += l->programs[program].name == l->programs[largest].name;
    return l->dies == DIES_IN_ITS_THIRD_STEP && l->largest_executions == 3;
}

static void transfer(loop *l, bool to_device, uint64_t bytes) {
    l->seen.host_to_device += to_device;
    l->seen.host_to_device_bytes += to_device ? bytes : 0;
    l->seen.device_to_host += !to_device;
    l->seen.device_to_host_bytes += to_device ? 0 : bytes;
    rk_step_detector_transfer(l->detector, to_device, bytes);
}

static void play_word(loop *l, const char *word) {
    rk_step_detector_state state;
    if (l->is_dead)
        return;
    if (l->flush_every > 0 && ++l->words % l->flush_every == 0)
        rk_step_detector_flush(l->detector, true);
    switch (*word) {
    case 'h':
    case 'd':
        transfer(l, *word == 'h', strtoull(word + 1, NULL, 10));
        break;
    case 'm':
        rk_step_detector_mark(l->detector);
        break;
    case 'c':
        rk_step_detector_get_state(l->detector, &state);
        l->late_seen += state.is_training && state.steps >= WARM_STEPS;
        l->seen.compiles++;
        rk_step_detector_compile(l->detector);
        break;
    default: {
        unsigned long program = strtoul(word, NULL, 10);
        assert_true(program < l->program_count);
        l->is_dead = ends_at(l, program);
        if (l->is_dead)
            return;
        l->seen.executions++;
        rk_step_detector_execute(l->detector, &l->programs[program]);
        l->distinct += !l->was_executed[program];
        l->was_executed[program] = true;
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
    unsigned long long bytes = 0, set = 0;
    int is_user_name, count;
    if (strncmp(line, "events ", 7) == 0) {
        rk_buf_add_text(events, line + 6);
    } else if (sscanf(line, "steps %llu %llu", &first, &second) >= 1) {
        l->answers[0] = first;
        l->answers[1] = second;
    } else if (sscanf(line, "late %llu", &first) == 1) {
        l->late = first;
    } else if (strcmp(line, "exactly") == 0) {
        l->is_exact = true;
    } else if (strcmp(line, "may be unknown") == 0) {
        l->may_be_unknown = true;
    } else {
        count = sscanf(line, "program %u %u %d %u %u %u %llu %llu %u", &p.number, &p.name,
                       &is_user_name, &p.operations, &p.carried, &p.carried_types, &bytes, &set,
                       &p.inputs);
        p.carried_bytes = bytes;
        p.carried_set = set;
        if (count < 6 || p.number != l->program_count || p.number == PROGRAMS_MAX)
            fail_msg("%s: a line that is not known: %s", l->name, line);
        p.is_user_name = is_user_name > 0;
        p.is_operation = is_user_name == 2;
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
    if (l->is_exact)
        return count == l->answers[0];
    for (size_t i = 0; i < ANSWERS_MAX; i++)
        if (l->answers[i] && 10 * count >= 9 * l->answers[i] && 10 * count <= 11 * l->answers[i])
            return true;
    return false;
}

// The curve of programs over steps ends at the number of distinct programs that were executed.
static void expect_each_program_once(const rk_process_steps *process, uint64_t distinct) {
    if (process->count > 0 && process->point_count > 0)
        assert_int_equal(process->curve[process->point_count - 1].programs, distinct);
}

// Plays a recording and returns the number of steps.
static uint64_t count_steps(loop *l) {
    RK_AUTO(rk_buf) events = RK_BUF_INIT(0);
    RK_AUTO(rk_steps) steps = {0};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_DATA, l->name);
    load(l, path, &events);
    rk_expect_ok(rk_step_detector_new(emit, l, &l->detector));
    char *words = rk_strdup(rk_buf_text(&events));
    assert_non_null(words);
    play(l, words);
    rk_free(words);
    rk_step_detector_flush(l->detector, true);
    rk_step_detector_free(l->detector);
    l->model.processes = &l->process;
    l->model.process_count = 1;
    l->model.steps = l->ranges;
    rk_expect_ok(rk_steps_read(&l->model, &steps));
    expect_each_program_once(&steps.processes[0], l->distinct);
    for (uint64_t i = 0; i < EXECUTIONS_MAX; i++)
        l->step_of[i] =
            rk_steps_of_compile(&steps, &(rk_run_compile){.has_executions = true, .executions = i});
    return steps.processes[0].count;
}

static bool is_counted(const char *name) {
    static loop one;
    one = (loop){.name = name};
    uint64_t count = count_steps(&one);
    bool good = is_right(&one, count) && one.late_seen == one.late;
    if (!good || getenv("RK_TEST_VERBOSE"))
        print_message("%s: %llu steps, not %llu; %llu compilations after warm-up, not %llu\n", name,
                      (unsigned long long)count, (unsigned long long)one.answers[0],
                      (unsigned long long)one.late_seen, (unsigned long long)one.late);
    return good;
}

static bool is_the_same_with_flushes(const char *name) {
    static loop one, other;
    one = (loop){.name = name};
    uint64_t count = count_steps(&one);
    bool good = true;
    for (uint64_t every = 1; every < 100; every = 3 * every + 1) {
        other = (loop){.name = name, .flush_every = every};
        uint64_t flushed = count_steps(&other);
        if (flushed == count && other.late_seen == one.late_seen &&
            memcmp(one.step_of, other.step_of, sizeof one.step_of) == 0)
            continue;
        good = false;
        print_message("%s: %llu steps, with flushes %llu\n", name, (unsigned long long)count,
                      (unsigned long long)flushed);
    }
    return good;
}

// Returns whether the job begins with a loop that is not that of its steps: it prepares its data in
// 33 calls, or plays episodes, or evaluates. Of eight micro-steps each, two steps are such a loop.
static bool begins_with_another_loop(const char *name) {
    static const char *const jobs[] = {"loops-augmentation", "loops-nnx_evaluation_first",
                                       "loops-reinforce-", "loops-accumulation_short"};
    for (size_t i = 0; i < RK_ARRAY_LEN(jobs); i++)
        if (strncmp(name, jobs[i], strlen(jobs[i])) == 0)
            return true;
    return false;
}

static bool has_no_step_that_it_did_not_make(const char *name) {
    static loop one;
    uint64_t counts[2];
    for (int dies = DIES_BEFORE_ITS_LOOP; dies <= DIES_IN_ITS_THIRD_STEP; dies++) {
        one = (loop){.name = name, .dies = dies};
        counts[dies - DIES_BEFORE_ITS_LOOP] = count_steps(&one);
    }
    bool good = counts[0] == 0 && (counts[1] <= 2 || begins_with_another_loop(name));
    if (!good || getenv("RK_TEST_VERBOSE"))
        print_message("%s: %llu steps before its loop, %llu of two steps\n", name,
                      (unsigned long long)counts[0], (unsigned long long)counts[1]);
    return good;
}

static void check_all(bool (*check)(const char *name)) {
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

static void steps_are_counted(void **state) {
    (void)state;
    check_all(is_counted);
}

static void flushes_change_no_count(void **state) {
    (void)state;
    check_all(is_the_same_with_flushes);
}

static void jobs_that_die_have_no_more_steps(void **state) {
    (void)state;
    check_all(has_no_step_that_it_did_not_make);
}

// Jobs of several loops, such as training and evaluation, with programs and lengths by chance.

static uint32_t random_below(uint32_t limit) {
    static uint64_t random = 1;
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random >> 33) % limit;
}

static void execute_any(loop *l, uint32_t program) {
    l->distinct += !l->was_executed[program];
    l->was_executed[program] = true;
    l->seen.executions++;
    rk_step_detector_execute(l->detector, &l->programs[program]);
}

static void make_programs(loop *l) {
    l->program_count = 3 + random_below(10);
    for (uint32_t i = 0; i < l->program_count; i++)
        l->programs[i] = (rk_step_program){.number = i,
                                           .name = i,
                                           .is_user_name = random_below(4) > 0,
                                           .operations = 1 + random_below(300),
                                           .carried = random_below(20),
                                           .carried_types = 1,
                                           .carried_bytes = random_below(1000)};
}

static void run_phases(loop *l) {
    enum { PHASES = 2, STEP_MAX = 5, TIMES_MAX = 40 };
    uint32_t programs[PHASES][STEP_MAX], counts[PHASES];
    for (uint32_t p = 0; p < PHASES; p++) {
        counts[p] = 1 + random_below(STEP_MAX);
        for (uint32_t i = 0; i < counts[p]; i++)
            programs[p][i] = random_below(l->program_count);
    }
    for (uint32_t i = random_below(10); i > 0; i--)
        execute_any(l, random_below(l->program_count));
    for (uint32_t p = 0; p < 3 * PHASES; p++)
        for (uint32_t times = 1 + random_below(TIMES_MAX); times > 0; times--)
            for (uint32_t i = 0; i < counts[p % PHASES]; i++)
                execute_any(l, programs[p % PHASES][i]);
}

static void programs_of_several_loops_count_once(void **state) {
    (void)state;
    enum { JOBS = 1000 };
    static loop one;
    for (unsigned job = 0; job < JOBS; job++) {
        RK_AUTO(rk_steps) steps = {0};
        one = (loop){.name = "several loops"};
        make_programs(&one);
        rk_expect_ok(rk_step_detector_new(emit, &one, &one.detector));
        run_phases(&one);
        rk_step_detector_flush(one.detector, true);
        rk_step_detector_free(one.detector);
        one.model.processes = &one.process;
        one.model.process_count = 1;
        one.model.steps = one.ranges;
        rk_expect_ok(rk_steps_read(&one.model, &steps));
        expect_each_program_once(&steps.processes[0], one.distinct);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_counted),
                                       cmocka_unit_test(flushes_change_no_count),
                                       cmocka_unit_test(jobs_that_die_have_no_more_steps),
                                       cmocka_unit_test(programs_of_several_loops_count_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
