// The difference of a compilation whose values form a group, and its place. Inside src/diagnose
// only.
#pragma once

#include "diagnose/explain/explanation.h"

// Returns whether a difference is of one axis of an input.
RK_HIDDEN bool rk_value_is_of_axis(const rk_difference *d, size_t *out_axis);

// Returns the difference of an item whose values a group has; NULL if there is none.
RK_HIDDEN const rk_difference *rk_value_difference(const rk_explained *item);

// Returns whether two differences are at one place: one line and one attribute.
RK_HIDDEN bool rk_value_is_same_place(const rk_difference *x, const rk_difference *y);

// Returns the difference of an item at the place of another item's value; NULL if there is none.
RK_HIDDEN const rk_difference *rk_value_at(const rk_explained *item, const rk_difference *place);

// Returns whether a program has operations on the line of a difference, as far as that is known.
RK_HIDDEN bool rk_value_has_line(const rk_known *known, const rk_difference *place);

// Returns whether the value before of a difference counts with those after: this run requested the
// earlier program, and the same line calls it. The graphs of PyTorch/XLA have no call: there the
// earlier program must have the line of the value. A batch of an evaluation may be compared with
// one of the training.
RK_HIDDEN bool rk_value_counts_before(const rk_explained *item, const rk_difference *value);
