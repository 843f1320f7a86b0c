// Options with which a framework creates a client. What they decide is in the key, unless they are
// known not to change code.
#pragma once

#include "identity/components.h"

// Adds the option as a component "client.option.NAME", or nothing where it is known to be harmless.
// `value` is its text.
RK_NODISCARD rk_err *rk_create_option_add(rk_components *list, rk_span name, rk_span value);
