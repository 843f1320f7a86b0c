// The line where a program is called, from the stacks of its operations. Inside src/diagnose only.
#pragma once

#include "diagnose/diff/source.h"

// Finds the call of a program of JAX that does not state it: JAX before 0.10.2 gives the return
// operation no location. The stacks of the operations contain the call. It is the frame around the
// jitted function; without a frame of such a name, the frames that all operations share are those
// of the call. `first`, `end`: range of operations. Returns a location of the model; RK_NO_ID if
// the operations have no stacks, or share no frame.
RK_HIDDEN uint32_t rk_call_of_operations(const rk_model *model, uint32_t first, uint32_t end);
