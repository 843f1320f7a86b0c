// Options of gc and rm that select entries by age and namespace.
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/status.h"

#define RK_OPT_OLDER_THAN(target)                                                                  \
    RK_OPT_VALUE("older-than", 0, target, "AGE", "what was not used for so long: 90m, 12h, 30d, 8w")
#define RK_OPT_NAMESPACE(target)                                                                   \
    RK_OPT_VALUE("namespace", 0, target, "NAME",                                                   \
                 "entries of this namespace (REKINDLE_NAMESPACE of the job) alone; - is none")

// Parses an age: "45s", "90m", "12h", "30d", "8w", at most a thousand years. UINT64_MAX for NULL.
// Error: RK_INVALID_ARGUMENT; the message says what is valid.
RK_NODISCARD rk_err *rk_select_age(const char *text, uint64_t *out_ns);

// True if an entry with this metadata is in the namespace `name`. NULL matches all entries; "-"
// matches entries without a namespace. Adds the entry's namespace as a member to `seen`, unless
// `name` is NULL.
RK_NODISCARD bool rk_select_namespace(const char *name, rk_span metadata, json_t *seen);

// Appends that no entry has the namespace `name`, and which others there are (members of `seen`).
void rk_select_add_unknown(const char *name, json_t *seen, rk_buf *out);
