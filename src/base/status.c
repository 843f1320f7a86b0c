#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { MESSAGE_MAX_BYTES = 4096 };

struct rk_err {
    rk_code code;
    int error_number;
    int line;
    const char *file;
    char message[];
};

// Flexible array members cannot be initialized portably. The first members equal those of rk_err.
static struct {
    rk_code code;
    int error_number;
    int line;
    const char *file;
    char message[16];
} no_memory = {RK_RESOURCE_EXHAUSTED, ENOMEM, 0, "", "out of memory"};

rk_err *rk_err_static_no_memory(void) {
    return (rk_err *)(void *)&no_memory;
}

static const char *base_name(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static rk_err *make(const char *file, int line, rk_code code, int error_number, const char *text) {
    size_t len = strlen(text);
    rk_err *err = rk_malloc(sizeof *err + len + 1);
    if (!err)
        return rk_err_no_memory();
    err->code = code;
    err->error_number = error_number;
    err->line = line;
    err->file = file;
    memcpy(err->message, text, len + 1);
    return err;
}

static void append_errno(char *text, size_t size, int error_number) {
    char scratch[128];
    // GNU's strerror_r returns the text, which may or may not be in `scratch`.
    const char *reason = strerror_r(error_number, scratch, sizeof scratch);
    size_t len = strlen(text);
    if (len < size)
        (void)snprintf(text + len, size - len, ": %s", reason);
}

rk_err *rk_err_new_at(const char *file, int line, rk_code code, int error_number,
                      const char *format, ...) {
    char text[MESSAGE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (error_number)
        append_errno(text, sizeof text, error_number);
    return make(base_name(file), line, code, error_number, text);
}

rk_err *rk_err_wrap(rk_err *cause, const char *format, ...) {
    if (!cause)
        return NULL;
    char text[MESSAGE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t len = strlen(text);
    if (len < sizeof text)
        (void)snprintf(text + len, sizeof text - len, ": %s", cause->message);
    rk_err *err = make(cause->file, cause->line, cause->code, cause->error_number, text);
    rk_err_free(cause);
    return err;
}

rk_err *rk_err_copy(const rk_err *err) {
    return err ? make(err->file, err->line, err->code, err->error_number, err->message) : NULL;
}

rk_code rk_err_code(const rk_err *err) {
    return err ? err->code : RK_OK;
}

int rk_err_errno(const rk_err *err) {
    return err ? err->error_number : 0;
}

const char *rk_err_message(const rk_err *err) {
    return err ? err->message : "";
}

const char *rk_err_file(const rk_err *err) {
    return err ? err->file : "";
}

int rk_err_line(const rk_err *err) {
    return err ? err->line : 0;
}

void rk_err_free(rk_err *err) {
    if (err && err != rk_err_no_memory())
        rk_free(err);
}

void rk_err_cleanup(rk_err **err) {
    rk_err_free(*err);
}

void rk_err_drop(rk_err *err, const char *why_it_is_fine) {
    (void)why_it_is_fine;
    rk_err_free(err);
}

rk_code rk_code_from_errno(int error_number) {
    switch (error_number) {
    case 0:
        return RK_OK;
    case ENOENT:
    case ENOTDIR:
        return RK_NOT_FOUND;
    case EEXIST:
        return RK_ALREADY_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return RK_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return RK_RESOURCE_EXHAUSTED;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
        return RK_INVALID_ARGUMENT;
    case ETIMEDOUT:
        return RK_DEADLINE_EXCEEDED;
    case ENOSYS:
    case EOPNOTSUPP:
        return RK_UNIMPLEMENTED;
    case EIO:
        return RK_DATA_LOSS;
    case EAGAIN:
    case ESTALE:
    case ECONNREFUSED:
        return RK_UNAVAILABLE;
    default:
        return RK_UNKNOWN;
    }
}

const char *rk_code_name(rk_code code) {
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    size_t index = (size_t)code;
    return index < RK_ARRAY_LEN(names) ? names[index] : "UNKNOWN";
}
