#include <stdio.h>
#include <stdlib.h>

#include "cli/diff_view.h"
#include "cli/explain_view.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"

enum { WIDTH = 100, CAUSES_SHOWN = 12, PATTERNS_SHOWN = 8, DIFFERENCES_SHOWN = 3 };

// Prints prose, which is wrapped at 100 columns even if the output is no terminal.
static void print_prose(const char *prose, size_t indent, FILE *out) {
    RK_AUTO(rk_buf) line = {0};
    size_t columns = rk_term_columns(stdout);
    rk_text_add_printable(&line, rk_span_text(prose));
    (void)fprintf(out, "%*s", (int)indent, "");
    rk_term_wrap(rk_need_text(&line), indent, indent, columns ? columns : WIDTH, out);
}

// Prints a line of printable text, which is wrapped on a terminal only.
static void print_line(const rk_buf *line, size_t indent, FILE *out) {
    rk_term_wrap(rk_need_text(line), 0, indent, rk_term_columns(stdout), out);
}

static void print_place(const char *file, uint32_t line, size_t indent, FILE *out) {
    if (!file)
        return;
    RK_AUTO(rk_buf) place = {0};
    rk_buf_add_format(&place, "%*s%s", (int)indent, "", rk_style(RK_STYLE_BOLD, stdout));
    rk_text_add_printable(&place, rk_span_text(file));
    rk_buf_add_format(&place, ":%u%s", line, rk_style(RK_STYLE_NONE, stdout));
    print_line(&place, indent, out);
}

// What the header counts.
typedef struct counts {
    size_t compiled, failed;
    size_t again;      // compiled, with a cause
    size_t no_change;  // of these: need no change
    size_t repeated;   // loaded, with a cause
    size_t uncompared; // compiled, and not to be compared with others
    size_t refused;    // by strict mode, not compiled
    uint64_t all_ns, failed_ns, again_ns, no_change_ns, repeated_ns;
} counts;

static counts count(const rk_explanation *x) {
    counts c = {0};
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        bool has_cause = item->cause != RK_CAUSE_FIRST && !item->compile->refused;
        c.refused += item->compile->refused;
        c.compiled += item->compile->compiled;
        c.uncompared += item->compile->compiled && !has_cause && rk_explained_is_unread(item);
        c.all_ns += item->compile->compile_ns;
        if (!has_cause)
            continue;
        bool no_change = rk_explained_needs_no_change(item);
        c.no_change += no_change;
        c.no_change_ns += no_change ? rk_explained_cost_ns(item) : 0;
        bool failed = item->cause == RK_CAUSE_FAILED;
        *(failed ? &c.failed : item->is_loaded ? &c.repeated : &c.again) += 1;
        *(failed            ? &c.failed_ns
          : item->is_loaded ? &c.repeated_ns
                            : &c.again_ns) += rk_explained_cost_ns(item);
    }
    return c;
}

static void add_styled(rk_buf *out, rk_style_name style, const char *text) {
    rk_buf_add_format(out, "%s%s%s", rk_style(style, stdout), text,
                      rk_style(RK_STYLE_NONE, stdout));
}

static void add_causes_count(const counts *c, rk_buf *out) {
    rk_buf_add_format(out, ": %s%zu of them %s a cause, and cost %s%s",
                      rk_style(RK_STYLE_NOTICE, stdout), c->again, c->again == 1 ? "has" : "have",
                      rk_text_seconds(c->again_ns).text, rk_style(RK_STYLE_NONE, stdout));
    if (c->no_change)
        rk_buf_add_format(out, " (%zu, with %s, need%s no change)", c->no_change,
                          rk_text_seconds(c->no_change_ns).text, c->no_change == 1 ? "s" : "");
}

static void add_failed_count(const counts *c, rk_buf *out) {
    const char *red = rk_style(RK_STYLE_BAD, stdout), *none = rk_style(RK_STYLE_NONE, stdout);
    if (c->compiled == 1)
        rk_buf_add_format(out, ", %swhich failed%s", red, none);
    else
        rk_buf_add_format(out, "%s%s%zu of them failed, after %s%s", c->again ? "; " : ": ", red,
                          c->failed, rk_text_seconds(c->failed_ns).text, none);
}

// Returns whether advice is listed that is no cause.
static bool has_advice(const rk_explanation *x) {
    for (size_t i = 0; i < x->pattern_count; i++)
        if (!rk_pattern_explains(x->patterns[i].kind))
            return true;
    return false;
}

