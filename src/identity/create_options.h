// Adds to the key the options with which a framework creates a client, except options that are
// known not to change code.
#pragma once

#include "identity/components.h"

// Adds the option as a component "client.option.NAME". Adds nothing if the option is known to be
// harmless. `value` is the option's value as text.
RK_NODISCARD rk_err *rk_create_option_add(rk_components *list, rk_span name, rk_span value);
