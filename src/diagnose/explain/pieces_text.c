// What a finding about the operations of each step says.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"
#include "diagnose/explain/pieces_internal.h"

// A line of the user, and the number of fragments that come from it.
typedef struct line_count {
    const rk_sketch_line *line;
    size_t count;
} line_count;

static int compare_counts(const void *a, const void *b) {
    const line_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->line->line < y->line->line ? -1 : x->line->line > y->line->line;
}

// Returns whether the start called an operation that the steps execute, too: between this call and
// the steps, the process requested a whole program that is not of the steps. The journal has no
// line for the later calls.
static bool is_called_by_start(const rk_explainer *e, size_t process, const rk_pieces *list,
                               const rk_known *known) {
    const uint64_t request = rk_first_request(e, process, known),
                   step = rk_first_step_request(e, process);
    for (size_t i = 0; i < e->run->compile_count; i++) {
        const rk_run_compile *compile = &e->run->compiles[i];
        const rk_known *between = e->seen[i];
        if (compile->process != process || compile->seq <= request || compile->seq >= step ||
            !between || !between->has_sketch || rk_is_framework_operation(&between->sketch))
            continue;
        uint64_t executions = rk_explain_executions(e->run, compile);
        if (executions > 0 && 2 * executions < list->repetitions)
            return true;
    }
    return false;
}

// Returns whether the process first called an operation in a step. The operations that make the
// batch of the first step count as called before it.
static bool is_first_called_in_step(const rk_explainer *e, size_t process, const rk_steps *steps,
                                    const rk_known *known) {
    uint64_t step = rk_first_step_of(e, process, steps, known);
    return step != RK_NO_STEP && step > 0;
}

// Returns the lines that the fragments come from, the one with the most of them first. The caller
// owns `*out_lines`. `*out_are_all`: the lines of all operations are known. If some operations were
// first called in a step, the lines of the others may be those of the start.
static rk_err *take_lines(const rk_explainer *e, size_t process, const rk_steps *steps,
                          const rk_pieces *list, line_count **out_lines, size_t *out_count,
                          bool *out_are_all) {
    line_count *lines = rk_calloc(list->count + 1, sizeof *lines);
    size_t count = 0;
    bool has_steps = false;
    *out_are_all = list->count >= list->usual;
    if (!lines)
        return rk_err_no_memory();
    for (size_t i = 0; i < list->count; i++)
        has_steps |= is_first_called_in_step(e, process, steps, list->items[i].known);
    for (size_t i = 0; i < list->count; i++) {
        const rk_known *known = list->items[i].known;
        const rk_sketch_line *line = rk_sketch_place(&known->sketch);
        size_t k = 0;
        bool is_of_start = !list->is_called_before && !list->is_all &&
                           ((has_steps && !is_first_called_in_step(e, process, steps, known)) ||
                            is_called_by_start(e, process, list, known));
        *out_are_all &= !is_of_start;
        if (!line || is_of_start)
            continue;
        while (k < count && lines[k].line->hash != line->hash)
            k++;
        lines[k].line = line;
        lines[k].count++;
        count += k == count;
    }
    if (count)
        qsort(lines, count, sizeof *lines, compare_counts);
    *out_lines = lines;
    *out_count = count;
    return NULL;
}

enum { LINES_NAMED_MAX = 6 };

// Appends "lines 60, 62, 64 and others"; "the line shown" if it has all of the fragments. If not
// all operations of the steps are known, their lines are not, either: "perhaps others".
static void add_lines(const line_count *lines, size_t count, bool are_all, rk_buf *out) {
    uint32_t named[LINES_NAMED_MAX];
    size_t named_count = 0;
    if (!count)
        rk_buf_add_text(out, "lines that are not known");
    else if (count == 1)
        rk_buf_add_text(out, are_all ? "the line shown" : "the line shown and perhaps others");
    if (count < 2)
        return;
    for (size_t i = 0; i < count && named_count < LINES_NAMED_MAX; i++)
        if (strcmp(lines[i].line->file, lines[0].line->file) == 0)
            named[named_count++] = lines[i].line->line;
    rk_buf_add_text(out, "lines ");
    const char *others = named_count < count ? "others" : are_all ? NULL : "perhaps others";
    rk_add_line_numbers(named, named_count, others, out);
}

// Some of the operations may belong to the start, and others were executed in too few steps to be
// sure of them: the number is that of a usual step. `lines`: where they are, if `are_known`.
// `reads`: in each step.
// On the CPU, results are read in place, and a plugin cannot count the reads.
static void describe(const rk_pieces *list, const char *lines, bool are_known, double reads,
                     rk_pattern_text *text) {
    rk_buf_add_format(&text->summary,
                      "%s%zu small programs outside of any jitted function are executed in a "
                      "usual step (the median)",
                      list->count < list->usual ? "about " : "", list->usual);
    if (list->is_scattered)
        rk_buf_add_text(&text->summary, ", but not always the same ones");
    else if (!list->is_called_before && are_known)
        rk_buf_add_format(&text->summary, ", on %s", lines);
    if (reads >= 0.5)
        rk_buf_add_format(&text->summary, ", with %.1f reads to the host per step (the median)",
                          reads);
    if (list->is_all) {
        rk_buf_add_text(
            &text->advice,
            "The steps call no jitted function that does most of their work. Put what "
            "a step does into a function that takes and returns arrays, and jit it "
            "(jax.jit). The lines are those of the first calls of these programs; the loop may "
            "call them on other lines.");
        return;
    }
    if (!list->is_called_before && !list->is_scattered && are_known && list->is_several_times)
        rk_buf_add_text(&text->summary,
                        "; a step calls some of them several times, perhaps also on other lines");
    if (list->is_called_before || list->is_scattered || !are_known) {
        if (list->is_called_before)
            rk_buf_add_format(&text->summary,
                              "; the first calls, in the start or in the first step, are on %s",
                              lines);
        rk_buf_add_text(&text->advice,
                        "The line in the steps is not known. Look in the loop for a calculation "
                        "that is outside of any jitted function, such as a loss or its gradient, "
                        "and put it into a jitted function or into the step.");
        return;
    }
    rk_buf_add_text(&text->advice,
                    "Put them into a jitted function: that of the step, or one of their own. If "
                    "they make the batch, prepare it with NumPy on the host, which executes no "
                    "programs (but draws other random numbers). If a library that is not JAX takes "
                    "the arrays, such as one for plots, pass it NumPy arrays (np.asarray). Where "
                    "the source reads a value (.item(), float(), bool(), if), choose with "
                    "jnp.where or lax.cond instead, and read what is to be logged once, after the "
                    "step.");
}

rk_err *rk_pieces_describe(const rk_explainer *e, size_t process, const rk_steps *steps,
                           const rk_pieces *list, double reads, rk_pattern_text *text,
                           const rk_sketch_line **out_line) {
    rk_autofree line_count *lines = NULL;
    RK_AUTO(rk_buf) places = {0};
    size_t count = 0;
    bool are_all;
    RK_TRY(take_lines(e, process, steps, list, &lines, &count, &are_all));
    add_lines(lines, count, are_all, &places);
    describe(list, rk_buf_text(&places), count > 0, reads, text);
    bool is_known = count && (list->is_called_before || !list->is_scattered);
    *out_line = is_known ? lines[0].line : NULL;
    return NULL;
}
