// Finds the operation that binds a program to its process, so that its executable is not stored.
#include "diagnose/explain/explain_internal.h"
#include "program/program.h"

enum {
    DEPTH_MAX = 2,       // nested attributes
    LOOKS_MAX = 1 << 20, // attributes visited; a limit for programs that were made to be slow
};

// State of a search.
typedef struct search {
    const rk_model *model;
    const char *reason; // names the process reference to find
    uint32_t looks;
} search;

static bool is_meant(const search *s, rk_span name) {
    return name.len && rk_program_is_process_reference(name) &&
           memmem(s->reason, strlen(s->reason), name.data, name.len) != NULL;
}

static bool names_reference(search *s, uint32_t name, uint32_t node, unsigned depth) {
    const rk_model *m = s->model;
    const rk_node *at = &m->nodes.items[node];
    if (s->looks++ >= LOOKS_MAX)
        return false;
    if ((name != RK_NO_ID && is_meant(s, rk_model_string(m, name))) || is_meant(s, at->bytes))
        return true;
    for (uint32_t i = 0; depth < DEPTH_MAX && i < at->field_count && s->looks < LOOKS_MAX; i++) {
        const rk_field *field = &m->fields.items[at->first_field + i];
        if (names_reference(s, field->name, field->node, depth + 1))
            return true;
    }
    return false;
}

static bool is_reference(search *s, const rk_op *op) {
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const rk_field *attr = &s->model->fields.items[op->first_attr + i];
        if (names_reference(s, attr->name, attr->node, 0))
            return true;
    }
    return false;
}

bool rk_find_process_reference(const rk_program_index *index, const char *reason,
                               rk_process_reference *out_reference) {
    search s = {.model = index->model, .reason = reason};
    bool found = false;
    for (uint32_t i = 1; i < index->item_count; i++) {
        const rk_op *op = &index->model->ops.items[index->items[i].op];
        if (!is_reference(&s, op))
            continue;
        rk_source place;
        bool has_line = rk_program_index_source(index, index->items[i].op, &place);
        if (found && !has_line)
            continue;
        if (!has_line)
            place = (rk_source){.model = index->model, .location = op->location};
        *out_reference = (rk_process_reference){rk_model_string(index->model, op->name), place};
        found = true;
        if (has_line)
            break;
    }
    return found;
}
