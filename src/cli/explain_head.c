// The head of an explanation as text: what the run compiled, and the three questions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain_internal.h"
#include "cli/fail.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "diagnose/diff/recorded.h"

void rk_explain_print_line(const rk_buf *line, size_t indent, FILE *out) {
    rk_term_wrap(rk_need_text(line), 0, indent, rk_term_columns(stdout), out);
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
        c.uncompared += item->compile->compiled && rk_explained_is_uncompared(item);
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

void rk_explain_add_styled(rk_buf *out, rk_style_name style, const char *text) {
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

bool rk_explain_is_small(uint64_t cost_ns, uint64_t all_ns) {
    enum { PARTS_OF_ALL = 100, PARTS_IF_SHORT = 20 };
    static const uint64_t SHORT_NS = 5000000000;
    return cost_ns < all_ns / PARTS_OF_ALL ||
           (cost_ns < all_ns / PARTS_IF_SHORT && cost_ns < SHORT_NS);
}

bool rk_explain_is_nothing(uint64_t cost_ns, uint64_t all_ns) {
    enum { PARTS_OF_ALL = 100 };
    static const uint64_t SECOND_NS = 1000000000;
    return cost_ns < all_ns / PARTS_OF_ALL && cost_ns < SECOND_NS;
}

// Returns whether advice is shown that is no cause. Below other findings, what costs little is not
// shown.
static bool has_advice(const rk_explanation *x, const counts *c, bool all) {
    for (size_t i = 0; i < x->pattern_count; i++)
        if (!rk_pattern_explains(&x->patterns[i]) &&
            (all || x->patterns[i].is_of_each_step ||
             !(c->again ? rk_explain_is_small : rk_explain_is_nothing)(x->patterns[i].lost_ns,
                                                                       c->all_ns)))
            return true;
    return false;
}

// Compilations that nothing else in the line counts.
static void add_others_count(const counts *c, rk_buf *out) {
    size_t told = c->again + c->failed + c->uncompared;
    if (!told || c->compiled <= told)
        return;
    rk_buf_add_format(out, "; the other %zu %s", c->compiled - told,
                      c->compiled - told == 1 ? "is new" : "are new");
}

static size_t count_removed(const rk_explanation *x, rk_removal removal) {
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++)
        count += x->items[i].compile->compiled && rk_explained_is_uncompared(&x->items[i]) &&
                 x->items[i].unread_removal == removal;
    return count;
}

// Why programs could not be compared, as far as it is recorded, and what to do.
static void add_why_uncompared(const rk_explanation *x, rk_buf *out) {
    size_t unknown = count_removed(x, RK_REMOVAL_NONE);
    const char *comma = ": ";
    for (int i = RK_REMOVAL_NONE + 1; i < RK_REMOVAL_COUNT; i++) {
        size_t count = count_removed(x, (rk_removal)i);
        if (!count)
            continue;
        rk_buf_add_format(out, "%s%zu program%s %s since", comma, count,
                          count == 1 ? " was" : "s were", rk_removal_text((rk_removal)i));
        comma = ", ";
    }
    if (unknown && x->run->mode && strcmp(x->run->mode, "readonly") == 0)
        rk_buf_add_format(out, "%sthe mode of the run was readonly, so %s not stored", comma,
                          unknown == 1 ? "it was" : "they were");
    else if (unknown)
        rk_buf_add_format(out,
                          "%sthe program is not in the store (a full store, a process that was "
                          "killed, or files that another program removed) or cannot be read",
                          comma);
}

static void add_compilations(const rk_explanation *x, const counts *c, bool all, rk_buf *out) {
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
        add_why_uncompared(x, out);
    } else if (c->compiled && !c->again && !c->failed) {
        rk_buf_add_text(out, c->compiled == 1 ? ", of a new program" : ", each of a new program");
    }
    add_others_count(c, out);
    if (c->repeated)
        rk_buf_add_format(out, "; %s%zu repeated request%s loaded a program again, in %s%s",
                          rk_style(RK_STYLE_NOTICE, stdout), c->repeated,
                          rk_text_plural(c->repeated), rk_text_seconds(c->repeated_ns).text,
                          rk_style(RK_STYLE_NONE, stdout));
    if (c->refused)
        rk_buf_add_format(out, "; %s%zu request%s refused (REKINDLE_STRICT=fail)%s",
                          rk_style(RK_STYLE_BAD, stdout), c->refused,
                          c->refused == 1 ? " was" : "s were", rk_style(RK_STYLE_NONE, stdout));
    if (has_advice(x, c, all))
        rk_buf_add_format(out, "; there is %sadvice", c->again ? "other " : "");
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
    rk_explain_add_styled(&line, question->answer ? RK_STYLE_NOTICE : RK_STYLE_NONE, answer);
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

// Returns whether a compilation has another cause than that its executable is gone.
static bool has_changed(const rk_explanation *x) {
    for (size_t i = 0; i < x->count; i++) {
        rk_cause cause = x->items[i].cause;
        if (cause != RK_CAUSE_FIRST && cause != RK_CAUSE_EVICTED && cause != RK_CAUSE_REMOVED &&
            cause != RK_CAUSE_DAMAGED && cause != RK_CAUSE_FAILED)
            return true;
    }
    return false;
}

// Returns whether something is listed that the start before may not have had.
static bool may_have_changed(const rk_explanation *x, const counts *c) {
    for (size_t i = 0; i < x->count; i++)
        if (x->items[i].cause == RK_CAUSE_FAILED && !x->items[i].failed_before)
            return true;
    for (size_t i = 0; i < x->pattern_count; i++)
        if (rk_pattern_explains(&x->patterns[i]))
            return true;
    return c->uncompared || c->refused || has_changed(x);
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

static bool is_again(const rk_explained *item, const rk_explained *of) {
    return item->compile->compiled && rk_explained_is_uncompared(item) && !item->is_eager &&
           item->step != RK_NO_STEP && item->compile->process == of->compile->process &&
           strcmp(rk_explained_name(item), rk_explained_name(of)) == 0;
}

// Appends the steps in which one function was compiled. Returns how many different ones.
static size_t add_steps_of(const rk_explanation *x, const rk_explained *of, rk_buf *out,
                           size_t *out_count, uint64_t *out_ns) {
    enum { NAMED = 6 };
    size_t steps = 0;
    uint64_t last = RK_NO_STEP;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (!is_again(item, of))
            continue;
        *out_count += 1;
        *out_ns += item->compile->compile_ns;
        if (item->step != last && steps++ < NAMED)
            rk_buf_add_format(out, "%s%llu", steps > 1 ? ", " : "", (unsigned long long)item->step);
        last = item->step;
    }
    if (steps > NAMED)
        rk_buf_add_format(out, " and %zu more", steps - NAMED);
    return steps;
}

// Names the functions that were compiled again and again, although the programs are gone.
static void print_again_and_again(const rk_explanation *x, FILE *out) {
    enum { STEPS_MIN = 3 };
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        bool is_told = !is_again(item, item) || !*rk_explained_name(item);
        for (size_t k = 0; k < i && !is_told; k++)
            is_told = is_again(&x->items[k], item);
        RK_AUTO(rk_buf) steps = {0};
        RK_AUTO(rk_buf) line = {0};
        size_t count = 0;
        uint64_t sum_ns = 0;
        if (is_told || add_steps_of(x, item, &steps, &count, &sum_ns) < STEPS_MIN)
            continue;
        rk_buf_add_text(&line, "  ");
        rk_text_add_printable(&line, rk_span_text(rk_explained_name(item)));
        rk_buf_add_format(&line,
                          " was compiled %zu times, in steps %s (%s): something in it changes from "
                          "step to step. What it is cannot be told without the programs. Run the "
                          "job again, and call `rekindle explain` before they are removed.",
                          count, rk_need_text(&steps), rk_text_seconds(sum_ns).text);
        rk_explain_print_line(&line, 4, out);
    }
}

