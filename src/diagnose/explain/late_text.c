// The text of a finding about operations that are compiled one by one after the first step.
#include "diagnose/explain/late_internal.h"
#include "diagnose/explain/patterns_internal.h"

// Returns whether the places call a library for most of the operations.
static bool calls_library(rk_late *const *group, size_t count) {
    size_t calls = 0;
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *called = rk_late_frame(&group[i]->stack, group[i]->depth + 1);
        calls += called && !rk_is_user_frame(called);
    }
    return 2 * calls > count;
}

// Returns whether a place calls an installed package other than a framework, such as one for plots.
static bool calls_package(rk_late *const *group, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *called = rk_late_frame(&group[i]->stack, group[i]->depth + 1);
        if (called && rk_file_owner_of(rk_span_text(called->file)) == RK_FILE_PACKAGE)
            return true;
    }
    return false;
}

// Returns whether the operations are those of a network: NumPy on the host is no replacement.
static bool has_product(rk_late *const *group, size_t count) {
    static const char *const names[] = {"jit_conv_general_dilated", "jit_dot_general", "jit_dot",
                                        "jit_matmul", "jit__einsum"};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < RK_ARRAY_LEN(names); k++)
            if (strcmp(group[i]->item->compile->name, names[k]) == 0)
                return true;
    return false;
}

static const char *jit_for(rk_late *const *group, size_t count) {
    const char *jit = "jax.jit";
    for (size_t i = 0; i < count && strcmp(jit, "jax.jit") == 0; i++)
        jit = rk_jit_for(&group[i]->stack);
    return jit;
}

// Returns whether the place is outside of all functions.
static bool is_in_script(rk_late *const *group) {
    const char *function = rk_late_place(group[0])->function;
    return !function || strcmp(function, "<module>") == 0;
}

static void add_lines(rk_late *const *group, size_t group_count, size_t below, rk_buf *out) {
    rk_line_cost lines[RK_LATE_LINES_MAX];
    rk_add_costly_lines(lines, rk_late_take_lines(group, group_count, below, lines), out);
}

static bool is_same_place(rk_late *const *group, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (!rk_late_is_same(rk_late_place(group[i]), rk_late_place(group[0]), RK_LATE_LINE))
            return false;
    return true;
}

// Returns whether most of the operations come from lines, so many calls below the places, that call
// a library which also runs the steps (NumPyro's mcmc.run).
static bool library_runs_steps(const rk_explainer *e, rk_late *const *group, size_t count,
                               size_t below) {
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *line = rk_late_called_by(group[i], below),
                             *called = rk_late_frame(&group[i]->stack, group[i]->depth + below + 1);
        runs += line && called && !rk_is_user_frame(called) &&
                rk_late_runs_steps(e, group[i]->item->compile->process, line);
    }
    return 2 * runs > count;
}

static uint64_t count_executions(const rk_explainer *e, rk_late *const *group, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t executions = rk_explain_executions(e->run, group[i]->item->compile);
        if (!executions)
            return UINT64_MAX;
        sum += executions;
    }
    return sum;
}

// One program of a line that repeats equal parts contains each of them. The programs may have been
// executed for other lines as well.
static void add_saving(const rk_explainer *e, rk_late *const *group, size_t count,
                       rk_pattern_text *text) {
    if (count_executions(e, group, count) <= count + count / 2)
        return;
    rk_buf_add_text(&text->advice,
                    " A program of the whole calculation takes time to compile as well. If it "
                    "repeats the same operations, as for equal layers, it may even take longer "
                    "than these programs, which are compiled once for all repetitions: compare the "
                    "two.");
}

