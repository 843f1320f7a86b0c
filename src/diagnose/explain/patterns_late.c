// Finds code outside of any jitted function that compiles many operations after the first step,
// each as a program of its own: an evaluation, or test data that are made after the training.
#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"

enum { PROGRAMS_MIN = 10 };

// An operation takes some milliseconds to compile; less is not worth a finding.
#define COST_MIN_NS ((uint64_t)100 * 1000000)

// A late operation. Its place is where its call stack leaves that of the step.
typedef struct late {
    const rk_explained *item;
    rk_stack stack;   // innermost frame first
    size_t depth;     // of the place; the stack has no such frame if the place is unknown
    bool is_reported; // in a finding, or never to be reported
} late;

typedef struct lates {
    late *items; // owned; in the order of the requests
    size_t count;
} lates;

static void lates_cleanup(lates *list) {
    for (size_t i = 0; i < list->count; i++)
        rk_stack_cleanup(&list->items[i].stack);
    rk_free(list->items);
}

// Returns whether the item is an operation of the framework, compiled for a line of the user after
// the first step, and no other finding has it.
static bool is_late(const rk_explanation *x, const rk_explained *item, size_t process,
                    uint64_t first_step) {
    return item->compile->process == process && item->compile->compiled && item->is_eager &&
           item->compile->seq > first_step && item->cause == RK_CAUSE_FIRST &&
           item->program->sketch.call.file &&
           rk_file_owner_of(rk_span_text(item->program->sketch.call.file)) == RK_FILE_USER &&
           !rk_is_in_pattern(x, item, NULL);
}

// The frame at a depth; 0 is the outermost one. NULL if the stack is not so deep.
static const rk_stack_frame *frame_at(const rk_stack *stack, size_t depth) {
    return depth < stack->count ? &stack->frames[stack->count - 1 - depth] : NULL;
}

// Returns the depth of the first frame that is not the same call as in the stack of the step.
static size_t leaves_at(const rk_stack *stack, const rk_stack *step) {
    size_t depth = 0;
    while (depth < stack->count && depth < step->count &&
           rk_is_same_line(frame_at(stack, depth), frame_at(step, depth)))
        depth++;
    return depth;
}

// The depth of the innermost line of the user; the stack has no such frame if there is none.
static size_t innermost_line(const rk_stack *stack) {
    for (size_t i = 0; i < stack->count; i++)
        if (rk_is_user_frame(&stack->frames[i]))
            return stack->count - 1 - i;
    return stack->count;
}

// Without the stack of the step, or if the user has no line beyond it, the place is the innermost
// line of the user.
static void find_place(late *one, const rk_stack *step) {
    size_t count = one->stack.count;
    one->depth = step->count > 0 ? leaves_at(&one->stack, step) : count;
    while (one->depth < count && !rk_is_user_frame(frame_at(&one->stack, one->depth)))
        one->depth++;
    if (one->depth >= count)
        one->depth = innermost_line(&one->stack);
}

// Returns whether the call of the step makes the operation: jax.pmap cuts its arguments.
static bool is_of_step_call(const late *one, const rk_stack *step) {
    const rk_stack_frame *line = frame_at(&one->stack, innermost_line(&one->stack)),
                         *of = frame_at(step, innermost_line(step));
    return line && of && rk_is_same_line(line, of);
}

static const rk_stack_frame *place_of(const late *one) {
    return frame_at(&one->stack, one->depth);
}

// The line of a function of the user, `calls` calls below the place; NULL if there is none.
static const rk_stack_frame *called_by(const late *one, size_t calls) {
    const rk_stack_frame *called = frame_at(&one->stack, one->depth + calls);
    return called && rk_is_user_frame(called) ? called : NULL;
}

