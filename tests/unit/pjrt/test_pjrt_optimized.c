// Heap reservation for reading an optimized program. It starts when the framework queries the
// program's size and ends when the framework has read the program.
#include "support/expect.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap_reserve.h"
#include "pjrt/optimized.h"
#include "pjrt/runtime.h"
#include "support/mapped.h"

enum { MIB = 1 << 20, BIG = MIB, SMALL = MIB / 16, RESERVED_BYTES = 24 * MIB };

static size_t program_bytes;

static PJRT_Error *optimized(PJRT_Executable_OptimizedProgram_Args *args) {
    if (args->program->code)
        memset(args->program->code, 'x', program_bytes);
    args->program->code_size = program_bytes;
    args->program->format = "hlo";
    args->program->format_size = 3;
    return NULL;
}

static PJRT_Error *get_executable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
    args->executable = (PJRT_Executable *)(void *)((char *)args->loaded_executable + 1);
    return NULL;
}

static const PJRT_Api api = {.struct_size = PJRT_Api_STRUCT_SIZE,
                             .PJRT_Executable_OptimizedProgram = optimized,
                             .PJRT_LoadedExecutable_GetExecutable = get_executable};
static rk_plugin plugin = {.real = &api};
static char handles[4]; // only their addresses matter

static void ask(size_t handle, char *code) {
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .code = code};
    program.code_size = code ? program_bytes : 0;
    PJRT_Executable_OptimizedProgram_Args args = {
        .struct_size = PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE,
        .executable = (PJRT_Executable *)(void *)&handles[handle],
        .program = &program};
    assert_null(rk_optimized_hook(&plugin, &args));
    assert_int_equal(program.code_size, program_bytes);
}

static void describe(size_t handle) {
    PJRT_LoadedExecutable_GetExecutable_Args args = {
        .struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
        .loaded_executable = (PJRT_LoadedExecutable *)(void *)&handles[handle]};
    assert_null(rk_optimized_get_hook(&plugin, &args));
}

// True if the heap of this thread has the reserved size.
static bool has_space(void) {
    void *small = calloc(1, 1000);
    bool reserved = rk_mapped_bytes(small) >= RESERVED_BYTES;
    free(small);
    return reserved;
}

static bool reservation_is_possible(void) {
    rk_heap_reservation reserved;
    rk_heap_reserve(MIB, &reserved);
    bool possible = reserved.count > 0;
    rk_heap_release(&reserved);
    return possible;
}

static void read_twice(size_t handle) {
    char *code = malloc(program_bytes);
    ask(handle, NULL);
    ask(handle, code);
    ask(handle, NULL);
    ask(handle, code);
    free(code);
}

static void *ask_for_a_big_one(void *argument) {
    (void)argument;
    program_bytes = BIG;
    assert_false(has_space());
    ask(0, NULL);
    assert_true(has_space());
    read_twice(0); // afterwards the reservation is released, and the plugin answers directly
    rk_optimized_forget(&handles[0]);
    return NULL;
}

static void *ask_for_a_small_one(void *argument) {
    (void)argument;
    program_bytes = SMALL;
    read_twice(0);
    assert_false(has_space());
    rk_optimized_forget(&handles[0]);
    return NULL;
}

// After rk_optimized_forget no memory is left, which a sanitizer checks: for a program that was
// read once, and for one that was queried but never read.
static void *leave_it(void *argument) {
    (void)argument;
    program_bytes = BIG;
    char *code = malloc(program_bytes);
    ask(0, NULL);
    ask(0, code);
    describe(2); // this query means that the thread has read the program
    ask(1, NULL);
    ask(1, NULL);
    free(code);
    for (size_t i = 0; i < RK_ARRAY_LEN(handles); i++)
        rk_optimized_forget(&handles[i]);
    return NULL;
}

static void run(void *(*function)(void *)) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_big_program_gets_a_reservation(void **state) {
    (void)state;
    if (!reservation_is_possible())
        skip();
    run(ask_for_a_big_one);
}

static void a_small_program_gets_no_reservation(void **state) {
    (void)state;
    run(ask_for_a_small_one);
}

static void nothing_is_left(void **state) {
    (void)state;
    run(leave_it);
}

// The heap of the first thread grows by more than a page at a time, so it gets no reservation.
static void the_first_thread_gets_none(void **state) {
    (void)state;
    program_bytes = BIG;
    void *before = calloc(1, 1000);
    size_t bytes = rk_mapped_bytes(before);
    free(before);
    ask(0, NULL);
    void *after = calloc(1, 1000);
    assert_true(rk_mapped_bytes(after) < bytes + RESERVED_BYTES);
    free(after);
    rk_optimized_forget(&handles[0]);
}

int main(void) {
    extern _Atomic(rk_runtime *) rk_runtime_started; // without a runtime nothing is reserved
    static rk_runtime runtime;
    atomic_store(&rk_runtime_started, &runtime);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_program_gets_no_reservation), // first, because heaps never shrink
        cmocka_unit_test(a_big_program_gets_a_reservation),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(the_first_thread_gets_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
