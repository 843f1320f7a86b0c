// Step detection in sequences of programs. Each letter is a program.
#include "diagnose/steps/detect.h"

#include <string.h>

#include "diagnose/steps/period_internal.h"
#include "support/expect.h"

enum { RANGES_MAX = 4096 };

typedef struct recorder {
    rk_step_detector *detector;
    rk_step_range ranges[RANGES_MAX];
    size_t count;
} recorder;

static void record(void *context, const rk_step_range *range) {
    recorder *h = context;
    assert_true(h->count < RANGES_MAX);
    // Earlier ranges of these executions are void.
    while (h->count > 0 && h->ranges[h->count - 1].first_execution >= range->first_execution)
        h->count--;
    if (h->count > 0) {
        rk_step_range *last = &h->ranges[h->count - 1];
        uint64_t most = range->first_execution - last->first_execution;
        if (last->sums.executions > most) {
            last->steps = last->steps * most / last->sums.executions;
            last->sums.executions = most;
        }
    }
    h->ranges[h->count++] = *range;
}

static int begin(void **state) {
    static recorder recorded;
    recorded = (recorder){0};
    rk_expect_ok(rk_step_detector_new(record, &recorded, &recorded.detector));
    *state = &recorded;
    return 0;
}

static int end(void **state) {
    rk_step_detector_free(((recorder *)*state)->detector);
    return 0;
}

static void execute(recorder *h, uint32_t number, uint32_t name, bool is_user_name) {
    const rk_step_program program = {.number = number, .name = name, .is_user_name = is_user_name};
    rk_step_detector_execute(h->detector, &program);
}

static void play(recorder *h, const char *programs) {
    for (const char *at = programs; *at; at++)
        execute(h, (uint32_t)(*at - 'A'), (uint32_t)(*at - 'A'), true);
}

static void play_times(recorder *h, const char *programs, int times) {
    for (int i = 0; i < times; i++)
        play(h, programs);
}

// The number of steps of the pattern with the most executions, and the first execution of that
// pattern.
static uint64_t steps(recorder *h, uint64_t *out_before) {
    uint64_t most = 0, count = 0;
    uint32_t main_pattern = 0;
    rk_step_detector_flush(h->detector, true);
    for (size_t i = 0; i < h->count; i++) {
        uint64_t sum = 0;
        for (size_t j = 0; j < h->count; j++)
            sum += h->ranges[j].rhythm == h->ranges[i].rhythm ? h->ranges[j].sums.executions : 0;
        if (h->ranges[i].rhythm > 0 && sum > most) {
            most = sum;
            main_pattern = h->ranges[i].rhythm;
        }
    }
    *out_before = UINT64_MAX;
    for (size_t i = 0; i < h->count; i++)
        if (h->ranges[i].rhythm == main_pattern) {
            *out_before = *out_before == UINT64_MAX ? h->ranges[i].first_execution : *out_before;
            count += h->ranges[i].steps;
        }
    return count;
}

static void expect_steps(recorder *h, uint64_t count, uint64_t before) {
    uint64_t found_before, found = steps(h, &found_before);
    if (found != count || found_before != before) {
        for (size_t i = 0; i < h->count; i++)
            print_error("  rhythm %u from %llu: %llu steps of %llu executions\n",
                        h->ranges[i].rhythm, (unsigned long long)h->ranges[i].first_execution,
                        (unsigned long long)h->ranges[i].steps,
                        (unsigned long long)h->ranges[i].sums.executions);
        fail_msg("%llu steps after %llu executions, not %llu after %llu", (unsigned long long)found,
                 (unsigned long long)found_before, (unsigned long long)count,
                 (unsigned long long)before);
    }
}

static uint32_t find(const char *text, uint32_t max_period, uint32_t *out_period) {
    uint32_t items[64];
    uint16_t border[64];
    uint32_t count = (uint32_t)strlen(text);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (uint32_t)text[i];
    return rk_step_detector_find(items, count, max_period, 3, border, out_period);
}

