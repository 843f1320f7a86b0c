// Builds the lines of a journal within their size limits. Inside src/journal only.
#pragma once

#include "base/digest.h"
#include "base/json.h"

enum {
    RK_LINE_MAX_BYTES = 64 << 10, // with the newline; docs/journal.md promises it
    RK_LINE_NAME_BYTES = 2048,    // a name, path or word within a line
    RK_LINE_MESSAGE_BYTES = 8192,
    RK_LINE_LIST_BYTES = 32 << 10, // argv or components, the whole list
    RK_LINE_VERSION = 1,
};

// Adds a member whose value takes at most `max_bytes` as JSON, without the quotes. Longer text is
// cut between two characters and ends in "…[<original length in bytes>]".
void rk_line_add_text(rk_json *json, const char *key, rk_span text, size_t max_bytes);

// Adds a value within an array; limit as for rk_line_add_text.
void rk_line_add_item(rk_json *json, rk_span text, size_t max_bytes);

// Like rk_line_add_text with RK_LINE_NAME_BYTES; NULL counts as "".
void rk_line_add_name(rk_json *json, const char *key, const char *text);

// Adds a member of 64 hex digits; nothing if `digest` is NULL.
void rk_line_add_digest(rk_json *json, const char *key, const rk_digest *digest);
