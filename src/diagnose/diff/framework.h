// Recognizes operations of the framework by their sketches, and names that the framework gives.
// Thread-safe.
#pragma once

#include "diagnose/diff/sketch.h"

// True for the name that jax.pmap gives to all functions, so that it identifies none: "jit__fun".
// `module`: the name of a program without its number.
bool rk_is_name_of_pmap(rk_span module);

// True for an operation that the framework compiles by itself, outside of any function of the user
// or of a library. These are the programs that rk_sketch_is_eager finds, except functions of
// jax.pmap, and also the functions of jax.random, which have many operations of their own.
bool rk_is_framework_operation(const rk_sketch *sketch);

// True for a function of jax.random that JAX compiles by itself ("jit__threefry_split").
bool rk_is_random_helper(const rk_sketch *sketch);
