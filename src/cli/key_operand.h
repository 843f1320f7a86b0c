// Reads the keys that an argument of the command line names, and makes folders for key files.
#pragma once

#include "store/trust.h"

// Adds the keys of an argument: the line of a public key, its 64 hex digits, or a file of such
// lines. RK_INVALID_ARGUMENT if it is none of these.
RK_NODISCARD rk_err *rk_key_operand_read(const char *operand, rk_trusted_keys *out_keys);

// Makes the folder of the file `path`, with mode 0700, if it is missing.
RK_NODISCARD rk_err *rk_key_folder_make(const char *path);