static void the_longest_repetition_is_found(void **state) {
    (void)state;
    uint32_t period = 0;
    assert_int_equal(find("", 8, &period), 0);
    assert_int_equal(find("XYAAAA", 8, &period), 4);
    assert_int_equal(period, 1);
    assert_int_equal(find("XGGUGGUGGUG", 8, &period), 10);
    assert_int_equal(period, 3);
    assert_int_equal(find("GGUGGUGGUG", 2, &period), 0);
    assert_int_equal(find("ABABA", 8, &period), 0);
}

static void one_program_again_and_again(void **state) {
    play(*state, "IJK");
    play_times(*state, "A", 1000);
    const recorder *h = *state;
    rk_step_detector_state now;
    rk_step_detector_get_state(h->detector, &now);
    assert_true(now.executions == 1003 && now.steps == 1000 && now.flat_steps == 999);
    expect_steps(*state, 1000, 3);
    assert_true(h->count <= 3); // before, the first step with its new program, the others
    assert_int_equal(h->ranges[0].rhythm, 0);
    assert_int_equal(h->ranges[0].sums.executions, 3);
    assert_int_equal(h->ranges[1].sums.new_programs, 1);
    assert_int_equal(h->ranges[2].steps, 999);
}

static void several_programs_a_step(void **state) {
    play(*state, "XYZ");
    play_times(*state, "ABC", 50);
    expect_steps(*state, 50, 3);
}

static void gradient_accumulation(void **state) {
    recorder *h = *state;
    for (uint32_t k = 2; k <= 32; k += 3) {
        rk_step_detector_free(h->detector);
        begin(state);
        char step[40] = "";
        memset(step, 'G', k);
        step[k] = 'U';
        step[k + 1] = '\0';
        play(h, "IJ");
        play_times(h, step, 40);
        expect_steps(h, 40, 2);
    }
}

static void accumulation_after_noise(void **state) {
    play_times(*state, "I", 12);
    play(*state, "GGGGUPQRGGGGUSGGGGU");
    play_times(*state, "GGGGU", 60);
    uint64_t before, count = steps(*state, &before);
    assert_in_range(count, 60, 64);
}

static void an_evaluation_is_no_step(void **state) {
    for (int i = 0; i < 20; i++) {
        play_times(*state, "A", 100);
        play_times(*state, "E", 10);
    }
    expect_steps(*state, 2000, 0);
}

static void a_frequent_evaluation_is_none_either(void **state) {
    for (int i = 0; i < 100; i++) {
        play_times(*state, "AB", 5);
        play(*state, "EEE");
    }
    expect_steps(*state, 500, 0);
}

static void a_long_evaluation_comes_and_goes(void **state) {
    for (int i = 0; i < 5; i++) {
        play_times(*state, "AB", 1000);
        play_times(*state, "E", 700);
    }
    expect_steps(*state, 5000, 0);
}

static void initialisation_is_forgotten(void **state) {
    play_times(*state, "N", 96);
    play_times(*state, "AB", 300);
    expect_steps(*state, 300, 96);
}

static void noise_does_no_harm(void **state) {
    uint32_t random = 1;
    for (int i = 0; i < 2000; i++) {
        play(*state, "ABC");
        random = random * 1664525u + 1013904223u;
        if (random >> 28 == 0)
            play(*state, i % 3 ? "X" : "YZ");
    }
    uint64_t before, count = steps(*state, &before);
    assert_in_range(count, 1990, 2000);
    // Noise adds few ranges.
    assert_true(((recorder *)*state)->count < 400);
}

static void lengths_of_one_function_are_steps(void **state) {
    recorder *h = *state;
    for (uint32_t i = 0; i < 100; i++)
        execute(h, i, 7, true); // a program per length, all of one name
    expect_steps(h, 100, 0);
}

