// Parsers for the value of one setting: text to number, choice or flag. Private to src/settings.
//
// `label` is the place of the value ("REKINDLE_MODE" or "/path/config:3: mode"), for error
// messages. All errors are RK_INVALID_ARGUMENT.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "settings/settings.h"

// One of `choices` (NULL-terminated). `*out_index` is the index of the choice.
RK_NODISCARD rk_err *rk_value_choice(const char *label, const char *value,
                                     const char *const *choices, size_t *out_index);

RK_NODISCARD rk_err *rk_value_bool(const char *label, const char *value, bool *out_value);

// "20G", "1.5G", "500M", "4096": K, M, G, T are powers of 1024, with or without "B" or "iB", in
// lower case too. 0 means no limit and gives UINT64_MAX.
RK_NODISCARD rk_err *rk_value_size(const char *label, const char *value, uint64_t *out_bytes);

// "0", "2", "0.25": seconds, at most a million.
RK_NODISCARD rk_err *rk_value_seconds(const char *label, const char *value, uint64_t *out_ns);

// "0", "0.01", "1": a share from 0 to 1. `*out_ppm` is in millionths.
RK_NODISCARD rk_err *rk_value_share(const char *label, const char *value, uint32_t *out_ppm);

// Letters, digits, '.', '_' and '-', at most `max_chars`, no dot at the start: safe as a file name.
RK_NODISCARD rk_err *rk_value_name(const char *label, const char *value, size_t max_chars);

// "auto", "mark", "N steps", "N compiles", "N seconds".
RK_NODISCARD rk_err *rk_value_warmup(const char *label, const char *value, rk_warmup *out_warmup);

// Addresses separated by blanks, with the schemes redis, rediss, s3, http, https or file.
RK_NODISCARD rk_err *rk_value_remote(const char *label, const char *value);

// Names of flags and variables, separated by commas or blanks, without values.
RK_NODISCARD rk_err *rk_value_names(const char *label, const char *value);
