#include "program/canon/canon.h"

#include "base/alloc.h"
#include "program/canon/cosmetics.h"
#include "program/role.h"

rk_err *rk_canon_open(rk_canon *c, rk_model *model) {
    *c = (rk_canon){.model = model};
    // These arrays must exist even if memory is short later.
    void *stamps = NULL, *contents = NULL;
    c->stream = rk_malloc(RK_CANON_STREAM_BYTES);
    bool good = c->stream && rk_canon_grow(c, &stamps, &c->stamp_capacity, 1, sizeof *c->stamps) &&
                rk_canon_grow(c, &contents, &c->content_capacity, 1, sizeof *c->contents);
    c->stamps = stamps;
    c->contents = contents;
    if (!good)
        return rk_err_no_memory();
    rk_canon_add_none(c);
    return NULL;
}

void rk_canon_flush(rk_canon *c) {
    if (!c->is_hashing)
        rk_hasher_init(&c->hasher);
    c->is_hashing = true;
    rk_hasher_add(&c->hasher, c->stream, c->stream_len);
    c->stream_len = 0;
}

static void finish_stream(rk_canon *c, rk_digest *out_digest) {
    rk_canon_flush(c);
    rk_hasher_finish(&c->hasher, out_digest);
    c->is_hashing = false;
}

static void put_bytes(rk_canon *c, rk_span bytes) {
    if (bytes.len > RK_CANON_STREAM_BYTES - c->stream_len)
        rk_canon_flush(c);
    if (bytes.len > RK_CANON_STREAM_BYTES) {
        rk_hasher_add(&c->hasher, bytes.data, bytes.len);
    } else if (bytes.len) {
        memcpy(c->stream + c->stream_len, bytes.data, bytes.len);
        c->stream_len += bytes.len;
    }
}

// Units.

static bool is_computation(const rk_model *model, const rk_op *op) {
    return rk_span_is(rk_model_string(model, op->name), "hlo.computation");
}

static bool is_function(const rk_model *model, const rk_op *op) {
    return rk_span_is(rk_model_string(model, op->name), "func.func") || is_computation(model, op);
}

rk_content_kind rk_canon_kind_of_head(const rk_canon *c, const rk_op *op) {
    rk_span name = rk_model_string(c->model, op->name);
    bool is_nameless = c->unit_count > 1
                           ? is_function(c->model, op)
                           : rk_span_is(name, "builtin.module") || rk_span_is(name, "hlo.module");
    return is_nameless ? RK_CONTENT_NAMELESS : RK_CONTENT_ATTRS;
}

static rk_span text_attr(const rk_model *model, const rk_op *op, const char *name) {
    uint32_t node = rk_model_attr(model, op, name);
    return node == RK_NO_ID ? (rk_span){0} : model->nodes.items[node].bytes;
}

static void describe_function(const rk_model *model, const rk_op *op, rk_unit *unit) {
    bool is_hlo = is_computation(model, op);
    unit->is_function = true;
    unit->name = text_attr(model, op, "sym_name");
    unit->is_public = is_hlo ? rk_model_attr(model, op, "entry") != RK_NO_ID
                             : !rk_span_is(text_attr(model, op, "sym_visibility"), "private");
    unit->keeps_name = (unit->is_public && !is_hlo) || rk_is_meaningful_symbol(unit->name);
}

static void end_unit(rk_canon *c) {
    if (!c->unit_count)
        return;
    rk_unit *unit = &c->units[c->unit_count - 1];
    unit->item_count = c->item_count - unit->first_item;
    finish_stream(c, &unit->digest);
}

void rk_canon_begin_unit(rk_canon *c, const rk_op *op) {
    end_unit(c);
    void *units = c->units;
    if (!rk_canon_grow(c, &units, &c->unit_capacity, c->unit_count + 1, sizeof *c->units))
        return;
    c->units = units;
    rk_unit *unit = &c->units[c->unit_count];
    *unit = (rk_unit){.first_item = c->item_count, .number = RK_NO_ID};
    if (!c->unit_count)
        unit->name = text_attr(c->model, op, "sym_name");
    else if (is_function(c->model, op))
        describe_function(c->model, op, unit);
    if (unit->is_function && unit->is_public)
        rk_role_read_function(c->model, op, &c->role);
    c->unit_count++;
    memset(c->next_number, 0, sizeof c->next_number);
}

// Writes one unit into the final hash. Content gets new numbers here, across all units.
static void put_unit(rk_canon *c, const rk_unit *unit, uint32_t *numbers, uint32_t *count) {
    rk_canon_put_number(c, unit->keeps_name);
    if (unit->keeps_name) {
        rk_canon_put_number(c, (uint32_t)unit->name.len);
        put_bytes(c, unit->name);
    }
    put_bytes(c, rk_digest_span(&unit->digest));
    rk_canon_put_number(c, unit->item_count);
    for (uint32_t i = 0; i < unit->item_count; i++) {
        uint32_t content = c->items[unit->first_item + i];
        rk_canon_put_number(c, numbers[content]);
        if (numbers[content])
            continue;
        numbers[content] = ++*count;
        rk_span form = rk_canon_form_of(c, content);
        rk_canon_put_number(c, (uint32_t)form.len);
        put_bytes(c, form);
    }
}

static rk_err *put_units(rk_canon *c, rk_digest *out_digest) {
    uint32_t count = 0, contents = c->interner.count;
    rk_autofree uint32_t *numbers = rk_calloc(contents ? contents : 1, sizeof *numbers);
    if (!numbers)
        return rk_err_no_memory();
    rk_canon_put_number(c, c->unit_count);
    for (uint32_t i = 0; i < c->unit_count; i++)
        if (!c->units[i].is_function)
            put_unit(c, &c->units[i], numbers, &count);
    rk_canon_put_number(c, c->queued);
    for (uint32_t i = 0; i < c->queued; i++)
        put_unit(c, &c->units[c->queue[i]], numbers, &count);
    finish_stream(c, out_digest);
    return NULL;
}

static rk_err *status(const rk_canon *c) {
    RK_TRY(rk_model_status(c->model));
    bool failed = c->failed || c->interner.failed || c->larges.failed || c->scratch.failed ||
                  c->large_digests.failed;
    return failed ? rk_err_no_memory() : NULL;
}

rk_err *rk_canon_finish(rk_canon *c, rk_digest *out_digest) {
    end_unit(c);
    RK_TRY(status(c));
    RK_TRY(rk_canon_number_symbols(c));
    rk_canon_renumber_forms(c);
    RK_TRY(put_units(c, out_digest));
    return status(c);
}
