// The comparison of two runs as text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/command_diff.h"
#include "cli/diff_runs_internal.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "diagnose/diff/recorded.h"

enum { SHOWN = 4, DIFFERENCES_SHOWN = 3, ENVIRONMENT_SHOWN = 8 };

const char *rk_diff_runs_name(const rk_run_only *item) {
    const char *name = item->request->name;
    return *name || !item->program || !item->program->has_sketch ? name
                                                                 : item->program->sketch.module;
}

static void print_line(rk_buf *line, size_t indent) {
    rk_term_wrap(rk_need_text(line), 0, indent, rk_term_columns(stdout), stdout);
    rk_buf_clear(line);
}

static void print_side(const char *label, const rk_diff_run *side) {
    const rk_run_model *run = &side->summary.run;
    const rk_run_totals *totals = &side->summary.totals;
    RK_AUTO(rk_buf) line = {0};
    rk_buf_add_format(&line, "%s  ", label);
    if (strcmp(rk_need_text(&side->number), run->run) != 0)
        rk_buf_add_format(&line, "%s  ", rk_need_text(&side->number));
    rk_text_add_printable(&line, rk_span_text(run->run));
    rk_buf_add_text(&line, "  ");
    rk_text_add_printable(&line,
                          side->command.len ? rk_buf_span(&side->command) : rk_span_text(run->job));
    print_line(&line, 3);
    uint64_t requests = totals->hits + totals->misses + totals->bypassed;
    rk_buf_add_format(&line, "   %s request%s, %s compiled", rk_text_count(requests).text,
                      rk_text_plural(requests), rk_text_count(totals->compiled).text);
    if (totals->compiled)
        rk_buf_add_format(&line, " in %s", rk_text_seconds(totals->compile_ns).text);
    if (rk_run_count_failed(run).count)
        rk_buf_add_format(&line, ", %s of them failed",
                          rk_text_count(rk_run_count_failed(run).count).text);
    print_line(&line, 3);
}

static void print_command_diff(const rk_diff_run *a, const rk_diff_run *b) {
    RK_AUTO(rk_buf) plain = {0};
    RK_AUTO(rk_buf) line = {0};
    if (!a->command.len || !b->command.len)
        return;
    rk_command_diff_add(rk_need_text(&a->command), rk_need_text(&b->command), &plain);
    if (!plain.len)
        return;
    rk_buf_add_text(&line, "The command differs: ");
    rk_text_add_printable(&line, rk_buf_span(&plain));
    print_line(&line, 2);
    (void)putchar('\n');
}

static bool is_compared(const rk_run_only *item) {
    return item->nearest && item->diff.cause != RK_CAUSE_FIRST;
}

static bool is_same_program(const rk_run_only *item) {
    return item->nearest && *item->request->program &&
           strcmp(item->nearest->program, item->request->program) == 0;
}

static void print_only(const rk_run_only *item, const rk_diff_how *how) {
    RK_AUTO(rk_buf) line = {0};
    rk_text_add_printable(&line, rk_span_text(rk_diff_runs_name(item)));
    rk_buf_add_format(&line, "  %.12s", item->request->key);
    if (item->request->compiled)
        rk_buf_add_format(&line, "  %s %s", item->request->failed ? "failed after" : "compiled in",
                          rk_text_seconds(item->request->compile_ns).text);
    if (is_compared(item) && strcmp(item->nearest->key, item->request->key) != 0)
        rk_buf_add_format(&line, "  %s, compared with %.12s of A%s",
                          rk_cause_words(item->diff.cause), item->nearest->key,
                          item->nearest->failed ? ", which failed" : "");
    (void)printf("  ");
    rk_term_wrap(rk_need_text(&line), 2, 6, rk_term_columns(stdout), stdout);
    if (item->nearest && strcmp(item->nearest->key, item->request->key) == 0)
        return; // the title has the reason
    if (item->diff.cause != RK_CAUSE_OPTIONS && is_same_program(item))
        return; // the environment is shown above
    rk_diff_view_print_list(&item->diff.list, 6, how->all ? SIZE_MAX : DIFFERENCES_SHOWN,
                            how->stacks, stdout);
}

// Items to print.
typedef struct choice {
    const rk_run_only **items; // owned; the items are borrowed
    size_t count;
} choice;

static void choice_cleanup(choice *chosen) {
    rk_free(chosen->items);
}

static rk_err *choice_init(choice *chosen, size_t most) {
    chosen->items = rk_calloc(most + 1, sizeof(rk_run_only *));
    return chosen->items ? NULL : rk_err_no_memory();
}

