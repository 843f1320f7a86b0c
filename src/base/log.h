// Messages to the user on stderr. Each message is one line, "rekindle: …", of at most 4096 bytes,
// written with one write(2). Levels are those of REKINDLE_LOG. Thread-safe; errno stays as it was.
#pragma once

#include <stdbool.h>

#include "base/status.h"

typedef enum rk_log_level { RK_LOG_ERROR, RK_LOG_WARN, RK_LOG_INFO, RK_LOG_DEBUG } rk_log_level;

void rk_log_set_level(rk_log_level level); // default RK_LOG_WARN; thread-safe
rk_log_level rk_log_get_level(void);
RK_NODISCARD bool rk_log_level_parse(const char *text, rk_log_level *out_level);

void rk_log(rk_log_level level, const char *format, ...) RK_PRINTF(2, 3);
#define rk_log_error(...) rk_log(RK_LOG_ERROR, __VA_ARGS__)
#define rk_log_warn(...)  rk_log(RK_LOG_WARN, __VA_ARGS__)
#define rk_log_info(...)  rk_log(RK_LOG_INFO, __VA_ARGS__)
#define rk_log_debug(...) rk_log(RK_LOG_DEBUG, __VA_ARGS__)