static void numbered_programs_are_distinguished(void **state) {
    recorder *h = *state;
    for (uint32_t i = 0; i < 50; i++)
        for (uint32_t program = 0; program < 4; program++)
            execute(h, program, 7, false);
    expect_steps(h, 50, 0);
}

static void numbered_programs_that_never_return_are_steps(void **state) {
    recorder *h = *state;
    for (uint32_t i = 0; i < 500; i++)
        execute(h, i, 7, false);
    expect_steps(h, 500, 0);
    // From now on three programs repeat: they are one step.
    for (uint32_t i = 0; i < 3000; i++)
        execute(h, i % 3, 7, false);
    uint64_t before, count = steps(h, &before);
    assert_in_range(count, 990, 1000);
}

// An RNN starts each epoch without the state of the batch before.
static void versions_without_a_name_are_one_program(void **state) {
    recorder *h = *state;
    const rk_step_program versions[] = {
        {.number = 0, .name = 1, .operations = 1641, .carried = 12, .carried_types = 1},
        {.number = 1, .name = 1, .operations = 1638, .carried = 13, .carried_types = 2}};
    for (int epoch = 0; epoch < 6; epoch++)
        for (int step = 0; step < 13; step++)
            rk_step_detector_execute(h->detector, &versions[step > 0]);
    expect_steps(h, 78, 0);
}

// The updates of two critics with other inputs: nearly the same operations and state.
static void models_that_alternate_are_no_versions(void **state) {
    recorder *h = *state;
    const rk_step_program critics[] = {{.number = 0,
                                        .name = 1,
                                        .operations = 281,
                                        .carried = 19,
                                        .carried_types = 1,
                                        .carried_bytes = 826528},
                                       {.number = 1,
                                        .name = 1,
                                        .operations = 284,
                                        .carried = 19,
                                        .carried_types = 2,
                                        .carried_bytes = 838816}};
    for (int step = 0; step < 40; step++)
        for (int critic = 0; critic < 2; critic++)
            rk_step_detector_execute(h->detector, &critics[critic]);
    expect_steps(h, 40, 0);
}

// A counter makes each step's program a new one: none of them is executed twice.
static void versions_that_do_not_recur_are_one_program(void **state) {
    recorder *h = *state;
    for (uint32_t step = 0; step < 12; step++) {
        const rk_step_program forward = {
            .number = 20, .name = 1, .operations = 60, .carried = 1, .carried_types = 3};
        const rk_step_program update = {.number = step,
                                        .name = 1,
                                        .operations = 1600 + step % 3,
                                        .carried = 12,
                                        .carried_types = 1 + step,
                                        .carried_bytes = 4000};
        rk_step_detector_execute(h->detector, &forward);
        rk_step_detector_execute(h->detector, &update);
    }
    expect_steps(h, 12, 1);
}

// The programs of a real job: an activation of the full batch has the type of an input.
static void a_last_batch_that_returns_one_value_less_is_a_version(void **state) {
    recorder *h = *state;
    const rk_step_program full = {.name = 1,
                                  .operations = 3995,
                                  .inputs = 230,
                                  .carried = 205,
                                  .carried_types = 1,
                                  .carried_set = 0x4a402960084004f,
                                  .carried_bytes = 6732220},
                          last = {.number = 1,
                                  .name = 1,
                                  .operations = 3999,
                                  .inputs = 230,
                                  .carried = 204,
                                  .carried_types = 2,
                                  .carried_set = 0x48422908004004f,
                                  .carried_bytes = 6224316};
    for (int step = 0; step < 21; step++)
        rk_step_detector_execute(h->detector, step % 7 == 6 ? &last : &full);
    expect_steps(h, 21, 0);
}

// One more operation for each parameter is an update.
static void an_update_is_no_version(void **state) {
    recorder *h = *state;
    const rk_step_program programs[] = {
        {.number = 0, .name = 1, .operations = 1600, .carried = 12, .carried_types = 1},
        {.number = 1, .name = 1, .operations = 1636, .carried = 12, .carried_types = 1}};
    for (int step = 0; step < 20; step++)
        for (int micro = 0; micro < 4; micro++)
            rk_step_detector_execute(h->detector, &programs[micro == 3]);
    expect_steps(h, 20, 0);
}

