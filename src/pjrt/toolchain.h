// The versions of the framework in this process, read from the packages installed beside its loaded
// libraries. They are not part of any key, because a framework affects the executable only through
// its programs and options. They are recorded so that `explain` can distinguish an upgrade of the
// framework from an edit of the program.
#pragma once

#include "base/json.h"

// Writes an object, {"python":"3.11","jax":"0.10.2","jaxlib":"0.10.2"}; an empty one if nothing is
// known. Never fails. Slow, because it lists the folders of installed packages: call it when a
// client is created, not in hot paths.
void rk_toolchain_write(rk_json *json);
