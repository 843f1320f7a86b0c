#include "cli/diff_view.h"

#include <stdio.h>

#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"
#include "diagnose/diff/components.h"
#include "diagnose/diff/recorded.h"
#include "diagnose/diff/value_words.h"

static json_t *stack_json(const rk_stack *stack) {
    json_t *array = rk_out_array();
    for (size_t i = 0; i < stack->count; i++) {
        json_t *frame = rk_out_object();
        rk_out_set(frame, "file", rk_out_nullable(stack->frames[i].file));
        rk_out_set(frame, "line", rk_out_uint(stack->frames[i].line));
        rk_out_set(frame, "function", rk_out_nullable(stack->frames[i].function));
        rk_out_append(array, frame);
    }
    return array;
}

static json_t *difference_json(const rk_difference *d, bool stacks) {
    json_t *object = rk_out_object();
    rk_out_set(object, "kind", rk_out_string(rk_difference_kind_name(d->kind)));
    rk_out_set(object, "function", rk_out_nullable(d->function));
    rk_out_set(object, "op", rk_out_nullable(d->op));
    rk_out_set(object, "attribute", rk_out_nullable(d->attribute));
    rk_out_set(object, "before", rk_out_nullable(d->before));
    rk_out_set(object, "after", rk_out_nullable(d->after));
    rk_out_set(object, "file", rk_out_nullable(d->file));
    rk_out_set(object, "line", d->file ? rk_out_uint(d->line) : json_null());
    if (stacks)
        rk_out_set(object, "stack", stack_json(&d->stack));
    return object;
}

void rk_diff_view_add_json(json_t *array, const rk_differences *list, bool stacks) {
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].follows)
            rk_out_append(array, difference_json(&list->items[i], stacks));
}

static const char *or_none(const char *text) {
    return text ? text : "none";
}

// Returns whether a sharding of Shardy shards no dimension: "[{}, {}]".
static bool shards_nothing(const char *text) {
    return text[0] == '[' && text[strspn(text, "[]{}, ")] == '\0';
}

// Appends what a sharding means, if it is one of the plain ones.
static void write_sharding_words(const char *text, rk_buf *out) {
    unsigned device;
    char end;
    const char *maximal = text ? strstr(text, "{maximal device=") : NULL;
    if (!text || strcmp(text, "none") == 0)
        rk_buf_add_text(out, " (no sharding is given)");
    else if (shards_nothing(text) || strstr(text, "{replicated}"))
        rk_buf_add_text(out, " (replicated on all its devices)");
    else if (maximal && sscanf(maximal, "{maximal device=%u%c", &device, &end) == 2 && end == '}')
        rk_buf_add_format(out, " (on device %u alone)", device);
}

// Writes the two sides of a sharding, with what they mean.
static void write_shardings(const rk_difference *d, rk_buf *out) {
    rk_buf_add_format(out, ": %s", or_none(d->before));
    write_sharding_words(d->before, out);
    rk_buf_add_format(out, " → %s", or_none(d->after));
    write_sharding_words(d->after, out);
}

static void write_plain(const rk_difference *d, rk_buf *out) {
    const char *attribute = d->attribute ? d->attribute : "";
    bool is_input = rk_is_of_input(d);
    switch (d->kind) {
    case RK_DIFFERENCE_PARAMETER_ADDED:
    case RK_DIFFERENCE_PARAMETER_REMOVED:
        if (d->before && d->after) {
            rk_buf_add_format(out, "%s: %s → %s", attribute, d->before, d->after);
            return;
        }
        if (is_input && !*attribute)
            rk_buf_add_text(out, d->after ? "one more input" : "one input fewer");
        else
            rk_buf_add_format(out, "%s%s %s", is_input ? "input " : "", attribute,
                              d->after ? "added" : "removed");
        rk_buf_add_format(out, ": %s", or_none(d->after ? d->after : d->before));
        if (d->constant)
            rk_buf_add_format(out, "; the %s program has the constant %s in its place",
                              d->after ? "earlier" : "later", d->constant);
        return;
    case RK_DIFFERENCE_OP_ADDED:
    case RK_DIFFERENCE_OP_REMOVED:
        rk_value_words_add_operation(d, out);
        return;
    default:
        break;
    }
    if (strcmp(attribute, RK_WHY_NOT_KEPT) == 0 || strcmp(attribute, RK_COMPILER_ERROR) == 0) {
        rk_buf_add_format(out, "%s: %s", attribute, or_none(d->after));
        return;
    }
    if (strcmp(attribute, RK_UNNAMED_OPTIONS) == 0 ||
        strcmp(attribute, RK_UNNAMED_ENVIRONMENT) == 0)
        rk_buf_add_text(out, attribute);
    else if (d->kind >= RK_DIFFERENCE_OPTION)
        rk_buf_add_format(out, "%s %s", rk_difference_kind_name(d->kind), rk_value_words_name(d));
    else if (is_input)
        rk_buf_add_format(out, "input %s", attribute);
    else if (d->kind == RK_DIFFERENCE_CONSTANT)
        rk_buf_add_format(out, "constant in %s", rk_value_words_op(d));
    else
        rk_buf_add_format(out, "%s%s%s", rk_value_words_op(d), *attribute ? " " : "", attribute);
    if (d->kind == RK_DIFFERENCE_SHARDING && is_input) {
        write_shardings(d, out);
        return;
    }
    if (rk_same_text(d->before, d->after)) {
        rk_buf_add_text(out, " differs");
        return;
    }
    rk_buf_add_text(out, ": ");
    rk_value_words_add(d, d->before, out);
    rk_buf_add_text(out, " → ");
    rk_value_words_add(d, d->after, out);
    if (d->has_others)
        rk_buf_add_text(out, ", and other constants of this line");
}

