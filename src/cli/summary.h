// The summary line that `rekindle run` prints at the end.
#pragma once

#include "journal/read.h"

// Appends the summary of a run, without prefix and newline: "3 programs, 3 loaded, 0 compiled,
// saved 2.1 s".
void rk_summary_write(const rk_run_model *model, const rk_run_totals *totals, rk_buf *out);

// Appends what happened to torch.compile's caches: "41 files of torch.compile's caches restored, 3
// new" (stored). `torch->starts` is not 0.
void rk_summary_add_torch(const rk_run_torch *torch, rk_buf *out);

// Appends why a run has no client: no plugin was seen, or the journal's reason why a plugin was not
// watched.
void rk_summary_write_no_client(const rk_run_model *model, rk_buf *out);

// If the journal of the run could not be written, appends a message that says so and returns true.
// Otherwise appends nothing and returns false. `model`: the readable part of the journal.
bool rk_summary_write_unknown(const char *store_directory, const rk_run_model *model, rk_buf *out);

// Call after rk_summary_write. If a journal ends early, appends that the summary may be incomplete,
// and why.
void rk_summary_add_gap(const char *store_directory, const rk_run_model *model, rk_buf *out);

// Appends the summary of a run without any record, whose command ended with `exit_status`. Checks
// whether the store could have recorded the run, and whether a library can be preloaded into
// `command`. `may_make_store`: the mode makes a store where there is none. If the command may use a
// built-in CPU backend, appends the lines of builtin_cpu.h to `out_remedy`.
void rk_summary_write_nothing(const char *store_directory, bool may_make_store, const char *command,
                              int exit_status, rk_buf *out, rk_buf *out_remedy);