static void the_state_has_a_score_with_marks(void **state) {
    recorder *h = *state;
    rk_step_detector_state now;
    const rk_step_program step = {.name = 1, .is_user_name = true, .operations = 100, .carried = 9};
    for (int i = 0; i < 5; i++) {
        rk_step_detector_execute(h->detector, &step);
        rk_step_detector_mark(h->detector);
    }
    rk_step_detector_get_state(h->detector, &now);
    assert_true(now.is_marked);
    assert_int_equal(now.score, rk_step_program_score(&step));
}

// Twenty additions follow the gradients. After 17 of them the gap has as many binary digits.
static void a_flush_in_mid_run_closes_no_step(void **state) {
    recorder *h = *state;
    const rk_step_program gradient = {
        .name = 1, .is_user_name = true, .operations = 200, .carried = 8};
    const rk_step_program add = {
        .number = 1, .name = 2, .is_user_name = true, .operations = 3, .carried = 1};
    for (int step = 0; step < 30; step++) {
        for (int micro = 0; micro < 2; micro++)
            rk_step_detector_execute(h->detector, &gradient);
        for (int i = 0; i < 20; i++) {
            rk_step_detector_execute(h->detector, &add);
            if (step > 10 && i == 16)
                rk_step_detector_flush(h->detector, false);
        }
    }
    expect_steps(h, 30, 0);
    for (size_t i = 0; i < h->count; i++)
        assert_true(h->ranges[i].first_execution < 220 ||
                    h->ranges[i].sums.executions == 22 * h->ranges[i].steps);
}

// The initialization of layers, operation by operation.
static void operations_of_the_framework_are_no_steps(void **state) {
    recorder *h = *state;
    const rk_step_program split = {
        .number = 0, .name = 1, .is_user_name = true, .is_operation = true, .operations = 92};
    const rk_step_program normal = {
        .number = 1, .name = 2, .is_user_name = true, .is_operation = true, .operations = 191};
    const rk_step_program step = {
        .number = 2, .name = 3, .is_user_name = true, .operations = 300, .carried = 9};
    for (int layer = 0; layer < 60; layer++) {
        rk_step_detector_execute(h->detector, &split);
        rk_step_detector_execute(h->detector, &normal);
    }
    rk_step_detector_state now;
    rk_step_detector_get_state(h->detector, &now);
    assert_true(now.executions == 120 && now.steps == 0 && now.flat_steps == 0);
    rk_step_detector_flush(h->detector, true);
    for (size_t i = 0; i < h->count; i++)
        assert_true(h->ranges[i].rhythm == 0 && h->ranges[i].steps == 0);
    for (int i = 0; i < 7; i++)
        rk_step_detector_execute(h->detector, &step);
    expect_steps(h, 7, 120);
}

// A job that is read in the middle of a step has the same steps at its end.
static void a_flush_at_any_time_changes_no_count(void **state) {
    recorder *h = *state;
    const rk_step_program gradient = {
        .name = 1, .is_user_name = true, .operations = 200, .carried = 8};
    const rk_step_program add = {
        .number = 1, .name = 2, .is_user_name = true, .operations = 3, .carried = 1};
    for (int step = 0; step < 30; step++) {
        for (int micro = 0; micro < 2; micro++)
            rk_step_detector_execute(h->detector, &gradient);
        for (int i = 0; i < 20; i++) {
            rk_step_detector_execute(h->detector, &add);
            if (i % 3 == 1)
                rk_step_detector_flush(h->detector, true);
        }
    }
    expect_steps(h, 30, 0);
}

