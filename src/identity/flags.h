// Flags that a plugin takes from an environment variable. Internal to this room.
#pragma once

#include "identity/components.h"

// Adds one component (RK_COMPONENT_FLAG) per flag in `text`, named "VARIABLE:--flag", without those
// that only dump, log or name a cache. A flag without "=" has the value "true"; words that are no
// flags belong to the flag before them; a flag given more than once with different values has all
// of them, in order, because some flags add up (xla_gpu_ptx_file) and some override.
RK_NODISCARD rk_err *rk_flags_add(const char *variable, rk_span text, rk_components *out);

// The same for the variable's value, read as XLA reads it: a value that does not begin with "-" is
// the name of a file that holds the flags. Nothing is added for NULL and "".
RK_NODISCARD rk_err *rk_flags_add_variable(const char *variable, const char *value,
                                           rk_components *out);
