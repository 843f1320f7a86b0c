// The function that the preload stub calls in librekindle_core.so, which it opens at the first
// look-up of a plugin.
#pragma once

#define RK_CORE_LIBRARY "librekindle_core.so"
#define RK_CORE_NAME    "rekindle_core_substitute"

// Returns a substitute for a plugin's GetPjrtApi. `get_api` is the address of the plugin's
// function. The same address always gives the same substitute. NULL, with a warning once, if the
// process has looked up too many plugins. Thread-safe.
typedef void *rk_core_substitute_fn(void *get_api);
rk_core_substitute_fn rekindle_core_substitute;