void rk_diff_view_write(const rk_difference *difference, rk_buf *out) {
    RK_AUTO(rk_buf) plain = {0};
    write_plain(difference, &plain);
    rk_text_add_printable(out, rk_buf_span(&plain));
}

static void print_place(const char *file, uint32_t line, const char *function, bool is_head,
                        size_t indent, FILE *out) {
    RK_AUTO(rk_buf) place = {0};
    rk_buf_add_format(&place, "%*s%s", (int)indent, "",
                      rk_style(is_head ? RK_STYLE_BOLD : RK_STYLE_NONE, stdout));
    rk_text_add_printable(&place, rk_span_text(file));
    rk_buf_add_format(&place, ":%u%s%s", line, rk_style(RK_STYLE_NONE, stdout),
                      function ? " in " : "");
    rk_text_add_printable(&place, rk_span_text(function ? function : ""));
    rk_term_wrap(rk_need_text(&place), 0, indent, rk_term_columns(stdout), out);
}

// True if the location of the difference is the first frame of its stack.
static bool is_innermost(const rk_difference *d) {
    return d->file && d->stack.count && d->stack.frames[0].line == d->line &&
           strcmp(d->stack.frames[0].file, d->file) == 0;
}

static bool is_same_call(const rk_difference *a, const rk_difference *b) {
    if (!a || a->stack.count != b->stack.count)
        return false;
    for (size_t i = 1; i < a->stack.count; i++)
        if (a->stack.frames[i].line != b->stack.frames[i].line ||
            strcmp(or_none(a->stack.frames[i].file), or_none(b->stack.frames[i].file)) != 0)
            return false;
    return a->stack.count > 1;
}

// Prints the call stack of a difference. Without `all`, a terminal gets the innermost frames only:
// in one output at most as many as half of what rk_term_two_screens allows.
static void print_stack(const rk_difference *d, const rk_difference *above, bool all, size_t indent,
                        FILE *out) {
    enum { FRAMES_SHOWN = 6, NOT_COUNTED = 0 };
    static size_t budget = NOT_COUNTED; // frames that may still be printed, and 1
    size_t from = is_innermost(d) ? 1 : 0, count = d->stack.count, screens;
    if (count > from && is_same_call(above, d)) {
        (void)fprintf(out, "%*scalled as above\n", (int)indent, "");
        return;
    }
    screens = all ? SIZE_MAX : rk_term_two_screens(stdout);
    if (budget == NOT_COUNTED)
        budget = screens / 2 + 1;
    size_t most =
        screens == SIZE_MAX ? SIZE_MAX : (budget - 1 < FRAMES_SHOWN ? budget - 1 : FRAMES_SHOWN);
    size_t end = count - from > most ? from + most : count;
    for (size_t k = from; k < end; k++)
        print_place(d->stack.frames[k].file, d->stack.frames[k].line, d->stack.frames[k].function,
                    false, indent, out);
    budget -= screens == SIZE_MAX ? 0 : end - from;
    if (end < count)
        (void)fprintf(out, "%*s%s%zu frame%s more: --all shows them\n", (int)indent, "",
                      end > from ? "and " : "", count - end, rk_text_plural(count - end));
}