static void add(choice *chosen, const rk_run_only *item) {
    chosen->items[chosen->count++] = item;
}

static int by_cost(const void *a, const void *b) {
    const rk_run_only *x = *(const rk_run_only *const *)a, *y = *(const rk_run_only *const *)b;
    if (x->request->compile_ns != y->request->compile_ns)
        return x->request->compile_ns < y->request->compile_ns ? 1 : -1;
    return x < y ? -1 : x > y; // the items of a list are in the order of their requests
}

// Prints the costliest items first.
static void print_choice(const char *title, choice *list, const char *note,
                         const rk_diff_how *how) {
    size_t most = how->all ? SIZE_MAX : SHOWN;
    if (!list->count)
        return;
    qsort(list->items, list->count, sizeof *list->items, by_cost);
    (void)printf("\n%s%s%s  %zu program%s\n", rk_style(RK_STYLE_BOLD, stdout), title,
                 rk_style(RK_STYLE_NONE, stdout), list->count, rk_text_plural(list->count));
    if (note) {
        (void)printf("  ");
        rk_term_wrap(note, 2, 2, rk_term_columns(stdout), stdout);
    }
    for (size_t i = 0; i < list->count && i < most; i++)
        print_only(list->items[i], how);
    if (list->count > most)
        (void)printf("  and %zu more: --all shows them\n", list->count - most);
}

static rk_err *print_list(const char *title, const rk_run_only_list *list, const char *note,
                          const rk_diff_how *how) {
    __attribute__((cleanup(choice_cleanup))) choice all = {0};
    RK_TRY(choice_init(&all, list->count));
    for (size_t i = 0; i < list->count; i++)
        add(&all, &list->items[i]);
    print_choice(title, &all, note, how);
    return NULL;
}

static const char unnamed_note[] = "Where only digests are shown, the journal has no more, and the "
                                   "store no program with the earlier or later options.";

static bool has_unnamed_options(const rk_run_only_list *list) {
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].diff.list.count; k++)
            if (rk_same_text(list->items[i].diff.list.items[k].attribute, RK_UNNAMED_OPTIONS))
                return true;
    return false;
}

// Why a program was compiled again.
static const char *reason_of(const rk_run_only *item) {
    return item->diff.list.count ? item->diff.list.items[0].after : "";
}

// Prints the programs that were compiled again for the same reason.
static void print_again_because(const rk_run_only_list *list, const char *reason, choice *same,
                                const rk_diff_run *b, const rk_diff_how *how) {
    RK_AUTO(rk_buf) note = {0};
    same->count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(reason_of(&list->items[i]), reason) == 0)
            add(same, &list->items[i]);
    rk_buf_add_format(&note,
                      "Nothing changed in %s: the stored executable%s %s %s (`rekindle explain",
                      same->count == 1 ? "it" : "them", rk_text_plural(same->count),
                      same->count == 1 ? "was" : "were", reason);
    rk_verb_add_dir(&note);
    rk_buf_add_format(&note, " --run %s`).", rk_need_text(&b->number));
    if (strncmp(reason, "not stored", 10) == 0) {
        rk_buf_clear(&note);
        rk_buf_add_format(&note, "Nothing changed in %s: the executable%s %s %s.",
                          same->count == 1 ? "it" : "them", rk_text_plural(same->count),
                          same->count == 1 ? "was" : "were", reason);
    }
    print_choice("compiled again", same, rk_need_text(&note), how);
}

static rk_err *print_again(const rk_run_only_list *list, const rk_diff_run *b,
                           const rk_diff_how *how) {
    __attribute__((cleanup(choice_cleanup))) choice same = {0};
    RK_TRY(choice_init(&same, list->count));
    for (size_t i = 0; i < list->count; i++) {
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told |= strcmp(reason_of(&list->items[k]), reason_of(&list->items[i])) == 0;
        if (!told)
            print_again_because(list, reason_of(&list->items[i]), &same, b, how);
    }
    return NULL;
}

// Returns whether a program of run B is compared with this one of run A.
static bool is_counterpart(const rk_run_only *item, const choice *changed) {
    for (size_t i = 0; i < changed->count; i++)
        if (strcmp(changed->items[i]->nearest->program, item->request->program) == 0)
            return true;
    return false;
}

