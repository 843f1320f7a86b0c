// Values that one place takes one after another, as patterns_values.c finds them. Inside
// src/diagnose only.
#pragma once

#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/pattern_internal.h"

enum { RK_VALUES_SHOWN = 8 };

// The distinct values of a group.
typedef struct rk_values {
    const char *shown[RK_VALUES_SHOWN]; // the first ones, in order of appearance; borrowed
    size_t shown_count, count;
    size_t programs; // that have these values
} rk_values;

// Returns whether the values are the sizes of operations outside of any jitted function.
RK_HIDDEN bool rk_values_are_of_operations(const rk_members *members);

// Returns whether all members differ along one axis at the place of the first member's value.
RK_HIDDEN bool rk_values_are_of_axis(const rk_members *members, size_t *out_axis);

// Returns how many programs the members are, with those that this run compiled for the same call
// and that they were compared with.
RK_HIDDEN size_t rk_values_count_programs(const rk_members *members);

// Writes the text of a finding. There must be at least one member. Fails only with
// RK_RESOURCE_EXHAUSTED.
RK_HIDDEN RK_NODISCARD rk_err *rk_values_describe(const rk_members *members, const rk_values *list,
                                                  rk_pattern_text *text);
