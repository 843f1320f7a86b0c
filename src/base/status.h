// Errors. A fallible function returns `rk_err *`: NULL is success, anything else is an error that
// the caller owns. Codes have the numbers of PJRT_Error_Code, so a cast converts them at the plugin
// boundary.
//
// The function that detects a failure creates the error, with a message that helps the user to fix
// it. Callers add context with rk_err_wrap, or return the error unchanged. A miss is a value, not
// an error. Libraries never print.
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

// Creates an error; use the macros below. `error_number` is an errno or 0. Never returns NULL: if
// memory is short, returns a static error, which rk_err_free accepts.
RK_NODISCARD rk_err *rk_err_new_at(const char *file, int line, rk_code code, int error_number,
                                   const char *format, ...) RK_PRINTF(5, 6);

// Returns `err`, and declares to compilers and analyzers that it is not NULL. They then know that a
// function that returns the result of rk_err_new_at has failed.
RK_NODISCARD static inline rk_err *rk_err_not_null(rk_err *err) {
    if (!err)
        __builtin_unreachable();
    return err;
}

// Creates an error with the given code.
#define rk_error(code, ...)                                                                        \
    rk_err_not_null(rk_err_new_at(__FILE__, __LINE__, (code), 0, __VA_ARGS__))
// Creates an error from an errno value: derives the code from it, and appends its text to the
// message.
#define rk_error_errno(error_number, ...)                                                          \
    rk_err_not_null(rk_err_new_at(__FILE__, __LINE__, rk_code_from_errno(error_number),            \
                                  (error_number), __VA_ARGS__))

// The static out-of-memory error.
RK_NODISCARD rk_err *rk_err_static_no_memory(void);
#define rk_err_no_memory() rk_err_not_null(rk_err_static_no_memory())

// Consumes `cause` and returns an error whose message is "context: cause". NULL stays NULL.
RK_NODISCARD rk_err *rk_err_wrap(rk_err *cause, const char *format, ...) RK_PRINTF(2, 3);

// Returns a copy for another owner. NULL stays NULL.
RK_NODISCARD rk_err *rk_err_copy(const rk_err *err);

rk_code rk_err_code(const rk_err *err);        // RK_OK for NULL
int rk_err_errno(const rk_err *err);           // 0 if no system call failed
const char *rk_err_message(const rk_err *err); // borrowed until the error is freed; "" for NULL
const char *rk_err_file(const rk_err *err);    // the file that created it; static storage
int rk_err_line(const rk_err *err);
void rk_err_free(rk_err *err); // NULL is fine
void rk_err_cleanup(rk_err **err);
#define rk_autoerr __attribute__((cleanup(rk_err_cleanup))) rk_err *

// Frees an error that needs no handling. `why_it_is_fine` documents the reason in the code.
void rk_err_drop(rk_err *err, const char *why_it_is_fine);

rk_code rk_code_from_errno(int error_number);
const char *rk_code_name(rk_code code); // "NOT_FOUND"; static storage

// Returns from the enclosing function if `expression` is an error.
#define RK_TRY(expression)                                                                         \
    do {                                                                                           \
        rk_err *rk_try_err_ = (expression);                                                        \
        if (RK_UNLIKELY(rk_try_err_))                                                              \
            return rk_try_err_;                                                                    \
    } while (0)
