// rekindle's errors are distinguished from the plugin's. They work through the plugin's entries and
// through the function table that newer frameworks use.
#include "support/cmocka.h"

#include <stdlib.h>

#include "pjrt/error.h"
#include "support/faults.h"

// A plugin's error, which begins with a status word, as in XLA.
struct PJRT_Error {
    uintptr_t status;
    PJRT_Error_Code code;
    const char *message;
};

static int live;

static void plugin_destroy(PJRT_Error_Destroy_Args *args) {
    live--;
    free(args->error);
}

static void plugin_message(PJRT_Error_Message_Args *args) {
    args->message = args->error->message;
    args->message_size = strlen(args->message);
}

static PJRT_Error *plugin_code(PJRT_Error_GetCode_Args *args) {
    args->code = args->error->code;
    return NULL;
}

static const PJRT_Api plugin = {
    .struct_size = PJRT_Api_STRUCT_SIZE,
    .PJRT_Error_Destroy = plugin_destroy,
    .PJRT_Error_Message = plugin_message,
    .PJRT_Error_GetCode = plugin_code,
};

static PJRT_Error *plugin_error(PJRT_Error_Code code, const char *message) {
    PJRT_Error *error = malloc(sizeof *error);
    assert_non_null(error);
    *error = (PJRT_Error){4, code, message};
    live++;
    return error;
}

static void the_plugins_error_is_taken_over(void **state) {
    (void)state;
    rk_err *err = rk_pjrt_error_take(&plugin, plugin_error(PJRT_Error_Code_NOT_FOUND, "gone"));
    assert_int_equal(rk_err_code(err), RK_NOT_FOUND);
    assert_string_equal(rk_err_message(err), "gone");
    assert_int_equal(live, 0);
    rk_err_free(err);
    assert_null(rk_pjrt_error_take(&plugin, NULL));
}

// The bridge returns rekindle's own errors, which must not reach the plugin.
static void one_of_ours_is_taken_over_without_the_plugin(void **state) {
    (void)state;
    static const PJRT_Api nothing = {.struct_size = PJRT_Api_STRUCT_SIZE};
    PJRT_Error *ours = rk_pjrt_error_give(rk_error(RK_FAILED_PRECONDITION, "a reason"));
    rk_err *err = rk_pjrt_error_take(&nothing, ours);
    assert_int_equal(rk_err_code(err), RK_FAILED_PRECONDITION);
    assert_string_equal(rk_err_message(err), "a reason");
    rk_err_free(err);
    rk_pjrt_error_drop(&nothing, rk_pjrt_error_give(rk_error(RK_FAILED_PRECONDITION, "a reason")));
}

static void a_code_unknown_to_us_is_unknown(void **state) {
    (void)state;
    rk_err *err = rk_pjrt_error_take(&plugin, plugin_error((PJRT_Error_Code)99, "new"));
    assert_int_equal(rk_err_code(err), RK_UNKNOWN);
    rk_err_free(err);
}

static void ours_is_distinguished_from_theirs(void **state) {
    (void)state;
    PJRT_Error *theirs = plugin_error(PJRT_Error_Code_INTERNAL, "x");
    PJRT_Error *ours = rk_pjrt_error_give(rk_error(RK_FAILED_PRECONDITION, "a reason"));
    assert_false(rk_pjrt_error_is_ours(theirs));
    assert_false(rk_pjrt_error_is_ours(NULL));
    assert_true(rk_pjrt_error_is_ours(ours));
    rk_pjrt_error_destroy(theirs); // not ours: has no effect
    assert_int_equal(live, 1);
    rk_pjrt_error_drop(&plugin, theirs);
    rk_pjrt_error_destroy(ours);
    assert_int_equal(live, 0);
}

static void count_payload(const char *key, size_t key_size, const char *value, size_t value_size,
                          void *user_arg) {
    (void)key;
    (void)key_size;
    (void)value;
    (void)value_size;
    ++*(int *)user_arg;
}

static void ours_speaks_through_its_function_table(void **state) {
    (void)state;
    PJRT_Error *ours = rk_pjrt_error_give(rk_error(RK_NOT_FOUND, "where is it"));
    const rk_pjrt_error_functions *functions;
    memcpy(&functions, ours, sizeof functions);
    const char *message;
    size_t size;
    int payloads = 0;
    functions->message(ours, &message, &size);
    assert_int_equal(size, strlen("where is it"));
    assert_memory_equal(message, "where is it", size);
    assert_int_equal(functions->get_code(ours), PJRT_Error_Code_NOT_FOUND);
    functions->for_each_payload(ours, count_payload, &payloads);
    assert_int_equal(payloads, 0);
    functions->destroy(ours);
}

static void without_memory_there_is_still_an_error(void **state) {
    (void)state;
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_ALLOC, .lasting = true});
    PJRT_Error *ours = rk_pjrt_error_give(rk_error(RK_NOT_FOUND, "lost"));
    assert_true(rk_fault_end());
    assert_true(rk_pjrt_error_is_ours(ours));
    assert_int_equal(rk_pjrt_error_code(ours), PJRT_Error_Code_RESOURCE_EXHAUSTED);
    const char *message;
    size_t size;
    rk_pjrt_error_message(ours, &message, &size);
    assert_true(size > 0);
    rk_pjrt_error_destroy(ours);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plugins_error_is_taken_over),
        cmocka_unit_test(one_of_ours_is_taken_over_without_the_plugin),
        cmocka_unit_test(a_code_unknown_to_us_is_unknown),
        cmocka_unit_test(ours_is_distinguished_from_theirs),
        cmocka_unit_test(ours_speaks_through_its_function_table),
        cmocka_unit_test(without_memory_there_is_still_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