static void add_compilations(const rk_explanation *x, const counts *c, rk_buf *out) {
    if (!c->compiled)
        rk_buf_add_text(out, "Nothing was compiled");
    else
        rk_buf_add_format(out, "%zu compilation%s in %s", c->compiled, rk_text_plural(c->compiled),
                          rk_text_seconds(c->all_ns).text);
    if (c->again)
        add_causes_count(c, out);
    if (c->failed)
        add_failed_count(c, out);
    if (c->uncompared) {
        rk_buf_add_format(out, "; %s%zu of them cannot be compared with others%s",
                          rk_style(RK_STYLE_NOTICE, stdout), c->uncompared,
                          rk_style(RK_STYLE_NONE, stdout));
        rk_buf_add_text(out,
                        ": the program is not in the store (mode readonly, a full store, a "
                        "process that was killed, no key, or removed since) or cannot be read");
    } else if (c->compiled && !c->again && !c->failed) {
        rk_buf_add_text(out, ", each of a program that was not seen before");
        if (!x->pattern_count && !c->repeated && !c->refused)
            add_styled(out, RK_STYLE_GOOD, ": nothing to fix");
    }
    if (c->repeated)
        rk_buf_add_format(out, "; %s%zu repeated request%s loaded a program again, in %s%s",
                          rk_style(RK_STYLE_NOTICE, stdout), c->repeated,
                          rk_text_plural(c->repeated), rk_text_seconds(c->repeated_ns).text,
                          rk_style(RK_STYLE_NONE, stdout));
    if (c->refused)
        rk_buf_add_format(out, "; %s%zu request%s refused (REKINDLE_STRICT=fail)%s",
                          rk_style(RK_STYLE_BAD, stdout), c->refused,
                          c->refused == 1 ? " was" : "s were", rk_style(RK_STYLE_NONE, stdout));
    if (has_advice(x))
        rk_buf_add_format(out, "; there is %sadvice below", c->again ? "other " : "");
    rk_buf_add_text(out, c->compiled || c->repeated || c->refused ? "" : ".");
}

// `before`: the question above, whose evidence is not repeated; NULL: none.
static void print_question(const char *words, const rk_question *question,
                           const rk_question *before, FILE *out) {
    enum { EVIDENCE_INDENT = 6 };
    RK_AUTO(rk_buf) line = {0};
    RK_AUTO(rk_buf) evidence = {0};
    const char *answer = !question->known ? "unknown" : question->answer ? "yes" : "no";
    size_t columns = rk_term_columns(stdout);
    rk_buf_add_format(&line, "  %-50s ", words);
    add_styled(&line, question->answer ? RK_STYLE_NOTICE : RK_STYLE_NONE, answer);
    (void)fprintf(out, "%s", rk_need_text(&line));
    bool is_told = before && !before->known && strcmp(before->evidence, question->evidence) == 0;
    if ((question->answer || !question->known) && !is_told)
        rk_text_add_printable(&evidence, rk_span_text(question->evidence));
    size_t at = rk_text_width(rk_need_text(&line)) + 2;
    if (!evidence.len) {
        (void)fprintf(out, "\n");
    } else if (!columns || at + rk_text_width(rk_need_text(&evidence)) <= columns) {
        (void)fprintf(out, "  %s\n", rk_need_text(&evidence));
    } else {
        (void)fprintf(out, "\n%*s", EVIDENCE_INDENT, "");
        rk_term_wrap(rk_need_text(&evidence), EVIDENCE_INDENT, EVIDENCE_INDENT, columns, out);
    }
}

static void print_questions(const rk_explanation *x, FILE *out) {
    print_question("Did the input shapes change?", &x->input_shapes, NULL, out);
    print_question("Did flags, options, versions or shardings change?", &x->profile_or_sharding,
                   &x->input_shapes, out);
    print_question("Did another branch of the graph become active?", &x->hidden_branch,
                   &x->profile_or_sharding, out);
}

// Returns whether something is listed that the start before may not have had.
static bool may_have_changed(const rk_explanation *x, const counts *c) {
    for (size_t i = 0; i < x->count; i++)
        if (x->items[i].cause == RK_CAUSE_FAILED && !x->items[i].failed_before)
            return true;
    for (size_t i = 0; i < x->pattern_count; i++)
        if (rk_pattern_explains(x->patterns[i].kind))
            return true;
    return c->again || c->refused;
}

