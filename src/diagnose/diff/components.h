// What two keys differ in that is not the program: options, flags, variables, versions, topology,
// as entries and journals hold them (identity/components.h). For the command line only: links
// jansson.
#pragma once

#include <jansson.h>

#include "diagnose/diff/difference.h"

// Two lists as identity/components.h writes them, or objects of such lists by name, as entries hold
// them; NULL: an empty one. Those of one kind stand together. `list` is added to.
RK_NODISCARD rk_err *rk_diff_components(const json_t *before, const json_t *after,
                                        rk_differences *list);

// Versions by name, as an entry's metadata has them ("toolchain"); NULL: not known, and nothing
// differs.
RK_NODISCARD rk_err *rk_diff_toolchains(const json_t *before, const json_t *after,
                                        rk_differences *list);

// The class that follows from such differences; RK_CAUSE_FIRST where there are none.
rk_cause rk_components_cause(const rk_differences *list);
