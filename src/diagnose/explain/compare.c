// Compares a program with the most similar earlier one.
#include "base/alloc.h"
#include "diagnose/diff/components.h"
#include "diagnose/diff/diff.h"
#include "diagnose/explain/explain_internal.h"

// Options whose values follow from the number of inputs and of devices.
static bool follows_from_program(const rk_difference *d) {
    static const char *const parts[] = {"allow_spmd_sharding_propagation", "num_partitions",
                                        "num_replicas", "device_assignment"};
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++)
        if (d->kind == RK_DIFFERENCE_OPTION && d->attribute && strstr(d->attribute, parts[i]))
            return true;
    return false;
}

static rk_err *append(rk_differences *list, rk_differences *from) {
    for (size_t i = 0; i < from->count; i++) {
        from->items[i].order = (uint32_t)list->count; // both lists are sorted already
        RK_TRY(rk_differences_add(list, &from->items[i]));
    }
    list->left_out += from->left_out;
    return NULL;
}

static bool rules_over_program(rk_cause cause) {
    return cause == RK_CAUSE_TOOLCHAIN || cause == RK_CAUSE_DEVICE;
}

// Joins both lists. The program's own differences come first, unless another toolchain or device
// explains them.
static rk_err *join(rk_explained *item, rk_program_diff *program, rk_differences *components) {
    rk_cause other = rk_components_cause(components);
    bool rules = program->cause == RK_CAUSE_FIRST || rules_over_program(other);
    for (size_t i = 0; i < components->count; i++)
        components->items[i].follows =
            program->list.cause_count && follows_from_program(&components->items[i]);
    // A flag that the framework reads also changes the options.
    for (size_t i = 0; i < components->count && other != RK_CAUSE_OPTIONS; i++)
        components->items[i].follows |= components->items[i].kind == RK_DIFFERENCE_OPTION;
    // Another version or another set of devices explains the differences of the program.
    for (size_t i = 0; i < program->list.count && rules; i++)
        program->list.items[i].follows = true;
    item->cause = rules ? other : program->cause;
    item->accumulates = program->accumulates;
    RK_TRY(append(&item->differences, rules ? components : &program->list));
    RK_TRY(append(&item->differences, rules ? &program->list : components));
    rk_differences_sort(&item->differences);
    return NULL;
}

// Comparison by sketches, if a program itself was not kept.

static rk_err *add_input(rk_program_diff *diff, rk_difference_kind kind, const rk_sketch *of,
                         const rk_sketch_value *before, const rk_sketch_value *after) {
    const rk_source place = rk_sketch_source(rk_sketch_place(of));
    const rk_sketch_value *named = after ? after : before;
    const rk_difference plain = {.kind = kind};
    const rk_difference_words words = {
        .op = rk_span_text("parameter"),
        .attribute = rk_span_text(named->name),
        .before = rk_span_text(before ? before->type : ""),
        .after = rk_span_text(after ? after->type : ""),
    };
    return rk_differences_note(&diff->list, &plain, &words, &place);
}

static const char *element_of(const char *type) {
    const char *x = strrchr(type, 'x');
    return x ? x : type;
}

static rk_err *compare_sketches(const rk_sketch *a, const rk_sketch *b, rk_program_diff *diff) {
    uint32_t i = 0;
    for (; i < a->input_count && i < b->input_count; i++) {
        const rk_sketch_value *x = &a->inputs[i], *y = &b->inputs[i];
        if (strcmp(x->name, y->name) != 0)
            break;
        if (strcmp(x->type, y->type) == 0)
            continue;
        bool dtype = strcmp(element_of(x->type), element_of(y->type)) != 0;
        if (diff->cause == RK_CAUSE_FIRST)
            diff->cause = dtype ? RK_CAUSE_DTYPE : RK_CAUSE_SHAPE;
        RK_TRY(add_input(diff, dtype ? RK_DIFFERENCE_DTYPE : RK_DIFFERENCE_SHAPE, b, x, y));
    }
    if (a->input_count != b->input_count) {
        bool added = b->input_count > a->input_count;
        diff->cause = RK_CAUSE_PARAMETERS;
        return add_input(diff,
                         added ? RK_DIFFERENCE_PARAMETER_ADDED : RK_DIFFERENCE_PARAMETER_REMOVED, b,
                         added ? NULL : &a->inputs[i], added ? &b->inputs[i] : NULL);
    }
    if (diff->cause == RK_CAUSE_FIRST)
        diff->cause = a->structure == b->structure ? RK_CAUSE_CONSTANT : RK_CAUSE_STRUCTURE;
    return NULL;
}

static rk_err *compare_programs(const rk_explainer *e, const rk_loaded *after, rk_explained *item,
                                rk_program_diff *diff, rk_differences *components) {
    RK_AUTO(rk_loaded) before = {0};
    RK_TRY(rk_corpus_open(e->corpus, item->nearest, &before));
    RK_TRY(rk_diff_toolchains(before.toolchain, after->toolchain, components));
    if (after->loaded)
        RK_TRY(
            rk_diff_libraries(before.toolchain, after->toolchain, after->model, &item->libraries));
    if (before.components && after->components)
        RK_TRY(rk_diff_components(before.components, after->components, components));
    if (rk_digest_equal(&item->nearest->key.program, &item->program->key.program))
        return NULL;
    if (before.loaded && after->loaded)
        return rk_diff_programs(&before.index, &after->index, diff);
    return item->nearest->has_sketch && item->program->has_sketch
               ? compare_sketches(&item->nearest->sketch, &item->program->sketch, diff)
               : NULL;
}

rk_err *rk_explain_compare(const rk_explainer *e, const rk_loaded *loaded, rk_explained *item) {
    RK_AUTO(rk_program_diff) diff = {0};
    RK_AUTO(rk_differences) components = {0};
    RK_TRY(compare_programs(e, loaded, item, &diff, &components));
    return join(item, &diff, &components);
}
