// Answers the three questions about a run.
#include "base/alloc.h"
#include "diagnose/diff/sketch_diff.h"
#include "diagnose/diff/value_words.h"
#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

typedef struct asked {
    bool causes[RK_CAUSE_COUNT];
    bool settings; // also a changed setting of a program that has another cause as well
    rk_question *question;
    const char *no;
} asked;

// Nothing is known about why the program was compiled: a failed compilation is not compared.
static bool is_open(const rk_explained *item) {
    if (item->recorded)
        return false;
    return item->cause == RK_CAUSE_FAILED || rk_explained_is_uncompared(item) ||
           (item->cause == RK_CAUSE_UNCACHEABLE && !item->nearest_run &&
            rk_explained_is_unread(item));
}

// Returns whether a comparison of sketches leaves the question open: it shows nothing of a
// sharding, and not whether other operations follow from other inputs.
static bool leaves_open(const rk_explained *item, const asked *what) {
    if (what->causes[item->cause] && !item->is_startup && !rk_explained_head(item))
        return true;
    for (size_t i = 0; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        bool contents = d->attribute && strcmp(d->attribute, RK_SKETCH_CONTENTS) == 0;
        if (rk_is_sketchy(d) &&
            (what->causes[RK_CAUSE_SHARDING] || (what->causes[RK_CAUSE_STRUCTURE] && !contents)))
            return true;
    }
    return false;
}

// Returns whether another line than that of the compared program calls the function with other
// inputs, such as the step of another model, and no line of the source is in one of the two
// programs only. So no branch of the source is known.
static bool is_of_other_call(const rk_explained *item) {
    return item->is_own_call && item->cause == RK_CAUSE_PARAMETERS &&
           !rk_has_own_line(&item->program->sketch, &item->nearest->sketch) &&
           !rk_has_own_line(&item->nearest->sketch, &item->program->sketch);
}

static bool has_nearest(const rk_explained *item) {
    return item->nearest_of || item->nearest_run;
}

// Returns whether two graphs of PyTorch/XLA have operations of the same kinds, on the same lines of
// the source: two tensors that share their data, another order of the gradients, or a branch within
// one line. Whether there is a branch is not known.
static bool is_of_same_lines(const rk_explained *item) {
    bool may_be = item->cause == RK_CAUSE_PARAMETERS || item->cause == RK_CAUSE_STRUCTURE;
    return rk_explained_is_torch(item) && may_be && !item->accumulates && has_nearest(item) &&
           item->program->has_sketch && item->nearest->has_sketch &&
           item->program->sketch.line_count &&
           rk_have_same_kinds_and_lines(&item->program->sketch, &item->nearest->sketch);
}

// Returns whether the reason for a difference is known, and is no branch: a part of a step, values
// of another step, another call with other inputs, the same values in another container, another
// order of the operations in another process, or the position of a slice.
static bool is_no_branch(const rk_explained *item) {
    return item->is_part || is_of_other_call(item) ||
           (rk_explain_is_of_values(item) && !rk_explain_is_of_integers(item)) ||
           rk_explain_is_of_container(item) ||
           (rk_explain_is_reordered(item) && !item->nearest_of) ||
           rk_explain_moves_slice_first(item) ||
           (rk_explain_has_other_views(item) && !rk_explain_is_reordered(item));
}

// Returns whether two graphs of PyTorch/XLA compute nearly the same, and only one of them returns
// some values. A branch computes its values on lines of its own, with several operations; a sum
// that waits for the barrier needs one or two.
static bool returns_more(const rk_explained *item) {
    enum { OPERATIONS_MAX = 2 };
    if (!item->nearest_of || !rk_explain_has_only_results(item) || !item->program->has_sketch ||
        !item->nearest->has_sketch)
        return false;
    const rk_sketch *a = &item->nearest->sketch, *b = &item->program->sketch;
    return rk_operations_apart(a, b) <= OPERATIONS_MAX ||
           (!rk_has_own_line(a, b) && !rk_has_own_line(b, a));
}

