// What ties a program to its process, so that its executable is not kept.
#include "diagnose/explain/explain_internal.h"
#include "program/program.h"

enum {
    DEPTH_MAX = 2,       // of attributes inside of attributes
    LOOKS_MAX = 1 << 20, // at attributes, for programs made to be slow
};

// One search.
typedef struct search {
    const rk_model *model;
    const char *reason; // names the one that is meant
    uint32_t looks;
} search;

static bool is_meant(const search *s, rk_span name) {
    return name.len && rk_program_is_process_reference(name) &&
           memmem(s->reason, strlen(s->reason), name.data, name.len) != NULL;
}

static bool says_tie(search *s, uint32_t name, uint32_t node, unsigned depth) {
    const rk_model *m = s->model;
    const rk_node *at = &m->nodes.items[node];
    if (s->looks++ >= LOOKS_MAX)
        return false;
    if ((name != RK_NO_ID && is_meant(s, rk_model_string(m, name))) || is_meant(s, at->bytes))
        return true;
    for (uint32_t i = 0; depth < DEPTH_MAX && i < at->field_count && s->looks < LOOKS_MAX; i++) {
        const rk_field *field = &m->fields.items[at->first_field + i];
        if (says_tie(s, field->name, field->node, depth + 1))
            return true;
    }
    return false;
}

static bool is_tie(search *s, const rk_op *op) {
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const rk_field *attr = &s->model->fields.items[op->first_attr + i];
        if (says_tie(s, attr->name, attr->node, 0))
            return true;
    }
    return false;
}

bool rk_find_process_reference(const rk_program_index *view, const char *reason,
                               rk_process_reference *out_tie) {
    search s = {.model = view->model, .reason = reason};
    for (uint32_t i = 1; i < view->item_count; i++) {
        const rk_op *op = &view->model->ops.items[view->items[i].op];
        if (!is_tie(&s, op) || !rk_program_index_source(view, view->items[i].op, &out_tie->place))
            continue;
        out_tie->op = rk_model_string(view->model, op->name);
        return true;
    }
    return false;
}
