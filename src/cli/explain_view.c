#include "cli/explain_view.h"

#include <math.h>

#include "cli/diff_view.h"

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
    if (!item->nearest && !(item->recorded && item->nearest_run))
        return json_null();
    char hex[RK_DIGEST_HEX_CHARS + 1];
    json_t *object = rk_out_object();
    if (!item->nearest) {
        rk_out_set(object, "program", rk_out_string(item->recorded->program));
        rk_out_set(object, "key", rk_out_string(item->recorded->key));
        rk_out_set(object, "run", rk_out_string(item->nearest_run));
        rk_out_set(object, "similarity", json_real(1));
        return object;
    }
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
    rk_out_set(object, "refused", rk_out_bool(compile->refused));
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
    rk_out_set(object, "seconds", rk_out_seconds(rk_pattern_cost_ns(pattern)));
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
