#include "diagnose/diff/sketch_diff.h"

#include <inttypes.h>

#define WITHOUT_PROGRAMS "is not known without the programs (REKINDLE_KEEP_PROGRAMS)"

typedef struct pair {
    const rk_sketch *a, *b; // before, after
    rk_program_diff *out;
    size_t parameters, shapes, dtypes, sizes; // differences found, by class
} pair;

static bool is_named(const rk_difference *d, const char *attribute) {
    return d->op && strcmp(d->op, "program") == 0 && d->attribute &&
           strcmp(d->attribute, attribute) == 0;
}

bool rk_is_sketchy(const rk_difference *difference) {
    return is_named(difference, RK_SKETCH_OPERATIONS) || is_named(difference, RK_SKETCH_CONTENTS);
}

static rk_err *note(const pair *p, const rk_difference *plain, const char *op,
                    const char *attribute, const char *before, const char *after) {
    const rk_source place = rk_sketch_source(rk_sketch_place(p->b));
    const rk_difference_words words = {
        .op = rk_span_text(op),
        .attribute = rk_span_text(attribute),
        .before = rk_span_text(before),
        .after = rk_span_text(after),
    };
    return rk_differences_note(&p->out->list, plain, &words, &place);
}

static rk_err *compare_input(pair *p, uint32_t i, uint32_t j) {
    const rk_sketch_value *before = &p->a->inputs[i], *after = &p->b->inputs[j];
    if (strcmp(before->type, after->type) == 0)
        return NULL;
    bool dtype = rk_sketch_is_other_element(before, after);
    *(dtype ? &p->dtypes : &p->shapes) += 1;
    RK_AUTO(rk_buf) name = {0};
    if (*after->name)
        rk_buf_add_text(&name, after->name);
    else
        rk_buf_add_format(&name, "parameter %" PRIu32, j);
    RK_TRY(rk_buf_status(&name));
    return note(p, &(rk_difference){.kind = dtype ? RK_DIFFERENCE_DTYPE : RK_DIFFERENCE_SHAPE},
                "parameter", rk_buf_text(&name), before->type, after->type);
}

static rk_err *add_input(pair *p, bool added, const rk_sketch_value *input) {
    p->parameters++;
    return note(p,
                &(rk_difference){.kind = added ? RK_DIFFERENCE_PARAMETER_ADDED
                                               : RK_DIFFERENCE_PARAMETER_REMOVED},
                "parameter", input->name, added ? "" : input->type, added ? input->type : "");
}

// The number of values changed, and it is not known which values came or went.
static rk_err *add_number(pair *p, const char *op, const char *what, uint32_t from, uint32_t to) {
    RK_AUTO(rk_buf) before = {0};
    RK_AUTO(rk_buf) after = {0};
    rk_buf_add_format(&before, "%" PRIu32, from);
    rk_buf_add_format(&after, "%" PRIu32, to);
    RK_TRY(rk_buf_status(&before));
    RK_TRY(rk_buf_status(&after));
    p->parameters++;
    const rk_difference plain = {.kind = to > from ? RK_DIFFERENCE_PARAMETER_ADDED
                                                   : RK_DIFFERENCE_PARAMETER_REMOVED};
    return note(p, &plain, op, what, rk_buf_text(&before), rk_buf_text(&after));
}

static bool has_names(const rk_sketch *sketch) {
    for (uint32_t i = 0; i < sketch->input_count; i++)
        if (!*sketch->inputs[i].name)
            return false;
    return true;
}

// Finds an input by name, from `hint` on: most inputs are at the same position in both. Returns the
// number of inputs if there is none.
static uint32_t find_input(const rk_sketch *in, uint32_t hint, const char *name) {
    uint32_t count = in->input_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (hint + i) % count;
        if (strcmp(in->inputs[at].name, name) == 0)
            return at;
    }
    return count;
}

static rk_err *compare_by_name(pair *p) {
    uint32_t hint = 0;
    for (uint32_t i = 0; i < p->a->input_count; i++) {
        uint32_t j = find_input(p->b, hint, p->a->inputs[i].name);
        if (j == p->b->input_count) {
            RK_TRY(add_input(p, false, &p->a->inputs[i]));
            continue;
        }
        RK_TRY(compare_input(p, i, j));
        hint = j + 1;
    }
    hint = 0;
    for (uint32_t j = 0; j < p->b->input_count; j++) {
        uint32_t i = find_input(p->a, hint, p->b->inputs[j].name);
        if (i == p->a->input_count)
            RK_TRY(add_input(p, true, &p->b->inputs[j]));
        else
            hint = i + 1;
    }
    return NULL;
}