// Returns whether a line calls a program that is executed again and again.
static bool runs_steps(const rk_explainer *e, size_t process, const rk_stack_frame *place) {
    enum { STEPS_MIN = 10 };
    for (size_t i = 0; i < e->run->compile_count; i++) {
        const rk_run_compile *compile = &e->run->compiles[i];
        const rk_known *known = e->seen[i];
        if (compile->process == process && known && known->has_sketch &&
            !rk_is_framework_operation(&known->sketch) && known->sketch.call.line == place->line &&
            strcmp(known->sketch.call.file, place->file) == 0 &&
            rk_explain_executions(e->run, compile) >= STEPS_MIN)
            return true;
    }
    return false;
}

// If the place calls a library that runs the steps and comes back to a line of the user, as to a
// callback, then that line is the place.
static void leave_library_of_steps(const rk_explainer *e, late *one) {
    const rk_stack_frame *place = place_of(one);
    if (place && innermost_line(&one->stack) > one->depth && !called_by(one, 1) &&
        runs_steps(e, one->item->compile->process, place))
        one->depth = innermost_line(&one->stack);
}

static rk_err *collect(const rk_explainer *e, size_t process, lates *out_list) {
    const rk_explanation *x = e->out;
    RK_AUTO(rk_stack) step = {0};
    uint64_t first_step = rk_first_step_request(e, process);
    size_t count = 0;
    for (size_t i = 0; i < x->count && first_step != UINT64_MAX; i++)
        count += is_late(x, &x->items[i], process, first_step);
    if (count < PROGRAMS_MIN)
        return NULL;
    out_list->items = rk_calloc(count, sizeof *out_list->items);
    if (!out_list->items)
        return rk_err_no_memory();
    RK_TRY(rk_step_stack(e, process, &step));
    for (size_t i = 0; i < x->count; i++) {
        if (!is_late(x, &x->items[i], process, first_step))
            continue;
        RK_AUTO(rk_loaded) loaded = {0};
        late *one = &out_list->items[out_list->count++];
        one->item = &x->items[i];
        RK_TRY(rk_corpus_open(e->corpus, one->item->program, &loaded));
        if (loaded.loaded)
            RK_TRY(rk_stack_take(&loaded.index.call, &one->stack));
        find_place(one, &step);
        leave_library_of_steps(e, one);
        one->is_reported = is_of_step_call(one, &step);
    }
    return NULL;
}

typedef enum scope { SAME_LINE, SAME_FUNCTION } scope;

// False if one of the two is NULL.
static bool is_same(const rk_stack_frame *a, const rk_stack_frame *b, scope in) {
    if (!a || !b)
        return false;
    return in == SAME_LINE ? rk_is_same_line(a, b) : rk_is_same_function(a, b);
}

// Moves the place of operations that all come from one call to the innermost such call.
static void descend(late *const *group, size_t count) {
    for (;;) {
        const rk_stack_frame *first = called_by(group[0], 1);
        for (size_t i = 0; i < count; i++)
            if (!is_same(called_by(group[i], 1), first, SAME_LINE) || !called_by(group[i], 2))
                return;
        for (size_t i = 0; i < count; i++)
            group[i]->depth++;
    }
}

// The number of operations that the user's function below the place runs.
static size_t count_inside(late *const *group, size_t count) {
    size_t inside = 0;
    for (size_t i = 0; i < count; i++)
        inside += called_by(group[i], 1) != NULL;
    return inside;
}

// The function of the user that the places call for these operations, if jax.jit may take it as it
// is: not a method, because methods may keep state. Less than half of the operations may be on the
// line of the call itself, such as the arguments. NULL if there is no such function.
static const rk_stack_frame *find_called(late *const *group, size_t count) {
    const rk_stack_frame *called = NULL;
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *one = called_by(group[i], 1);
        if (one && called && !is_same(one, called, SAME_FUNCTION))
            return NULL;
        called = called ? called : one;
    }
    if (!called || 2 * count_inside(group, count) <= count || strpbrk(called->function, ".<"))
        return NULL;
    return called;
}

// Returns whether the places call a library for most of the operations.
static bool calls_library(late *const *group, size_t count) {
    size_t calls = 0;
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *called = frame_at(&group[i]->stack, group[i]->depth + 1);
        calls += called && !rk_is_user_frame(called);
    }
    return 2 * calls > count;
}

