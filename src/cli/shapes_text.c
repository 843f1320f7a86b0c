#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/shapes_advice.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verb.h"

static void print_sentence(const rk_buf *text, FILE *out) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_text_add_printable(&line, rk_buf_span(text));
    (void)fprintf(out, "  ");
    rk_term_wrap(rk_need_text(&line), 2, 2, rk_term_columns(stdout), out);
}

// The length of the first parameter in a list of parameters: up to a comma outside of brackets.
static size_t first_parameter(const char *list) {
    size_t depth = 0, len = 0;
    for (; list[len] && (depth > 0 || list[len] != ','); len++) {
        depth += list[len] == '[' || list[len] == '(';
        depth -= depth > 0 && (list[len] == ']' || list[len] == ')');
    }
    return len;
}

// Appends the inputs that have the axis: "f32[n,8], s32[n] and 3 more". All weights of a model are
// parameters, too, so the others are left out.
static void add_inputs(const rk_shapes_advice *a, rk_buf *out) {
    enum { INPUTS_SHOWN = 4, MARK = 2 };
    static const char mark[] = {MARK, '\0'};
    RK_AUTO(rk_buf) all = RK_BUF_INIT(0);
    rk_shapes_add_parameters(a, mark, &all);
    size_t shown = 0, more = 0, len;
    for (const char *at = rk_need_text(&all); *at; at += len + (at[len] == ',')) {
        len = first_parameter(at);
        if (!memchr(at, MARK, len))
            continue;
        if (shown == INPUTS_SHOWN) {
            more++;
            continue;
        }
        rk_buf_add_text(out, shown++ ? ", " : "");
        for (size_t i = 0; i < len; i++)
            if (at[i] != MARK)
                rk_buf_add_byte(out, (uint8_t)at[i]);
    }
    if (more)
        rk_buf_add_format(out, " and %zu more", more);
}

static void add_sizes(const rk_shapes_advice *a, rk_buf *out) {
    enum { SIZES_SHOWN = 8 };
    size_t count = a->family->member_count;
    rk_buf_add_format(out, "It has a program for each of %zu sizes n: ", count);
    if (count > SIZES_SHOWN)
        rk_buf_add_format(out, "%" PRIu64 " to %" PRIu64, a->sizes[0].size,
                          a->sizes[count - 1].size);
    for (size_t i = 0; i < count && count <= SIZES_SHOWN; i++)
        rk_buf_add_format(out, "%s%" PRIu64,
                          i == 0          ? ""
                          : i + 1 < count ? ", "
                                          : " and ",
                          a->sizes[i].size);
    rk_buf_add_format(out, ". Compiling them takes %s.", rk_text_seconds(a->compile_ns).text);
}

static void add_plan(rk_table *table, const rk_bucket_plan *plan, rk_style_name style) {
    RK_AUTO(rk_buf) sizes = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) waste = RK_BUF_INIT(0);
    rk_buf_add_text(&sizes, "  ");
    rk_shapes_add_bounds(plan, ", ", &sizes);
    rk_shapes_add_percent(plan->waste, &waste);
    rk_table_add(table, style, rk_need_text(&sizes));
    rk_table_add(table, style, rk_text_count(plan->count).text);
    rk_table_add(table, RK_STYLE_NONE, rk_text_seconds(plan->compile_ns).text);
    rk_table_add(table, RK_STYLE_NONE, rk_text_seconds(plan->saved_ns).text);
    rk_table_add(table, RK_STYLE_NONE, rk_need_text(&waste));
}

