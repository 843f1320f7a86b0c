// Why `rekindle run` saw nothing of a command.
#pragma once

#include "base/buf.h"

// Appends the reason and what to do, "/bin/x is linked statically, …", where the command's own file
// tells it: the one that execvp(3) finds, or what runs it where it is a script. False, and nothing,
// where it does not. Programs that the command starts are not looked at.
bool rk_unseen_add_reason(const char *command, rk_buf *out);
