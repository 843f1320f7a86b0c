// Advice on an input that is a constant in the other program.
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/advice_internal.h"
#include "diagnose/shapes/dims_internal.h"

// Returns whether the constant in place of an input is 1, -1 or -0. PyTorch/XLA writes these Python
// numbers, and 0, into the program (XLA_NO_SPECIAL_SCALARS). Zeros may also be made on the device,
// but not -0, which is a learning rate of 0.
static bool is_special_number(const rk_difference *d) {
    char *end;
    double value = strtod(d->constant, &end);
    return end != d->constant && !*end &&
           (value == 1 || value == -1 || (value == 0 && signbit(value)));
}

bool rk_explain_has_special_number(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    bool is_special = false;
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item) || !head ||
        !head->constant)
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if ((!rk_is_of_input(d) && !rk_is_of_result(d)) ||
            !rk_is_single_value(d->after ? d->after : d->before))
            return false;
        is_special |= d->constant && is_special_number(d);
    }
    return is_special;
}

bool rk_explain_takes_state_of_few(const rk_explained *item) {
    enum { ZEROS_MIN = 2, EACH_MIN = 3 }; // a parameter and its two moving averages
    size_t zeros = 0;
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item) || !item->program ||
        !item->program->has_sketch)
        return false;
    const rk_sketch *sketch = &item->program->sketch;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (rk_is_of_result(d) ||
            (rk_was_zero(d) && rk_is_single_value(d->after))) // a loss, a step
            continue;
        if (!rk_was_zero(d) || !d->after ||
            rk_sketch_count_type(sketch->results, sketch->result_count, d->after) < EACH_MIN ||
            rk_sketch_count_type(sketch->inputs, sketch->input_count, d->after) < EACH_MIN)
            return false;
        zeros++;
    }
    return zeros >= ZEROS_MIN && !rk_differences_take_what_was_zero(&item->differences);
}

#define SPECIAL_NUMBERS                                                                            \
    "PyTorch/XLA writes the Python numbers 0, 1 and -1 into the program, and makes inputs of "     \
    "most other numbers. "

// Returns whether the constants in place of inputs are the numbers 0, 1 and -1, and not all are 0:
// zeros may be made on the device.
static bool are_special_numbers(const rk_explained *item) {
    bool has_other = false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (!d->constant)
            continue;
        char *end;
        double value = strtod(d->constant, &end);
        if (end == d->constant || *end || !rk_is_single_value(d->after ? d->after : d->before) ||
            (value != 0 && value != 1 && value != -1))
            return false;
        has_other |= value != 0;
    }
    return has_other;
}

static size_t count_constant_inputs(const rk_explained *item) {
    size_t count = 0;
    for (size_t i = 0; i < item->differences.cause_count; i++)
        count += item->differences.items[i].constant != NULL;
    return count;
}

void rk_advise_on_constant_input(const rk_explained *item, rk_buf *text) {
    const bool is_single = count_constant_inputs(item) == 1;
    const rk_difference *head = rk_explained_head(item);
    const char *slash = head->constant_file ? strrchr(head->constant_file, '/') : NULL;
    bool torch = rk_explained_is_torch(item);
    if (torch && is_single && is_special_number(head)) {
        const bool is_zero = strtod(head->constant, NULL) == 0;
        rk_buf_add_format(text,
                          SPECIAL_NUMBERS "So a number that is %s in some steps only, such as a "
                                          "learning rate, has two programs. Each is compiled once "
                                          "and stored. %s%s",
                          is_zero ? "0" : head->constant,
                          is_zero ? "With XLA_NO_SPECIAL_SCALARS=1 it is always an input."
                                  : "XLA_NO_SPECIAL_SCALARS=1 makes it an input in some cases: "
                                    "count the programs with and without it.",
                          is_zero ? " (The constant is -0 where a rate of 0 is subtracted.)" : "");
        return;
    }
    if (torch && are_special_numbers(item)) {
        rk_buf_add_text(text, SPECIAL_NUMBERS
                        "So there are two programs if numbers are 0, 1 or -1 in some steps only, "
                        "such as a rate and 1 minus this rate. Each is compiled once and stored. "
                        "XLA_NO_SPECIAL_SCALARS=1 makes them inputs in some cases: count the "
                        "programs with and without it. Or let them never be exactly 0, 1 or -1.");
        return;
    }
    if (!torch && is_single && rk_is_single_value(head->after) && item->nearest_of &&
        item->nearest_of->seq < item->compile->seq) {
        rk_buf_add_format(text,
                          "One call passes a Python number (%s), which is a constant of its "
                          "program, and a later call passes an array. Pass an array from the "
                          "beginning, such as jnp.asarray(%s): then one program is enough.",
                          head->constant, head->constant);
        return;
    }
    rk_buf_add_text(text, !is_single ? "These values are constants in one program and inputs"
                                     : "This value is a constant in one program and an input");
    rk_buf_add_format(text, " in the other. The constant (%s) comes from ", head->constant);
    if (head->constant_file)
        rk_buf_add_format(text, "line %u of %s", head->constant_line,
                          slash ? slash + 1 : head->constant_file);
    else
        rk_buf_add_text(text, "a line that is not known");
    rk_buf_add_text(
        text,
        torch ? ". Zeros that are made on the device before an inner loop are such a constant. "
                "Make the constant an input of each step: create it with at least one dimension on "
                "the host and transfer it (torch.zeros(1, dtype=…).to(device)), or call "
                "torch_xla.sync() right after it is created. zero_() makes it a constant again. If "
                "it is a Python number that is 0 in some steps, there are two programs."
              : ". Pass it as an argument of the same type at every call.");
}
