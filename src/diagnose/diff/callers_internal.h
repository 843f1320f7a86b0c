// Inside src/diagnose only.
#pragma once

#include "diagnose/diff/program_index.h"

// Sets `caller` of each function: the first operation with an attribute that names the function.
// Fails only with RK_RESOURCE_EXHAUSTED.
RK_HIDDEN RK_NODISCARD rk_err *rk_program_index_find_callers(rk_program_index *index);
