// Finds which operation refers to each function of a program.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/diff/callers_internal.h"

typedef struct named {
    rk_span name; // borrowed from the model
    uint32_t function;
} named;

typedef struct search {
    rk_program_index *index;
    named *names; // owned; sorted
    uint32_t name_count;
    uint32_t looks; // nodes that may still be visited
} search;

static void search_cleanup(search *s) {
    rk_free(s->names);
}

static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    int order = rk_span_compare(x->name, y->name);
    return order ? order : (x->function > y->function) - (x->function < y->function);
}

static void note_call(const search *s, uint32_t op, rk_span name) {
    uint32_t low = 0, high = s->name_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rk_span_compare(s->names[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->name_count && rk_span_equal(s->names[low].name, name); low++) {
        rk_program_index_function *function = &s->index->functions[s->names[low].function];
        if (function->caller != RK_NO_ID)
            return; // the same holds for all functions of this name
        function->caller = op;
    }
}

// Records the operation as the caller of each function that the attribute names. Looks into lists,
// at most two deep.
static void note_calls(search *s, uint32_t op, uint32_t node, unsigned depth) {
    const rk_model *m = s->index->model;
    const rk_node *at = &m->nodes.items[node];
    if (!s->looks)
        return;
    s->looks--;
    if (at->kind == RK_NODE_SYMBOL)
        note_call(s, op, at->bytes);
    else if (at->kind == RK_NODE_LIST && depth < 2)
        for (uint32_t i = 0; i < at->field_count && s->looks; i++)
            note_calls(s, op, m->fields.items[at->first_field + i].node, depth + 1);
}

rk_err *rk_program_index_find_callers(rk_program_index *index) {
    enum { LOOKS_MAX = 1 << 24 }; // a limit for programs that were made to be slow
    const rk_model *m = index->model;
    RK_AUTO(search) s = {.index = index, .looks = LOOKS_MAX};
    s.names = rk_calloc((size_t)index->function_count + 1, sizeof *s.names);
    if (!s.names)
        return rk_err_no_memory();
    for (uint32_t f = 1; f < index->function_count; f++)
        s.names[s.name_count++] = (named){index->functions[f].name, f};
    qsort(s.names, s.name_count, sizeof *s.names, by_name);
    for (uint32_t i = 0; i < index->item_count; i++) {
        const rk_op *op = &m->ops.items[index->items[i].op];
        for (uint32_t a = 0; a < op->attr_count; a++)
            note_calls(&s, index->items[i].op, m->fields.items[op->first_attr + a].node, 0);
    }
    return NULL;
}
