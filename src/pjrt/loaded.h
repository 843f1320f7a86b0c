// Finds symbols in the objects that this process has loaded, by reading the objects' own tables.
// Needs no C library: for the preload stub, which links none.
//
// A search finds a function's default version. Objects that were loaded at program start stay
// loaded. A search that continues to later objects must not run while another thread unloads them.
#pragma once

#include <link.h>
#include <stdbool.h>

#include "base/macros.h"

// Returns the first object, which is the program itself. The others follow by l_next, in the order
// in which the loader searches the objects of the program start. NULL if the loader publishes no
// list, or has not yet finished loading this library. Borrowed.
RK_HIDDEN const struct link_map *rk_loaded_first(void);

// Returns the object that contains this code; NULL if it is not in the list. Borrowed.
RK_HIDDEN const struct link_map *rk_loaded_self(void);

// Returns the function `name` of the first object, beginning with `from`, that defines it, or NULL.
// `from` may be NULL.
RK_HIDDEN void *rk_loaded_find(const struct link_map *from, const char *name);

// True if the loader is glibc's.
RK_HIDDEN bool rk_loaded_is_glibc(void);
