// What the files of the comparison of two runs share. Inside src/diagnose/diff/runs*.c only.
#pragma once

#include "diagnose/diff/recorded.h"
#include "diagnose/diff/runs.h"

// The identity of a program: its fingerprint, or its name if it has none.
RK_HIDDEN const char *rk_run_identity(const rk_run_compile *request);

// Appends an item for a request of the later run.
RK_HIDDEN RK_NODISCARD rk_err *rk_run_add_only(rk_run_only_list *list, const rk_corpus *corpus,
                                               const rk_run_compile *request);

// Adds a program that both runs requested, but under other keys.
RK_HIDDEN RK_NODISCARD rk_err *rk_run_add_settings(const rk_corpus *corpus, rk_recorded before,
                                                   rk_recorded after, rk_run_diff *diff);

// Adds a program that both runs requested under one key, if the later run compiled it again.
RK_HIDDEN RK_NODISCARD rk_err *rk_run_add_again(const rk_corpus *corpus, const rk_buf *removals,
                                                rk_recorded before, rk_recorded after,
                                                rk_run_diff *diff);

// Adds the pairs of programs of one name that only one run each requested, and of which at least
// one is not in the store: nothing can be said of their difference.
RK_HIDDEN RK_NODISCARD rk_err *rk_run_add_unread(const rk_buf *removals, rk_run_diff *diff);
