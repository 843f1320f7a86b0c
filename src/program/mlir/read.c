// Reads the operations of MLIR bytecode. Walks regions with an explicit stack: one frame per
// operation with regions.
#include "program/mlir/read.h"

#include "base/alloc.h"
#include "program/mlir/read_internal.h"

enum {
    LIKELY_OP_BYTES = 10, // average size of an operation in JAX programs
    VERSION_USE_LISTS = 3,
    VERSION_ELIDED_LOCATIONS = 4,
};

typedef rk_ir_reader reader;
typedef rk_ir_frame frame;

static void reader_cleanup(reader *r) {
    rk_bytecode_cleanup(&r->file);
    rk_free(r->frames);
    rk_free(r->attrs);
    rk_free(r->types);
}

// Fast paths for rk_model_add_operand and rk_model_add_op, which are called only if the array is
// full.
static inline bool add_operand(rk_model *model, uint32_t value) {
    if (RK_UNLIKELY(model->operands.count == model->operands.capacity))
        return rk_model_add_operand(model, value) != RK_NO_ID;
    model->operands.items[model->operands.count++] = value;
    return true;
}

static inline uint32_t add_op(rk_model *model, const rk_op *op) {
    if (RK_UNLIKELY(model->ops.count == model->ops.capacity))
        return rk_model_add_op(model, *op);
    model->ops.items[model->ops.count] = *op;
    return model->ops.count++;
}

static uint32_t read_location(reader *r, uint64_t index) {
    if (!r->with_locations)
        return RK_NO_ID;
    uint32_t node = rk_bytecode_attr(&r->file, index);
    return node != RK_NO_ID && r->file.model->nodes.items[node].kind >= RK_NODE_LOC_UNKNOWN
               ? node
               : RK_NO_ID;
}

// Defines the next value of the current region. Outside all regions, values have no place.
static void define(reader *r, uint32_t type, uint32_t location) {
    rk_model *model = r->file.model;
    rk_value value = {type, location};
    if (!r->frame_count) {
        if (rk_model_add_value(model, value) == RK_NO_ID)
            rk_ir_out_of_budget(r);
        return;
    }
    frame *top = rk_ir_top(r);
    if (top->next_value == top->end_value)
        rk_ir_fail(r, "a region defines more values than declared");
    else
        model->values.items[top->to_id + top->next_value++] = value;
}

static void read_results(reader *r, rk_op *op) {
    uint64_t count = rk_cursor_count(&r->file.ir);
    op->result_count = (uint32_t)count;
    for (; count && !r->file.failed; count--) {
        uint32_t type = rk_bytecode_type(&r->file, rk_cursor_varint(&r->file.ir));
        if (!r->file.failed)
            define(r, type, RK_NO_ID);
    }
}

static void read_operands(reader *r, rk_op *op) {
    uint64_t count = rk_cursor_count(&r->file.ir);
    uint32_t known = r->value_count - r->scope;
    op->operand_count = (uint32_t)count;
    for (; count && !r->file.failed; count--) {
        uint64_t number = rk_cursor_varint(&r->file.ir);
        if (RK_UNLIKELY(number >= known))
            rk_ir_fail(r, "an undefined operand");
        else if (!add_operand(r->file.model, rk_ir_id(r, r->scope + (uint32_t)number)))
            rk_ir_out_of_budget(r);
    }
}

static void read_successors(reader *r, rk_op *op) {
    uint64_t count = rk_cursor_count(&r->file.ir);
    op->successor_count = (uint32_t)count;
    for (; count && !r->file.failed; count--)
        if (rk_model_add_successor(r->file.model, rk_ir_read_successor(r)) == RK_NO_ID)
            rk_ir_out_of_budget(r);
}

// Reserves places, and numbers of the model, for the values that the region defines.
static bool add_values(reader *r, frame *top, uint64_t count) {
    uint32_t total = rk_ir_value_total(r);
    if (count > RK_NO_ID - total || count > RK_NO_ID - r->value_count)
        return false;
    top->first_value = top->next_value = r->value_count;
    top->to_id = total - top->first_value;
    r->value_count += (uint32_t)count;
    top->end_value = r->value_count;
    r->value_total += (uint32_t)count;
    return r->canon || rk_model_add_values(r->file.model, (uint32_t)count) != RK_NO_ID;
}

