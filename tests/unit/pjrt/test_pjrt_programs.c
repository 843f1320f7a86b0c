#include "pjrt/programs.h"

#include <stdio.h>

#include "base/fs.h"
#include "support/expect.h"
#include "support/faults.h"

static rk_digest digest_of(unsigned number) {
    rk_digest digest;
    rk_digest_of(rk_span_of(&number, sizeof number), &digest);
    return digest;
}

static void equal_keys_are_one_program(void **state) {
    (void)state;
    RK_AUTO(rk_programs) programs = {0};
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 1000; i++) {
            rk_digest key = digest_of(i);
            assert_int_equal(rk_programs_add(&programs, &key, "jit_step", NULL), i);
        }
    assert_int_equal(programs.count, 1000);
    // Programs without a key are always new.
    assert_int_equal(rk_programs_add(&programs, NULL, "jit_step", NULL), 1000);
    assert_int_equal(rk_programs_add(&programs, NULL, "jit_step", NULL), 1001);
}

static void names_count_where_they_are_the_users(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool has_user_name;
    } cases[] = {{"jit_step", true},
                 {"jit_v2", true},
                 {"SyncTensorsGraph.42", false},
                 {"", false},
                 {"a.b", true},
                 {"123", true},
                 {".7", false},
                 {"jit_fn.", true},
                 {"jit__lambda", false},
                 {"jit__lambda_", false}};
    RK_AUTO(rk_programs) programs = {0};
    for (unsigned i = 0; i < RK_ARRAY_LEN(cases); i++) {
        uint32_t program = rk_programs_add(&programs, NULL, cases[i].name, NULL);
        if (programs.items[program].step.is_user_name != cases[i].has_user_name)
            fail_msg("\"%s\"", cases[i].name);
        assert_int_equal(programs.items[program].step.name >> 31, 0);
    }
    const rk_program_role pass = {.operations = 9, .is_transformed = true};
    uint32_t one = rk_programs_add(&programs, NULL, "jit_step", &pass);
    assert_false(programs.items[one].step.is_user_name);
    one = rk_programs_add(&programs, NULL, "Graph.1", NULL);
    uint32_t other = rk_programs_add(&programs, NULL, "Graph.22", NULL);
    assert_int_equal(programs.items[one].step.name, programs.items[other].step.name);
    assert_int_not_equal(programs.items[one].step.name, programs.items[0].step.name);
}

static bool is_operation(const char *file, const char *name, const rk_program_role *role) {
    RK_AUTO(rk_buf) code = {0};
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s.mlir", RK_TEST_DATA, file);
    rk_expect_ok(rk_fs_read(path, 1 << 20, &code));
    return rk_programs_is_operation(rk_buf_span(&code), name, role);
}

static void operations_of_the_framework_are_recognized(void **state) {
    (void)state;
    const rk_program_role small = {.operations = 5, .inputs = 2, .results = 1, .carried = 1};
    assert_true(is_operation("eager.1", "jit_multiply", &small));
    assert_false(is_operation("shape.1", "jit_step", &small));
    assert_false(is_operation("unlike.1", "jit_step", &small)); // a function in a function
    assert_false(is_operation("eager.1", "multiply", &small));  // not of JAX
    assert_false(is_operation("eager.1", "jit__lambda", &small));
    assert_false(is_operation("scans.1", "jit_scan", &small));
    // A function of the user, with the name of an operation that it calls.
    static const char dot[] = "jit_dot\0jit(dot)/dot_general\0jit(dot)/tanh\0dot\0main";
    assert_false(
        rk_programs_is_operation(rk_span_of((const uint8_t *)dot, sizeof dot), "jit_dot", &small));
    // Without full tracebacks JAX writes neither frames nor name stacks.
    static const char step[] = "jit_step\0jit(step)\0dot_general\0tanh";
    assert_false(rk_programs_is_operation(rk_span_of((const uint8_t *)step, sizeof step),
                                          "jit_step", &small));
    // The frame of a large function may be missing.
    rk_program_role role = small;
    role.carried = 2;
    assert_false(is_operation("eager.1", "jit_multiply", &role));
    role = small;
    role.operations = 20;
    assert_true(is_operation("eager.1", "jit_multiply", &role));
    role.inputs = 5;
    assert_false(is_operation("eager.1", "jit_multiply", &role));
    role = (rk_program_role){.operations = 2, .inputs = 1, .results = 1, .carried = 1};
    assert_true(is_operation("shape.1", "jit_stage", &role)); // only returns its input
    role = (rk_program_role){0};                              // not known
    assert_false(is_operation("eager.1", "jit_multiply", &role));
}

static void executables_come_and_go(void **state) {
    (void)state;
    RK_AUTO(rk_programs) programs = {0};
    assert_int_equal(rk_programs_of(&programs, 4096), RK_NO_PROGRAM);
    rk_programs_unbind(&programs, 4096);
    // Many executables in total, few at a time: the table stays small.
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t handle = 4096 + i * 64;
        assert_true(rk_programs_bind(&programs, handle, (uint32_t)i));
        if (i >= 10) {
            assert_int_equal(rk_programs_of(&programs, handle - 640), i - 10);
            rk_programs_unbind(&programs, handle - 640);
            assert_int_equal(rk_programs_of(&programs, handle - 640), RK_NO_PROGRAM);
        }
    }
    assert_true(programs.executable_slots <= 256);
    uint64_t last = 4096 + 99999 * UINT64_C(64);
    assert_true(rk_programs_bind(&programs, last, 7)); // an address that is reused
    assert_int_equal(rk_programs_of(&programs, last), 7);
}

static void memory_may_be_short(void **state) {
    (void)state;
    RK_AUTO(rk_programs) programs = {0};
    rk_digest key = digest_of(1);
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_ALLOC, .lasting = true});
    assert_int_equal(rk_programs_add(&programs, &key, "f", NULL), RK_NO_PROGRAM);
    assert_false(rk_programs_bind(&programs, 4096, 0));
    assert_true(rk_fault_end());
    assert_int_equal(rk_programs_add(&programs, &key, "f", NULL), 0);
    assert_true(rk_programs_bind(&programs, 4096, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_keys_are_one_program),
        cmocka_unit_test(names_count_where_they_are_the_users),
        cmocka_unit_test(operations_of_the_framework_are_recognized),
        cmocka_unit_test(executables_come_and_go),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