static void print_unread(const rk_run_only *item) {
    RK_AUTO(rk_buf) line = {0};
    rk_buf_add_text(&line, "  ");
    rk_text_add_printable(&line, rk_span_text(rk_diff_runs_name(item)));
    rk_buf_add_format(&line, "  %.12s → %.12s", item->unread_with->key, item->request->key);
    if (item->request->compiled)
        rk_buf_add_format(&line, "  %s %s", item->request->failed ? "failed after" : "compiled in",
                          rk_text_seconds(item->request->compile_ns).text);
    bool both = !item->program && !item->unread_is_kept;
    rk_buf_add_format(&line, "  %s %s %s",
                      both            ? "both"
                      : item->program ? "the first"
                                      : "the second",
                      both ? "were" : "was",
                      item->removal ? rk_removal_text(item->removal) : "not kept in the store");
    print_line(&line, 6);
}

// Programs of one name that only one run each requested.
static void print_not_compared(choice *list, const rk_diff_how *how) {
    size_t most = how->all ? SIZE_MAX : SHOWN;
    if (!list->count)
        return;
    qsort(list->items, list->count, sizeof *list->items, by_cost);
    (void)printf("\n%snot compared%s  %zu program%s\n", rk_style(RK_STYLE_BOLD, stdout),
                 rk_style(RK_STYLE_NONE, stdout), list->count, rk_text_plural(list->count));
    for (size_t i = 0; i < list->count && i < most; i++)
        print_unread(list->items[i]);
    if (list->count > most)
        (void)printf("  and %zu more: --all shows them\n", list->count - most);
}

static rk_err *print_one_sided(const rk_run_only_list *before, const rk_run_only_list *after,
                               const rk_diff_how *how) {
    __attribute__((cleanup(choice_cleanup))) choice changed = {0};
    __attribute__((cleanup(choice_cleanup))) choice gone = {0};
    __attribute__((cleanup(choice_cleanup))) choice added = {0};
    __attribute__((cleanup(choice_cleanup))) choice unread = {0};
    RK_TRY(choice_init(&changed, after->count));
    RK_TRY(choice_init(&added, after->count));
    RK_TRY(choice_init(&unread, after->count));
    RK_TRY(choice_init(&gone, before->count));
    for (size_t i = 0; i < after->count; i++) {
        const rk_run_only *item = &after->items[i];
        add(item->unread_with ? &unread : is_compared(item) ? &changed : &added, item);
    }
    for (size_t i = 0; i < before->count; i++)
        if (!before->items[i].unread_with && !is_counterpart(&before->items[i], &changed))
            add(&gone, &before->items[i]);
    print_choice("changed from A", &changed, NULL, how);
    print_not_compared(&unread, how);
    print_choice("only in A", &gone, NULL, how);
    print_choice("only in B", &added, NULL, how);
    return NULL;
}

// How many programs both runs requested, and how many of them under other keys.
static void print_in_both(const rk_run_diff *diff) {
    RK_AUTO(rk_buf) line = {0};
    size_t other = diff->under_other_keys;
    rk_buf_add_format(&line, "\n%zu program%s in both", diff->in_both,
                      diff->in_both == 1 ? " is" : "s are");
    if (other && other == diff->in_both)
        rk_buf_add_text(&line, other == 1 ? ", but" : ", all");
    else if (other)
        rk_buf_add_format(&line, ", %zu of them", other);
    if (other)
        rk_buf_add_text(&line, " with other options or in another environment");
    rk_buf_add_byte(&line, '.');
    print_line(&line, 2);
}

rk_err *rk_diff_runs_print(const rk_diff_run *a, const rk_diff_run *b, const rk_run_diff *diff,
                           const rk_diff_how *how) {
    print_command_diff(a, b);
    print_side("A", a);
    print_side("B", b);
    print_in_both(diff);
    if (diff->environment.count) {
        (void)printf("\n%senvironment%s\n", rk_style(RK_STYLE_BOLD, stdout),
                     rk_style(RK_STYLE_NONE, stdout));
        rk_diff_view_print_list(&diff->environment, 2, how->all ? SIZE_MAX : ENVIRONMENT_SHOWN,
                                how->stacks, stdout);
    }
    RK_TRY(print_again(&diff->again, b, how));
    RK_TRY(print_list("with other options", &diff->other_options,
                      has_unnamed_options(&diff->other_options) ? unnamed_note : NULL, how));
    RK_TRY(print_list("in another environment", &diff->other_environment, NULL, how));
    RK_TRY(print_one_sided(&diff->only_before, &diff->only_after, how));
    if (!diff->environment.count && !diff->under_other_keys && !diff->only_before.count &&
        !diff->only_after.count && !diff->again.count)
        (void)printf("Nothing differs in what the two runs requested, or where they ran.\n");
    return NULL;
}
