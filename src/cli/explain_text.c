// The findings of an explanation as text.
#include <stdio.h>
#include <stdlib.h>

#include "cli/diff_view.h"
#include "cli/explain_internal.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"

enum { WIDTH = 100, CAUSES_SHOWN = 12, PATTERNS_SHOWN = 8, DIFFERENCES_SHOWN = 3 };
enum { NO_CHANGE = 2 }; // the rank of what needs no change

// The columns for prose, which is wrapped at 100 columns even if the output is no terminal.
static size_t prose_columns(void) {
    size_t columns = rk_term_columns(stdout);
    return columns ? columns : WIDTH;
}

static void print_prose(const char *prose, size_t indent, FILE *out) {
    RK_AUTO(rk_buf) line = {0};
    rk_text_add_printable(&line, rk_span_text(prose));
    (void)fprintf(out, "%*s", (int)indent, "");
    rk_term_wrap(rk_need_text(&line), indent, indent, prose_columns(), out);
}

static void print_place(const char *file, uint32_t line, size_t indent, FILE *out) {
    if (!file)
        return;
    RK_AUTO(rk_buf) place = {0};
    rk_buf_add_format(&place, "%*s%s", (int)indent, "", rk_style(RK_STYLE_BOLD, stdout));
    rk_text_add_printable(&place, rk_span_text(file));
    rk_buf_add_format(&place, ":%u%s", line, rk_style(RK_STYLE_NONE, stdout));
    rk_explain_print_line(&place, indent, out);
}

// One of the things that the text lists: a pattern, or a compilation that is in no pattern.
typedef struct finding {
    const rk_pattern *pattern; // NULL: a compilation
    const rk_explained *item;
    uint64_t cost_ns;
    const rk_explained *like; // of the finding above that says the same, and is printed; NULL: none
    size_t alike_count;       // those further down that say the same
    uint64_t alike_ns, alike_max_ns; // their cost together; the highest
} finding;

// What is listed above a finding.
typedef struct listed {
    const finding **items; // borrowed
    size_t count;
} listed;

static const char *advice_of(const finding *one) {
    const char *advice = one->pattern ? one->pattern->advice : one->item->advice;
    return advice ? advice : "";
}

// Appends what names a finding that has advice: its request, or the line of a pattern. Returns
// false if a pattern has no line.
static bool add_reference(const rk_explanation *x, const finding *one, rk_buf *out) {
    if (!one->pattern) {
        rk_buf_add_format(out, "request %llu", (unsigned long long)one->item->compile->seq);
        if (x->run->process_count > 1)
            rk_buf_add_format(out, " of rank %u",
                              x->run->processes[one->item->compile->process].rank);
        return true;
    }
    const char *file = one->pattern->file, *slash = file ? strrchr(file, '/') : NULL;
    if (!file)
        return false;
    rk_buf_add_format(out, "%s on line %u of ", rk_pattern_words(one->pattern), one->pattern->line);
    rk_text_add_printable(out, rk_span_text(slash ? slash + 1 : file));
    return true;
}

// Prints advice. `rekindle shapes` in it gets the run, unless that is the last one.
static void print_text_of_advice(const char *advice, const rk_explain_how *how, FILE *out) {
    static const char command[] = "`rekindle shapes";
    RK_AUTO(rk_buf) text = {0};
    const char *at = how->run ? strstr(advice, command) : NULL;
    if (!at) {
        print_prose(advice, 2, out);
        return;
    }
    at += strlen(command);
    rk_buf_add_format(&text, "%.*s --run %s%s", (int)(at - advice), advice, how->run, at);
    print_prose(rk_need_text(&text), 2, out);
}

// Prints the advice. If a finding above has the same, refers to the first that has.
static void print_advice(const rk_explanation *x, const finding *one, const listed *above,
                         const rk_explain_how *how, FILE *out) {
    const char *advice = advice_of(one);
    if (!*advice)
        return;
    for (size_t i = 0; i < above->count; i++) {
        RK_AUTO(rk_buf) other = {0};
        if (strcmp(advice_of(above->items[i]), advice) != 0 ||
            !add_reference(x, above->items[i], &other))
            continue;
        rk_buf_add_text(&other, " applies here, too.");
        (void)fprintf(out, "  The advice for ");
        rk_term_wrap(rk_need_text(&other), 17, 2, prose_columns(), out);
        return;
    }
    print_text_of_advice(advice, how, out);
}

static void print_pattern(const rk_pattern *pattern, FILE *out) {
    const uint64_t shown_min_ns = 10000000; // less is no loss
    uint64_t cost_ns = rk_pattern_cost_ns(pattern);
    bool costs = cost_ns >= shown_min_ns;
    (void)fprintf(out, "\n%s%s (%s)%s%s%s\n", rk_style(RK_STYLE_BAD, stdout),
                  rk_pattern_words(pattern), rk_pattern_kind_name(pattern->kind),
                  rk_style(RK_STYLE_NONE, stdout), costs ? ", " : "",
                  costs ? rk_text_seconds(cost_ns).text : "");
    print_prose(pattern->summary, 2, out);
    print_place(pattern->file, pattern->line, 2, out);
}

