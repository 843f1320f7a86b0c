// Compares a program of the corpus with an earlier one: the programs themselves, or their sketches
// if one of them was not kept. `explain` and `diff RUN RUN` both choose by this comparison. For the
// command line only.
#pragma once

#include "diagnose/diff/diff.h"
#include "diagnose/explain/corpus.h"

typedef struct rk_known_diff {
    rk_program_diff diff;     // with versions and components; cause RK_CAUSE_FIRST: nothing differs
    rk_differences libraries; // as in rk_explained
    size_t changes;           // what the causes amount to (rk_count_changes)
    bool elsewhere;           // another toolchain or other devices
} rk_known_diff;

// A change since an earlier start that is known already, because another program of the later start
// shows it. `is_known` may be NULL.
typedef struct rk_known_changes {
    bool (*is_known)(const void *context, const rk_difference *difference);
    const void *context;
} rk_known_changes;

// Compares `after` with `before`. `loaded`: the opened program of `after`. `out_diff` is owned by
// the caller: rk_known_diff_cleanup, also after an error.
RK_NODISCARD rk_err *rk_diff_known(const rk_corpus *corpus, const rk_known *before,
                                   const rk_known *after, const rk_loaded *loaded,
                                   rk_known_changes changes, rk_known_diff *out_diff);
void rk_known_diff_cleanup(rk_known_diff *diff);

// Returns whether the causes in the list include the same change.
bool rk_has_change(const rk_differences *list, const rk_difference *change);
