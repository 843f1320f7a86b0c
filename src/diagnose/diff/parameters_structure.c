// Matches parameters without names by what is computed from them, whatever the order of the
// operations. PyTorch/XLA numbers inputs, and writes operations, in the order in which the results
// need them. So one more result may renumber all inputs, and the operations in order match others.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/diff/diff_internal.h"
#include "diagnose/diff/hash.h"

enum { ROUNDS_MAX = 8, LITERAL = 1 };

typedef struct entry {
    uint64_t hash;
    uint32_t item;
} entry;

// One of the two programs.
typedef struct side {
    const rk_program_index *index;
    uint64_t *hashes; // by value: of the computation that makes it; owned
    entry *entries;   // of the operations of the entry function, sorted by hash; owned
    uint32_t count;
} side;

typedef struct couple {
    uint32_t before, after; // values
} couple;

typedef struct matcher {
    rk_differ *d;
    side a, b;
    bool *seen;    // by operation of a: its operands are compared; owned
    couple *stack; // owned; has room for the operands of all operations of a
    size_t stack_count;
    uint32_t pairs; // parameters that are matched so far
} matcher;

static void matcher_cleanup(matcher *m) {
    rk_free(m->a.hashes);
    rk_free(m->a.entries);
    rk_free(m->b.hashes);
    rk_free(m->b.entries);
    rk_free(m->seen);
    rk_free(m->stack);
}

static rk_err *prepare(side *s, const rk_program_index *index) {
    s->index = index;
    s->count = index->functions[index->entry].count;
    s->hashes = rk_calloc(index->model->values.count + 1, sizeof *s->hashes);
    s->entries = rk_malloc(((size_t)s->count + 1) * sizeof *s->entries);
    return s->hashes && s->entries ? NULL : rk_err_no_memory();
}

// Attributes tell apart operations with equal operands: which part of a tuple, which slice.
static uint64_t hash_attrs(const rk_program_index *index, const rk_op *op, uint64_t hash) {
    const rk_model *m = index->model;
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const rk_field *field = &m->fields.items[op->first_attr + i];
        rk_span name = rk_model_string(m, field->name);
        if (!rk_differ_is_ignored(name) || rk_span_is(name, "tuple_index"))
            hash = rk_hash_mix(rk_hash_span(hash, name), index->node_hash[field->node]);
    }
    return hash;
}

// The value of a constant does not count: it may be what differs.
static uint64_t hash_operand(const side *s, uint32_t value) {
    return s->index->literal[value] == RK_NO_ID
               ? s->hashes[value]
               : rk_hash_mix(LITERAL, rk_differ_hash_type(s->index, value, true));
}

static uint64_t hash_item(const side *s, const rk_program_index_item *item) {
    const rk_op *op = &s->index->model->ops.items[item->op];
    uint64_t hash = hash_attrs(s->index, op, item->kind);
    for (uint32_t k = 0; k < op->operand_count; k++)
        hash = rk_hash_mix(hash,
                           hash_operand(s, s->index->model->operands.items[op->first_operand + k]));
    for (uint32_t r = 0; r < op->result_count; r++) {
        uint32_t value = op->first_result + r;
        s->hashes[value] =
            rk_hash_mix(rk_hash_mix(hash, r), rk_differ_hash_type(s->index, value, true));
    }
    return hash;
}

