// Prints the components of a key, for `rekindle show`.
#pragma once

#include <jansson.h>
#include <stdio.h>

// Prints a list in the format of identity/components.h, grouped by kind. Options are also grouped
// by the message that contains them, so a path shared by several names is printed once. `kinds`:
// only these kinds, separated by blanks; NULL: all.
void rk_component_view_print(const json_t *list, const char *kinds, FILE *out);

// The number of components of these kinds.
size_t rk_component_view_count(const json_t *list, const char *kinds);
