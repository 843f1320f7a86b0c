#include "diagnose/diff/known.h"

#include "diagnose/diff/components.h"
#include "diagnose/diff/counterparts.h"
#include "diagnose/diff/sketch_diff.h"

// Changes that a difference without a place may stand for. So a comparison with a few known changes
// comes first.
enum { CHANGES_UNKNOWN = 8 };

void rk_known_diff_cleanup(rk_known_diff *diff) {
    rk_program_diff_cleanup(&diff->diff);
    rk_differences_cleanup(&diff->libraries);
    *diff = (rk_known_diff){0};
}

static bool is_same_change(const rk_difference *a, const rk_difference *b) {
    return a->kind == b->kind && a->line == b->line && rk_same_text(a->attribute, b->attribute) &&
           rk_same_text(a->before, b->before) && rk_same_text(a->after, b->after) &&
           rk_same_text(a->file, b->file);
}

bool rk_has_change(const rk_differences *list, const rk_difference *change) {
    for (size_t i = 0; i < list->cause_count; i++)
        if (is_same_change(&list->items[i], change))
            return true;
    return false;
}

static rk_err *diff_programs(const rk_known *before, const rk_loaded *earlier,
                             const rk_known *after, const rk_loaded *loaded,
                             rk_program_diff *diff) {
    if (rk_digest_equal(&before->key.program, &after->key.program))
        return NULL;
    if (earlier->loaded && loaded->loaded)
        return rk_diff_programs(&earlier->index, &loaded->index, diff);
    return before->has_sketch && after->has_sketch
               ? rk_diff_sketches(&before->sketch, &after->sketch, diff)
               : NULL;
}

// Counts a difference without a place as many changes, also one that is noted as following: nothing
// shows that it does.
static size_t count_changes(const rk_differences *list, rk_known_changes changes) {
    size_t count = rk_count_changes(list, changes.is_known, changes.context);
    for (size_t i = 0; i < list->count; i++) {
        const rk_difference *d = &list->items[i];
        if (rk_is_sketchy(d) && !(changes.is_known && changes.is_known(changes.context, d)))
            count += CHANGES_UNKNOWN;
    }
    return count;
}

rk_err *rk_diff_known(const rk_corpus *corpus, const rk_known *before, const rk_known *after,
                      const rk_loaded *loaded, rk_known_changes changes, rk_known_diff *out_diff) {
    *out_diff = (rk_known_diff){0};
    RK_AUTO(rk_loaded) earlier = {0};
    RK_AUTO(rk_differences) components = {0};
    RK_TRY(rk_corpus_open(corpus, before, &earlier));
    RK_TRY(rk_diff_toolchains(earlier.toolchain, loaded->toolchain, &components));
    if (loaded->loaded)
        RK_TRY(rk_diff_libraries(earlier.toolchain, loaded->toolchain, loaded->model,
                                 &out_diff->libraries));
    if (earlier.components && loaded->components)
        RK_TRY(rk_diff_components(earlier.components, loaded->components, &components));
    RK_TRY(diff_programs(before, &earlier, after, loaded, &out_diff->diff));
    out_diff->elsewhere = out_diff->diff.cause == RK_CAUSE_TOOLCHAIN ||
                          rk_rules_over_program(rk_components_cause(&components));
    out_diff->changes =
        count_changes(&out_diff->diff.list, changes) + count_changes(&components, changes);
    return rk_join_components(&out_diff->diff, &components);
}