// Without `all`: the recommended plan and its neighbours.
static void print_plans(const rk_shapes_advice *a, bool all, FILE *out) {
    static const rk_table_column columns[] = {{.title = "  PAD n TO", .least = 20, .wrap = true},
                                              {.title = "PROGRAMS", .right = true},
                                              {.title = "COMPILE TIME", .right = true},
                                              {.title = "SAVED", .right = true},
                                              {.title = "PADDING", .right = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    for (size_t i = 0; i < a->plan_count; i++) {
        bool near = i + 1 >= a->chosen && i <= a->chosen + 1;
        if (all || near)
            add_plan(&table, &a->plans[i],
                     i == a->chosen && rk_shapes_is_worth_it(a) ? RK_STYLE_GOOD : RK_STYLE_NONE);
    }
    rk_table_print(&table, rk_term_columns(stdout), out);
}

static void print_family(const rk_shapes_advice *a, bool all, FILE *out) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_seen_print_name(rk_shapes_member(a, 0), &name);
    rk_buf_add_text(&line, rk_style(RK_STYLE_BOLD, stdout));
    rk_text_add_printable(&line, rk_buf_span(&name));
    rk_buf_add_format(&line, "%s (%.12s and %zu more)", rk_style(RK_STYLE_NONE, stdout),
                      rk_shapes_member(a, 0)->compile->key, a->family->member_count - 1);
    if (a->call.place.len > 0) {
        rk_buf_add_text(&line, a->call.is_line ? ", with most operations from " : ", called at ");
        rk_text_add_printable(&line, rk_buf_span(&a->call.place));
    }
    (void)fputc('\n', out);
    rk_term_wrap(rk_need_text(&line), 0, 2, rk_term_columns(stdout), out);
    rk_buf_clear(&line);
    rk_buf_add_text(&line, "Inputs of different size n: ");
    add_inputs(a, &line);
    print_sentence(&line, out);
    rk_buf_clear(&line);
    add_sizes(a, &line);
    print_sentence(&line, out);
    rk_buf_clear(&line);
    rk_shapes_add_recommendation(a, &line);
    print_sentence(&line, out);
    if (!rk_shapes_is_worth_it(a) && !all)
        return;
    (void)fputc('\n', out);
    print_plans(a, all, out);
}

static int costliest_first(const void *a, const void *b) {
    uint64_t one = (*(const rk_shapes_advice *const *)a)->compile_ns;
    uint64_t other = (*(const rk_shapes_advice *const *)b)->compile_ns;
    return (one < other) - (one > other);
}

// The families that are worth a look, the costliest first. Single operations, and functions that
// are called for several tensors, are no functions whose inputs a user could pad: their sizes are
// mostly those of weights.
static size_t choose(const rk_seen_list *seen, const rk_shapes_advice *advices, size_t count,
                     bool all, const rk_shapes_advice **out) {
    enum { PARTS_OF_ALL = 100 };
    uint64_t total_ns = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < seen->count; i++)
        total_ns += seen->items[i].compile_ns;
    for (size_t i = 0; i < count; i++) {
        const rk_shapes_advice *a = &advices[i];
        bool is_costly = a->compile_ns > 0 && a->compile_ns >= total_ns / PARTS_OF_ALL;
        if (all || (is_costly && !a->call.is_eager && !a->is_of_several_tensors))
            out[chosen++] = a;
    }
    qsort(out, chosen, sizeof(const rk_shapes_advice *), costliest_first);
    return chosen;
}

static void print_end(const rk_seen_list *seen, size_t hidden) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (hidden == 1)
        rk_buf_add_text(&line,
                        "1 family was left out, because it costs little or is a single operation: "
                        "--all shows it\n");
    else if (hidden > 1)
        rk_buf_add_format(&line,
                          "%zu families were left out, because they cost little or are single "
                          "operations: --all shows them\n",
                          hidden);
    if (seen->unread > 0)
        rk_buf_add_format(&line,
                          "%" PRIu64 " program%s could not be looked at: %s (`rekindle explain` "
                          "says why)\n",
                          seen->unread, rk_text_plural(seen->unread),
                          seen->unread == 1 ? "it is not in the store, or cannot be read"
                                            : "they are not in the store, or cannot be read");
    size_t columns = rk_term_columns(stdout);
    if (line.len)
        (void)putchar('\n');
    rk_term_print_wrapped(rk_need_text(&line), 2, columns ? columns : SIZE_MAX, stdout);
}

static bool has_compiled(const rk_seen_list *seen) {
    for (size_t i = 0; i < seen->count; i++)
        if (seen->items[i].compile->compiled)
            return true;
    return false;
}

static void print_head(const char *run, const rk_seen_list *seen, size_t chosen) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_format(&line, "run %s%s%s: ", rk_style(RK_STYLE_BOLD, stdout), run,
                      rk_style(RK_STYLE_NONE, stdout));
    if (chosen)
        rk_buf_add_format(&line,
                          "%zu famil%s of programs that differ only in a size n of their inputs",
                          chosen, chosen == 1 ? "y" : "ies");
    else if (!seen->count)
        rk_buf_add_text(&line, "nothing can be said of padding: no program of the run could be "
                               "looked at.");
    else
        rk_buf_add_text(&line,
                        "there is nothing to pad: no function that took a notable part of the "
                        "compile time was compiled for several sizes of its inputs.");
    rk_term_line(rk_need_text(&line), 0);
    if (!chosen)
        return;
    rk_buf_clear(&line);
    rk_buf_add_text(&line, "First see `rekindle explain");
    rk_verb_add_dir(&line);
    if (has_compiled(seen))
        rk_buf_add_format(&line, " --run %s`", run);
    else
        rk_buf_add_text(&line, "` of the run that compiled these programs");
    rk_buf_add_text(&line, ": a smaller last batch can be dropped, a mask can replace a "
                           "selection of elements, and with BatchNorm padding changes the result.");
    rk_term_line(rk_need_text(&line), 0);
}

void rk_shapes_print_text(const char *run, const rk_seen_list *seen,
                          const rk_shapes_advice *advices, size_t count,
                          const rk_shapes_request *request) {
    rk_autofree const rk_shapes_advice **list = rk_need(rk_calloc(count + 1, sizeof *list));
    size_t chosen = choose(seen, advices, count, request->all, list);
    rk_page page = rk_page_start(request->all);
    print_head(run, seen, chosen);
    for (size_t i = 0; i < chosen; i++) {
        char *text = NULL;
        size_t len = 0;
        FILE *out = rk_need(open_memstream(&text, &len));
        print_family(list[i], request->all, out);
        (void)fclose(out);
        rk_page_add(&page, rk_need(text));
        free(text);
    }
    print_end(seen, page.hidden + count - chosen);
}