// Returns whether a place calls an installed package other than a framework, such as one for plots.
static bool calls_package(late *const *group, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *called = frame_at(&group[i]->stack, group[i]->depth + 1);
        if (called && rk_file_owner_of(rk_span_text(called->file)) == RK_FILE_PACKAGE)
            return true;
    }
    return false;
}

// Returns whether the operations are those of a network: NumPy on the host is no replacement.
static bool has_product(late *const *group, size_t count) {
    static const char *const names[] = {"jit_conv_general_dilated", "jit_dot_general", "jit_dot",
                                        "jit_matmul", "jit__einsum"};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < RK_ARRAY_LEN(names); k++)
            if (strcmp(group[i]->item->compile->name, names[k]) == 0)
                return true;
    return false;
}

static const char *jit_for(late *const *group, size_t count) {
    const char *jit = "jax.jit";
    for (size_t i = 0; i < count && strcmp(jit, "jax.jit") == 0; i++)
        jit = rk_jit_for(&group[i]->stack);
    return jit;
}

// Returns whether the place is outside of all functions.
static bool is_in_script(late *const *group) {
    const char *function = place_of(group[0])->function;
    return !function || strcmp(function, "<module>") == 0;
}

enum { LINES_MAX = 256 };

// Takes the lines of a group so many calls below its places, the costliest first.
static size_t take_lines(late *const *group, size_t group_count, size_t below,
                         rk_line_cost *out_lines) {
    size_t count = 0, k;
    for (size_t i = 0; i < group_count; i++) {
        const rk_stack_frame *line = called_by(group[i], below);
        for (k = 0; k < count && !is_same(out_lines[k].frame, line, SAME_LINE);)
            k++;
        if (!line || k == LINES_MAX)
            continue;
        if (k == count)
            out_lines[count++] = (rk_line_cost){line, 0};
        out_lines[k].cost_ns += rk_explained_cost_ns(group[i]->item);
    }
    rk_sort_costly_lines(out_lines, count);
    return count;
}

static void add_lines(late *const *group, size_t group_count, size_t below, rk_buf *out) {
    rk_line_cost lines[LINES_MAX];
    rk_add_costly_lines(lines, take_lines(group, group_count, below, lines), out);
}

static bool is_same_place(late *const *group, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (!is_same(place_of(group[i]), place_of(group[0]), SAME_LINE))
            return false;
    return true;
}

// Returns whether operations of the line have another size each time: then the line cannot be one
// program.
static bool changes_size(const rk_explanation *x, size_t process, const rk_stack_frame *place) {
    enum { SIZES_MIN = 3 };
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (item->is_eager && item->cause == RK_CAUSE_SHAPE && item->program &&
            item->compile->process == process && item->program->sketch.call.file &&
            item->program->sketch.call.line == place->line)
            count += strcmp(item->program->sketch.call.file, place->file) == 0;
    }
    return count >= SIZES_MIN;
}

// Returns whether most of the operations come from lines, so many calls below the places, that call
// a library which also runs the steps (NumPyro's mcmc.run).
static bool library_runs_steps(const rk_explainer *e, late *const *group, size_t count,
                               size_t below) {
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *line = called_by(group[i], below),
                             *called = frame_at(&group[i]->stack, group[i]->depth + below + 1);
        runs += line && called && !rk_is_user_frame(called) &&
                runs_steps(e, group[i]->item->compile->process, line);
    }
    return 2 * runs > count;
}

static void describe_call(late *const *group, size_t count, const rk_stack_frame *called,
                          rk_pattern_text *text) {
    const char *jit = jit_for(group, count);
    bool is_one = is_same_place(group, count);
    size_t inside = count_inside(group, count);
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
        "If %s only calculates and returns arrays, compile it as one program: %s(%s).%s If it "
        "returns a function, jit a function of your own that calls both. If it also does other "
        "things (it is a generator, or reads values), jit a function with what it calculates.",
        called->function, jit, called->function,
        strcmp(jit, "jax.jit") == 0 ? " Bind arguments that are not arrays with functools.partial."
                                    : "");
}