static void open_region(reader *r, frame *top) {
    rk_model *model = r->file.model;
    uint64_t blocks = rk_cursor_count(&r->file.ir);
    uint64_t values = blocks ? rk_cursor_count(&r->file.ir) : 0;
    uint32_t first = 0;
    if (r->canon) {
        if (r->frame_count == 1 && (blocks > 1 || top->region))
            rk_model_count_opaque(model, "a module has several blocks");
        rk_canon_put_number(r->canon, (uint32_t)blocks);
        if (blocks && r->frame_count == 2 && top->region == 0)
            rk_canon_has_body(r->canon);
    } else {
        first = rk_model_add_blocks(model, (uint32_t)blocks);
        if (first == RK_NO_ID) {
            rk_ir_out_of_budget(r);
            return;
        }
        model->regions.items[top->region] = (rk_region){first, (uint32_t)blocks};
    }
    top->in_region = true;
    top->block = top->first_block = first;
    top->end_block = first + (uint32_t)blocks;
    if (!add_values(r, top, values))
        rk_ir_out_of_budget(r);
}

static void close_region(reader *r, frame *top) {
    if (top->next_value != top->end_value)
        rk_ir_fail(r, "a region defines fewer values than declared");
    r->value_count = top->first_value;
    top->in_region = false;
    top->region++;
}

static void stream_arg(reader *r, uint32_t type) {
    rk_canon_put_type(r->canon, type);
    rk_ir_pass_values(r, 1);
}

static void read_block_args(reader *r, rk_block *block) {
    uint64_t count = rk_cursor_count(&r->file.ir);
    block->first_arg = rk_ir_next_id(r);
    block->arg_count = (uint32_t)count;
    if (r->canon)
        rk_canon_put_number(r->canon, (uint32_t)count);
    for (uint64_t i = 0; i < count && !r->file.failed && !r->file.ir.bad; i++) {
        bool has_location = true;
        uint64_t index = r->file.version < VERSION_ELIDED_LOCATIONS
                             ? rk_cursor_varint(&r->file.ir)
                             : rk_cursor_flagged(&r->file.ir, &has_location);
        uint32_t type = rk_bytecode_type(&r->file, index);
        uint32_t location =
            has_location ? read_location(r, rk_cursor_varint(&r->file.ir)) : RK_NO_ID;
        if (!r->file.failed && r->canon)
            stream_arg(r, type);
        else if (!r->file.failed)
            define(r, type, location);
    }
    if (r->file.version >= VERSION_USE_LISTS && rk_cursor_byte(&r->file.ir))
        rk_ir_skip_use_lists(r, count);
}

static void open_block(reader *r, frame *top) {
    bool has_args;
    rk_block block = {.first_op = r->file.model->ops.count};
    top->ops_left = rk_cursor_flagged(&r->file.ir, &has_args);
    top->in_block = true;
    if (top->ops_left > rk_cursor_left(&r->file.ir))
        r->file.ir.bad = true;
    if (r->canon)
        r->canon->role.operations += (uint32_t)top->ops_left;
    if (has_args)
        read_block_args(r, &block);
    else if (r->canon)
        rk_canon_put_number(r->canon, 0);
    if (!r->canon)
        r->file.model->blocks.items[top->block] = block;
}

static void close_block(reader *r, frame *top) {
    if (!r->canon)
        r->file.model->blocks.items[top->block].end_op = r->file.model->ops.count;
    else if (r->frame_count > 1)
        rk_canon_end_block(r->canon);
    top->in_block = false;
    top->block++;
}

// vhlo.return is func.return in a function and stablehlo.return elsewhere.
static uint32_t name_of(reader *r, const rk_op_name *name) {
    if (!name->is_return || !r->frame_count || !r->frames[r->frame_count - 1].is_func)
        return name->name;
    if (!r->func_return)
        r->func_return = rk_model_add_string(r->file.model, rk_span_text("func.return"));
    return r->func_return;
}

// Reads the rest of an operation into the model.
static void keep_op(reader *r, const rk_op_name *name, uint8_t mask, rk_op op) {
    rk_model *model = r->file.model;
    bool is_isolated = false;
    uint64_t regions = 0;
    if (mask & RK_IR_RESULTS)
        read_results(r, &op);
    if (mask & RK_IR_OPERANDS)
        read_operands(r, &op);
    if (mask & RK_IR_SUCCESSORS)
        read_successors(r, &op);
    if (mask & RK_IR_USE_LISTS)
        rk_ir_skip_use_lists(r, op.result_count);
    if (mask & RK_IR_REGIONS)
        regions = rk_ir_read_regions(r, &is_isolated);
    if (r->file.ir.bad)
        rk_ir_fail(r, "a truncated operation");
    if (r->file.failed)
        return;
    op.region_count = (uint32_t)regions;
    op.end = model->ops.count + 1;
    uint32_t id = add_op(model, &op);
    if (id == RK_NO_ID || (regions && rk_model_add_regions(model, (uint32_t)regions) == RK_NO_ID))
        rk_ir_out_of_budget(r);
    else if (regions)
        rk_ir_open_op(r, id, op.first_region, name->is_func, regions, is_isolated);
}