static void what_is_marked_is_believed(void **state) {
    recorder *h = *state;
    play_times(h, "A", 10);
    for (int i = 0; i < 30; i++) {
        play_times(h, "A", 4);
        rk_step_detector_transfer(h->detector, false, 8);
        rk_step_detector_mark(h->detector);
    }
    expect_steps(h, 30, 0);
    assert_int_equal(h->count, 2); // the first step is longer
    assert_true(h->ranges[0].is_marked);
    assert_int_equal(h->ranges[0].sums.executions, 14);
    assert_int_equal(h->ranges[1].sums.device_to_host, 29);
    assert_int_equal(h->ranges[1].sums.device_to_host_bytes, 29 * 8);
}

static void transfers_and_compilations_are_counted_with_their_step(void **state) {
    recorder *h = *state;
    for (int i = 0; i < 20; i++) {
        rk_step_detector_transfer(h->detector, true, 100);
        rk_step_detector_transfer(h->detector, false, 4);
        if (i == 12)
            rk_step_detector_compile(h->detector);
        play(h, "AB");
    }
    expect_steps(h, 20, 0);
    assert_int_equal(h->count, 4); // the first step, those before the 13th, the 13th, those after
    const rk_step_range *late = &h->ranges[2];
    assert_int_equal(late->first_execution, 24);
    assert_int_equal(late->steps, 1);
    assert_int_equal(late->sums.compiles, 1);
    assert_int_equal(late->sums.programs, 2);
    assert_int_equal(h->ranges[3].sums.host_to_device, 7);
    assert_int_equal(h->ranges[3].sums.host_to_device_bytes, 700);
    assert_int_equal(h->ranges[3].sums.device_to_host_bytes, 28);
    rk_step_detector_state now;
    rk_step_detector_get_state(h->detector, &now);
    assert_int_equal(now.steps, 20);
    assert_int_equal(now.flat_steps, 7);
    assert_int_equal(now.programs, 2);
    assert_int_equal(now.executions, 40);
}

// Reinforcement learning: the acting calls before the first update take part in no pattern once the
// update is known to be the step. Their transfers are theirs, not those of the update.
static void transfers_of_light_programs_are_not_those_of_a_step(void **state) {
    enum { INITIAL = 5, ACTING = 65, UPDATES = 4 };
    recorder *h = *state;
    const rk_step_program act = {.number = 10, .name = 10, .is_user_name = true, .operations = 20};
    const rk_step_program update = {
        .number = 11, .name = 11, .is_user_name = true, .operations = 300, .carried = 15};
    for (uint32_t i = 0; i < INITIAL; i++) {
        const rk_step_program initial = {
            .number = i, .name = i, .is_user_name = true, .operations = 200, .carried = 8};
        rk_step_detector_execute(h->detector, &initial);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ACTING; i++) {
            rk_step_detector_transfer(h->detector, true, 256);
            rk_step_detector_execute(h->detector, &act);
        }
        for (int i = 0; i < UPDATES; i++) {
            rk_step_detector_transfer(h->detector, true, 1000);
            rk_step_detector_execute(h->detector, &update);
        }
    }
    expect_steps(h, 3 * UPDATES, INITIAL + ACTING);
    uint64_t transfers = 0, bytes = 0;
    for (size_t i = 0; i < h->count; i++) {
        const rk_step_sums *sums = &h->ranges[i].sums;
        assert_true(sums->programs <= sums->executions && sums->new_programs <= sums->executions);
        if (h->ranges[i].first_execution == INITIAL + ACTING) {
            assert_int_equal(sums->host_to_device, 1);
            assert_int_equal(sums->host_to_device_bytes, 1000);
        }
        transfers += sums->host_to_device;
        bytes += sums->host_to_device_bytes;
    }
    assert_int_equal(transfers, 3 * (ACTING + UPDATES));
    assert_int_equal(bytes, 3 * (ACTING * 256 + UPDATES * 1000));
}

static void a_million_equal_steps_are_few_ranges(void **state) {
    play_times(*state, "AB", 1000000);
    expect_steps(*state, 1000000, 0);
    assert_true(((recorder *)*state)->count <= 3);
}

