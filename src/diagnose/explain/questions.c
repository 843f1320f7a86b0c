// Answers the three questions about a run.
#include "base/alloc.h"
#include "diagnose/diff/sketch_diff.h"
#include "diagnose/diff/value_words.h"
#include "diagnose/explain/branch_doubts_internal.h"
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

// Returns whether an input has another shape; if inputs come and go, one of the same rank.
static bool is_other_shape(const rk_explained *item, const rk_difference *d) {
    return d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d) &&
           (item->cause != RK_CAUSE_PARAMETERS || rk_same_rank(d->before, d->after));
}

// Returns whether a program differs in other things, and also in the shape of an input.
static bool has_other_shapes_too(const rk_explanation *x, const rk_explained *item) {
    // A branch may come with an input of another shape, and so may an input more or fewer.
    // Between two starts of JAX, another layer changes both.
    bool has_other_inputs = item->cause == RK_CAUSE_PARAMETERS &&
                            (item->nearest_of || rk_explained_is_torch(item)) &&
                            !rk_may_compute_arguments(x, item);
    return item->cause == RK_CAUSE_STRUCTURE || has_other_inputs;
}

// Returns whether a program that differs in other things, too, takes inputs of other shapes, but
// may be another part of the job.
static bool is_other_part(const rk_explanation *x, const rk_explained *item) {
    return has_other_shapes_too(x, item) &&
           (rk_is_executed_once(x, item) || (rk_explained_is_torch(item) && item->nearest_of &&
                                             rk_explain_runs_as_often(x->run, item)));
}

// Returns whether the question about shapes is open.
static bool may_be_other_part(const rk_explanation *x, const rk_explained *item) {
    bool found = false;
    for (size_t i = 0; i < item->differences.cause_count; i++)
        found |= is_other_shape(item, &item->differences.items[i]);
    return found && is_other_part(x, item);
}

// The difference that answers the question with yes; NULL if the item has none.
static const rk_difference *evidence_of(const rk_explanation *x, const rk_explained *item,
                                        const asked *what) {
    // A constant in place of an input is no branch.
    bool asks_for_branch = what->causes[RK_CAUSE_STRUCTURE];
    bool is_meant = item->is_startup ||
                    (asks_for_branch && (rk_is_no_branch(item) || rk_may_be_branch(x, item)));
    if (what->causes[item->cause] && !is_meant && !rk_explained_is_constant(item))
        return item->accumulates ? sum_of(item)
               : asks_for_branch ? first_but_shapes(item)
                                 : rk_explained_head(item);
    bool shapes =
        what->causes[RK_CAUSE_SHAPE] && has_other_shapes_too(x, item) && !is_other_part(x, item);
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if ((what->settings && d->kind >= RK_DIFFERENCE_OPTION) ||
            (shapes && is_other_shape(item, d)))
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
        rk_buf_add_format(text, "%s: ", rk_explained_name(item));
        rk_value_words_add_operation(d, text);
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

// Returns whether an item leaves the question open, although it was compared.
static bool has_doubt(const rk_explanation *x, const rk_explained *item, const asked *what,
                      rk_branch_doubt *out_doubt) {
    if (what->causes[RK_CAUSE_SHAPE] && may_be_other_part(x, item)) {
        *out_doubt = rk_explain_runs_as_often(x->run, item) ? RK_DOUBT_PARTS : RK_DOUBT_SHAPES;
        return true;
    }
    if (!what->causes[RK_CAUSE_STRUCTURE] || !what->causes[item->cause] ||
        !rk_may_be_branch(x, item))
        return false;
    *out_doubt = rk_branch_doubt_of(x, item);
    return true;
}

static rk_err *answer(const rk_explanation *x, const asked *what) {
    const rk_explained *worst = NULL, *unread = NULL, *open = NULL;
    size_t count = 0, unread_count = 0, open_count = 0;
    bool has_other_doubts = false;
    rk_branch_doubt doubt = RK_DOUBT_ORDER; // of `open`
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (is_open(item) || leaves_open(item, what)) {
            unread = unread ? unread : item;
            unread_count++;
        }
        rk_branch_doubt own;
        if (has_doubt(x, item, what, &own)) {
            doubt = open ? doubt : own;
            open = open ? open : item;
            open_count += own == doubt;
            has_other_doubts |= own != doubt;
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
        rk_write_may_be_branch(open, doubt, open_count, has_other_doubts, &text);
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
