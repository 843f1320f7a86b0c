// The framework in this process: what is installed beside the libraries that it has loaded. Not
// part of any key (a framework shows in the programs that it makes), but recorded, so that an
// upgrade can be told from an edit.
#pragma once

#include "base/json.h"

// Writes an object, {"python":"3.11","jax":"0.10.2","jaxlib":"0.10.2"}; an empty one where nothing
// is known, never fails. Lists the folders in which packages are installed: for a client's
// creation, not for hot paths.
void rk_toolchain_write(rk_json *json);
