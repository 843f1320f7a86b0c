// The list of verbs. A new verb is one row here, and a file cmd_NAME.c that defines rk_verb_NAME.
#pragma once

#include "cli/verb.h"

// clang-format off
// In the order of `rekindle help`.
#define RK_VERBS(ROW) \
    ROW(run) \
    ROW(verify) \
    ROW(stats) \
    ROW(explain) \
    ROW(runs) \
    ROW(memory) \
    ROW(shapes) \
    ROW(ls) \
    ROW(show) \
    ROW(diff) \
    ROW(rm) \
    ROW(gc) \
    ROW(fsck) \
    ROW(pin) \
    ROW(unpin) \
    ROW(bundle) \
    ROW(keys) \
    ROW(probe) \
    ROW(config) \
    ROW(completion) \
    ROW(version) \
    ROW(help)
// clang-format on

#define RK_VERB_DECLARE(name) extern const rk_verb rk_verb_##name;
RK_VERBS(RK_VERB_DECLARE)
#undef RK_VERB_DECLARE

extern const rk_verb_list rk_verbs;

// What rekindle is for; follows its name.
#define RK_VERBS_PURPOSE                                                                           \
    "stores compiled XLA programs, so that a restart of the same job compiles nothing"
