#include "diagnose/explain/work_internal.h"

#include "base/alloc.h"

enum {
    DEPTH_MAX = 32,            // calls within calls
    OPERATIONS_MAX = 1 << 30,  // of one item
    COMPARISONS_MAX = 1 << 22, // of a called name with a function, for programs made to be slow
};

void rk_work_cleanup(rk_work *work) {
    rk_free(work->items);
    *work = (rk_work){0};
}

typedef struct measured {
    rk_work_item sum;
    bool is_known;
} measured;

typedef struct measuring {
    const rk_program_index *index;
    rk_work_item *items;
    measured *functions; // owned
    uint32_t comparisons;
} measuring;

static bool contracts(const rk_model *m, const rk_op *op) {
    static const char *const names[] = {"stablehlo.dot_general", "stablehlo.dot",
                                        "stablehlo.convolution", "hlo.dot", "hlo.convolution"};
    rk_span name = rk_model_string(m, op->name);
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (rk_span_is(name, names[i]))
            return true;
    return false;
}

static void add(rk_work_item *to, const rk_work_item *more) {
    uint32_t rest = OPERATIONS_MAX - to->operations;
    to->operations += more->operations < rest ? more->operations : rest;
    to->contracts |= more->contracts;
}

// The function that a symbol names; 0 if there is none.
static uint32_t find_function(measuring *m, uint32_t node) {
    const rk_node *symbol = &m->index->model->nodes.items[node];
    for (uint32_t f = 1; symbol->kind == RK_NODE_SYMBOL && f < m->index->function_count; f++) {
        if (m->comparisons++ >= COMPARISONS_MAX)
            return 0;
        if (rk_span_equal(m->index->functions[f].name, symbol->bytes))
            return f;
    }
    return 0;
}

static void measure_function(measuring *m, uint32_t function, unsigned depth);

static rk_work_item measure_item(measuring *m, uint32_t item, unsigned depth) {
    const rk_model *model = m->index->model;
    const rk_op *op = &model->ops.items[m->index->items[item].op];
    rk_work_item sum = {.operations = 1, .contracts = contracts(model, op)};
    for (uint32_t a = 0; a < op->attr_count; a++) {
        uint32_t callee = find_function(m, model->fields.items[op->first_attr + a].node);
        if (!callee)
            continue;
        measure_function(m, callee, depth + 1);
        add(&sum, &m->functions[callee].sum);
    }
    return sum;
}

// A function that calls itself counts as empty inside of itself.
// NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX deep
static void measure_function(measuring *m, uint32_t function, unsigned depth) {
    measured *into = &m->functions[function];
    if (into->is_known || depth > DEPTH_MAX)
        return;
    into->is_known = true;
    const rk_program_index_function *f = &m->index->functions[function];
    rk_work_item sum = {0};
    for (uint32_t i = f->first; i < f->first + f->count; i++) {
        m->items[i] = measure_item(m, i, depth);
        add(&sum, &m->items[i]);
    }
    into->sum = sum;
}

rk_err *rk_work_measure(const rk_program_index *index, rk_work *out_work) {
    rk_autofree measured *functions = rk_calloc(index->function_count + 1, sizeof *functions);
    *out_work = (rk_work){.items = rk_calloc((size_t)index->item_count + 1, sizeof(rk_work_item))};
    if (!functions || !out_work->items)
        return rk_err_no_memory();
    measuring m = {.index = index, .items = out_work->items, .functions = functions};
    measure_function(&m, index->entry, 0);
    out_work->total = functions[index->entry].sum.operations;
    return NULL;
}