// Versions of libraries that changed since the program was compared with.
static void print_libraries(const rk_explained *item, FILE *out) {
    RK_AUTO(rk_buf) line = {0};
    if (!rk_explained_has_libraries(item))
        return;
    for (size_t i = 0; i < item->libraries.count; i++) {
        const rk_difference *d = &item->libraries.items[i];
        rk_buf_add_format(&line, "%s%s %s → %s", i ? ", " : "since then: ", d->attribute, d->before,
                          d->after);
    }
    print_prose(rk_need_text(&line), 2, out);
}

// What the compilation was compared with.
static void add_compared(const rk_explained *item, rk_buf *out) {
    if (!item->nearest && item->recorded && item->nearest_run)
        rk_buf_add_format(out,
                          "  compared with %.12s of run %s: the same program; its journal alone, "
                          "because the store does not have it any more",
                          item->recorded->key, item->nearest_run);
    if (item->nearest && !item->nearest_of)
        rk_buf_add_format(out, "  compared with %.12s of run %s", item->nearest->hex,
                          item->nearest_run ? item->nearest_run : item->nearest->run);
    else if (item->nearest_of && item->nearest_of != item->compile &&
             item->cause != RK_CAUSE_DUPLICATE)
        rk_buf_add_format(out, "  compared with request %llu of this run (%.12s)",
                          (unsigned long long)item->nearest_of->seq, item->nearest->hex);
}

// The line that calls a program without differences.
static void print_call(const rk_explained *item, FILE *out) {
    const rk_known *known = item->program;
    const rk_sketch_line *place =
        known && known->has_sketch ? rk_sketch_place(&known->sketch) : NULL;
    if (place && !item->differences.count)
        print_place(place->file, place->line, 2, out);
}

static void print_compilation(const rk_explanation *x, const rk_explained *item,
                              const rk_explain_how *how, FILE *out) {
    const rk_run_compile *compile = item->compile;
    RK_AUTO(rk_buf) line = {0};
    (void)fprintf(out, "\n");
    rk_explain_add_styled(&line, RK_STYLE_BOLD,
                          item->is_reordered ? "another order of the operations"
                                             : rk_cause_words(item->cause));
    rk_buf_add_text(&line, ": ");
    rk_text_add_printable(&line, rk_span_text(rk_explained_name(item)));
    rk_buf_add_format(&line, ", %s, request %llu",
                      compile->refused ? "refused"
                                       : rk_text_seconds(rk_explained_cost_ns(item)).text,
                      (unsigned long long)compile->seq);
    if (item->step != RK_NO_STEP && item->step > 0)
        rk_buf_add_format(&line, item->is_after_steps ? ", after step %llu" : ", step %llu",
                          (unsigned long long)item->step - item->is_after_steps);
    if (x->run->process_count > 1)
        rk_buf_add_format(&line, " of rank %u", x->run->processes[compile->process].rank);
    rk_explain_print_line(&line, 2, out);
    rk_diff_view_print_list(&item->differences, 2, how->all ? SIZE_MAX : DIFFERENCES_SHOWN,
                            how->stacks, out);
    if (compile->refused)
        print_call(item, out);
    print_libraries(item, out);
    rk_buf_clear(&line);
    add_compared(item, &line);
    if (line.len)
        rk_explain_print_line(&line, 2, out);
}

// What strict mode refused comes first, because the job usually ended with it. Then come causes,
// patterns that are only advice, and causes that need no change.
static int rank_of(const finding *one) {
    if (one->pattern)
        return one->pattern->is_after_causes ? 1 : 0;
    if (one->item->compile->refused)
        return -1;
    return rk_explained_needs_no_change(one->item) ? NO_CHANGE : 0;
}

static uint64_t total_ns(const finding *one) {
    return one->cost_ns + one->alike_ns;
}

// Of equal rank the costliest first.
static int costly_first(const void *a, const void *b) {
    const finding *x = a, *y = b;
    if (rank_of(x) != rank_of(y))
        return rank_of(x) - rank_of(y);
    if (total_ns(x) != total_ns(y))
        return total_ns(x) > total_ns(y) ? -1 : 1;
    if (!x->pattern != !y->pattern)
        return x->pattern ? 1 : -1;
    return x->pattern ? (x->pattern < y->pattern ? -1 : x->pattern > y->pattern)
                      : (x->item < y->item ? -1 : x->item > y->item);
}

static int earliest_first(const void *a, const void *b) {
    const finding *x = a, *y = b;
    return x->item < y->item ? -1 : x->item > y->item;
}