// Returns whether an earlier graph of the process has operations on a line.
static bool has_earlier_line(const rk_explanation *x, const rk_explained *item, uint64_t line) {
    for (size_t i = 0; i < x->count; i++) {
        const rk_run_compile *compile = x->items[i].compile;
        const rk_known *known = x->items[i].program;
        if (compile->process == item->compile->process && compile->seq < item->compile->seq &&
            known && known->has_sketch && rk_sketch_find_line(&known->sketch, line))
            return true;
    }
    return false;
}

// Returns whether a graph of PyTorch/XLA does all that an earlier one does, and more, but only on
// lines of earlier graphs: it may hold the rest of a computation that was not executed, such as the
// forward pass of the batch before.
static bool repeats_lines(const rk_explanation *x, const rk_explained *item) {
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item) ||
        is_of_same_lines(item) || !rk_explain_is_in_other(item) ||
        item->program->sketch.op_count < item->nearest->sketch.op_count)
        return false;
    const rk_sketch *sketch = &item->program->sketch;
    for (uint32_t i = 0; i < sketch->line_count; i++)
        if (!has_earlier_line(x, item, sketch->lines[i].hash))
            return false;
    return sketch->line_count > 0;
}

// Returns whether a graph that was executed once does all that another one does, and more.
static bool does_more_once(const rk_explanation *x, const rk_run_compile *request,
                           const rk_known *program, const rk_known *other) {
    return rk_explain_executions(x->run, request) == 1 &&
           program->sketch.op_count > other->sketch.op_count &&
           rk_contained_operations(&other->sketch, &program->sketch) >= 1;
}

// Returns whether one of two graphs of PyTorch/XLA may compute its arguments, because nothing
// executed them before.
static bool may_compute_arguments(const rk_explanation *x, const rk_explained *item) {
    return item->cause == RK_CAUSE_PARAMETERS && rk_explained_is_torch(item) && item->nearest_of &&
           item->program->has_sketch && item->nearest->has_sketch &&
           (does_more_once(x, item->compile, item->program, item->nearest) ||
            does_more_once(x, item->nearest_of, item->nearest, item->program));
}

// Returns whether an input of a function of JAX may belong to another model: its type differs in
// more than the number of rows.
static bool is_of_other_model(const rk_explained *item) {
    size_t axis, others = 0, one_sided = 0;
    if (item->cause != RK_CAUSE_PARAMETERS || rk_explained_is_torch(item) || !item->nearest_of)
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        one_sided += rk_is_input_of_one_side(d);
        others += d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d) &&
                  (!rk_only_axis(d->before, d->after, &axis) || axis > 0);
    }
    return one_sided > 0 && others > 1;
}

// Returns whether two graphs of PyTorch/XLA take or return other values: those of a branch, or
// values that were computed before the step.
static bool has_other_values(const rk_explanation *x, const rk_explained *item) {
    return rk_explain_takes_and_returns_more(item) || rk_explain_swaps_inputs(item) ||
           returns_more(item) || repeats_lines(x, item) || may_compute_arguments(x, item);
}

// Returns whether the program of a request was compiled before a step.
static bool is_before_step(const rk_explanation *x, const rk_run_compile *request, uint64_t step) {
    const rk_explained *item = rk_explained_of(x, request);
    return item && item->step < step;
}

// Returns whether two graphs were compiled in the second step, and the earlier one that `item` was
// compared with in the first step. `state` takes values that the first step created.
static bool is_of_second_step(const rk_explanation *x, const rk_explained *item,
                              const rk_explained *state) {
    enum { SECOND = 2 };
    if (item->step == SECOND && state->step == SECOND)
        return is_before_step(x, item->nearest_of, SECOND);
    // If not all steps are known: the process first requested the two graphs that these were
    // compared with, and then these two.
    return item->nearest_of->seq < state->nearest_of->seq &&
           state->nearest_of->seq < item->compile->seq && item->compile->seq < state->compile->seq;
}

