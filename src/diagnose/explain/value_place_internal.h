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
