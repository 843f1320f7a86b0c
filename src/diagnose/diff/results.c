// Compares the results of two programs. They are matched by JAX's names. Without names, they are
// matched by type and by the operation that makes them.
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/diff/align.h"
#include "diagnose/diff/diff_internal.h"
#include "diagnose/diff/hash.h"

// Returns JAX's name of a result, borrowed: "result[0]['loss']", or "[0]['loss']" (before JAX 0.5).
// Empty if it has none.
static rk_span name_of(const rk_program_index *index, uint32_t result) {
    const rk_model *m = index->model;
    if (!index->entry)
        return (rk_span){0};
    uint32_t list = rk_model_attr(m, &m->ops.items[index->functions[index->entry].op], "res_attrs");
    const rk_node *node = list == RK_NO_ID ? NULL : &m->nodes.items[list];
    uint32_t id = node && result < node->field_count
                      ? m->fields.items[node->first_field + result].node
                      : RK_NO_ID;
    const rk_node *attrs = id == RK_NO_ID ? NULL : &m->nodes.items[id];
    for (uint32_t i = 0; attrs && i < attrs->field_count; i++) {
        rk_field field = m->fields.items[attrs->first_field + i];
        if (rk_span_is(rk_model_string(m, field.name), "jax.result_info") && field.node != RK_NO_ID)
            return m->nodes.items[field.node].bytes;
    }
    return (rk_span){0};
}

static uint64_t hash_result(const rk_differ *d, bool after, uint32_t number, bool by_maker) {
    const rk_program_index *index = after ? d->b : d->a;
    uint32_t value = index->results[number], op = index->producer[value];
    uint64_t hash = rk_differ_hash_type(index, value, true);
    uint32_t item = op == RK_NO_ID ? RK_NO_ID : index->item_of_op[op];
    if (!by_maker || item == RK_NO_ID)
        return hash;
    // Matched operations get the same number: that of the earlier one.
    uint32_t maker = after ? d->back[item] : item;
    return rk_hash_mix(hash, maker == RK_NO_ID ? (uint64_t)item << 32 : maker);
}

bool rk_differ_is_literal_result(const rk_program_index *index, uint32_t number) {
    return index->literal[index->results[number]] != RK_NO_ID;
}

static bool has_causes(const rk_differ *d) {
    return rk_differ_inputs_differ(d) || d->structures || d->constants || d->converts;
}

static rk_err *add_result(rk_differ *d, bool added, uint32_t number) {
    const rk_program_index *index = added ? d->b : d->a;
    uint32_t value = index->results[number], op = index->producer[value];
    rk_differ_subject subject = {.op = rk_span_text("result"),
                                 .function = index->functions[index->entry].name};
    if (op == RK_NO_ID || !rk_program_index_source(index, op, &subject.place))
        subject.place = d->b->call;
    RK_AUTO(rk_buf) name = {0};
    RK_AUTO(rk_buf) type = {0};
    rk_span own = name_of(index, number);
    if (!own.len)
        rk_buf_add_format(&name, "result %" PRIu32, number);
    else if (own.data[0] == '[')
        rk_buf_add_text(&name, "result");
    rk_buf_add_span(&name, own);
    rk_program_index_write_type(index->model, index->model->values.items[value].type, &type);
    rk_span text = rk_buf_span(&type), none = {0};
    // Without a name, a literal does not tell which result it is.
    subject.follows = !own.len && rk_differ_is_literal_result(index, number) && has_causes(d);
    d->parameters += !subject.follows;
    return rk_differ_add(d, added ? RK_DIFFERENCE_PARAMETER_ADDED : RK_DIFFERENCE_PARAMETER_REMOVED,
                         &subject, rk_buf_span(&name), added ? none : text, added ? text : none);
}