// Returns whether the graph was compiled in the second step of PyTorch/XLA and differs in inputs
// from an earlier one, and whether that first step created values, such as an optimizer's state,
// which another graph of the second step takes as inputs.
static bool follows_first_step(const rk_explanation *x, const rk_explained *item) {
    const size_t process = item->compile->process;
    if (item->cause != RK_CAUSE_PARAMETERS || !item->nearest_of ||
        item->nearest_of->process != process)
        return false;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *state = &x->items[i];
        if (state->is_startup && state->nearest_of && state->compile->process == process &&
            rk_explained_is_torch(state) && is_of_second_step(x, item, state))
            return true;
    }
    return false;
}

// Returns whether a graph of PyTorch/XLA differs from an earlier one of its process, in which
// graphs grow: one of the two may hold operations that waited for a read.
static bool is_among_growing(const rk_explanation *x, const rk_explained *item) {
    if (!rk_explained_is_torch(item) || !item->nearest_of ||
        item->nearest_of->process != item->compile->process)
        return false;
    for (size_t i = 0; i < x->pattern_count; i++)
        if (x->patterns[i].grows &&
            x->patterns[i].members[0]->compile->process == item->compile->process)
            return true;
    return false;
}

// Returns whether nothing shows a branch, and nothing shows that there is none.
static bool may_be_branch(const rk_explanation *x, const rk_explained *item) {
    return !item->is_startup && !is_no_branch(item) && !rk_explained_is_constant(item) &&
           (is_of_same_lines(item) || is_of_other_model(item) || rk_explain_is_reordered(item) ||
            item->takes_lists || has_other_values(x, item) || item->follows_start ||
            follows_first_step(x, item) || rk_explain_has_special_number(item) ||
            rk_explain_is_of_integers(item) || is_among_growing(x, item));
}

// The first input that the program adds to. The first difference may be a state that the first step
// creates.
static const rk_difference *sum_of(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->differences.items[i].is_summed && !item->differences.items[i].constant)
            return &item->differences.items[i];
    return rk_explained_head(item);
}

// The first difference that is not the shape of an input, which another question asks for.
static const rk_difference *first_but_shapes(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->differences.items[i].kind != RK_DIFFERENCE_SHAPE)
            return &item->differences.items[i];
    return rk_explained_head(item);
}

// The difference that answers the question with yes; NULL if the item has none.
static const rk_difference *evidence_of(const rk_explanation *x, const rk_explained *item,
                                        const asked *what) {
    // A constant in place of an input is no branch.
    bool asks_for_branch = what->causes[RK_CAUSE_STRUCTURE];
    bool is_meant =
        item->is_startup || (asks_for_branch && (is_no_branch(item) || may_be_branch(x, item)));
    if (what->causes[item->cause] && !is_meant && !rk_explained_is_constant(item))
        return item->accumulates ? sum_of(item)
               : asks_for_branch ? first_but_shapes(item)
                                 : rk_explained_head(item);
    // A branch may come with an input of another shape, and so may an input more or fewer.
    // Between two starts of JAX, another layer changes both.
    bool has_other_inputs = item->cause == RK_CAUSE_PARAMETERS &&
                            (item->nearest_of || rk_explained_is_torch(item)) &&
                            !may_compute_arguments(x, item);
    bool shapes =
        what->causes[RK_CAUSE_SHAPE] && (item->cause == RK_CAUSE_STRUCTURE || has_other_inputs);
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if ((what->settings && d->kind >= RK_DIFFERENCE_OPTION) ||
            (shapes && d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d) &&
             (!has_other_inputs || rk_same_rank(d->before, d->after))))
            return d;
    }
    return NULL;
}

// An input or a result that only one of the two programs has.
static void write_one_sided(const rk_explained *item, const rk_difference *d, rk_buf *text) {
    bool is_input = rk_is_of_input(d), added = d->after != NULL;
    rk_buf_add_text(text, rk_explained_name(item));
    if (d->attribute)
        rk_buf_add_format(text, " %s %s%s", added ? "has the additional" : "no longer has",
                          is_input ? "input " : "", d->attribute);
    else
        rk_buf_add_text(text, added ? " has one more input" : " has one input fewer");
    rk_buf_add_format(text, ": %s", added ? d->after : d->before ? d->before : "of unknown type");
}

