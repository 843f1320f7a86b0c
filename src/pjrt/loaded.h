// Symbols of the objects that this process has loaded, read from the objects' own tables. Needs no
// C library: for the preload stub, which must link with none.
//
// What is found is a function's default version. Objects that were loaded at the start stay; a
// search that goes on to later ones must not run while another thread unloads them.
#pragma once

#include <link.h>
#include <stdbool.h>

#include "base/macros.h"

// The first object, the program itself; the others follow by l_next, in the order in which the
// loader searches those of the start. NULL if the loader shows no list, or is not done with this
// library yet. Borrowed.
RK_HIDDEN const struct link_map *rk_loaded_first(void);

// The object that this code is a part of; NULL if it is not in the list. Borrowed.
RK_HIDDEN const struct link_map *rk_loaded_self(void);

// The function `name` of the first object from `from` on that defines it, or NULL. `from` may be
// NULL.
RK_HIDDEN void *rk_loaded_find(const struct link_map *from, const char *name);

// Whether the loader is glibc's.
RK_HIDDEN bool rk_loaded_is_glibc(void);