// Compilations of nearly one cost, next to each other in the list, go into the order of their
// requests: their costs differ from run to run.
static void order_equal_costs(finding *list, size_t count) {
    enum { PERCENT = 80 };
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (!list[first].pattern && end < count && !list[end].pattern &&
               rank_of(&list[end]) == rank_of(&list[first]) &&
               total_ns(&list[end]) >= total_ns(&list[first]) / 100 * PERCENT)
            end++;
        qsort(list + first, end - first, sizeof *list, earliest_first);
    }
}

static bool is_same_line(const rk_explained *a, const rk_explained *b) {
    const rk_difference *x = rk_explained_head(a), *y = rk_explained_head(b);
    return x && y && x->file && x->kind == y->kind && rk_is_on_same_line(x, y);
}

// Returns whether a compilation says the same as one above it: the same advice, for what needs no
// change, or for a cause of the same function on the same line.
static bool is_like(const finding *above, const finding *one) {
    const rk_explained *a = above->item, *b = one->item;
    if (!a || !b || a->compile->refused || rank_of(above) != rank_of(one))
        return false;
    bool is_cause = rank_of(one) != NO_CHANGE;
    if (is_cause &&
        (a->cause != b->cause || a->is_reordered != b->is_reordered || !is_same_line(a, b) ||
         !(rk_explained_share_name(a, b) || (a->is_eager && b->is_eager))))
        return false;
    return *advice_of(one) && strcmp(advice_of(above), advice_of(one)) == 0;
}

// Finds the findings that say the same as one above them, and orders the list by what each costs
// together with these.
static void find_alike(finding *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count && !list[i].like; k++) {
            if (list[k].like || !is_like(&list[i], &list[k]))
                continue;
            list[k].like = list[i].item;
            list[i].alike_count++;
            list[i].alike_ns += list[k].cost_ns;
            if (list[k].cost_ns > list[i].alike_max_ns)
                list[i].alike_max_ns = list[k].cost_ns;
        }
    if (count)
        qsort(list, count, sizeof *list, costly_first);
    order_equal_costs(list, count);
}

static size_t collect_findings(const rk_explanation *x, bool all, finding *list) {
    size_t count = 0;
    for (size_t i = 0; i < x->pattern_count; i++)
        list[count++] = (finding){.pattern = &x->patterns[i], .cost_ns = x->patterns[i].lost_ns};
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        bool is_repeated = item->is_loaded && item->cause == RK_CAUSE_FIRST;
        if ((all && !is_repeated) || item->compile->refused ||
            (item->cause != RK_CAUSE_FIRST && !rk_is_in_pattern(x, item, rk_pattern_explains)))
            list[count++] = (finding){.item = item, .cost_ns = rk_explained_cost_ns(item)};
    }
    if (count)
        qsort(list, count, sizeof *list, costly_first);
    order_equal_costs(list, count);
    if (!all)
        find_alike(list, count);
    return count;
}

// Names the compilations further down the list that say the same. What needs no change has the same
// reason; a cause has the same line.
static void print_alike(const rk_explanation *x, const finding *one, const finding *end,
                        FILE *out) {
    enum { NAMED = 4 };
    RK_AUTO(rk_buf) names = {0};
    size_t count = 0;
    for (const finding *other = one + 1; other < end; other++) {
        if (!one->item || other->like != one->item)
            continue;
        if (count++ >= NAMED)
            continue;
        rk_buf_add_format(&names, "%s%llu", count == 1 ? "" : ", ",
                          (unsigned long long)other->item->compile->seq);
        if (x->run->process_count > 1)
            rk_buf_add_format(&names, " of rank %u",
                              x->run->processes[other->item->compile->process].rank);
    }
    if (!count)
        return;
    if (count > NAMED)
        rk_buf_add_format(&names, " and %zu more", count - NAMED);
    RK_AUTO(rk_buf) line = {0};
    rk_buf_add_format(&line,
                      rank_of(one) == NO_CHANGE ? "The same holds for request%s %s"
                                                : "The same line and advice: request%s %s",
                      rk_text_plural(count), rk_need_text(&names));
    rk_buf_add_format(&line, " (%s): --all shows %s", rk_text_seconds(one->alike_ns).text,
                      count == 1 ? "it" : "them");
    print_prose(rk_need_text(&line), 2, out);
}

// The text of a finding. `end`: of the list that it is in. Owned: free.
static char *finding_text(const rk_explanation *x, const finding *one, const finding *end,
                          const listed *above, const rk_explain_how *how) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = rk_need(open_memstream(&text, &len));
    if (one->pattern)
        print_pattern(one->pattern, out);
    else
        print_compilation(x, one->item, how, out);
    print_advice(x, one, above, how, out);
    if (!how->all)
        print_alike(x, one, end, out);
    (void)fclose(out);
    return rk_need(text);
}