static void describe_call(const rk_explainer *e, rk_late *const *group, size_t count,
                          const rk_stack_frame *called, rk_pattern_text *text) {
    const char *jit = jit_for(group, count);
    bool is_one = is_same_place(group, count);
    size_t inside = rk_late_count_inside(group, count);
    if (inside < count)
        rk_buf_add_format(&text->summary, ": %zu ", inside);
    else
        rk_buf_add_text(&text->summary, ", ");
    rk_buf_add_format(&text->summary, "in the call%s of %s", is_one ? "" : "s", called->function);
    rk_buf_add_text(&text->summary, is_one ? "" : " on ");
    if (!is_one)
        add_lines(group, count, 0, &text->summary);
    rk_buf_add_text(&text->summary, " (its ");
    add_lines(group, count, 1, &text->summary);
    rk_buf_add_text(&text->summary, ")");
    if (inside < count)
        rk_buf_add_format(&text->summary, ", and %zu on the line%s of the call%s", count - inside,
                          is_one ? "" : "s", is_one ? "" : "s");
    rk_buf_add_format(
        &text->advice,
        "If %s only calculates and returns arrays, and JAX can trace it, compile it as one "
        "program: %s(%s).%s If it returns a function, jit a function that calls %s and what it "
        "returns. If it also does other things (it is a generator, or reads values), jit a "
        "function with what it calculates.",
        called->function, jit, called->function,
        strcmp(jit, "jax.jit") == 0 ? " Bind arguments that are not arrays with functools.partial."
                                    : "",
        called->function);
    add_saving(e, group, count, text);
}

static void describe_lines(const rk_explainer *e, rk_late *const *group, size_t count,
                           rk_late_scope in, rk_pattern_text *text) {
    const char *what = in == RK_LATE_LINE ? "this line" : "these lines";
    bool is_script = is_in_script(group);
    rk_buf_add_text(&text->summary, in == RK_LATE_LINE ? ", on one line" : ", on ");
    if (in == RK_LATE_FUNCTION)
        add_lines(group, count, 0, &text->summary);
    if (in == RK_LATE_LINE &&
        rk_late_changes_size(e->out, group[0]->item->compile->process, rk_late_place(group[0]))) {
        rk_buf_add_text(&text->advice,
                        "Operations of this line have another size each time, so the line cannot "
                        "become one program: pad to one size and mask the padding.");
        return;
    }
    rk_buf_add_format(&text->advice, "Put what %s calculate%s into %s, so that %s one program%s.",
                      what, in == RK_LATE_LINE ? "s" : "",
                      is_script && in == RK_LATE_FUNCTION ? "functions, and jit those"
                                                          : "a function, and jit that",
                      is_script && in == RK_LATE_FUNCTION ? "each is" : "it is",
                      calls_library(group, count) ? ", if the library that is called allows it"
                                                  : "");
    rk_buf_add_text(&text->advice,
                    " Pass arrays that change as arguments: an array that the function takes from "
                    "an object or a closure becomes a constant, and each new array is another "
                    "program. Code that reads a value to choose a branch or a size (.item(), "
                    "x[mask]), or that keeps values in an object, cannot be jitted");
    if (!calls_library(group, count) && !(in == RK_LATE_LINE && has_product(group, count)))
        rk_buf_add_text(&text->advice, "; NumPy may calculate it (jax.device_get)");
    rk_buf_add_text(&text->advice, calls_package(group, count)
                                       ? ". If a library that is not JAX takes the arrays, such as "
                                         "one for plots, pass it NumPy arrays (jax.device_get)."
                                       : ".");
    add_saving(e, group, count, text);
}

void rk_late_describe(const rk_explainer *e, rk_late *const *group, size_t count, rk_late_scope in,
                      rk_pattern_text *text) {
    const rk_stack_frame *called = in == RK_LATE_LINE ? rk_late_find_called(group, count) : NULL;
    bool is_after = true; // as far as the steps are known
    for (size_t i = 0; i < count; i++)
        is_after &= group[i]->item->step != RK_NO_STEP && group[i]->item->step > 0;
    // Other findings may count some operations, and control flow (jax.lax.cond) does not count.
    rk_buf_add_format(&text->summary,
                      "at least %zu operations%s are compiled one by one, each as a program of its "
                      "own",
                      count, is_after ? " after the first step" : "");
    if (in == RK_LATE_LINE && library_runs_steps(e, group, count, called ? 1 : 0)) {
        if (called)
            rk_buf_add_format(&text->summary, ", in the call of %s", called->function);
        else
            rk_buf_add_text(&text->summary, ", on one line");
        rk_buf_add_text(&text->advice,
                        RK_LIBRARY_RUNS_STEPS " If the whole call can be inside a jitted "
                                              "function, for example without a progress bar, jit "
                                              "it.");
    } else if (called) {
        describe_call(e, group, count, called, text);
    } else {
        describe_lines(e, group, count, in, text);
    }
}