// An operation that only one of the two programs has, without the name of its dialect.
static void write_operation(const rk_explained *item, const rk_difference *d, rk_buf *text) {
    const char *dot = d->op ? strchr(d->op, '.') : NULL;
    bool added = d->kind == RK_DIFFERENCE_OP_ADDED;
    rk_buf_add_format(text, "%s %s %s", rk_explained_name(item),
                      added ? "has the additional operation" : "no longer has the operation",
                      dot     ? dot + 1
                      : d->op ? d->op
                              : "");
    if (d->after || d->before)
        rk_buf_add_format(text, ": %s", d->after ? d->after : d->before);
}

static void write_yes(const rk_explained *item, const rk_difference *d, size_t count,
                      rk_buf *text) {
    const char *thing = d->attribute ? rk_value_words_name(d) : d->op ? d->op : "";
    bool one_sided =
        (d->kind == RK_DIFFERENCE_PARAMETER_ADDED || d->kind == RK_DIFFERENCE_PARAMETER_REMOVED) &&
        !(d->before && d->after);
    bool is_op = d->kind == RK_DIFFERENCE_OP_ADDED || d->kind == RK_DIFFERENCE_OP_REMOVED;
    if (one_sided) {
        write_one_sided(item, d, text);
    } else if (is_op) {
        write_operation(item, d, text);
    } else {
        rk_buf_add_format(text, "%s of %s: ", thing, rk_explained_name(item));
        rk_value_words_add(d, d->before, text);
        rk_buf_add_text(text, " → ");
        rk_value_words_add(d, d->after, text);
    }
    if (d->file)
        rk_buf_add_format(text, " (%s:%u)", d->file, d->line);
    if (count > 1)
        rk_buf_add_text(text, ", among others");
}

static void write_unread(const rk_explained *item, rk_buf *text) {
    if (*item->compile->by_bytes)
        rk_buf_add_format(text, "it cannot be read (%s)", item->compile->by_bytes);
    else
        rk_buf_add_text(text, item->program ? "it cannot be read" : "it is not in the store");
}

// A program that nothing is known about may be a new version of another one.
static void write_unknown(const rk_explained *item, size_t count, rk_buf *text) {
    const char *name = rk_explained_name(item);
    rk_buf_add_text(text, *name ? name : "a program");
    if (count > 1)
        rk_buf_add_format(text, " and %zu more", count - 1);
    rk_buf_add_text(text, count > 1 ? " were" : " was");
    if (!is_open(item)) {
        rk_buf_add_format(text,
                          " compared by a summary only, because %s not kept "
                          "(REKINDLE_KEEP_PROGRAMS=1 keeps programs)",
                          count > 1 ? "programs were" : "its program was");
        return;
    }
    rk_buf_add_text(text, " compared with nothing: ");
    if (count > 1 && item->cause != RK_CAUSE_FAILED)
        rk_buf_add_text(text, item->gone ? "the programs of an earlier run are not in the store"
                                         : "they are not in the store, or cannot be read");
    else if (item->gone)
        rk_buf_add_format(text, "its program of run %s is not in the store", item->gone_run);
    else if (item->cause == RK_CAUSE_FAILED)
        rk_buf_add_text(text, "its compilation failed");
    else
        write_unread(item, text);
}

// Returns whether the text lists an item above an earlier one: causes that need no change come
// last, and costs that differ by less than a fifth are in the order of the requests.
static bool is_shown_before(const rk_explained *item, const rk_explained *earlier) {
    bool idle = rk_explained_needs_no_change(item);
    if (idle != rk_explained_needs_no_change(earlier))
        return !idle;
    return rk_explained_cost_ns(item) / 5 * 4 > rk_explained_cost_ns(earlier);
}

