// Recognizes operations of the framework by their sketches. Thread-safe.
#pragma once

#include "diagnose/diff/sketch.h"

// True for an operation that the framework compiles by itself, outside of any function of the user
// or of a library: what rk_sketch_is_eager finds, and the functions of jax.random, which have many
// operations of their own.
bool rk_is_framework_operation(const rk_sketch *sketch);

// True for a function of jax.random that JAX compiles by itself ("jit__threefry_split").
bool rk_is_random_helper(const rk_sketch *sketch);

// True if such a function makes what layers start from ("jit__normal"), not keys or the order of
// the data.
bool rk_makes_initial_values(const rk_sketch *sketch);