// Returns whether the finding is about differences between programs. Its cost says what it is
// worth. Other findings matter at any cost: a changed flag, a program that is compiled at every
// start, a step in pieces.
static bool is_worth_its_cost(const finding *one) {
    if (one->pattern)
        return !one->pattern->is_of_each_step && one->pattern->kind != RK_PATTERN_FLAG_DRIFT &&
               one->pattern->kind != RK_PATTERN_TOOLCHAIN_DRIFT &&
               one->pattern->kind != RK_PATTERN_RANK_DIVERGENCE;
    return !one->item->compile->refused &&
           (one->item->cause <= RK_CAUSE_PARAMETERS || one->item->cause == RK_CAUSE_DUPLICATE);
}

// Returns whether a finding about differences costs so little that it is only counted, together
// with the compilations that it stands for. If each of them costs less than 1 % of all, 3 %
// together are little as well. `is_first`: nothing is listed above it.
static bool is_left_out(const finding *one, uint64_t all_ns, bool is_first) {
    enum { PARTS_OF_ALL = 100, TIMES = 3 };
    uint64_t least_ns = all_ns / PARTS_OF_ALL, sum_ns = total_ns(one);
    if (!is_worth_its_cost(one))
        return false;
    if (is_first)
        return rk_explain_is_nothing(sum_ns, all_ns);
    return rk_explain_is_small(sum_ns, all_ns) ||
           (one->cost_ns < least_ns && one->alike_max_ns < least_ns && sum_ns < TIMES * least_ns);
}

static uint64_t all_ns(const rk_explanation *x) {
    uint64_t sum = 0;
    for (size_t i = 0; i < x->count; i++)
        sum += rk_explained_cost_ns(&x->items[i]);
    return sum;
}

// What print_findings() did with the findings.
typedef struct printed {
    size_t shown, negligible;
} printed;

// Prints the costliest findings first. Without --all at most two screens, not too many of a kind
// (but all that cost time in each step), and none that costs little. The first is left out only if
// it costs nearly nothing.
static printed print_findings(const rk_explanation *x, const rk_explain_how *how, rk_page *page) {
    rk_autofree finding *list = rk_need(rk_calloc(x->count + x->pattern_count + 1, sizeof *list));
    size_t count = collect_findings(x, how->all, list), causes = 0, patterns = 0, negligible = 0;
    rk_autofree const finding **shown = rk_need(rk_calloc(count + 1, sizeof *shown));
    listed above = {.items = shown};
    uint64_t sum_ns = all_ns(x);
    page->began = false; // the first finding is printed, however long it is
    for (size_t i = 0; i < count; i++) {
        if (list[i].like)
            continue;
        if (!how->all && is_left_out(&list[i], sum_ns, !above.count && !page->hidden)) {
            negligible += 1 + list[i].alike_count;
            continue;
        }
        bool few = list[i].pattern ? list[i].pattern->is_of_each_step || patterns++ < PATTERNS_SHOWN
                                   : causes++ < CAUSES_SHOWN;
        char *text = finding_text(x, &list[i], list + count, &above, how);
        if (!how->all && !few)
            page->hidden += 1 + list[i].alike_count;
        else if (rk_page_add(page, text))
            shown[above.count++] = &list[i];
        else
            page->hidden += list[i].alike_count;
        free(text);
    }
    return (printed){.shown = above.count, .negligible = negligible};
}

static void print_hidden(const printed *what, size_t hidden) {
    size_t above = what->shown, negligible = what->negligible;
    RK_AUTO(rk_buf) line = {0};
    const char *more = hidden ? "" : above ? " more" : " finding";
    if (hidden)
        rk_buf_add_format(&line, "%zu more%s", hidden, negligible ? ", and " : "");
    if (negligible == 1)
        rk_buf_add_format(&line, "1%s that costs less than 5 %% of the compile time", more);
    else if (negligible)
        rk_buf_add_format(&line, "%zu%s%s that cost less than 5 %% of the compile time each",
                          negligible, more, hidden || above ? "" : "s");
    if (!line.len)
        return;
    rk_buf_add_format(&line, ": --all shows %s",
                      hidden            ? "everything"
                      : negligible == 1 ? "it"
                                        : "them");
    (void)printf("\n");
    rk_term_line(rk_need_text(&line), 2);
}

void rk_explain_view_print(const rk_explanation *x, const rk_explain_how *how) {
    char *head = NULL;
    size_t len = 0;
    rk_page page = rk_page_start(how->all);
    FILE *out = rk_need(open_memstream(&head, &len));
    rk_explain_print_head(x, how, out);
    (void)fclose(out);
    rk_page_add(&page, rk_need(head));
    free(head);
    printed what = print_findings(x, how, &page);
    print_hidden(&what, page.hidden);
}
