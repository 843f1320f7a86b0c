// Building a journal's lines within their bounds. Inside src/journal only.
#pragma once

#include "base/digest.h"
#include "base/json.h"

enum {
    RK_LINE_MAX_BYTES = 64 << 10, // with the newline; docs/journal.md promises it
    RK_LINE_NAME_BYTES = 2048,    // a name, path or word within a line
    RK_LINE_MESSAGE_BYTES = 8192,
    RK_LINE_LIST_BYTES = 32 << 10, // argv or components, in all
    RK_LINE_VERSION = 1,
};

// A member whose value takes at most `max_bytes` as JSON, quotes aside. Longer text is cut at a
// character and ends in "…[<bytes in all>]".
void rk_line_add_text(rk_json *json, const char *key, rk_span text, size_t max_bytes);

// As above for a value within an array.
void rk_line_add_item(rk_json *json, rk_span text, size_t max_bytes);

// The same with RK_LINE_NAME_BYTES; NULL counts as "".
void rk_line_add_name(rk_json *json, const char *key, const char *text);

// A member of 64 hex digits; none if `digest` is NULL.
void rk_line_add_digest(rk_json *json, const char *key, const rk_digest *digest);
