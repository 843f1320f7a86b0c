// The one line that `rekindle run` says at the end.
#pragma once

#include "journal/read.h"

// "3 programs, 3 loaded, 0 compiled, saved 2.1 s": what there is to say about a run, without prefix
// and newline.
void rk_summary_write(const rk_run_model *model, const rk_run_totals *totals, rk_buf *out);

// Why a run has no client: that no plugin was seen, or what its journal says of one that was.
void rk_summary_write_no_client(const rk_run_model *model, rk_buf *out);

// Of a run whose journal could not be written, the text that says so; false, and nothing, for any
// other. `model` is what there is of it.
bool rk_summary_write_unknown(const char *store_directory, const rk_run_model *model, rk_buf *out);

// Behind rk_summary_write: that there may be more, where a journal ends early on a full disk.
void rk_summary_add_gap(const char *store_directory, const rk_run_model *model, rk_buf *out);

// The same for a run of which nothing is recorded. Asks whether the store could have recorded it,
// and whether something could be preloaded into `command`.
void rk_summary_write_nothing(const char *store_directory, const char *command, rk_buf *out);
