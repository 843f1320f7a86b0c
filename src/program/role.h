// Computes the role of a program (rk_program_role in program.h). Internal to this module.
#pragma once

#include "program/model.h"
#include "program/program.h"

// Sets inputs, results and carried results from the operation of the program's function. Sets
// nothing if the operation has no function type, or if memory is short. MLIR only.
void rk_role_read_function(const rk_model *model, const rk_op *function, rk_program_role *role);

// Reads HloModuleProto. Stops at bytes that are not of the format. Linear time.
void rk_role_read_hlo(rk_span module, rk_program_role *out_role);
