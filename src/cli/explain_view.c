#include "cli/explain_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/diff_view.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"

enum { WIDTH = 100, CAUSES_SHOWN = 12, PATTERNS_SHOWN = 8, DIFFERENCES_SHOWN = 3 };

// JSON.

static json_t *questions_json(const rk_explanation *x) {
    const struct {
        const char *name;
        const rk_question *question;
    } asked[] = {{"input_shapes_changed", &x->input_shapes},
                 {"profile_or_sharding_changed", &x->profile_or_sharding},
                 {"hidden_branch_active", &x->hidden_branch}};
    json_t *object = rk_out_object(), *evidence = rk_out_object();
    for (size_t i = 0; i < RK_ARRAY_LEN(asked); i++) {
        rk_out_set(object, asked[i].name, rk_out_bool(asked[i].question->answer));
        rk_out_set(evidence, asked[i].name, rk_out_nullable(asked[i].question->evidence));
    }
    rk_out_set(object, "evidence", evidence);
    return object;
}

static json_t *nearest_json(const rk_explanation *x, const rk_explained *item) {
    if (!item->nearest)
        return json_null();
    char hex[RK_DIGEST_HEX_CHARS + 1];
    json_t *object = rk_out_object();
    rk_digest_to_hex(&item->nearest->key.program, hex);
    rk_out_set(object, "program", rk_out_string(hex));
    rk_out_set(object, "key", rk_out_string(item->nearest->hex));
    rk_out_set(object, "run", rk_out_nullable(item->nearest_of ? x->run->run : item->nearest->run));
    rk_out_set(object, "similarity", json_real(round(item->similarity * 1000) / 1000));
    return object;
}

static json_t *compilation_json(const rk_explanation *x, const rk_explained *item, bool stacks) {
    const rk_run_compile *compile = item->compile;
    json_t *object = rk_out_object(), *differences = rk_out_array();
    rk_out_set(object, "seq", rk_out_uint(compile->seq));
    rk_out_set(object, "rank", rk_out_uint(x->run->processes[compile->process].rank));
    rk_out_set(object, "program", rk_out_string(compile->program));
    rk_out_set(object, "key", rk_out_string(compile->key));
    rk_out_set(object, "name", rk_out_nullable(rk_explained_name(item)));
    rk_out_set(object, "step", item->step == RK_NO_STEP ? json_null() : rk_out_uint(item->step));
    rk_out_set(object, "seconds", rk_out_seconds(rk_explained_cost_ns(item)));
    rk_out_set(object, "compiled", rk_out_bool(compile->compiled));
    rk_out_set(object, "cause", rk_out_string(rk_cause_name(item->cause)));
    rk_out_set(object, "nearest", nearest_json(x, item));
    rk_diff_view_add_json(differences, &item->differences, stacks);
    rk_out_set(object, "differences", differences);
    rk_out_set(object, "following",
               rk_out_uint(item->differences.count - item->differences.cause_count +
                           item->differences.left_out));
    json_t *libraries = rk_out_array();
    if (rk_explained_has_libraries(item))
        rk_diff_view_add_json(libraries, &item->libraries, false);
    rk_out_set(object, "libraries", libraries);
    rk_out_set(object, "advice", rk_out_nullable(item->advice));
    return object;
}

static json_t *pattern_json(const rk_pattern *pattern) {
    json_t *object = rk_out_object(), *programs = rk_out_array();
    rk_out_set(object, "kind", rk_out_string(rk_pattern_kind_name(pattern->kind)));
    for (size_t i = 0; i < pattern->member_count; i++)
        rk_out_append(programs, rk_out_string(pattern->members[i]->compile->program));
    rk_out_set(object, "programs", programs);
    rk_out_set(object, "seconds", rk_out_seconds(pattern->lost_ns));
    rk_out_set(object, "summary", rk_out_nullable(pattern->summary));
    rk_out_set(object, "file", rk_out_nullable(pattern->file));
    rk_out_set(object, "line", pattern->file ? rk_out_uint(pattern->line) : json_null());
    rk_out_set(object, "advice", rk_out_nullable(pattern->advice));
    return object;
}

json_t *rk_explain_view_json(const rk_explanation *x, const rk_explain_how *how) {
    json_t *object = rk_out_object();
    json_t *compilations = rk_out_array(), *patterns = rk_out_array();
    rk_out_set(object, "run", rk_out_string(x->run->run));
    rk_out_set(object, "job", rk_out_string(x->run->job));
    rk_out_set(object, "questions", questions_json(x));
    for (size_t i = 0; i < x->count; i++)
        rk_out_append(compilations, compilation_json(x, &x->items[i], how->stacks));
    rk_out_set(object, "compilations", compilations);
    for (size_t i = 0; i < x->pattern_count; i++)
        rk_out_append(patterns, pattern_json(&x->patterns[i]));
    rk_out_set(object, "patterns", patterns);
    rk_out_set(object, "seconds_lost", rk_out_seconds(x->lost_ns));
    rk_out_set(object, "incomplete_journals", rk_out_uint(rk_run_count_incomplete(x->run)));
    return object;
}

