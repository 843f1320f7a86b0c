// Advice on a compilation for another constant.
#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/operations_internal.h"

static bool makes_sizes(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.count; i++)
        if (item->differences.items[i].kind == RK_DIFFERENCE_SHAPE &&
            item->differences.items[i].file) // not a view of a gradient
            return true;
    return false;
}

bool rk_explain_is_array(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    return head && head->kind == RK_DIFFERENCE_CONSTANT && head->after && *head->after == '[';
}

#define SIZES_FROM_NUMBER                                                                          \
    " If these sizes are intended, there is nothing to fix: each program is compiled once and "    \
    "stored. Otherwise round the number up to one upper bound, or to a few fixed sizes "           \
    "(buckets), and mask the rest."

const char *rk_advice_on_sizes(bool torch) {
    return torch ? "A Python number determines sizes inside this program, or the two graphs handle "
                   "tensors of two sizes." SIZES_FROM_NUMBER
                 : "A Python number determines sizes inside this program." SIZES_FROM_NUMBER;
}

#define ARRAY_OF_LIBRARY                                                                           \
    " If a library makes the function and puts the array into it, put the library's whole call "   \
    "into a jitted function of your own, with the array as its argument, if the library allows "   \
    "it."

// Returns whether a difference is at the line that calls the program, and not in a function that
// this line calls: then the function may be one of a library.
static bool is_at_call(const rk_explained *item, const rk_difference *head) {
    const rk_sketch_line *call =
        item->program && item->program->has_sketch ? &item->program->sketch.call : NULL;
    return call && head && call->line && head->line == call->line &&
           rk_same_text(head->file, call->file);
}

const char *rk_advice_on_constant(const rk_explained *item, bool torch) {
    const rk_difference *head = rk_explained_head(item);
    if (head && rk_is_sketchy(head))
        return "REKINDLE_KEEP_PROGRAMS=1 keeps the programs of later runs, and then the difference "
               "is shown.";
    bool moves = head && head->kind == RK_DIFFERENCE_ATTRIBUTE && rk_moves_slice(item);
    if (torch && (moves || rk_writes_elsewhere(item)))
        return rk_advice_on_position(item);
    if (moves)
        return "A Python number is the position of a slice of fixed size: use "
               "jax.lax.dynamic_slice, with the position as an array argument of the jitted "
               "function; or slice a NumPy array before its transfer to the device.";
    if (rk_explain_is_array(item) && !torch && makes_sizes(item))
        return "The values of an array are part of the program, as with an array that the jitted "
               "function takes from a closure, and the array has another size. Pass it as an "
               "argument of the function, padded to one size, and mask the "
               "padding." ARRAY_OF_LIBRARY;
    // A number that decides the sizes of operations cannot be traced.
    if (head && (makes_sizes(item) || rk_is_of_slice(head)))
        return rk_advice_on_sizes(torch);
    if (head && head->kind != RK_DIFFERENCE_CONSTANT)
        return "A number or an array that is no input is part of the program: a size, an axis, a "
               "position, or values that Python computed. If few of them are intended, there is "
               "nothing to fix: each program is compiled once and stored. Otherwise the reason is "
               "not known.";
    if (rk_explain_is_array(item) && !torch)
        return "The values of an array are part of the program, as with an array that the jitted "
               "function takes from a closure: pass it as an argument of the "
               "function." ARRAY_OF_LIBRARY;
    if (!torch && is_at_call(item, head))
        return "A Python number is part of the program. If the jitted function is yours, pass the "
               "number as an argument of it (jnp.asarray(value)), not through static_argnums or a "
               "closure. If a library makes the function in this call, use few values: each has a "
               "program of its own, which is compiled once and stored.";
    return torch ? "A Python number is part of the graph. If it can be a tensor, make it one with "
                   "one dimension on the host and transfer it (torch.tensor([value]).to(device)): "
                   "then it is an input. Some arguments must be Python numbers: each value of "
                   "these has a program of its own."
                 : "A Python number is part of the program: pass it as an argument of the jitted "
                   "function (jnp.asarray(value)), not through static_argnums or a closure. If JAX "
                   "needs it while tracing, such as the length of a scan or an axis, keep it "
                   "static, and use few values.";
}
