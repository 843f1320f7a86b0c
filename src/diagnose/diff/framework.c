#include "diagnose/diff/framework.h"

// Returns whether one of the generators of jax.random has a function of this name. They make keys.
static bool is_generator_function(rk_span name) {
    static const char *const generators[] = {"_threefry", "_philox", "_rbg"};
    for (size_t i = 0; i < RK_ARRAY_LEN(generators); i++) {
        size_t len = strlen(generators[i]);
        if (name.len > len && memcmp(name.data, generators[i], len) == 0)
            return true;
    }
    return false;
}

// Returns whether jax.random has a function of this name that makes values, and that JAX compiles
// by itself.
static bool is_random_function(rk_span name) {
    static const char *const names[] = {
        "_normal", "_normal_real", "_uniform",   "_truncated_normal", "_randint", "_bernoulli",
        "_gumbel", "_shuffle",     "_gamma",     "_exponential",      "_laplace", "_cauchy",
        "_beta",   "_poisson",     "_dirichlet", "_rademacher",       "_t",       "_orthogonal",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (rk_span_is(name, names[i]))
            return true;
    return false;
}

// The name without "jit_"; empty for another module.
static rk_span function_name(const rk_sketch *sketch) {
    enum { PREFIX_CHARS = 4 }; // "jit_"
    rk_span name = rk_program_index_bare_name(rk_span_text(sketch->module));
    if (!sketch->is_mlir || name.len <= PREFIX_CHARS || memcmp(name.data, "jit_", 4) != 0)
        return (rk_span){0};
    return rk_span_of(name.data + PREFIX_CHARS, name.len - PREFIX_CHARS);
}

bool rk_is_random_helper(const rk_sketch *sketch) {
    rk_span name = function_name(sketch);
    // JAX keeps the locations of the line that first traced a part of a generator.
    if (is_generator_function(name))
        return true;
    if (!is_random_function(name))
        return false;
    for (uint32_t i = 0; i < sketch->line_count; i++)
        if (sketch->lines[i].hash != sketch->call.hash)
            return false; // a function of the user with the same name
    return true;
}

bool rk_is_name_of_pmap(rk_span module) {
    return rk_span_is(module, "jit__fun");
}

bool rk_is_framework_operation(const rk_sketch *sketch) {
    rk_span name = rk_program_index_bare_name(rk_span_text(sketch->module));
    return (rk_sketch_is_eager(sketch) && !rk_is_name_of_pmap(name)) || rk_is_random_helper(sketch);
}
