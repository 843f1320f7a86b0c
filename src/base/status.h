// Errors. A fallible function returns `rk_err *`: NULL is success, anything else is an error that
// the caller owns. Codes carry the numbers of PJRT_Error_Code, so that the plugin boundary is a
// cast.
//
// An error is made once, low down, with what a person needs to mend it; callers add context with
// rk_err_wrap or pass it on. A miss is a value, never an error. Libraries never print.
#pragma once

#include <stdarg.h>

#include "base/macros.h"

typedef enum rk_code {
    RK_OK = 0,
    RK_CANCELLED = 1,
    RK_UNKNOWN = 2,
    RK_INVALID_ARGUMENT = 3,
    RK_DEADLINE_EXCEEDED = 4,
    RK_NOT_FOUND = 5,
    RK_ALREADY_EXISTS = 6,
    RK_PERMISSION_DENIED = 7,
    RK_RESOURCE_EXHAUSTED = 8,
    RK_FAILED_PRECONDITION = 9,
    RK_ABORTED = 10,
    RK_OUT_OF_RANGE = 11,
    RK_UNIMPLEMENTED = 12,
    RK_INTERNAL = 13,
    RK_UNAVAILABLE = 14,
    RK_DATA_LOSS = 15,
    RK_UNAUTHENTICATED = 16,
} rk_code;

typedef struct rk_err rk_err;

// Makes an error; use the macros below. `error_number` is an errno or 0. Never returns NULL: when
// memory is short it returns a static error that rk_err_free knows.
RK_NODISCARD rk_err *rk_err_new_at(const char *file, int line, rk_code code, int error_number,
                                   const char *format, ...) RK_PRINTF(5, 6);

// Tells compilers and analyzers what rk_err_new_at promises: a function that returns an error has
// not succeeded.
RK_NODISCARD static inline rk_err *rk_err_not_null(rk_err *err) {
    if (!err)
        __builtin_unreachable();
    return err;
}

// An error with a code of our choosing.
#define rk_error(code, ...)                                                                        \
    rk_err_not_null(rk_err_new_at(__FILE__, __LINE__, (code), 0, __VA_ARGS__))
// An error from an errno value: the code follows from it, and its text is appended to the message.
#define rk_error_errno(error_number, ...)                                                          \
    rk_err_not_null(rk_err_new_at(__FILE__, __LINE__, rk_code_from_errno(error_number),            \
                                  (error_number), __VA_ARGS__))

// The static out-of-memory error.
RK_NODISCARD rk_err *rk_err_static_no_memory(void);
#define rk_err_no_memory() rk_err_not_null(rk_err_static_no_memory())

// Consumes `cause` and returns an error whose message is "context: cause". NULL stays NULL.
RK_NODISCARD rk_err *rk_err_wrap(rk_err *cause, const char *format, ...) RK_PRINTF(2, 3);

// The same error once more, for another owner. NULL stays NULL.
RK_NODISCARD rk_err *rk_err_copy(const rk_err *err);

rk_code rk_err_code(const rk_err *err);        // RK_OK for NULL
int rk_err_errno(const rk_err *err);           // 0 where no system call failed
const char *rk_err_message(const rk_err *err); // borrowed until the error is freed; "" for NULL
const char *rk_err_file(const rk_err *err);    // where it was made, static storage
int rk_err_line(const rk_err *err);
void rk_err_free(rk_err *err); // NULL is fine
void rk_err_cleanup(rk_err **err);
#define rk_autoerr __attribute__((cleanup(rk_err_cleanup))) rk_err *

// Drops an error on purpose. `why_it_is_fine` is for the reader of the code.
void rk_err_drop(rk_err *err, const char *why_it_is_fine);

rk_code rk_code_from_errno(int error_number);
const char *rk_code_name(rk_code code); // "NOT_FOUND"; static storage

// Passes an error on to the caller.
#define RK_TRY(expression)                                                                         \
    do {                                                                                           \
        rk_err *rk_try_err_ = (expression);                                                        \
        if (RK_UNLIKELY(rk_try_err_))                                                              \
            return rk_try_err_;                                                                    \
    } while (0)