static void describe_lines(const rk_explanation *x, late *const *group, size_t count, scope in,
                           rk_pattern_text *text) {
    const char *what = in == SAME_LINE ? "this line" : "these lines";
    bool is_script = is_in_script(group);
    rk_buf_add_text(&text->summary, in == SAME_LINE ? ", on one line" : ", on ");
    if (in == SAME_FUNCTION)
        add_lines(group, count, 0, &text->summary);
    if (in == SAME_LINE && changes_size(x, group[0]->item->compile->process, place_of(group[0]))) {
        rk_buf_add_text(&text->advice,
                        "Operations of this line have another size each time, so the line cannot "
                        "become one program: pad to one size and mask the padding.");
        return;
    }
    rk_buf_add_format(
        &text->advice, "Put what %s calculate%s into %s, so that %s one program%s.", what,
        in == SAME_LINE ? "s" : "",
        is_script && in == SAME_FUNCTION ? "functions, and jit those" : "a function, and jit that",
        is_script && in == SAME_FUNCTION ? "each is" : "it is",
        calls_library(group, count) ? ", if the library that is called allows it" : "");
    rk_buf_add_text(&text->advice,
                    " Pass arrays that change as arguments: an array that the function takes from "
                    "an object or a closure becomes a constant, and each new array is another "
                    "program. Code that reads a value to choose a branch or a size (.item(), "
                    "x[mask]) cannot be jitted");
    if (!calls_library(group, count) && !(in == SAME_LINE && has_product(group, count)))
        rk_buf_add_text(&text->advice, "; NumPy can calculate it (jax.device_get)");
    rk_buf_add_text(&text->advice, calls_package(group, count)
                                       ? ". If a library that is not JAX takes the arrays, such as "
                                         "one for plots, pass it NumPy arrays (jax.device_get)."
                                       : ".");
}

static void describe(const rk_explainer *e, late *const *group, size_t count, scope in,
                     rk_pattern_text *text) {
    const rk_stack_frame *called = in == SAME_LINE ? find_called(group, count) : NULL;
    bool is_after = true; // as far as the steps are known
    for (size_t i = 0; i < count; i++)
        is_after &= group[i]->item->step != RK_NO_STEP && group[i]->item->step > 0;
    // Other findings may count some operations, and control flow (jax.lax.cond) does not count.
    rk_buf_add_format(&text->summary,
                      "at least %zu operations%s are compiled one by one, each as a program of its "
                      "own",
                      count, is_after ? " after the first step" : "");
    if (in == SAME_LINE && library_runs_steps(e, group, count, called ? 1 : 0)) {
        if (called)
            rk_buf_add_format(&text->summary, ", in the call of %s", called->function);
        else
            rk_buf_add_text(&text->summary, ", on one line");
        rk_buf_add_text(&text->advice,
                        RK_LIBRARY_RUNS_STEPS " If the whole call can be inside a jitted "
                                              "function, for example without a progress bar, jit "
                                              "it.");
    } else if (called) {
        describe_call(group, count, called, text);
    } else {
        describe_lines(e->out, group, count, in, text);
    }
}

static rk_err *report(rk_explainer *e, late *const *group, size_t count, scope in) {
    RK_AUTO(rk_members) members = {0};
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    for (size_t i = 0; i < count; i++) {
        group[i]->is_reported = true;
        RK_TRY(rk_members_add(&members, group[i]->item));
    }
    if (in == SAME_LINE)
        descend(group, count);
    describe(e, group, count, in, &text);
    rk_line_cost lines[LINES_MAX];
    const rk_stack_frame *place =
        take_lines(group, count, 0, lines) ? lines[0].frame : place_of(group[0]);
    return rk_pattern_add(e->out, RK_PATTERN_FRAGMENTS, members.items, members.count, &text,
                          place->file, place->line);
}

