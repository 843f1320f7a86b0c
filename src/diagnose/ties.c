// What ties a program to its process, so that its executable is not kept.
#include "diagnose/explain_inside.h"
#include "program/program.h"

enum { DEPTH_MAX = 2 }; // of attributes inside of attributes

static bool says_tie(const rk_model *m, uint32_t name, uint32_t node, unsigned depth) {
    const rk_node *at = &m->nodes.items[node];
    if ((name != RK_NO_ID && rk_program_is_tie(rk_model_string(m, name))) ||
        (at->bytes.len && rk_program_is_tie(at->bytes)))
        return true;
    for (uint32_t i = 0; depth < DEPTH_MAX && i < at->field_count; i++) {
        const rk_field *field = &m->fields.items[at->first_field + i];
        if (says_tie(m, field->name, field->node, depth + 1))
            return true;
    }
    return false;
}

static bool is_tie(const rk_model *m, const rk_op *op) {
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const rk_field *attr = &m->fields.items[op->first_attr + i];
        if (says_tie(m, attr->name, attr->node, 0))
            return true;
    }
    return false;
}

bool rk_find_tie(const rk_view *view, rk_tie *out_tie) {
    for (uint32_t i = 1; i < view->item_count; i++) {
        const rk_op *op = &view->model->ops.items[view->items[i].op];
        if (!is_tie(view->model, op) || !rk_view_source(view, view->items[i].op, &out_tie->place))
            continue;
        out_tie->op = rk_model_string(view->model, op->name);
        return true;
    }
    return false;
}
