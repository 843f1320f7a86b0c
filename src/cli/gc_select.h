// Which entries a verb is about: by age and namespace; for gc and rm.
#pragma once

#include "base/span.h"
#include "base/status.h"

#define RK_OPT_OLDER_THAN(target)                                                                  \
    RK_OPT_VALUE("older-than", 0, target, "AGE", "what was not used for so long: 90m, 12h, 30d, 8w")
#define RK_OPT_NAMESPACE(target)                                                                   \
    RK_OPT_VALUE("namespace", 0, target, "NAME",                                                   \
                 "entries of this namespace (REKINDLE_NAMESPACE of the job) alone; - is none")

// "45s", "90m", "12h", "30d", "8w", at most a thousand years; UINT64_MAX for NULL.
// RK_INVALID_ARGUMENT with what would be right.
RK_NODISCARD rk_err *rk_select_age(const char *text, uint64_t *out_ns);

// True if an entry with that metadata is of the namespace; `name` NULL: all are; "-": none's.
RK_NODISCARD bool rk_select_namespace(const char *name, rk_span metadata);
