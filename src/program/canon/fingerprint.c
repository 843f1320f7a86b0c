#include "program/canon/fingerprint.h"

#include "base/alloc.h"
#include "program/canon/canon.h"

enum { MAX_NESTING = 1024 };

// An operation whose regions are being written.
typedef struct frame {
    uint32_t region, end_region; // regions left, the current one first
    uint32_t block, end_block;   // blocks left in the current region, the current one first
    uint32_t op, end_op;         // operations left in the current block
    bool in_region, in_block;
} frame;

static void put_types(rk_canon *c, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        rk_canon_put_type(c, c->model->values.items[first + i].type);
}

// Writes for each operand how many values ago it was defined.
static void put_operands(rk_canon *c, const rk_op *op) {
    const uint32_t *numbers = c->value_numbers; // NULL: values have their own numbers
    uint32_t next = numbers ? c->next_numbers[op->first_result] : op->first_result;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t value = c->model->operands.items[op->first_operand + i];
        rk_canon_put_number(c, next - (numbers ? numbers[value] : value));
    }
}

static bool is_folded(const rk_canon *c, const rk_op *op) {
    return c->cast_operands && op->result_count == 1 &&
           c->cast_operands[op->first_result] != RK_NO_ID;
}

static void put_full(rk_canon *c, const rk_op *op) {
    rk_canon_put_number(c, RK_CANON_FULL);
    rk_canon_put_number(c, op->result_count);
    put_types(c, op->first_result, op->result_count);
    rk_canon_put_number(c, op->operand_count);
    put_operands(c, op);
    rk_canon_put_number(c, op->successor_count);
    for (uint32_t i = 0; i < op->successor_count; i++)
        rk_canon_put_number(c, c->model->successors.items[op->first_successor + i]);
    rk_canon_put_number(c, op->region_count);
}

static void put_op(rk_canon *c, const rk_op *op, rk_content_kind kind) {
    rk_canon_put_name(c, op->name);
    rk_canon_put_attrs(c, kind, op->first_attr, op->attr_count);
    if (op->result_count >= RK_CANON_FEW_RESULTS || op->operand_count >= RK_CANON_FEW_OPERANDS ||
        op->successor_count || op->region_count) {
        put_full(c, op);
        return;
    }
    rk_canon_put_few(c, op->result_count, op->operand_count);
    put_types(c, op->first_result, op->result_count);
    put_operands(c, op);
}

static frame frame_of(const rk_op *op) {
    return (frame){.region = op->first_region, .end_region = op->first_region + op->region_count};
}

// Takes one step in the frame. True if the step wrote an operation.
static bool step(rk_canon *c, frame *top, const rk_op **out_op) {
    const rk_model *m = c->model;
    if (top->in_block && top->op < top->end_op) {
        *out_op = &m->ops.items[top->op];
        top->op = (*out_op)->end;
        if (is_folded(c, *out_op))
            return false;
        put_op(c, *out_op, RK_CONTENT_ATTRS);
        return true;
    }
    if (top->in_block) {
        rk_canon_end_block(c);
        top->in_block = false;
        top->block++;
    } else if (top->in_region && top->block < top->end_block) {
        const rk_block *block = &m->blocks.items[top->block];
        rk_canon_put_number(c, block->arg_count);
        put_types(c, block->first_arg, block->arg_count);
        top->op = block->first_op;
        top->end_op = block->end_op;
        top->in_block = true;
    } else if (top->in_region) {
        top->in_region = false;
        top->region++;
    } else {
        const rk_region *region = &m->regions.items[top->region];
        rk_canon_put_number(c, region->block_count);
        top->block = region->first_block;
        top->end_block = region->first_block + region->block_count;
        top->in_region = true;
    }
    return false;
}

static bool is_done(const frame *top) {
    return !top->in_region && top->region == top->end_region;
}

static bool put_nested(rk_canon *c, const rk_op *op, frame *frames) {
    uint32_t depth = 0;
    frames[depth++] = frame_of(op);
    while (depth && !c->failed) {
        frame *top = &frames[depth - 1];
        if (is_done(top)) {
            depth--;
        } else if (step(c, top, &op) && op->region_count) {
            if (depth == MAX_NESTING)
                c->failed = true;
            else
                frames[depth++] = frame_of(op);
        }
    }
    return !c->failed;
}

bool rk_canon_put_unit(rk_canon *c, uint32_t id) {
    const rk_model *m = c->model;
    const rk_op *op = &m->ops.items[id];
    rk_canon_begin_unit(c, op);
    put_op(c, op, rk_canon_kind_of_head(c, op));
    if (op->region_count && m->regions.items[op->first_region].block_count)
        rk_canon_has_body(c);
    rk_autofree frame *frames = rk_malloc(MAX_NESTING * sizeof *frames);
    if (!frames)
        c->failed = true;
    return frames && put_nested(c, op, frames);
}

void rk_canon_begin_block(rk_canon *c, const rk_op *head) {
    rk_canon_begin_unit(c, head);
    put_op(c, head, rk_canon_kind_of_head(c, head));
    rk_canon_has_body(c);
    rk_canon_put_number(c, 1); // one block
    rk_canon_put_number(c, 0); // without arguments
}

void rk_canon_put_one(rk_canon *c, const rk_canon_one *one, const rk_op *op) {
    bool is_full = op->operand_count >= RK_CANON_FEW_OPERANDS;
    rk_canon_put_content(c, one->name);
    rk_canon_put_content(c, one->attrs);
    if (is_full) {
        rk_canon_put_number(c, RK_CANON_FULL);
        rk_canon_put_number(c, 1);
    } else {
        rk_canon_put_few(c, 1, op->operand_count);
    }
    rk_canon_put_content(c, one->type);
    if (is_full)
        rk_canon_put_number(c, op->operand_count);
    put_operands(c, op);
    if (is_full) {
        rk_canon_put_number(c, 0); // successors
        rk_canon_put_number(c, 0); // regions
    }
}

void rk_canon_put_head(rk_canon *c) {
    const rk_model *m = c->model;
    const rk_op *op = &m->ops.items[0];
    rk_canon_begin_unit(c, op);
    put_op(c, op, rk_canon_kind_of_head(c, op));
    for (uint32_t r = 0; r < op->region_count; r++) {
        const rk_region *region = &m->regions.items[op->first_region + r];
        rk_canon_put_number(c, region->block_count);
        for (uint32_t b = 0; b < region->block_count; b++) {
            const rk_block *block = &m->blocks.items[region->first_block + b];
            rk_canon_put_number(c, block->arg_count);
            put_types(c, block->first_arg, block->arg_count);
        }
    }
}

void rk_canon_put_model(rk_canon *c) {
    rk_canon_fold_casts(c);
    if (c->model->ops.count && !c->failed)
        rk_canon_put_head(c);
    for (uint32_t i = 1; i < c->model->ops.count && !c->failed; i = c->model->ops.items[i].end)
        (void)rk_canon_put_unit(c, i);
}

rk_err *rk_fingerprint(rk_model *model, rk_digest *out_fingerprint) {
    RK_AUTO(rk_canon) c = {0};
    RK_TRY(rk_canon_open(&c, model));
    rk_canon_put_model(&c);
    return rk_canon_finish(&c, out_fingerprint);
}