// Text.

static size_t width(void) {
    size_t columns = rk_term_columns(stdout);
    return columns ? columns : WIDTH;
}

static void print_indented(const char *text, size_t indent) {
    RK_AUTO(rk_buf) line = {0};
    for (size_t i = 0; i < indent; i++)
        rk_buf_add_byte(&line, ' ');
    rk_text_add_printable(&line, rk_span_text(text));
    const char *rest = rk_need_text(&line);
    // rk_term_print_wrapped does not wrap a line that begins with a blank, so wrap it here.
    size_t columns = width(), at = indent;
    (void)printf("%*s", (int)indent, "");
    const char *word = rest + indent;
    while (*word) {
        size_t len = strcspn(word, " ");
        RK_AUTO(rk_buf) one = {0};
        rk_buf_add(&one, word, len);
        size_t wide = rk_text_width(rk_need_text(&one));
        if (at > indent && at + 1 + wide > columns) {
            (void)printf("\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            (void)printf(" ");
            at++;
        }
        (void)printf("%s", rk_need_text(&one));
        at += wide;
        word += len;
        word += strspn(word, " ");
    }
    (void)printf("\n");
}

static void print_place(const char *file, uint32_t line, size_t indent) {
    if (!file)
        return;
    RK_AUTO(rk_buf) place = {0};
    rk_text_add_printable(&place, rk_span_text(file));
    (void)printf("%*s%s%s:%u%s\n", (int)indent, "", rk_style(RK_STYLE_BOLD, stdout),
                 rk_need_text(&place), line, rk_style(RK_STYLE_NONE, stdout));
}

static void print_head(const rk_explanation *x) {
    size_t again = 0, compiled = 0, not_kept = 0;
    uint64_t all_ns = 0;
    for (size_t i = 0; i < x->count; i++) {
        again += x->items[i].cause != RK_CAUSE_FIRST;
        compiled += x->items[i].compile->compiled;
        not_kept += x->items[i].compile->compiled && !x->items[i].program;
        all_ns += x->items[i].compile->compile_ns;
    }
    (void)printf("run %s of %s\n", x->run->run,
                 *x->run->job ? x->run->job : "a job without a name");
    if (rk_run_count_incomplete(x->run))
        (void)printf(
            "%sA write to the journal of this run failed: compilations may be missing here%s\n",
            rk_style(RK_STYLE_NOTICE, stdout), rk_style(RK_STYLE_NONE, stdout));
    if (!x->count) {
        (void)printf("Nothing was compiled.\n");
        return;
    }
    (void)printf("%zu compilation%s in %s", compiled, rk_text_plural(compiled),
                 rk_text_seconds(all_ns).text);
    if (again)
        (void)printf(": %s%zu of them %s a cause, and cost %s%s\n",
                     rk_style(RK_STYLE_NOTICE, stdout), again, again == 1 ? "has" : "have",
                     rk_text_seconds(x->lost_ns).text, rk_style(RK_STYLE_NONE, stdout));
    else if (not_kept)
        (void)printf("; %s%zu of them cannot be compared with others%s: their programs are not "
                     "in the store (mode readonly, a full store, a process that was killed, no "
                     "key, or removed since)\n",
                     rk_style(RK_STYLE_NOTICE, stdout), not_kept, rk_style(RK_STYLE_NONE, stdout));
    else
        (void)printf(", each of a program that was not seen before%s%s%s\n",
                     rk_style(RK_STYLE_GOOD, stdout), x->pattern_count ? "" : ": nothing to fix",
                     rk_style(RK_STYLE_NONE, stdout));
}

static void print_question(const char *words, const rk_question *question) {
    (void)printf("  %-50s %s%-3s%s", words,
                 rk_style(question->answer ? RK_STYLE_NOTICE : RK_STYLE_NONE, stdout),
                 question->answer ? "yes" : "no", rk_style(RK_STYLE_NONE, stdout));
    if (question->answer) {
        RK_AUTO(rk_buf) text = {0};
        rk_text_add_printable(&text, rk_span_text(question->evidence));
        const char *line = rk_need_text(&text);
        size_t columns = rk_term_columns(stdout);
        size_t fit = columns > 60 ? rk_text_fit(line, columns - 58) : strlen(line);
        (void)printf("  %.*s%s", (int)fit, line, fit < strlen(line) ? rk_term_ellipsis() : "");
    }
    (void)printf("\n");
}

static void print_pattern(const rk_pattern *pattern) {
    (void)printf("\n%s%s%s  %s\n", rk_style(RK_STYLE_BAD, stdout),
                 rk_pattern_kind_name(pattern->kind), rk_style(RK_STYLE_NONE, stdout),
                 pattern->lost_ns ? rk_text_seconds(pattern->lost_ns).text : "");
    print_indented(pattern->summary, 2);
    print_place(pattern->file, pattern->line, 2);
    if (*pattern->advice)
        print_indented(pattern->advice, 2);
}

// Prints the patterns that come before or after single compilations.
static void print_patterns(const rk_explanation *x, const rk_explain_how *how, bool after) {
    for (size_t i = 0; i < x->pattern_count && (how->all || i < PATTERNS_SHOWN); i++)
        if (x->patterns[i].is_after_causes == after)
            print_pattern(&x->patterns[i]);
    if (after && !how->all && x->pattern_count > PATTERNS_SHOWN)
        (void)printf("\n%zu more patterns: --all shows them\n", x->pattern_count - PATTERNS_SHOWN);
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
static void print_libraries(const rk_explained *item) {
    RK_AUTO(rk_buf) line = {0};
    if (!rk_explained_has_libraries(item))
        return;
    for (size_t i = 0; i < item->libraries.count; i++) {
        const rk_difference *d = &item->libraries.items[i];
        rk_buf_add_format(&line, "%s%s %s → %s", i ? ", " : "since then: ", d->attribute, d->before,
                          d->after);
    }
    print_indented(rk_need_text(&line), 2);
}

static void print_compilation(const rk_explanation *x, const rk_explained *item,
                              const rk_explain_how *how) {
    const rk_run_compile *compile = item->compile;
    RK_AUTO(rk_buf) name = {0};
    rk_text_add_printable(&name, rk_span_text(rk_explained_name(item)));
    (void)printf("\n%s%s%s  %s, %s, request %llu", rk_style(RK_STYLE_BOLD, stdout),
                 rk_cause_name(item->cause), rk_style(RK_STYLE_NONE, stdout), rk_need_text(&name),
                 rk_text_seconds(rk_explained_cost_ns(item)).text,
                 (unsigned long long)compile->seq);
    if (item->step != RK_NO_STEP && item->step > 0)
        (void)printf(", step %llu", (unsigned long long)item->step);
    if (x->run->process_count > 1)
        (void)printf(" of rank %u", x->run->processes[compile->process].rank);
    (void)printf("\n");
    rk_diff_view_print_list(&item->differences, 2, how->all ? SIZE_MAX : DIFFERENCES_SHOWN,
                            how->stacks);
    print_libraries(item);
    if (item->nearest && !item->nearest_of)
        (void)printf("  compared with %.12s of run %s\n", item->nearest->hex, item->nearest->run);
    else if (item->nearest_of && item->nearest_of != compile && item->cause != RK_CAUSE_DUPLICATE)
        (void)printf("  compared with request %llu (%.12s)\n",
                     (unsigned long long)item->nearest_of->seq, item->nearest->hex);
    if (item->advice)
        print_indented(item->advice, 2);
}

static int costly_first(const void *a, const void *b) {
    const rk_explained *x = *(const rk_explained *const *)a, *y = *(const rk_explained *const *)b;
    uint64_t left = rk_explained_cost_ns(x), right = rk_explained_cost_ns(y);
    if (left != right)
        return left > right ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void print_causes(const rk_explanation *x, const rk_explain_how *how) {
    rk_autofree const rk_explained **list =
        rk_need(rk_calloc(x->count + 1, sizeof(rk_explained *)));
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++)
        if (how->all || (x->items[i].cause != RK_CAUSE_FIRST && !is_in_pattern(x, &x->items[i])))
            list[count++] = &x->items[i];
    if (count)
        qsort(list, count, sizeof(rk_explained *), costly_first);
    for (size_t i = 0; i < count && (how->all || i < CAUSES_SHOWN); i++)
        print_compilation(x, list[i], how);
    if (!how->all && count > CAUSES_SHOWN)
        (void)printf("\n%zu more, each cheaper: --all shows them\n", count - CAUSES_SHOWN);
}

void rk_explain_view_print(const rk_explanation *x, const rk_explain_how *how) {
    print_head(x);
    if (!x->count)
        return;
    print_question("Did the input shapes change?", &x->input_shapes);
    print_question("Did flags, options, versions or shardings change?", &x->profile_or_sharding);
    print_question("Did another branch of the graph become active?", &x->hidden_branch);
    print_patterns(x, how, false);
    print_causes(x, how);
    print_patterns(x, how, true);
}