// Returns whether no line of any program of PyTorch/XLA is known.
static bool lacks_lines(const rk_explanation *x) {
    bool any = false;
    for (size_t i = 0; i < x->count; i++) {
        const rk_known *known = x->items[i].program;
        if (!rk_explained_is_torch(&x->items[i]) || !known || !known->has_sketch)
            continue;
        if (known->sketch.line_count)
            return false;
        any = true;
    }
    return any;
}

static void print_head(const rk_explanation *x, const rk_explain_how *how, FILE *out) {
    const counts c = count(x);
    RK_AUTO(rk_buf) line = {0};
    rk_buf_add_format(&line, "run %s of ", x->run->run);
    rk_text_add_printable(&line, rk_span_text(*x->run->job ? x->run->job : "a job without a name"));
    print_line(&line, 2, out);
    rk_buf_clear(&line);
    if (rk_run_count_incomplete(x->run)) {
        add_styled(&line, RK_STYLE_NOTICE,
                   "A write to the journal of this run failed: compilations may be missing here");
        print_line(&line, 2, out);
        rk_buf_clear(&line);
    }
    add_compilations(x, &c, &line);
    print_line(&line, 2, out);
    if (c.compiled || c.repeated || c.refused)
        print_questions(x, out);
    if (lacks_lines(x) && (c.again || c.refused || x->pattern_count)) {
        rk_buf_clear(&line);
        rk_buf_add_text(&line, "  No line of the source is known. To see lines, start the job "
                               "with an empty store and XLA_HLO_DEBUG=1 XLA_IR_DEBUG=1");
        print_line(&line, 6, out);
    }
    if (how->compare && may_have_changed(x, &c)) {
        rk_buf_clear(&line);
        rk_buf_add_format(&line, "  What changed since the run before: `rekindle diff %s`",
                          how->compare);
        print_line(&line, 6, out);
    }
}

static void print_pattern(const rk_pattern *pattern, FILE *out) {
    (void)fprintf(out, "\n%s%s%s  %s\n", rk_style(RK_STYLE_BAD, stdout),
                  rk_pattern_kind_name(pattern->kind), rk_style(RK_STYLE_NONE, stdout),
                  pattern->lost_ns ? rk_text_seconds(pattern->lost_ns).text : "");
    print_prose(pattern->summary, 2, out);
    print_place(pattern->file, pattern->line, 2, out);
    if (*pattern->advice)
        print_prose(pattern->advice, 2, out);
}

// True if a pattern explains the compilation, which then need not be listed.
static bool is_in_pattern(const rk_explanation *x, const rk_explained *item) {
    for (size_t i = 0; i < x->pattern_count; i++)
        for (size_t k = 0; k < x->patterns[i].member_count; k++)
            if (rk_pattern_explains(x->patterns[i].kind) && x->patterns[i].members[k] == item)
                return true;
    return false;
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
    add_styled(&line, RK_STYLE_BOLD, rk_cause_name(item->cause));
    rk_buf_add_text(&line, "  ");
    rk_text_add_printable(&line, rk_span_text(rk_explained_name(item)));
    rk_buf_add_format(&line, ", %s, request %llu",
                      compile->refused ? "refused"
                                       : rk_text_seconds(rk_explained_cost_ns(item)).text,
                      (unsigned long long)compile->seq);
    if (item->step != RK_NO_STEP && item->step > 0)
        rk_buf_add_format(&line, ", step %llu", (unsigned long long)item->step);
    if (x->run->process_count > 1)
        rk_buf_add_format(&line, " of rank %u", x->run->processes[compile->process].rank);
    print_line(&line, 2, out);
    rk_diff_view_print_list(&item->differences, 2, how->all ? SIZE_MAX : DIFFERENCES_SHOWN,
                            how->stacks, out);
    if (compile->refused)
        print_call(item, out);
    print_libraries(item, out);
    rk_buf_clear(&line);
    add_compared(item, &line);
    if (line.len)
        print_line(&line, 2, out);
    if (item->advice)
        print_prose(item->advice, 2, out);
}

// One of the things that the text lists: a pattern, or a compilation that is in no pattern.
typedef struct finding {
    const rk_pattern *pattern; // NULL: a compilation
    const rk_explained *item;
    uint64_t cost_ns;
} finding;

// What strict mode refused comes first, because the job usually ended with it. Then come causes,
// patterns that are only advice, and causes that need no change.
static int rank_of(const finding *one) {
    if (one->pattern)
        return one->pattern->is_after_causes ? 1 : 0;
    if (one->item->compile->refused)
        return -1;
    return rk_explained_needs_no_change(one->item) ? 2 : 0;
}

