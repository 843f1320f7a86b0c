// The versions of the framework in this process, read from the packages installed beside its loaded
// libraries. They are not part of any key, because a framework shows in its programs. They are
// recorded to distinguish an upgrade from an edit of the program.
#pragma once

#include "base/json.h"

// Writes an object, {"python":"3.11","jax":"0.10.2","jaxlib":"0.10.2"}; an empty one if nothing is
// known. Never fails. Lists the folders of installed packages: for a client's creation, not for hot
// paths.
void rk_toolchain_write(rk_json *json);
