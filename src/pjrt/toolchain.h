// The versions of the framework in this process and of libraries whose code becomes part of
// programs (optax, flax, …), read from the packages installed beside the loaded libraries and on
// PYTHONPATH. They are not part of any key, because they affect the executable only through its
// program and options. They are recorded so that `explain` can distinguish an upgrade from an edit
// of the program.
#pragma once

#include "base/json.h"

// Writes an object, {"python":"3.11","jax":"0.10.2","jaxlib":"0.10.2","optax":"0.2.8"}; an empty
// one if nothing is known. Never fails. Slow, because it lists the folders of installed packages:
// call it when a client is created, not in hot paths.
void rk_toolchain_write(rk_json *json);
