#include "diagnose/explain/patterns_internal.h"

#include <stdlib.h>

#include "base/alloc.h"

const char *rk_pattern_kind_name(rk_pattern_kind kind) {
    static const char *const names[RK_PATTERN_KIND_COUNT] = {
        "counter",    "alternation",     "shape_family",    "optional_inputs", "fragments",
        "flag_drift", "rank_divergence", "repeated_blocks", "duplicate_storm",
    };
    return names[kind];
}

void rk_pattern_text_cleanup(rk_pattern_text *text) {
    rk_buf_cleanup(&text->summary);
    rk_buf_cleanup(&text->advice);
}

void rk_members_cleanup(rk_members *members) {
    rk_free(members->items);
    *members = (rk_members){0};
}

rk_err *rk_members_add(rk_members *members, const rk_explained *item) {
    if (members->count == members->capacity) {
        size_t capacity = members->capacity ? 2 * members->capacity : 16;
        const rk_explained **items = rk_realloc(members->items, capacity * sizeof(rk_explained *));
        if (!items)
            return rk_err_no_memory();
        members->items = items;
        members->capacity = capacity;
    }
    members->items[members->count++] = item;
    return NULL;
}

static rk_err *fill(rk_pattern *pattern, const rk_explained *const *members, size_t count,
                    rk_pattern_text *text, const char *file) {
    pattern->members = rk_calloc(count + 1, sizeof(rk_explained *));
    pattern->summary = rk_strdup(rk_buf_text(&text->summary));
    pattern->advice = rk_strdup(rk_buf_text(&text->advice));
    if (!pattern->members || !pattern->summary || !pattern->advice || text->summary.failed ||
        text->advice.failed)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++) {
        pattern->members[i] = members[i];
        pattern->lost_ns += rk_explained_cost_ns(members[i]);
    }
    pattern->member_count = count;
    return rk_difference_text(rk_span_text(file ? file : ""), &pattern->file);
}

rk_err *rk_add_pattern(rk_explainer *e, rk_pattern_kind kind, const rk_explained *const *members,
                       size_t count, rk_pattern_text *text, const char *file, uint32_t line) {
    rk_explanation *x = e->out;
    rk_pattern *patterns = rk_realloc(x->patterns, (x->pattern_count + 1) * sizeof *patterns);
    if (!patterns)
        return rk_err_no_memory();
    x->patterns = patterns;
    rk_pattern *pattern = &patterns[x->pattern_count++];
    *pattern = (rk_pattern){.kind = kind, .line = file ? line : 0};
    return fill(pattern, members, count, text, file);
}

static int costly_first(const void *a, const void *b) {
    const rk_pattern *x = a, *y = b;
    if (x->lost_ns != y->lost_ns)
        return x->lost_ns > y->lost_ns ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

rk_err *rk_find_patterns(rk_explainer *e) {
    RK_TRY(rk_find_fragments(e)); // first: resets causes between the parts of one step
    RK_TRY(rk_find_value_patterns(e));
    RK_TRY(rk_find_input_patterns(e));
    RK_TRY(rk_find_run_patterns(e));
    RK_TRY(rk_find_rank_divergence(e));
    if (e->out->pattern_count)
        qsort(e->out->patterns, e->out->pattern_count, sizeof *e->out->patterns, costly_first);
    return NULL;
}

// The three questions.

typedef struct asked {
    bool causes[RK_CAUSE_COUNT];
    rk_question *question;
    const char *no;
} asked;

static rk_err *answer(const rk_explanation *x, const asked *what) {
    const rk_explained *worst = NULL;
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (!what->causes[item->cause] || !rk_explained_head(item))
            continue;
        count++;
        if (!worst || rk_explained_cost_ns(item) > rk_explained_cost_ns(worst))
            worst = item;
    }
    RK_AUTO(rk_buf) text = {0};
    what->question->answer = worst != NULL;
    if (worst) {
        const rk_difference *head = rk_explained_head(worst);
        const char *thing = head->attribute ? head->attribute : head->op ? head->op : "";
        rk_buf_add_format(&text, "%s of %s: %s → %s", thing, rk_explained_name(worst),
                          head->before ? head->before : "none", head->after ? head->after : "none");
        if (head->file)
            rk_buf_add_format(&text, " (%s:%u)", head->file, head->line);
        if (count > 1)
            rk_buf_add_format(&text, ", and %zu more", count - 1);
    } else {
        rk_buf_add_text(&text, what->no);
    }
    RK_TRY(rk_buf_status(&text));
    what->question->evidence = rk_strdup(rk_buf_text(&text));
    return what->question->evidence ? NULL : rk_err_no_memory();
}

rk_err *rk_answer_questions(rk_explanation *x) {
    const asked questions[] = {
        {{[RK_CAUSE_SHAPE] = true},
         &x->input_shapes,
         "no program was compiled again for inputs of another shape"},
        {{[RK_CAUSE_SHARDING] = true,
          [RK_CAUSE_OPTIONS] = true,
          [RK_CAUSE_ENVIRONMENT] = true,
          [RK_CAUSE_TOOLCHAIN] = true,
          [RK_CAUSE_DEVICE] = true},
         &x->profile_or_sharding,
         "flags, variables, options, versions, devices and shardings are what they were"},
        {{[RK_CAUSE_STRUCTURE] = true, [RK_CAUSE_PARAMETERS] = true},
         &x->hidden_branch,
         "no function was compiled again with other operations, inputs or results"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(questions); i++)
        RK_TRY(answer(x, &questions[i]));
    return NULL;
}
