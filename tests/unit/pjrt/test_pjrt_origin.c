// The record of the executables that came from the store, with a plugin that returns one handle for
// all queries.
#include "support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "pjrt/error.h"
#include "pjrt/origin.h"
#include "support/tempdir.h"

enum { ROUNDS = 16000, THREADS = 2 };

static PJRT_LoadedExecutable *loaded_handle(uintptr_t number) {
    return (PJRT_LoadedExecutable *)(number << 4); // NOLINT(performance-no-int-to-ptr): never used
}

static PJRT_Executable *executable_handle(uintptr_t number) {
    return (PJRT_Executable *)(number << 4 | 8); // NOLINT(performance-no-int-to-ptr): never used
}

static unsigned plugin_calls;

static PJRT_Error *serialize(PJRT_Executable_Serialize_Args *args) {
    (void)args;
    plugin_calls++;
    return NULL;
}

static PJRT_Api api = {.struct_size = PJRT_Api_STRUCT_SIZE, .PJRT_Executable_Serialize = serialize};

// True if the hook called the plugin.
static bool is_forgotten(PJRT_Executable *executable) {
    static rk_plugin plugin = {.real = &api};
    PJRT_Executable_Serialize_Args args = {
        .struct_size = PJRT_Executable_Serialize_Args_STRUCT_SIZE, .executable = executable};
    unsigned before = plugin_calls;
    PJRT_Error *error = rk_origin_serialize_hook(&plugin, &args);
    if (error)
        rk_pjrt_error_destroy(error);
    return plugin_calls != before;
}

static void begin(uintptr_t number) {
    static const rk_key key;
    rk_origin *origin = rk_origin_new(&key);
    assert_non_null(origin);
    rk_origin_set(origin, loaded_handle(number));
}

static void ask(uintptr_t number) {
    rk_origin_get(&(PJRT_LoadedExecutable_GetExecutable_Args){
        .loaded_executable = loaded_handle(number), .executable = executable_handle(number)});
}

static void a_handle_given_out_twice_is_known_until_both_are_destroyed(void **state) {
    (void)state;
    begin(1);
    ask(1);
    ask(1);
    assert_false(is_forgotten(executable_handle(1)));
    rk_origin_forget(executable_handle(1));
    assert_false(is_forgotten(executable_handle(1)));
    rk_origin_forget(executable_handle(1));
    assert_true(is_forgotten(executable_handle(1)));
    rk_origin_forget_loaded(loaded_handle(1));
}

static pthread_barrier_t barrier;

static void *ask_in_each_round(void *argument) {
    for (uintptr_t number = 1; number <= ROUNDS; number++) {
        (void)pthread_barrier_wait(&barrier);
        ask(number);
    }
    return argument;
}

static void also_where_two_threads_ask_at_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (uintptr_t number = 1; number <= ROUNDS; number++)
        begin(number);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_in_each_round, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)pthread_barrier_destroy(&barrier);
    unsigned forgotten = 0;
    for (uintptr_t number = 1; number <= ROUNDS; number++) {
        rk_origin_forget(executable_handle(number));
        forgotten += is_forgotten(executable_handle(number));
        rk_origin_forget(executable_handle(number));
        rk_origin_forget_loaded(loaded_handle(number));
    }
    assert_int_equal(forgotten, 0);
}

int main(void) {
    char *directory = rk_test_tempdir(), store[4096];
    (void)snprintf(store, sizeof store, "%s/none", directory); // an empty store opens fast
    if (setenv("REKINDLE_DIR", store, 1) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_given_out_twice_is_known_until_both_are_destroyed),
        cmocka_unit_test(also_where_two_threads_ask_at_once),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rk_test_tempdir_remove(directory);
    return failed;
}
