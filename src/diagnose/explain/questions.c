// Answers the three questions about a run.
#include "base/alloc.h"
#include "diagnose/explain/explain_internal.h"

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