static void read_op(reader *r) {
    rk_model *model = r->file.model;
    uint64_t index = rk_cursor_varint(&r->file.ir);
    rk_op_name *name = rk_read_op_name(&r->file, index);
    uint8_t mask = rk_cursor_byte(&r->file.ir);
    if (!name || (mask & RK_IR_UNKNOWN) || r->file.ir.bad) {
        rk_ir_fail(r, "an operation of an unknown name or kind");
        return;
    }
    rk_op op = {.name = name_of(r, name),
                .location = read_location(r, rk_cursor_varint(&r->file.ir)),
                .first_operand = model->operands.count,
                .first_result = rk_ir_next_id(r),
                .first_successor = model->successors.count,
                .first_region = model->regions.count};
    uint64_t attrs = mask & RK_IR_ATTRS ? rk_cursor_varint(&r->file.ir) : UINT64_MAX;
    uint64_t properties = mask & RK_IR_PROPERTIES ? rk_cursor_varint(&r->file.ir) : UINT64_MAX;
    if (mask & (RK_IR_ATTRS | RK_IR_PROPERTIES))
        rk_read_op_attrs(&r->file, (uint32_t)index, attrs, properties, &op);
    if (r->file.failed)
        return;
    if (RK_UNLIKELY(name->is_custom_call && r->read_payload))
        r->read_payload(model, r->with_locations ? RK_READ_LOCATIONS : 0, r->keeps_programs, &op);
    if (r->canon)
        rk_ir_stream_op(r, name, mask, &op);
    else
        keep_op(r, name, mask, op);
}

static void step(reader *r) {
    uint32_t depth = r->frame_count;
    frame *top = &r->frames[depth - 1];
    if (top->ops_left) {
        if (r->canon && depth > 1)
            rk_ir_stream_ops(r);
        while (top->ops_left && r->frame_count == depth && !r->file.failed) {
            top->ops_left--;
            read_op(r); // may push a frame and move `frames`
            top = &r->frames[depth - 1];
            if (r->canon && r->frame_count == depth && depth > 1)
                rk_ir_stream_ops(r);
        }
    } else if (top->in_block) {
        close_block(r, top);
    } else if (top->in_region && top->block < top->end_block) {
        open_block(r, top);
    } else if (top->in_region) {
        close_region(r, top);
    } else if (top->region < top->end_region) {
        open_region(r, top);
    } else {
        rk_ir_close_op(r);
    }
    if (r->file.ir.bad)
        rk_ir_fail(r, "a truncated region");
}

static void read_ir(reader *r) {
    bool has_args;
    r->file.ir = rk_cursor_over(r->file.sections[RK_SECTION_IR]);
    uint64_t ops = rk_cursor_flagged(&r->file.ir, &has_args);
    size_t likely = r->file.sections[RK_SECTION_IR].len / LIKELY_OP_BYTES;
    if (!r->canon)
        rk_model_reserve(r->file.model, likely, likely, likely + likely / 2);
    if (ops != 1 || has_args) {
        rk_ir_fail(r, "the top level must have exactly one operation");
        return;
    }
    read_op(r);
    while (r->frame_count && !r->file.failed)
        step(r);
    if (!r->file.failed && !rk_cursor_done(&r->file.ir))
        rk_ir_fail(r, "operations do not fill their section");
}

// Whether the program may have casts, which the canonical form leaves out (canon/casts.c). Then it
// is made from a model, because the numbers of values are known only at the end of a region.
static bool may_have_casts(const rk_bytecode *file) {
    for (uint32_t i = 0; i < file->op_name_count; i++)
        if (rk_span_is(rk_model_string(file->model, file->op_names[i].text),
                       "unrealized_conversion_cast"))
            return true;
    return false;
}

static void put_model(const reader *r, rk_canon *canon) {
    const rk_model *m = r->file.model;
    const rk_op *module = &m->ops.items[0];
    if (module->region_count > 1 ||
        (module->region_count && m->regions.items[module->first_region].block_count > 1))
        rk_model_count_opaque(r->file.model, "a module has several blocks");
    rk_canon_put_model(canon);
}

rk_err *rk_read_bytecode(rk_span code, unsigned flags, rk_model *model, rk_canon *canon,
                         rk_payload_fn *read_payload, bool *out_good, rk_buf *out_reason) {
    __attribute__((cleanup(reader_cleanup))) reader r = {
        .file = {.code = code, .model = model, .reason = out_reason},
        .with_locations = flags & RK_READ_LOCATIONS,
        .keeps_programs = !canon,
        .read_payload = read_payload,
    };
    *out_good = false;
    bool is_open = rk_bytecode_open(&r.file);
    bool has_casts = is_open && canon && may_have_casts(&r.file);
    r.canon = has_casts ? NULL : canon;
    if (is_open && (!r.canon || rk_ir_open_stream(&r)))
        read_ir(&r);
    if (has_casts && !r.file.failed)
        put_model(&r, canon);
    RK_TRY(rk_model_status(model));
    *out_good = !r.file.failed;
    return NULL;
}
