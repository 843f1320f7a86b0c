// Values that one place takes one after another, as patterns_values.c finds them. Inside
// src/diagnose only.
#pragma once

#include "diagnose/diff/sketch.h"
#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/pattern_internal.h"

enum { RK_VALUES_SHOWN = 8, RK_VALUES_MIN = 3 };

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

// Returns whether the earlier program of an item may be another value of the same place.
RK_HIDDEN bool rk_value_is_comparable(const rk_explained *item);

// Returns whether two programs differ only in shapes, or in the number of iterations of a loop that
// is unrolled over a size. Programs of one name, made by one line of the source, may be of several
// functions. Programs may be NULL.
RK_HIDDEN bool rk_is_size_family(const rk_known *a, const rk_known *b);

// Returns whether two compilations differ at the same place of the same function, only by the
// value.
RK_HIDDEN bool rk_is_value_of_same_place(const rk_explained *a, const rk_explained *b);

// The values of a finding, in the order of the requests.
typedef struct rk_collected {
    const char **all; // owned; borrowed texts
    size_t count;
    rk_members items;           // the compilations that have the values
    const rk_known **requested; // owned; programs of requests that have them, too
    size_t requested_count;
} rk_collected;
void rk_collected_cleanup(rk_collected *collected);

// Collects the values of the members. With `are_all`, also the values of programs that the finding
// is not about. The caller cleans up `c`, also after an error.
RK_HIDDEN RK_NODISCARD rk_err *rk_values_collect(const rk_explainer *e, const rk_members *members,
                                                 bool are_all, rk_collected *c);

// Counts the distinct values. Sorts them.
RK_HIDDEN void rk_values_count(rk_collected *c, rk_values *out_values);

// Counts distinct programs. Sorts them.
RK_HIDDEN size_t rk_count_distinct(const rk_known **programs, size_t count);

// Keeps one shape of each size along the axis: a batch of another size may have it as well.
RK_HIDDEN RK_NODISCARD rk_err *rk_values_keep_one_of_each_size(rk_collected *c, size_t axis);

// Adds one finding for several groups of graphs of PyTorch/XLA, which take inputs of other sizes
// that one line of the source makes. Adds none, and says so in `out_added`, if these are too few.
RK_HIDDEN RK_NODISCARD rk_err *rk_add_sizes_of_line(rk_explainer *e, rk_members *const *groups,
                                                    size_t count, bool *out_added);
