// Compares what two keys contain besides the program: options, flags, variables, versions and
// topology, in the form of entries and journals (identity/components.h). For the command line only:
// links jansson.
#pragma once

#include <jansson.h>

#include "diagnose/diff/difference.h"

// Appends the differences to `list`: changed and removed components in the order of `before`, then
// added ones. Each side is a list as identity/components.h writes it, or an object of named lists
// as entries contain it; NULL is an empty list. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_diff_components(const json_t *before, const json_t *after,
                                        rk_differences *list);

// Appends the versions that differ. Each side is an object of versions by name, as in an entry's
// metadata ("toolchain"). Only versions that both sides have are compared; NULL means unknown.
// Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_diff_toolchains(const json_t *before, const json_t *after,
                                        rk_differences *list);

// The class of cause of these differences: that of a version, else of the topology, else of a flag
// or variable, else of an option. RK_CAUSE_FIRST if there are none.
rk_cause rk_components_cause(const rk_differences *list);
