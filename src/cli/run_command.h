// The command line of a run, as people know it.
#pragma once

#include "journal/read.h"

// Appends what the first process of a run executed: "train.py --lr 3e-4", without the interpreter
// and the folder. Secrets are "***". Appends nothing if it is not known. If `run` was read from a
// summary, which has no command lines, reads the first line of its journal.
void rk_run_command_add(const char *directory, const rk_run_model *run, rk_buf *out);

// As rk_run_command_add, from the first line of the journal `file` of a run. Appends nothing if
// there is no such file.
void rk_run_command_add_from(const char *directory, const char *run, const char *file, rk_buf *out);
