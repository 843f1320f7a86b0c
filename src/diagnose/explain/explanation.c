#include "diagnose/explain/explanation.h"

#include "base/alloc.h"

const char *rk_pattern_kind_name(rk_pattern_kind kind) {
    static const char *const names[RK_PATTERN_KIND_COUNT] = {
        "counter",         "alternation",     "shape_family",    "optional_inputs",
        "fragments",       "flag_drift",      "rank_divergence", "repeated_blocks",
        "duplicate_storm", "toolchain_drift", "eager_startup",
    };
    return names[kind];
}

static const char *words_of_fragments(const rk_pattern *pattern) {
    return pattern->is_of_each_step ? "a step in pieces"
           : pattern->grows         ? "graphs that grow"
                                    : "operations one by one";
}

const char *rk_pattern_words(const rk_pattern *pattern) {
    static const char *const words[RK_PATTERN_KIND_COUNT] = {
        [RK_PATTERN_COUNTER] = "a changing number",
        [RK_PATTERN_ALTERNATION] = "programs in turn",
        [RK_PATTERN_SHAPE_FAMILY] = "changing sizes",
        [RK_PATTERN_OPTIONAL_INPUTS] = "inputs that come and go",
        [RK_PATTERN_FLAG_DRIFT] = "changed flags",
        [RK_PATTERN_RANK_DIVERGENCE] = "ranks that differ",
        [RK_PATTERN_REPEATED_BLOCKS] = "repeated blocks",
        [RK_PATTERN_DUPLICATE_STORM] = "the same programs again",
        [RK_PATTERN_TOOLCHAIN_DRIFT] = "changed versions",
        [RK_PATTERN_EAGER_STARTUP] = "a start operation by operation",
    };
    return pattern->kind == RK_PATTERN_FRAGMENTS ? words_of_fragments(pattern)
                                                 : words[pattern->kind];
}

uint64_t rk_pattern_cost_ns(const rk_pattern *pattern) {
    return pattern->lost_ns + pattern->shared_ns;
}

bool rk_pattern_explains(const rk_pattern *pattern) {
    return pattern->kind != RK_PATTERN_REPEATED_BLOCKS && pattern->kind != RK_PATTERN_FRAGMENTS &&
           pattern->kind != RK_PATTERN_EAGER_STARTUP;
}

bool rk_is_in_pattern(const rk_explanation *x, const rk_explained *item,
                      bool (*counts)(const rk_pattern *)) {
    for (size_t i = 0; i < x->pattern_count; i++)
        for (size_t k = 0; k < x->patterns[i].member_count; k++)
            if (x->patterns[i].members[k] == item && (!counts || counts(&x->patterns[i])))
                return true;
    return false;
}

static void item_cleanup(rk_explained *item) {
    rk_differences_cleanup(&item->differences);
    rk_differences_cleanup(&item->libraries);
    rk_free(item->blocks.file);
    rk_free(item->package);
    rk_free(item->advice);
}

static void pattern_cleanup(rk_pattern *pattern) {
    rk_free(pattern->members);
    rk_free(pattern->summary);
    rk_free(pattern->advice);
    rk_free(pattern->file);
}

void rk_explanation_cleanup(rk_explanation *explanation) {
    for (size_t i = 0; i < explanation->count; i++)
        item_cleanup(&explanation->items[i]);
    rk_free(explanation->items);
    for (size_t i = 0; i < explanation->pattern_count; i++)
        pattern_cleanup(&explanation->patterns[i]);
    rk_free(explanation->patterns);
    rk_free(explanation->input_shapes.evidence);
    rk_free(explanation->profile_or_sharding.evidence);
    rk_free(explanation->hidden_branch.evidence);
    *explanation = (rk_explanation){0};
}

const rk_explained *rk_explained_of(const rk_explanation *x, const rk_run_compile *request) {
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (x->items[middle].compile < request)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->count && x->items[low].compile == request ? &x->items[low] : NULL;
}

uint64_t rk_explained_cost_ns(const rk_explained *explained) {
    const rk_run_compile *compile = explained->compile;
    return explained->is_loaded ? compile->request_ns : compile->compile_ns;
}

const char *rk_explained_name(const rk_explained *explained) {
    const char *name = explained->compile->name;
    return *name || !explained->program || !explained->program->has_sketch
               ? name
               : explained->program->sketch.module;
}

bool rk_explained_share_name(const rk_explained *a, const rk_explained *b) {
    return rk_span_equal(rk_program_index_bare_name(rk_span_text(a->compile->name)),
                         rk_program_index_bare_name(rk_span_text(b->compile->name)));
}

bool rk_explained_is_torch(const rk_explained *explained) {
    return strncmp(explained->compile->name, "SyncTensorsGraph", 16) == 0 ||
           (explained->program && explained->program->has_sketch &&
            !explained->program->sketch.is_mlir);
}

bool rk_explained_is_unread(const rk_explained *explained) {
    return !explained->program || !explained->program->has_sketch;
}

bool rk_explained_is_uncompared(const rk_explained *explained) {
    return explained->cause == RK_CAUSE_FIRST &&
           (explained->gone || rk_explained_is_unread(explained));
}

bool rk_explained_needs_no_change(const rk_explained *explained) {
    return explained->is_startup || explained->is_own_call || explained->is_part;
}

bool rk_explained_has_libraries(const rk_explained *explained) {
    bool of_program = explained->cause == RK_CAUSE_STRUCTURE ||
                      explained->cause == RK_CAUSE_CONSTANT || explained->cause == RK_CAUSE_DTYPE ||
                      explained->cause == RK_CAUSE_PARAMETERS;
    return of_program && !explained->nearest_of && explained->libraries.count > 0;
}

void rk_explained_be_first(rk_explained *item) {
    rk_differences_cleanup(&item->differences);
    rk_differences_cleanup(&item->libraries);
    rk_free(RK_TAKE(item->advice));
    item->cause = RK_CAUSE_FIRST;
    item->nearest = NULL;
    item->nearest_of = NULL;
    item->nearest_run = NULL;
    item->similarity = 0;
}

rk_err *rk_explained_add_advice(rk_explained *item, const char *sentence) {
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_format(&text, "%s %s", item->advice, sentence);
    RK_TRY(rk_buf_status(&text));
    char *advice = rk_strdup(rk_buf_text(&text));
    if (!advice)
        return rk_err_no_memory();
    rk_free(item->advice);
    item->advice = advice;
    return NULL;
}

bool rk_explained_is_constant(const rk_explained *explained) {
    for (size_t i = 0; i < explained->differences.cause_count; i++)
        if (!explained->differences.items[i].constant)
            return false;
    return explained->cause == RK_CAUSE_PARAMETERS && explained->differences.cause_count > 0;
}
