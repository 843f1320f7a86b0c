// The result of a run, in one or two sentences: the first lines of `rekindle stats`.
#pragma once

#include "journal/read.h"

// Appends the verdict. `model`: NULL for the totals of several runs. `lost`: programs that were not
// stored because their process ended. `explain`: a command that explains compilations; NULL: none.
void rk_verdict_add(const rk_run_model *model, const rk_run_totals *totals, uint64_t lost,
                    const char *explain, rk_buf *out);