static const rk_stack_frame *inner_line_of(const late *one) {
    return frame_at(&one->stack, innermost_line(&one->stack));
}

// The line of the user that more than half of the operations come from; NULL if there is none.
static const rk_stack_frame *find_inner_line(late *const *group, size_t count) {
    const rk_stack_frame *line = NULL;
    size_t votes = 0;
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *one = inner_line_of(group[i]);
        if (votes == 0)
            line = one;
        votes += is_same(one, line, SAME_LINE) ? 1 : (size_t)-1;
    }
    return line;
}

// If the place calls a library that comes back to one line of the user for nearly all operations,
// and that line has another size each time, then that line is the place: the call cannot become one
// program. The few others do not count. Returns the new number.
static size_t take_inner_line(const rk_explanation *x, late **group, size_t count) {
    enum { NEARLY_ALL = 9, OF = 10 };
    const rk_stack_frame *line = find_inner_line(group, count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        kept += !called_by(group[i], 1) && innermost_line(&group[i]->stack) > group[i]->depth &&
                is_same(inner_line_of(group[i]), line, SAME_LINE);
    if (kept == 0 || OF * kept < NEARLY_ALL * count ||
        !changes_size(x, group[0]->item->compile->process, line))
        return count;
    kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_same(inner_line_of(group[i]), line, SAME_LINE)) {
            group[i]->is_reported = true;
            continue;
        }
        group[i]->depth = innermost_line(&group[i]->stack);
        group[kept++] = group[i];
    }
    return kept;
}

// If all operations of a group come from one function that the place calls, adds those of its other
// calls. Returns the new number.
static size_t add_other_calls(lates *list, late **group, size_t count) {
    const rk_stack_frame *called = find_called(group, count);
    const size_t of_line = count;
    for (size_t i = 0; i < list->count && called; i++) {
        late *one = &list->items[i];
        bool is_new = !one->is_reported && is_same(called_by(one, 1), called, SAME_FUNCTION);
        for (size_t k = 0; k < of_line && is_new; k++)
            is_new = group[k] != one;
        if (is_new)
            group[count++] = one;
    }
    return count;
}

// Reports the late operations with the same place as `first`, if they are many.
static rk_err *look_from(rk_explainer *e, lates *list, size_t first, scope in, bool *out_found) {
    uint64_t cost_ns = 0;
    size_t count = 0;
    rk_autofree late **group = rk_calloc(list->count, sizeof *group);
    if (!group)
        return rk_err_no_memory();
    for (size_t i = first; i < list->count; i++) {
        late *one = &list->items[i];
        if (one->is_reported || !is_same(place_of(one), place_of(&list->items[first]), in))
            continue;
        cost_ns += one->item->compile->compile_ns;
        group[count++] = one;
    }
    if (count < PROGRAMS_MIN || cost_ns < COST_MIN_NS)
        return NULL;
    *out_found = true;
    if (in == SAME_LINE) {
        count = take_inner_line(e->out, group, count);
        count = add_other_calls(list, group, count);
    }
    return report(e, group, count, in);
}

// First the lines and calls that are worth a finding alone, then the rest of a function.
static rk_err *look_at(rk_explainer *e, size_t process, bool *out_found) {
    __attribute__((cleanup(lates_cleanup))) lates list = {0};
    RK_TRY(collect(e, process, &list));
    for (int in = SAME_LINE; in <= SAME_FUNCTION; in++)
        for (size_t i = 0; i < list.count; i++)
            if (!list.items[i].is_reported)
                RK_TRY(look_from(e, &list, i, (scope)in, out_found));
    return NULL;
}

// All ranks do the same: the first process with such a place stands for all.
rk_err *rk_find_late_operations(rk_explainer *e) {
    bool found = false;
    for (size_t p = 0; p < e->run->process_count && !found; p++)
        RK_TRY(look_at(e, p, &found));
    return NULL;
}
