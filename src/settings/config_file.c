#include "settings/config_file_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/fs.h"

static bool is_blank(uint8_t c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static rk_span trim(rk_span text) {
    while (text.len && is_blank(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len && is_blank(text.data[text.len - 1]))
        text.len--;
    return text;
}

static rk_span without_comment(rk_span line) {
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] == '#' && (i == 0 || is_blank(line.data[i - 1])))
            return rk_span_of(line.data, i);
    return line;
}

static rk_err *read_line(const char *path, size_t number, rk_span line, rk_config_fn each,
                         void *context) {
    line = trim(without_comment(line));
    if (line.len == 0)
        return NULL;
    RK_AUTO(rk_buf) label = {0};
    rk_buf_add_format(&label, "%s:%zu", path, number);
    RK_TRY(rk_buf_status(&label));
    const uint8_t *equals = memchr(line.data, '=', line.len);
    if (!equals)
        return rk_error(RK_INVALID_ARGUMENT, "%s: there is no '=' in this line; write name = value",
                        rk_buf_text(&label));
    size_t name_len = (size_t)(equals - line.data);
    rk_config_line parsed = {
        .label = rk_buf_text(&label),
        .name = trim(rk_span_of(line.data, name_len)),
        .value = trim(rk_span_of(equals + 1, line.len - name_len - 1)),
    };
    return each(context, &parsed);
}

// Adds the remedy to the error for a file that cannot be read. Consumes `cause`.
static rk_err *add_remedy(rk_err *cause) {
    rk_autoerr owned = cause;
    rk_code code = rk_err_code(cause);
    const char *message = rk_err_message(cause);
    if (code == RK_PERMISSION_DENIED)
        return rk_error(code,
                        "%s: make it readable for you, or set REKINDLE_DIR to a folder of your own",
                        message);
    if (code == RK_OUT_OF_RANGE)
        return rk_error(code, "%s: replace it with a text file of at most 1 MiB, or remove it",
                        message);
    if (code == RK_INVALID_ARGUMENT) // from a system call: no value is wrong
        return rk_error(RK_FAILED_PRECONDITION, "%s", message);
    return RK_TAKE(owned);
}

// Appends the text of the file, or nothing if the file does not exist.
static rk_err *read_text(const char *path, rk_buf *text) {
    // Users may keep this file elsewhere and link to it, but rk_fs_read follows no links.
    char resolved[PATH_MAX];
    struct stat info;
    const char *real = realpath(path, resolved);
    int error_number = real ? 0 : errno;
    if (!real && rk_sys()->lstat_fn(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        if (error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP)
            return rk_error(RK_FAILED_PRECONDITION,
                            "%s is a broken symbolic link: remove it, or link to an existing file",
                            path);
        return add_remedy(rk_error_errno(error_number, "cannot open %s", path));
    }
    rk_err *err = rk_fs_read(real ? real : path, RK_CONFIG_MAX_BYTES, text);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "the config file is optional");
        return NULL;
    }
    return err ? add_remedy(err) : NULL;
}

rk_err *rk_config_read(const char *path, rk_config_fn each, void *context) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_CONFIG_MAX_BYTES + 1);
    RK_TRY(read_text(path, &text));
    if (text.len && memchr(text.data, '\0', text.len))
        return rk_error(
            RK_FAILED_PRECONDITION,
            "%s is not a text file (it holds a zero byte): replace it with a text file of "
            "at most 1 MiB, or remove it",
            path);
    rk_span rest = rk_buf_span(&text);
    rk_err *first = NULL;
    for (size_t number = 1; rest.len; number++) {
        const uint8_t *end = memchr(rest.data, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.data) : rest.len;
        rk_err *err = read_line(path, number, rk_span_of(rest.data, len), each, context);
        if (first)
            rk_err_drop(err, "the first error is reported");
        else
            first = err;
        size_t taken = end ? len + 1 : len;
        rest = rk_span_of(rest.data + taken, rest.len - taken);
    }
    return first;
}
