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
        rk_out_set(object, asked[i].name,
                   asked[i].question->known ? rk_out_bool(asked[i].question->answer) : json_null());
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
    const char *run = item->nearest_of ? x->run->run : item->nearest_run;
    rk_out_set(object, "run", rk_out_nullable(run ? run : item->nearest->run));
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

// What the header counts.
typedef struct counts {
    size_t compiled, failed;
    size_t again;      // compiled, with a cause
    size_t repeated;   // loaded, with a cause
    size_t uncompared; // compiled, and not to be compared with others
    uint64_t all_ns, again_ns, repeated_ns;
} counts;

static counts count(const rk_explanation *x) {
    counts c = {0};
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        bool has_cause = item->cause != RK_CAUSE_FIRST;
        c.compiled += item->compile->compiled;
        c.failed += item->compile->failed;
        c.uncompared += item->compile->compiled && !has_cause && rk_explained_is_unread(item);
        c.all_ns += item->compile->compile_ns;
        if (!has_cause)
            continue;
        *(item->is_loaded ? &c.repeated : &c.again) += 1;
        *(item->is_loaded ? &c.repeated_ns : &c.again_ns) += rk_explained_cost_ns(item);
    }
    return c;
}

static void print_causes_count(const counts *c) {
    (void)printf(": %s%zu of them %s a cause, and cost %s%s", rk_style(RK_STYLE_NOTICE, stdout),
                 c->again, c->again == 1 ? "has" : "have", rk_text_seconds(c->again_ns).text,
                 rk_style(RK_STYLE_NONE, stdout));
    if (c->failed)
        (void)printf(" (%zu failed)", c->failed);
}

static void print_compilations(const rk_explanation *x, const counts *c) {
    if (!c->compiled)
        (void)printf("Nothing was compiled");
    else
        (void)printf("%zu compilation%s in %s", c->compiled, rk_text_plural(c->compiled),
                     rk_text_seconds(c->all_ns).text);
    if (c->again)
        print_causes_count(c);
    if (c->uncompared)
        (void)printf("; %s%zu of them cannot be compared with others%s: the program is not in the "
                     "store (mode readonly, a full store, a process that was killed, no key, or "
                     "removed since) or cannot be read",
                     rk_style(RK_STYLE_NOTICE, stdout), c->uncompared,
                     rk_style(RK_STYLE_NONE, stdout));
    else if (c->compiled && !c->again)
        (void)printf(", each of a program that was not seen before%s%s%s",
                     rk_style(RK_STYLE_GOOD, stdout),
                     x->pattern_count || c->repeated ? "" : ": nothing to fix",
                     rk_style(RK_STYLE_NONE, stdout));
    if (c->repeated)
        (void)printf("; %s%zu repeated request%s loaded a program again, in %s%s",
                     rk_style(RK_STYLE_NOTICE, stdout), c->repeated, rk_text_plural(c->repeated),
                     rk_text_seconds(c->repeated_ns).text, rk_style(RK_STYLE_NONE, stdout));
    (void)printf("%s\n", c->compiled || c->repeated ? "" : ".");
}

static void print_head(const rk_explanation *x, const counts *c) {
    (void)printf("run %s of %s\n", x->run->run,
                 *x->run->job ? x->run->job : "a job without a name");
    if (rk_run_count_incomplete(x->run))
        (void)printf(
            "%sA write to the journal of this run failed: compilations may be missing here%s\n",
            rk_style(RK_STYLE_NOTICE, stdout), rk_style(RK_STYLE_NONE, stdout));
    print_compilations(x, c);
}

static void print_question(const char *words, const rk_question *question) {
    const char *answer = !question->known ? "unknown" : question->answer ? "yes" : "no";
    (void)printf("  %-50s %s%-3s%s", words,
                 rk_style(question->answer ? RK_STYLE_NOTICE : RK_STYLE_NONE, stdout), answer,
                 rk_style(RK_STYLE_NONE, stdout));
    if (question->answer || !question->known) {
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
        (void)printf("  compared with %.12s of run %s\n", item->nearest->hex,
                     item->nearest_run ? item->nearest_run : item->nearest->run);
    else if (item->nearest_of && item->nearest_of != compile && item->cause != RK_CAUSE_DUPLICATE)
        (void)printf("  compared with request %llu (%.12s)\n",
                     (unsigned long long)item->nearest_of->seq, item->nearest->hex);
    if (item->advice)
        print_indented(item->advice, 2);
}

// One of the things that the text lists: a pattern, or a compilation that is in no pattern.
typedef struct finding {
    const rk_pattern *pattern; // NULL: a compilation
    const rk_explained *item;
    uint64_t cost_ns;
} finding;

static bool is_last(const finding *one) {
    return one->pattern && one->pattern->is_after_causes;
}

// The costliest first, but after all causes the patterns that are only advice.
static int costly_first(const void *a, const void *b) {
    const finding *x = a, *y = b;
    if (is_last(x) != is_last(y))
        return is_last(x) ? 1 : -1;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    if (!x->pattern != !y->pattern)
        return x->pattern ? 1 : -1;
    return x->pattern ? (x->pattern < y->pattern ? -1 : x->pattern > y->pattern)
                      : (x->item < y->item ? -1 : x->item > y->item);
}

static size_t collect_findings(const rk_explanation *x, bool all, finding *list) {
    size_t count = 0;
    for (size_t i = 0; i < x->pattern_count; i++)
        list[count++] = (finding){.pattern = &x->patterns[i], .cost_ns = x->patterns[i].lost_ns};
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (all || (item->cause != RK_CAUSE_FIRST && !is_in_pattern(x, item)))
            list[count++] = (finding){.item = item, .cost_ns = rk_explained_cost_ns(item)};
    }
    if (count)
        qsort(list, count, sizeof *list, costly_first);
    return count;
}

static void print_findings(const rk_explanation *x, const rk_explain_how *how) {
    rk_autofree finding *list = rk_need(rk_calloc(x->count + x->pattern_count + 1, sizeof *list));
    size_t count = collect_findings(x, how->all, list), causes = 0, patterns = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].pattern && (how->all || patterns++ < PATTERNS_SHOWN))
            print_pattern(list[i].pattern);
        else if (list[i].item && (how->all || causes++ < CAUSES_SHOWN))
            print_compilation(x, list[i].item, how);
    }
    if (causes > CAUSES_SHOWN)
        (void)printf("\n%zu more, each cheaper: --all shows them\n", causes - CAUSES_SHOWN);
    if (patterns > PATTERNS_SHOWN)
        (void)printf("\n%zu more patterns: --all shows them\n", patterns - PATTERNS_SHOWN);
}

static void print_questions(const rk_explanation *x) {
    print_question("Did the input shapes change?", &x->input_shapes);
    print_question("Did flags, options, versions or shardings change?", &x->profile_or_sharding);
    print_question("Did another branch of the graph become active?", &x->hidden_branch);
}

void rk_explain_view_print(const rk_explanation *x, const rk_explain_how *how) {
    const counts c = count(x);
    print_head(x, &c);
    if (c.compiled || c.repeated)
        print_questions(x);
    print_findings(x, how);
}
