// Compares the operations of two programs by their sketches: are they one function with other
// sizes, or two functions? Inside src/diagnose only.
#pragma once

#include "diagnose/diff/framework.h"
#include "diagnose/diff/sketch.h"

// Returns whether two programs have the same operations in the same order. Operations that only
// reshape, transpose or broadcast a value do not count: a size of 1 needs a broadcast, and
// PyTorch/XLA records a view once or twice.
RK_HIDDEN bool rk_same_operations(const rk_sketch *a, const rk_sketch *b);

// Returns whether two programs have so few kinds of operations in common that they are two
// functions: another size does not explain the difference. With `other_inputs`, one of them may
// have any operations in addition.
RK_HIDDEN bool rk_are_two_functions(const rk_sketch *a, const rk_sketch *b, bool other_inputs);

// Returns whether each of two programs has operations in functions of the user that do not occur in
// the other program.
RK_HIDDEN bool rk_use_own_functions(const rk_sketch *a, const rk_sketch *b);

// The same, for programs that are called on different lines of the user; or a program has only
// operations of a library. (A function that is called on both lines occurs in both programs, so it
// does not count.)
RK_HIDDEN bool rk_have_own_functions(const rk_sketch *a, const rk_sketch *b);

// Returns whether the first program has a line of the user, below its call, that the second one
// lacks.
RK_HIDDEN bool rk_has_own_line(const rk_sketch *a, const rk_sketch *b);

// Returns whether such a graph returns true or false: Python checks a condition on the device
// (if, while, assert).
RK_HIDDEN bool rk_is_check(const rk_sketch *sketch);

// Returns whether a program normalizes with the statistics of the batch (BatchNorm in training).
RK_HIDDEN bool rk_uses_statistics_of_batch(const rk_sketch *sketch);

// Returns whether one of two programs normalizes with the statistics of the batch, and the other
// one with stored statistics (BatchNorm): training and evaluation.
RK_HIDDEN bool rk_are_training_and_evaluation(const rk_sketch *a, const rk_sketch *b);

// Returns whether one line of the user calls both programs, or the line is unknown for both.
RK_HIDDEN bool rk_is_same_call(const rk_sketch *a, const rk_sketch *b);

// Returns whether two programs have the same kinds of operations, in any number. The tuple of the
// results does not count, and neither do concatenations of PyTorch/XLA.
RK_HIDDEN bool rk_have_same_kinds(const rk_sketch *a, const rk_sketch *b);

// Returns whether two programs have the same kinds of operations, and neither has a line of the
// user, below its call, that the other one lacks.
RK_HIDDEN bool rk_have_same_kinds_and_lines(const rk_sketch *a, const rk_sketch *b);

// Returns how many operations more one program has than the other.
RK_HIDDEN uint32_t rk_operations_apart(const rk_sketch *a, const rk_sketch *b);

// The share of the operations of the smaller program that the larger program has, too, by kind.
RK_HIDDEN double rk_contained_operations(const rk_sketch *a, const rk_sketch *b);

// Returns whether two programs have inputs and results of the same types.
RK_HIDDEN bool rk_same_types(const rk_sketch *a, const rk_sketch *b);

// The same, if also the order of the inputs, or of the results, may differ.
RK_HIDDEN bool rk_same_types_in_any_order(const rk_sketch *a, const rk_sketch *b);

// The share of the results that two programs have in common, by type.
RK_HIDDEN double rk_same_results(const rk_sketch *a, const rk_sketch *b);
