// Assertions about errors. Includes support/cmocka.h.
#pragma once

#include "base/status.h"
#include "support/cmocka.h"

// Fails the test with the error's message unless the expression is NULL. Frees the error.
#define rk_expect_ok(expression)                                                                   \
    do {                                                                                           \
        rk_err *rk_expect_err_ = (expression);                                                     \
        if (rk_expect_err_)                                                                        \
            print_error("%s:%d: %s\n", __FILE__, __LINE__, rk_err_message(rk_expect_err_));        \
        rk_code rk_expect_code_ = rk_err_code(rk_expect_err_);                                     \
        rk_err_free(rk_expect_err_);                                                               \
        assert_int_equal(rk_expect_code_, RK_OK);                                                  \
    } while (0)

// Fails the test unless the expression is an error with this code. Frees the error.
#define rk_expect_code(code, expression)                                                           \
    do {                                                                                           \
        rk_err *rk_expect_err_ = (expression);                                                     \
        rk_code rk_expect_code_ = rk_err_code(rk_expect_err_);                                     \
        rk_err_free(rk_expect_err_);                                                               \
        assert_string_equal(rk_code_name(rk_expect_code_), rk_code_name(code));                    \
    } while (0)