void rk_diff_view_print_list(const rk_differences *list, size_t indent, size_t most, bool stacks,
                             FILE *out) {
    size_t shown = 0;
    const rk_difference *above = NULL;
    for (size_t i = 0; i < list->count && shown < most; i++) {
        const rk_difference *d = &list->items[i];
        if (d->follows)
            continue;
        RK_AUTO(rk_buf) line = {0};
        rk_buf_add_format(&line, "%*s", (int)indent, "");
        rk_diff_view_write(d, &line);
        rk_term_wrap(rk_need_text(&line), 0, indent + 2, rk_term_columns(stdout), out);
        if (d->file)
            print_place(d->file, d->line, d->function, true, indent + 4, out);
        if (stacks)
            print_stack(d, above, most == SIZE_MAX, indent + 8, out);
        above = d;
        shown++;
    }
    if (list->cause_count > shown)
        (void)fprintf(out, "%*sand %zu more: --all shows them\n", (int)indent, "",
                      list->cause_count - shown);
}

static json_t *side_json(const rk_diff_side *side) {
    json_t *object = rk_out_object();
    char hex[RK_DIGEST_HEX_CHARS + 1] = "";
    if (side->program)
        rk_digest_to_hex(side->program, hex);
    rk_out_set(object, side->is_key ? "key" : "file", rk_out_nullable(side->what));
    rk_out_set(object, "program", rk_out_string(hex));
    rk_out_set(object, "name", rk_out_nullable(side->name));
    rk_out_set(object, "run", rk_out_nullable(side->run));
    return object;
}

static const char *cause_word(rk_cause cause) {
    return cause == RK_CAUSE_FIRST ? NULL : rk_cause_name(cause);
}

void rk_diff_view_json(const rk_diff_side *a, const rk_diff_side *b, const rk_program_diff *diff,
                       const rk_diff_how *how) {
    json_t *object = rk_out_object(), *list = rk_out_array(), *following = rk_out_array();
    rk_out_set(object, "a", side_json(a));
    rk_out_set(object, "b", side_json(b));
    rk_out_set(object, "cause", rk_out_string(cause_word(diff->cause)));
    rk_diff_view_add_json(list, &diff->list, how->stacks);
    rk_out_set(object, "differences", list);
    for (size_t i = 0; i < diff->list.count; i++)
        if (diff->list.items[i].follows)
            rk_out_append(following, difference_json(&diff->list.items[i], false));
    rk_out_set(object, "following", following);
    json_t *ops = rk_out_object();
    rk_out_set(ops, "same_place", rk_out_uint(diff->matched));
    rk_out_set(ops, "added", rk_out_uint(diff->added));
    rk_out_set(ops, "removed", rk_out_uint(diff->removed));
    rk_out_set(object, "operations", ops);
    rk_out_print(object);
}

static void print_side(const char *label, const rk_diff_side *side) {
    RK_AUTO(rk_buf) line = {0};
    if (side->is_key)
        rk_buf_add_format(&line, "%.12s", side->what);
    else
        rk_text_add_printable(&line, rk_span_text(side->what));
    if (side->name) {
        rk_buf_add_text(&line, "  ");
        rk_text_add_printable(&line, rk_span_text(side->name));
    }
    if (side->run) {
        rk_buf_add_text(&line, "  of run ");
        rk_text_add_printable(&line, rk_span_text(side->run));
    }
    (void)printf("%s  ", label);
    rk_term_wrap(rk_need_text(&line), 3, 3, rk_term_columns(stdout), stdout);
}

void rk_diff_view_print(const rk_diff_side *a, const rk_diff_side *b, const rk_program_diff *diff,
                        const rk_diff_how *how) {
    enum { LISTED = 16 };
    print_side("A", a);
    print_side("B", b);
    if (diff->cause == RK_CAUSE_FIRST) {
        (void)printf("\nNo difference affects the compiler.\n");
        return;
    }
    (void)printf("\n%s%s%s\n", rk_style(RK_STYLE_BOLD, stdout), rk_cause_words(diff->cause),
                 rk_style(RK_STYLE_NONE, stdout));
    rk_diff_view_print_list(&diff->list, 2, how->all ? SIZE_MAX : LISTED, how->stacks, stdout);
    size_t following = diff->list.count - diff->list.cause_count + diff->list.left_out;
    RK_AUTO(rk_buf) line = {0};
    rk_buf_add_format(&line, "%zu operation%s the same in kind", diff->matched,
                      diff->matched == 1 ? " is" : "s are");
    if (diff->added || diff->removed)
        rk_buf_add_format(&line, ", %zu added, %zu removed", diff->added, diff->removed);
    if (following)
        rk_buf_add_format(
            &line, "; %zu further difference%s follow%s from the above, or %s on these lines",
            following, rk_text_plural(following), following == 1 ? "s" : "",
            following == 1 ? "is" : "are");
    rk_buf_add_byte(&line, '.');
    (void)putchar('\n');
    rk_term_line(rk_need_text(&line), 0);
}