// Of equal rank the costliest first.
static int costly_first(const void *a, const void *b) {
    const finding *x = a, *y = b;
    if (rank_of(x) != rank_of(y))
        return rank_of(x) - rank_of(y);
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
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
               list[end].cost_ns >= list[first].cost_ns / 100 * PERCENT)
            end++;
        qsort(list + first, end - first, sizeof *list, earliest_first);
    }
}

static size_t collect_findings(const rk_explanation *x, bool all, finding *list) {
    size_t count = 0;
    for (size_t i = 0; i < x->pattern_count; i++)
        list[count++] = (finding){.pattern = &x->patterns[i], .cost_ns = x->patterns[i].lost_ns};
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (all || item->compile->refused ||
            (item->cause != RK_CAUSE_FIRST && !is_in_pattern(x, item)))
            list[count++] = (finding){.item = item, .cost_ns = rk_explained_cost_ns(item)};
    }
    if (count)
        qsort(list, count, sizeof *list, costly_first);
    order_equal_costs(list, count);
    return count;
}

// The text of a finding. Owned: free.
static char *finding_text(const rk_explanation *x, const finding *one, const rk_explain_how *how) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = rk_need(open_memstream(&text, &len));
    if (one->pattern)
        print_pattern(one->pattern, out);
    else
        print_compilation(x, one->item, how, out);
    (void)fclose(out);
    return rk_need(text);
}

// Returns whether the finding is about differences between programs. Its cost says what it is
// worth. Other findings matter at any cost: a changed flag, a program that is compiled at every
// start.
static bool is_worth_its_cost(const finding *one) {
    if (one->pattern)
        return one->pattern->kind != RK_PATTERN_FLAG_DRIFT &&
               one->pattern->kind != RK_PATTERN_TOOLCHAIN_DRIFT &&
               one->pattern->kind != RK_PATTERN_RANK_DIVERGENCE;
    return !one->item->compile->refused &&
           (one->item->cause <= RK_CAUSE_PARAMETERS || one->item->cause == RK_CAUSE_DUPLICATE);
}

static uint64_t all_ns(const rk_explanation *x) {
    uint64_t sum = 0;
    for (size_t i = 0; i < x->count; i++)
        sum += rk_explained_cost_ns(&x->items[i]);
    return sum;
}

// The costliest findings first. Without --all at most two screens, not too many of a kind, and none
// after the first that costs nearly nothing. Returns the number of these.
static size_t print_findings(const rk_explanation *x, const rk_explain_how *how, rk_page *page) {
    enum { PARTS_OF_ALL = 100 };
    rk_autofree finding *list = rk_need(rk_calloc(x->count + x->pattern_count + 1, sizeof *list));
    size_t count = collect_findings(x, how->all, list), causes = 0, patterns = 0, negligible = 0;
    uint64_t least_ns = all_ns(x) / PARTS_OF_ALL;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !how->all && list[i].cost_ns < least_ns && is_worth_its_cost(&list[i])) {
            negligible++;
            continue;
        }
        bool few = list[i].pattern ? patterns++ < PATTERNS_SHOWN : causes++ < CAUSES_SHOWN;
        char *text = finding_text(x, &list[i], how);
        if (how->all || few)
            rk_page_add(page, text);
        else
            page->hidden++;
        free(text);
    }
    return negligible;
}

static void print_hidden(size_t hidden, size_t negligible) {
    RK_AUTO(rk_buf) line = {0};
    if (hidden && negligible)
        rk_buf_add_format(&line,
                          "%zu more, and %zu that cost%s less than 1 %% of the compile time: --all "
                          "shows everything",
                          hidden, negligible, negligible == 1 ? "s" : "");
    else if (hidden)
        rk_buf_add_format(&line, "%zu more: --all shows everything", hidden);
    else if (negligible)
        rk_buf_add_format(&line,
                          "%zu more that cost%s less than 1 %% of the compile time: --all shows %s",
                          negligible, negligible == 1 ? "s" : "", negligible == 1 ? "it" : "them");
    if (!line.len)
        return;
    (void)printf("\n");
    rk_term_line(rk_need_text(&line), 2);
}

void rk_explain_view_print(const rk_explanation *x, const rk_explain_how *how) {
    char *head = NULL;
    size_t len = 0;
    rk_page page = rk_page_start(how->all);
    FILE *out = rk_need(open_memstream(&head, &len));
    print_head(x, how, out);
    (void)fclose(out);
    rk_page_add(&page, rk_need(head));
    free(head);
    size_t negligible = print_findings(x, how, &page);
    print_hidden(page.hidden, negligible);
}
