// Parts of the advice on a compilation. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"

// Return advice on one kind of cause. Static.
RK_HIDDEN const char *rk_advice_on_shape(const rk_run_model *run, const rk_explained *item);
RK_HIDDEN const char *rk_advice_on_inputs(const rk_explained *item);
RK_HIDDEN const char *rk_advice_on_constant(const rk_explained *item, bool torch);

// Returns advice on a Python number that determines sizes inside of a program. Static.
RK_HIDDEN const char *rk_advice_on_sizes(bool torch);

// Returns whether only the position of a slice moves. A new size of the slice is a changed shape.
RK_HIDDEN bool rk_moves_slice(const rk_explained *item);

// Returns whether two graphs of PyTorch/XLA have operations of the same kinds, on the same lines,
// but one has many more: a loop in Python has another number of rounds.
RK_HIDDEN bool rk_has_more_rounds(const rk_explained *item);

// Returns whether values are written at another position of a tensor: PyTorch/XLA pads them to the
// size of the tensor.
RK_HIDDEN bool rk_writes_elsewhere(const rk_explained *item);

// Returns advice for PyTorch/XLA on an item for which one of the two holds. Static.
RK_HIDDEN const char *rk_advice_on_position(const rk_explained *item);

// Returns the installed package, other than a framework, that calls the operation of the first
// difference. Empty if the user's own line does.
RK_HIDDEN rk_span rk_package_of_head(const rk_explained *item);

// Returns whether a package takes or writes parts of a tensor by their positions, and appends the
// advice on that.
RK_HIDDEN bool rk_is_position_of_package(const rk_explained *item);
RK_HIDDEN void rk_advise_on_position_of_package(const rk_explained *item, rk_buf *text);

// Returns the axis of an input that is the number of rows of a batch: jax.pmap has the devices
// before it.
RK_HIDDEN size_t rk_axis_of_rows(const rk_explained *item);

// Returns whether the later program does all that the earlier one does, and more: a part of the
// step that only some steps take; or the earlier one is a read in the middle of the step.
RK_HIDDEN bool rk_does_more(const rk_explained *item);

// Returns whether a process executed the program once, and the program does only a part of what the
// earlier program does.
RK_HIDDEN bool rk_does_part_once(const rk_run_model *run, const rk_explained *item);

// A value that is made anew on the device (zeros before an inner loop) is a constant of the first
// program that uses it. Later programs take the result of the first one as an input. Appends the
// advice; rk_explained_is_constant is true.
RK_HIDDEN void rk_advise_on_constant_input(const rk_explained *item, rk_buf *text);
