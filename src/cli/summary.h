// The one line that `rekindle run` says at the end.
#pragma once

#include "journal/read.h"

// "3 programs, 3 loaded, 0 compiled, saved 2.1 s": what there is to say about a run, without prefix
// and newline.
void rk_summary_write(const rk_run_model *model, const rk_run_totals *totals, rk_buf *out);

// The same for a run of which nothing is recorded. Asks whether the store could have recorded it.
void rk_summary_write_nothing(const char *store_directory, rk_buf *out);
