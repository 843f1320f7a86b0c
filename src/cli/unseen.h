// Explains why `rekindle run` saw nothing of a command.
#pragma once

#include "base/buf.h"

// If the file of the command shows the reason, appends it with the remedy ("/bin/x is linked
// statically, …") and returns true. Otherwise appends nothing and returns false. Inspects the file
// that execvp(3) finds, or the interpreter of a script. Does not inspect programs that the command
// starts.
bool rk_unseen_add_reason(const char *command, rk_buf *out);
