#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"

static _Atomic(int) current_level = RK_LOG_WARN;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void rk_log_set_level(rk_log_level level) {
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

rk_log_level rk_log_get_level(void) {
    return (rk_log_level)atomic_load_explicit(&current_level, memory_order_relaxed);
}

bool rk_log_level_parse(const char *text, rk_log_level *out_level) {
    for (size_t i = 0; i < RK_ARRAY_LEN(level_names); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *out_level = (rk_log_level)i;
            return true;
        }
    }
    return false;
}

void rk_log(rk_log_level level, const char *format, ...) {
    if (level > rk_log_get_level())
        return;
    int saved = errno;
    char line[4096];
    static const char prefix[] = "rekindle: ";
    memcpy(line, prefix, sizeof prefix);
    size_t len = sizeof prefix - 1;
    va_list args;
    va_start(args, format);
    int text_len = vsnprintf(line + len, sizeof line - len - 1, format, args);
    va_end(args);
    if (text_len > 0) {
        size_t space = sizeof line - len - 2;
        len += (size_t)text_len < space ? (size_t)text_len : space;
    }
    line[len++] = '\n';
    // The buffer and the lock of stderr belong to the host process. write(2) uses neither.
    ssize_t written = rk_sys()->write_fn(STDERR_FILENO, line, len);
    (void)written;
    errno = saved;
}