static void write_may_be_branch(const rk_explanation *x, const rk_explained *item, size_t count,
                                rk_buf *text) {
    const char *s = count > 1 ? "" : "s";
    rk_buf_add_text(text, rk_explained_name(item));
    if (count > 1)
        rk_buf_add_format(text, " and %zu more", count - 1);
    if (item->takes_lists)
        rk_buf_add_format(text,
                          " take%s another number of tensors of one type than other graphs: a "
                          "list of tensors decides how many, or a branch does",
                          s);
    else if (is_of_other_model(item))
        rk_buf_add_format(
            text,
            " take%s other inputs, and inputs of other shapes: the function is called "
            "for another model, or a branch decides",
            s);
    else if (returns_more(item))
        rk_buf_add_format(text,
                          " return%s values that other graphs do not: a branch computes them, or "
                          "only some steps keep them, as for a log or a sum",
                          s);
    else if (item->follows_start)
        rk_buf_add_format(
            text,
            " take%s fewer values than an earlier graph: a branch computes them, they "
            "were computed before the steps, or a list of tensors is shorter",
            s);
    else if (rk_explain_has_special_number(item))
        rk_buf_add_format(text,
                          " take%s or return%s single numbers that other graphs do not: a branch "
                          "decides, a number is 0, 1 or -1 in some steps, or only some steps keep "
                          "a number for a log",
                          s, s);
    else if (has_other_values(x, item) || follows_first_step(x, item))
        rk_buf_add_format(text,
                          " take%s or return%s values that other graphs do not: a branch computes "
                          "them, they were computed earlier and not executed, or a list of "
                          "tensors is longer",
                          s, s);
    else if (rk_explain_is_of_integers(item))
        rk_buf_add_format(text,
                          " take%s other whole numbers than other graphs: a branch decides which, "
                          "or two numbers are equal",
                          s);
    else if (is_among_growing(x, item))
        rk_buf_add_format(text,
                          " differ%s from earlier graphs, but graphs of this run grow: a branch "
                          "computes the values, or they waited for a read",
                          s);
    else
        rk_buf_add_format(text,
                          " differ%s from an earlier program, but only in the order, the number "
                          "or the operands of operations of the same kinds, on the same lines",
                          s);
}

static rk_err *answer(const rk_explanation *x, const asked *what) {
    const rk_explained *worst = NULL, *unread = NULL, *open = NULL;
    size_t count = 0, unread_count = 0, open_count = 0;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (is_open(item) || leaves_open(item, what)) {
            unread = unread ? unread : item;
            unread_count++;
        }
        if (what->causes[RK_CAUSE_STRUCTURE] && what->causes[item->cause] &&
            may_be_branch(x, item)) {
            open = open ? open : item;
            open_count++;
        }
        if (!evidence_of(x, item, what))
            continue;
        count++;
        if (!worst || is_shown_before(item, worst))
            worst = item;
    }
    RK_AUTO(rk_buf) text = {0};
    what->question->known = worst || !(unread || open);
    what->question->answer = worst != NULL;
    if (worst)
        write_yes(worst, evidence_of(x, worst, what), count, &text);
    else if (unread)
        write_unknown(unread, unread_count, &text);
    else if (open)
        write_may_be_branch(x, open, open_count, &text);
    else
        rk_buf_add_text(&text, what->no);
    RK_TRY(rk_buf_status(&text));
    what->question->evidence = rk_strdup(rk_buf_text(&text));
    return what->question->evidence ? NULL : rk_err_no_memory();
}

rk_err *rk_answer_questions(rk_explanation *x) {
    const asked questions[] = {
        {{[RK_CAUSE_SHAPE] = true},
         false,
         &x->input_shapes,
         "no program was compiled again for inputs of another shape"},
        {{[RK_CAUSE_SHARDING] = true,
          [RK_CAUSE_OPTIONS] = true,
          [RK_CAUSE_ENVIRONMENT] = true,
          [RK_CAUSE_TOOLCHAIN] = true,
          [RK_CAUSE_DEVICE] = true},
         true,
         &x->profile_or_sharding,
         "flags, variables, options, versions, devices and shardings are what they were"},
        {{[RK_CAUSE_STRUCTURE] = true, [RK_CAUSE_PARAMETERS] = true},
         false,
         &x->hidden_branch,
         "no function was compiled again with other operations, inputs or results (not counted: a "
         "value that is an input in one program and a constant in the other)"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(questions); i++)
        RK_TRY(answer(x, &questions[i]));
    return NULL;
}
