// Prints an explanation, for `rekindle explain`.
#pragma once

#include "cli/out.h"
#include "diagnose/explain/explain.h"

typedef struct rk_explain_how {
    bool all;    // every compilation and difference, not only the most important ones
    bool stacks; // the call stack of each difference
    // The operands of `rekindle diff` that compare the run with the previous start of the same
    // script; NULL: there is none.
    const char *compare;
    // Names the last start of the same script that compiled something, before this run; NULL: there
    // is none.
    const char *compiled;
    const char *run; // names this run; NULL: it is the last one, which commands take by default
} rk_explain_how;

// Prints text for people. On a terminal, prints at most two screens, with the costliest findings,
// unless `all` is set.
void rk_explain_view_print(const rk_explanation *explanation, const rk_explain_how *how);

// The JSON object of `rekindle explain --json`. Owned by the caller.
json_t *rk_explain_view_json(const rk_explanation *explanation, const rk_explain_how *how);
