// Writes a difference for people.
#pragma once

#include "diagnose/diff/difference.h"

// Appends one side of a difference: "none" for NULL; "a long value (digest …)" for a digest; "true
// (47 times)" for a long list of equal items; "4 cpu" for devices; "-inf (f32)" for the bits of an
// infinity; "0.9" for 0.899999976, the shortest number that has the same value.
void rk_value_words_add(const rk_difference *difference, const char *value, rk_buf *out);

// Appends what differs: the attribute without the prefix that its kind repeats ("devices").
const char *rk_value_words_name(const rk_difference *difference);

// The operation of a difference without its dialect: "abs". "" if there is none.
const char *rk_value_words_op(const rk_difference *difference);

// Appends an operation that one of the two programs lacks, or that changed: "custom_call f added:
// tensor<2xf32>".
void rk_value_words_add_operation(const rk_difference *difference, rk_buf *out);