static void steps_that_all_differ_share_ranges_in_the_end(void **state) {
    recorder *h = *state;
    for (uint32_t i = 0; i < 100000; i++) {
        rk_step_detector_transfer(h->detector, true, i);
        play(h, "A");
    }
    expect_steps(h, 100000, 0);
    assert_true(h->count < 300);
}

static void unknown_executions_pass(void **state) {
    recorder *h = *state;
    play_times(h, "AB", 20);
    rk_step_detector_skip(h->detector, 1000);
    play_times(h, "AB", 20);
    rk_step_detector_state now;
    rk_step_detector_get_state(h->detector, &now);
    assert_int_equal(now.executions, 1080);
    assert_in_range(now.steps, 39, 41);
}

// Trivial programs have no score, so there is no reference when their pattern is adopted. Programs
// of unknown role have none either.
static void trivial_programs_have_no_reference(void **state) {
    recorder *h = *state;
    static const rk_step_program programs[] = {
        {.number = 0, .name = 0, .is_user_name = true, .operations = 3},
        {.number = 1, .name = 1, .is_user_name = true, .operations = 2},
        {.number = 2, .name = 2, .is_user_name = true},
    };
    for (size_t other = 1; other < 3; other++)
        for (int i = 0; i < 30; i++) {
            rk_step_detector_execute(h->detector, &programs[0]);
            rk_step_detector_execute(h->detector, &programs[0]);
            rk_step_detector_execute(h->detector, &programs[other]);
        }
    rk_step_detector_state now;
    rk_step_detector_get_state(h->detector, &now);
    assert_int_equal(now.executions, 180);
}

// Two models are trained one after the other, each for as many steps; values are logged now and
// then.
static void a_second_loop_of_equal_work_counts_before_it_lasts_as_long(void **state) {
    recorder *h = *state;
    play_times(h, "AB", 200);
    for (int i = 0; i < 8; i++) {
        play_times(h, "CD", 20 + i);
        play(h, "EFG");
    }
    play_times(h, "HI", 192);
    uint64_t before;
    (void)steps(h, &before);
    uint64_t sum = 0;
    for (size_t i = 0; i < h->count; i++)
        sum += h->ranges[i].rhythm > 0 ? h->ranges[i].steps : 0;
    assert_int_equal(sum, 200 + 188 + 192);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_repetition_is_found),
        TEST(one_program_again_and_again),
        TEST(several_programs_a_step),
        TEST(gradient_accumulation),
        TEST(accumulation_after_noise),
        TEST(an_evaluation_is_no_step),
        TEST(a_frequent_evaluation_is_none_either),
        TEST(a_long_evaluation_comes_and_goes),
        TEST(initialisation_is_forgotten),
        TEST(noise_does_no_harm),
        TEST(lengths_of_one_function_are_steps),
        TEST(numbered_programs_are_distinguished),
        TEST(numbered_programs_that_never_return_are_steps),
        TEST(versions_without_a_name_are_one_program),
        TEST(models_that_alternate_are_no_versions),
        TEST(versions_that_do_not_recur_are_one_program),
        TEST(a_last_batch_that_returns_one_value_less_is_a_version),
        TEST(an_update_is_no_version),
        TEST(the_state_has_a_score_with_marks),
        TEST(a_flush_in_mid_run_closes_no_step),
        TEST(operations_of_the_framework_are_no_steps),
        TEST(a_flush_at_any_time_changes_no_count),
        TEST(a_second_loop_of_equal_work_counts_before_it_lasts_as_long),
        TEST(what_is_marked_is_believed),
        TEST(transfers_and_compilations_are_counted_with_their_step),
        TEST(transfers_of_light_programs_are_not_those_of_a_step),
        TEST(a_million_equal_steps_are_few_ranges),
        TEST(steps_that_all_differ_share_ranges_in_the_end),
        TEST(unknown_executions_pass),
        TEST(trivial_programs_have_no_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
