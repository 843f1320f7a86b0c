// What the preload stub calls in librekindle_core.so, which it opens when the first plugin is
// looked up.
#pragma once

#define RK_CORE_LIBRARY "librekindle_core.so"
#define RK_CORE_NAME    "rekindle_core_stand_in"

// A function to hand out instead of a plugin's GetPjrtApi, whose address `get_api` is; the same one
// for the same address. NULL when the process has looked up too many, which is told once.
// Thread-safe.
typedef void *rk_core_stand_in_fn(void *get_api);
rk_core_stand_in_fn rekindle_core_stand_in;