// PyTorch/XLA gives its inputs no names. One more input moves all inputs after it.
static rk_err *compare_inputs(pair *p) {
    if (has_names(p->a) && has_names(p->b))
        return compare_by_name(p);
    if (p->a->input_count != p->b->input_count)
        return add_number(p, "parameter", "number of inputs", p->a->input_count, p->b->input_count);
    for (uint32_t i = 0; i < p->a->input_count; i++)
        RK_TRY(compare_input(p, i, i));
    return NULL;
}

// The operations and the inputs are the same: only a size or a type from Python changes a result.
static rk_err *compare_results(pair *p) {
    for (uint32_t i = 0; i < p->a->result_count; i++) {
        const rk_sketch_value *before = &p->a->results[i], *after = &p->b->results[i];
        if (strcmp(before->type, after->type) == 0)
            continue;
        bool dtype = rk_sketch_is_other_element(before, after);
        *(dtype ? &p->dtypes : &p->sizes) += 1;
        RK_AUTO(rk_buf) name = {0};
        rk_buf_add_format(&name, "result %" PRIu32, i);
        RK_TRY(rk_buf_status(&name));
        RK_TRY(note(p, &(rk_difference){.kind = dtype ? RK_DIFFERENCE_DTYPE : RK_DIFFERENCE_SHAPE},
                    "result", rk_buf_text(&name), before->type, after->type));
    }
    return NULL;
}

static bool has_found(const pair *p) {
    return p->parameters || p->shapes || p->dtypes || p->sizes;
}

static rk_err *note_operations(const pair *p) {
    RK_AUTO(rk_buf) before = {0};
    RK_AUTO(rk_buf) after = {0};
    rk_buf_add_format(&before, "%" PRIu32 " operations", p->a->op_count);
    rk_buf_add_format(&after, "%" PRIu32 " %soperations; where they differ " WITHOUT_PROGRAMS,
                      p->b->op_count, p->a->op_count == p->b->op_count ? "other " : "");
    RK_TRY(rk_buf_status(&before));
    RK_TRY(rk_buf_status(&after));
    const rk_difference plain = {.kind = RK_DIFFERENCE_ATTRIBUTE, .follows = has_found(p)};
    return note(p, &plain, "program", RK_SKETCH_OPERATIONS, rk_buf_text(&before),
                rk_buf_text(&after));
}

static rk_err *note_contents(const pair *p) {
    const rk_difference plain = {.kind = RK_DIFFERENCE_CONSTANT};
    return note(p, &plain, "program", RK_SKETCH_CONTENTS, "not known",
                "another number, size, sharding or attribute; which one " WITHOUT_PROGRAMS);
}

static rk_err *compare_inside(pair *p) {
    if (p->a->structure != p->b->structure)
        return note_operations(p);
    if (!has_found(p))
        RK_TRY(compare_results(p));
    return has_found(p) ? NULL : note_contents(p);
}

// The order is that of rk_diff_programs.
static rk_cause cause_of(const pair *p) {
    if (p->parameters)
        return RK_CAUSE_PARAMETERS;
    if (p->shapes)
        return RK_CAUSE_SHAPE;
    if (p->dtypes)
        return RK_CAUSE_DTYPE;
    return p->a->structure != p->b->structure ? RK_CAUSE_STRUCTURE : RK_CAUSE_CONSTANT;
}

// Another version of the framework writes the program in another way.
static rk_err *compare_producers(const pair *p) {
    if (!*p->a->producer || !*p->b->producer || strcmp(p->a->producer, p->b->producer) == 0)
        return NULL;
    for (size_t i = 0; i < p->out->list.count; i++)
        p->out->list.items[i].follows = true;
    p->out->cause = RK_CAUSE_TOOLCHAIN;
    const rk_difference plain = {.kind = RK_DIFFERENCE_VERSION};
    const rk_difference_words words = {.op = rk_span_text("program"),
                                       .attribute = rk_span_text("producer"),
                                       .before = rk_span_text(p->a->producer),
                                       .after = rk_span_text(p->b->producer)};
    return rk_differences_note(&p->out->list, &plain, &words, &(rk_source){0});
}

rk_err *rk_diff_sketches(const rk_sketch *before, const rk_sketch *after,
                         rk_program_diff *out_diff) {
    *out_diff = (rk_program_diff){0};
    pair p = {.a = before, .b = after, .out = out_diff};
    RK_TRY(compare_inputs(&p));
    if (before->result_count != after->result_count)
        RK_TRY(add_number(&p, "result", "number of results", before->result_count,
                          after->result_count));
    RK_TRY(compare_inside(&p));
    out_diff->cause = cause_of(&p);
    RK_TRY(compare_producers(&p));
    rk_differences_sort(&out_diff->list);
    return NULL;
}
