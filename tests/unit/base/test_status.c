#include "base/status.h"

#include <errno.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/faults.h"

static void null_is_success(void **state) {
    (void)state;
    assert_int_equal(rk_err_code(NULL), RK_OK);
    assert_int_equal(rk_err_errno(NULL), 0);
    assert_int_equal(rk_err_line(NULL), 0);
    assert_string_equal(rk_err_message(NULL), "");
    assert_string_equal(rk_err_file(NULL), "");
    assert_null(rk_err_wrap(NULL, "context"));
    rk_err_free(NULL);
}

static void an_error_knows_its_place(void **state) {
    (void)state;
    int line = __LINE__ + 1;
    rk_err *err = rk_error(RK_DATA_LOSS, "entry %s: %d bytes", "ab", 3);
    assert_int_equal(rk_err_code(err), RK_DATA_LOSS);
    assert_string_equal(rk_err_message(err), "entry ab: 3 bytes");
    assert_string_equal(rk_err_file(err), "test_status.c");
    assert_int_equal(rk_err_line(err), line);
    assert_int_equal(rk_err_errno(err), 0);
    rk_err_free(err);
}

static void an_errno_gives_code_and_reason(void **state) {
    (void)state;
    rk_err *err = rk_error_errno(ENOSPC, "cannot write %s", "x");
    assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
    assert_int_equal(rk_err_errno(err), ENOSPC);
    assert_string_equal(rk_err_message(err), "cannot write x: No space left on device");
    rk_err_free(err);
}

static void a_wrapped_error_keeps_all_but_its_words(void **state) {
    (void)state;
    int line = __LINE__ + 1;
    rk_err *err = rk_error_errno(EACCES, "cannot open f");
    err = rk_err_wrap(err, "store %d", 7);
    assert_string_equal(rk_err_message(err), "store 7: cannot open f: Permission denied");
    assert_int_equal(rk_err_code(err), RK_PERMISSION_DENIED);
    assert_int_equal(rk_err_errno(err), EACCES);
    assert_int_equal(rk_err_line(err), line);
    rk_err_free(err);
}

static void a_copy_is_the_same_error_for_another_owner(void **state) {
    (void)state;
    rk_err *err = rk_error_errno(ENOMEM, "cannot grow");
    rk_err *copy = rk_err_copy(err);
    assert_ptr_not_equal(copy, err);
    rk_err_free(err);
    assert_int_equal(rk_err_code(copy), RK_RESOURCE_EXHAUSTED);
    assert_int_equal(rk_err_errno(copy), ENOMEM);
    assert_string_equal(rk_err_message(copy), "cannot grow: Cannot allocate memory");
    assert_string_equal(rk_err_file(copy), "test_status.c");
    rk_err_free(copy);
    assert_null(rk_err_copy(NULL));
}

static void long_messages_are_cut(void **state) {
    (void)state;
    static char text[10000];
    memset(text, 'x', sizeof text - 1);
    rk_err *err = rk_err_wrap(rk_error_errno(EIO, "%s", text), "%s", text);
    assert_int_equal(strlen(rk_err_message(err)), 4095);
    rk_err_free(err);
}

static void without_memory_there_is_still_an_error(void **state) {
    (void)state;
    rk_err *first = rk_error(RK_NOT_FOUND, "first");
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_ALLOC, .lasting = true});
    rk_err *err = rk_error(RK_NOT_FOUND, "lost");
    rk_err *wrapped = rk_err_wrap(first, "context");
    assert_true(rk_fault_end());
    assert_ptr_equal(err, rk_err_no_memory());
    assert_ptr_equal(wrapped, rk_err_no_memory());
    assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
    assert_string_equal(rk_err_message(err), "out of memory");
    rk_err_free(err);
    rk_err_drop(rk_err_wrap(wrapped, "later"), "only its making is of interest");
}

static rk_err *try_it(rk_err *first, bool *out_went_on) {
    RK_TRY(first);
    *out_went_on = true;
    return NULL;
}

static void try_passes_on(void **state) {
    (void)state;
    bool went_on = false;
    assert_null(try_it(NULL, &went_on));
    assert_true(went_on);
    went_on = false;
    rk_err *err = try_it(rk_error(RK_ABORTED, "stop"), &went_on);
    assert_int_equal(rk_err_code(err), RK_ABORTED);
    assert_false(went_on);
    rk_err_free(err);
}

// The codes equal those of PJRT_Error_Code, so the plugin boundary is a cast.
static void codes_have_names(void **state) {
    (void)state;
    assert_string_equal(rk_code_name(RK_OK), "OK");
    assert_string_equal(rk_code_name(RK_UNIMPLEMENTED), "UNIMPLEMENTED");
    assert_string_equal(rk_code_name(RK_UNAUTHENTICATED), "UNAUTHENTICATED");
    assert_string_equal(rk_code_name((rk_code)17), "UNKNOWN");
    assert_string_equal(rk_code_name((rk_code)-1), "UNKNOWN");
    assert_int_equal(rk_code_from_errno(0), RK_OK);
    assert_int_equal(rk_code_from_errno(ENOENT), RK_NOT_FOUND);
    assert_int_equal(rk_code_from_errno(EROFS), RK_PERMISSION_DENIED);
    assert_int_equal(rk_code_from_errno(EDQUOT), RK_RESOURCE_EXHAUSTED);
    assert_int_equal(rk_code_from_errno(99999), RK_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_success),
        cmocka_unit_test(an_error_knows_its_place),
        cmocka_unit_test(an_errno_gives_code_and_reason),
        cmocka_unit_test(a_wrapped_error_keeps_all_but_its_words),
        cmocka_unit_test(a_copy_is_the_same_error_for_another_owner),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(without_memory_there_is_still_an_error),
        cmocka_unit_test(try_passes_on),
        cmocka_unit_test(codes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
