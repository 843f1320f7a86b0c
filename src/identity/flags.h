// Adds to the key the flags that a plugin reads from an environment variable. Private to
// src/identity.
#pragma once

#include "identity/components.h"

// Adds one component (RK_COMPONENT_FLAG) per flag in `text`, named "VARIABLE:--flag". Leaves out
// flags that only dump, log or name a cache. A flag without "=" has the value "true". A word that
// is not a flag belongs to the value of the flag before it. A repeated flag with different values
// keeps all of them, in order, because some flags accumulate (xla_gpu_ptx_file) and some override.
RK_NODISCARD rk_err *rk_flags_add(const char *variable, rk_span text, rk_components *out);

// As rk_flags_add, for the value of a variable, read as XLA reads it: a value that does not begin
// with "-" names a file that contains the flags. If the file cannot be read, adds the value itself
// as one component named `variable`. Adds nothing for NULL and "".
RK_NODISCARD rk_err *rk_flags_add_variable(const char *variable, const char *value,
                                           rk_components *out);
