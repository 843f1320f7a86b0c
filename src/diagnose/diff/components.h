// Compares the components of two keys (options, flags, variables, versions, topology), as entries
// and journals contain them (identity/components.h). For the command line only: links jansson.
#pragma once

#include <jansson.h>

#include "diagnose/diff/diff.h"

// Appends the differences to `list`: changed and removed components in the order of `before`, then
// added ones. Each side is a list as identity/components.h writes it, or an object of named lists
// as entries contain it; NULL is an empty list. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_diff_components(const json_t *before, const json_t *after,
                                        rk_differences *list);

// Appends the versions of the framework that differ. Each side is an object of versions by name, as
// in an entry's metadata ("toolchain"). Only versions that both sides have are compared; NULL means
// unknown. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_diff_toolchains(const json_t *before, const json_t *after,
                                        rk_differences *list);

// The same for the versions of libraries (optax, flax, …). Such a version alone compiles nothing,
// but the library's code may have changed a program. `model`: appends only libraries whose code is
// part of this program; NULL: appends all.
RK_NODISCARD rk_err *rk_diff_libraries(const json_t *before, const json_t *after,
                                       const rk_model *model, rk_differences *list);

// Returns the class of cause: RK_CAUSE_TOOLCHAIN if a version differs, else RK_CAUSE_DEVICE for the
// topology, else RK_CAUSE_ENVIRONMENT for a flag or variable, else RK_CAUSE_OPTIONS. RK_CAUSE_FIRST
// if nothing differs.
rk_cause rk_components_cause(const rk_differences *list);

// True if the cause explains all differences of the program: another toolchain or other devices.
bool rk_rules_over_program(rk_cause cause);

// Adds the differences of the components to those of the programs, and sets the cause of both
// together. The program's own differences come first, unless another toolchain or device explains
// them. Consumes the texts of `components`. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_join_components(rk_program_diff *diff, rk_differences *components);