// Returns whether the name is one that rekindle derived: it ends in digits of a digest.
static bool is_derived(const char *job) {
    enum { DIGITS = 12 };
    const char *dash = strrchr(job, '-');
    return dash && strspn(dash + 1, "0123456789abcdef") == DIGITS;
}

void rk_explain_print_head(const rk_explanation *x, const rk_explain_how *how, FILE *out) {
    const counts c = count(x);
    RK_AUTO(rk_buf) line = {0};
    rk_buf_add_format(&line, "run %s of %s", x->run->run,
                      *x->run->job ? is_derived(x->run->job) ? "" : "the job "
                                   : "a job without a name");
    rk_text_add_printable(&line, rk_span_text(x->run->job));
    rk_explain_print_line(&line, 2, out);
    rk_buf_clear(&line);
    if (rk_run_count_incomplete(x->run)) {
        rk_explain_add_styled(
            &line, RK_STYLE_NOTICE,
            "A write to the journal of this run failed: compilations may be missing here");
        rk_explain_print_line(&line, 2, out);
        rk_buf_clear(&line);
    }
    add_compilations(x, &c, how->all, &line);
    rk_explain_print_line(&line, 2, out);
    if (c.compiled || c.repeated || c.refused) {
        print_questions(x, out);
    } else if (how->compiled) {
        rk_buf_clear(&line);
        rk_buf_add_format(&line,
                          "Run %s was the last start that compiled something: `rekindle explain",
                          how->compiled);
        rk_verb_add_dir(&line);
        rk_buf_add_format(&line, " --run %s`.", how->compiled);
        rk_explain_print_line(&line, 2, out);
    }
    print_again_and_again(x, out);
    if (lacks_lines(x) && (c.again || c.refused || x->pattern_count)) {
        rk_buf_clear(&line);
        rk_buf_add_text(&line, "  No line of the source is known. To see lines, start the job "
                               "with an empty store and XLA_HLO_DEBUG=1 XLA_IR_DEBUG=1");
        rk_explain_print_line(&line, 6, out);
    }
    if (how->compare && may_have_changed(x, &c)) {
        rk_buf_clear(&line);
        rk_buf_add_text(&line, "  What changed since the run before: `rekindle diff");
        rk_verb_add_dir(&line);
        rk_buf_add_format(&line, " %s`", how->compare);
        rk_explain_print_line(&line, 6, out);
    }
}
