// torch.compile's caches around the command of `rekindle run`: restored before it, kept after it.
//
// Only for a command that certainly runs a Python with torch (cli/command_python.h). If the user
// has set TORCHINDUCTOR_CACHE_DIR, the caches are the user's own, and rekindle leaves them alone.
#pragma once

#include "cli/child.h"
#include "cli/opt.h"
#include "settings/settings.h"

typedef struct rk_run_torch_work rk_run_torch_work;

// Restores the caches and sets the variables of the job. Returns NULL if REKINDLE_TORCH_COMPILE is
// off. Otherwise remembers why it did nothing, for `rekindle stats`. Owned: rk_run_torch_end.
// Problems are told as one warning; the job runs without the part that failed.
rk_run_torch_work *rk_run_torch_begin(const rk_settings *settings, const rk_opt_operands *command,
                                      const char *run);

// Keeps what is new, records it in the journal of the run, and frees. NULL is fine. `end` is NULL
// if the command did not start.
void rk_run_torch_end(rk_run_torch_work *work, const rk_child_end *end);
