// An explanation as `rekindle explain` shows it.
#pragma once

#include "cli/out.h"
#include "diagnose/explain/explain.h"

typedef struct rk_explain_how {
    bool all;    // every compilation and every difference, not only what is worth a look
    bool stacks; // the whole call stack of each difference
} rk_explain_how;

void rk_explain_view_print(const rk_explanation *explanation, const rk_explain_how *how);

// The members of `rekindle explain --json`. Owned by the caller.
json_t *rk_explain_view_json(const rk_explanation *explanation, const rk_explain_how *how);