static int compare_entries(const void *x, const void *y) {
    const entry *a = x, *b = y;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

// Hashes each operation with all that it is computed from. A parameter counts by its type, and by
// its partner if it has one.
static void hash_side(side *s, const uint32_t *partner, bool after) {
    const rk_program_index *index = s->index;
    const rk_program_index_function *function = &index->functions[index->entry];
    for (uint32_t i = 0; i < index->parameter_count; i++) {
        uint32_t value = index->parameters[i].value;
        uint64_t pair = partner[i] == RK_NO_ID ? 0 : 1 + (uint64_t)(after ? partner[i] : i);
        if (value != RK_NO_ID)
            s->hashes[value] = rk_hash_mix(rk_differ_hash_type(index, value, true), pair);
    }
    for (uint32_t i = 0; i < s->count; i++)
        s->entries[i] = (entry){hash_item(s, &index->items[function->first + i]), i};
    qsort(s->entries, s->count, sizeof *s->entries, compare_entries);
}

static void match_one(matcher *m, uint32_t p, uint32_t q) {
    rk_differ *d = m->d;
    if (p == RK_NO_ID || q == RK_NO_ID || d->parameter[p] != RK_NO_ID ||
        d->parameter_back[q] != RK_NO_ID || d->a->parameters[p].name.len ||
        d->b->parameters[q].name.len)
        return;
    d->parameter[p] = q;
    d->parameter_back[q] = p;
    m->pairs++;
}

static void push_operands(matcher *m, uint32_t before, uint32_t after) {
    const rk_model *a = m->a.index->model, *b = m->b.index->model;
    const rk_op *x = &a->ops.items[before], *y = &b->ops.items[after];
    if (m->seen[before])
        return;
    m->seen[before] = true;
    for (uint32_t k = 0; k < x->operand_count && k < y->operand_count; k++)
        m->stack[m->stack_count++] = (couple){a->operands.items[x->first_operand + k],
                                              b->operands.items[y->first_operand + k]};
}

// Matches the parameters that two equal operations are computed from.
static void match_below(matcher *m, uint32_t before, uint32_t after) {
    push_operands(m, before, after);
    while (m->stack_count) {
        couple at = m->stack[--m->stack_count];
        uint32_t x = m->a.index->producer[at.before], y = m->b.index->producer[at.after];
        if (hash_operand(&m->a, at.before) != hash_operand(&m->b, at.after))
            continue;
        match_one(m, m->a.index->parameter[at.before], m->b.index->parameter[at.after]);
        if (x != RK_NO_ID && y != RK_NO_ID)
            push_operands(m, x, y);
    }
}

static uint32_t end_of_equal(const side *s, uint32_t at) {
    uint32_t end = at;
    while (end < s->count && s->entries[end].hash == s->entries[at].hash)
        end++;
    return end;
}

// Fills in the partner of each operation of a that both programs have exactly once.
static void pair_unique(const matcher *m, uint32_t *partner) {
    uint32_t i = 0, j = 0;
    while (i < m->a.count && j < m->b.count) {
        uint64_t x = m->a.entries[i].hash, y = m->b.entries[j].hash;
        uint32_t i_end = end_of_equal(&m->a, i), j_end = end_of_equal(&m->b, j);
        if (x == y && i_end == i + 1 && j_end == j + 1)
            partner[m->a.entries[i].item] = m->b.entries[j].item;
        i = x <= y ? i_end : i;
        j = y <= x ? j_end : j;
    }
}

// The last operations come first: they are computed from the most, and decide what their operands
// are.
static void match_round(matcher *m, uint32_t *partner) {
    const rk_program_index *a = m->a.index, *b = m->b.index;
    memset(partner, 0xFF, m->a.count * sizeof *partner); // RK_NO_ID
    memset(m->seen, 0, a->model->ops.count * sizeof *m->seen);
    pair_unique(m, partner);
    for (uint32_t i = m->a.count; i-- > 0;)
        if (partner[i] != RK_NO_ID)
            match_below(m, a->items[a->functions[a->entry].first + i].op,
                        b->items[b->functions[b->entry].first + partner[i]].op);
}

rk_err *rk_differ_match_structure(rk_differ *d) {
    RK_AUTO(matcher) m = {.d = d};
    if (!d->a->entry || !d->b->entry)
        return NULL;
    RK_TRY(prepare(&m.a, d->a));
    RK_TRY(prepare(&m.b, d->b));
    m.seen = rk_calloc(d->a->model->ops.count + 1, sizeof *m.seen);
    m.stack = rk_malloc(((size_t)d->a->model->operands.count + 1) * sizeof *m.stack);
    rk_autofree uint32_t *partner = rk_malloc(((size_t)m.a.count + 1) * sizeof *partner);
    if (!m.seen || !m.stack || !partner)
        return rk_err_no_memory();
    for (uint32_t round = 0, before = RK_NO_ID; round < ROUNDS_MAX && m.pairs != before; round++) {
        before = m.pairs;
        hash_side(&m.a, d->parameter, false);
        hash_side(&m.b, d->parameter_back, true);
        match_round(&m, partner);
    }
    return NULL;
}