static int compare_hashes(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Hashes the names of all results. `*out_named` is false if one has no name, or two have the same.
static rk_err *hash_names(const rk_program_index *index, uint64_t *out_hashes, bool *out_named) {
    rk_autofree uint64_t *sorted = rk_malloc(((size_t)index->result_count + 1) * sizeof *sorted);
    if (!sorted)
        return rk_err_no_memory();
    *out_named = false;
    for (uint32_t i = 0; i < index->result_count; i++) {
        rk_span name = name_of(index, i);
        if (!name.len)
            return NULL;
        sorted[i] = out_hashes[i] = rk_hash_span(RK_HASH_SEED, name);
    }
    if (index->result_count)
        qsort(sorted, index->result_count, sizeof *sorted, compare_hashes);
    for (uint32_t i = 1; i < index->result_count; i++)
        if (sorted[i] == sorted[i - 1])
            return NULL;
    *out_named = true;
    return NULL;
}

// Aligns the results by name. `*out_named` is false, and the content of `match` undefined, if some
// have no name of their own, or if a name of the program with fewer results is not in the other one
// with the same type: the name may be a position ("result[2]"), which moves if a result is
// inserted.
static rk_err *match_names(const rk_differ *d, uint32_t *match, bool *out_named) {
    uint32_t before = d->a->result_count, after = d->b->result_count, matched = 0;
    rk_autofree uint64_t *hashes = rk_malloc(((size_t)before + after + 1) * sizeof *hashes);
    bool both = false;
    if (!hashes)
        return rk_err_no_memory();
    RK_TRY(hash_names(d->a, hashes, out_named));
    if (*out_named)
        RK_TRY(hash_names(d->b, hashes + before, &both));
    *out_named = *out_named && both;
    if (!*out_named)
        return NULL;
    RK_TRY(rk_align(hashes, before, hashes + before, after, match));
    for (uint32_t i = 0; i < before; i++)
        matched += match[i] != RK_ALIGN_NONE &&
                   rk_differ_hash_type(d->a, d->a->results[i], true) ==
                       rk_differ_hash_type(d->b, d->b->results[match[i]], true);
    *out_named = matched == (before < after ? before : after);
    return NULL;
}

// Aligns the results by type, or by type and the operation that makes them.
static rk_err *match_results(const rk_differ *d, bool by_maker, uint32_t *match) {
    uint32_t before = d->a->result_count, after = d->b->result_count;
    rk_autofree uint64_t *hashes = rk_malloc(((size_t)before + after + 1) * sizeof *hashes);
    if (!hashes)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < before; i++)
        hashes[i] = hash_result(d, false, i, by_maker);
    for (uint32_t i = 0; i < after; i++)
        hashes[before + i] = hash_result(d, true, i, by_maker);
    return rk_align(hashes, before, hashes + before, after, match);
}

// Reports added and removed results if their number changed. Otherwise a change of a result shows
// in the operation that makes it.
rk_err *rk_differ_results(rk_differ *d, bool literals) {
    uint32_t before = d->a->result_count, after = d->b->result_count, matched = 0;
    bool named;
    if (before == after)
        return NULL;
    rk_autofree uint32_t *match = rk_malloc(((size_t)before + 1) * sizeof *match);
    rk_autofree bool *seen = rk_calloc((size_t)after + 1, sizeof *seen);
    if (!match || !seen)
        return rk_err_no_memory();
    // Operations distinguish results of one type. If some operations have no partner, types alone
    // match more results.
    RK_TRY(match_names(d, match, &named));
    for (int by_maker = 1; by_maker >= 0 && !named; by_maker--) {
        RK_TRY(match_results(d, by_maker, match));
        matched = 0;
        for (uint32_t i = 0; i < before; i++)
            matched += match[i] != RK_ALIGN_NONE;
        if (matched == (before < after ? before : after))
            break;
    }
    for (uint32_t i = 0; i < before; i++) {
        if (match[i] != RK_ALIGN_NONE)
            seen[match[i]] = true;
        else if (before > after && rk_differ_is_literal_result(d->a, i) == literals)
            RK_TRY(add_result(d, false, i));
    }
    for (uint32_t i = 0; i < after && after > before; i++)
        if (!seen[i] && rk_differ_is_literal_result(d->b, i) == literals)
            RK_TRY(add_result(d, true, i));
    return NULL;
}
