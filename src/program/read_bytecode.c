// The operations of MLIR bytecode. Regions are walked with a stack of their own: one frame an
// operation that has regions.
#include "program/read_bytecode.h"

#include "base/alloc.h"
#include "program/canon.h"
#include "program/payload.h"

enum {
    MAX_NESTING = 512,
    LIKELY_OP_BYTES = 10, // what an operation takes in programs of JAX
    VERSION_ISOLATED_SECTIONS = 2,
    VERSION_USE_LISTS = 3,
    VERSION_ELIDED_LOCATIONS = 4,
    HAS_ATTRS = 0x01,
    HAS_RESULTS = 0x02,
    HAS_OPERANDS = 0x04,
    HAS_SUCCESSORS = 0x08,
    HAS_REGIONS = 0x10,
    HAS_USE_LISTS = 0x20,
    HAS_PROPERTIES = 0x40,
    HAS_UNKNOWN = 0x80,
};

// An operation whose regions are being read.
typedef struct frame {
    uint32_t op;
    bool is_func, in_region, in_block;
    uint32_t region, end_region; // to come, the current one first
    uint32_t block, end_block;   // of the current region; to come, the current one first
    uint32_t first_block;
    uint64_t ops_left; // of the current block
    // The numbers of the values that the current region defines, in `values`; the model's number
    // of the next one.
    uint32_t first_value, next_value, end_value;
    uint32_t next_id;
    // Of the operations around an isolated one, which has a section and numbers of its own.
    bool is_isolated;
    uint32_t outer_scope;
    const uint8_t *outer_end;
} frame;

typedef struct reader {
    rk_bytecode file;
    bool with_locations;
    rk_canon *canon; // where operations go instead of the model; or NULL
    uint32_t next_id; // of values, then
    frame *frames; // owned
    uint32_t frame_count, frame_capacity;
    // From the numbers of the file to the model's: those of the regions that are open, one region
    // after the other; numbers count from `scope`.
    uint32_t *values; // owned
    uint32_t value_count, value_capacity, scope;
    uint32_t func_return; // string id, once it was met
} reader;

static uint32_t count_values(const reader *r) {
    return r->canon ? r->next_id : r->file.model->values.count;
}

static void reader_cleanup(reader *r) {
    rk_bytecode_cleanup(&r->file);
    rk_free(r->frames);
    rk_free(r->values);
}

static void fail(reader *r, const char *why) {
    rk_bytecode_fail(&r->file, "IR", r->file.ir.at, why);
}

static void no_room(reader *r) {
    r->file.failed = true;
}

// The same as the functions of the model, which are called when there is no room.
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

// Where uses of a value are listed in an order of their own: a hint for memory, no meaning.
static void skip_use_lists(reader *r, uint64_t values) {
    uint64_t lists = values == 1 ? 1 : rk_cursor_count(&r->file.ir);
    for (; lists && !r->file.ir.bad; lists--) {
        bool pairs;
        if (values != 1)
            (void)rk_cursor_varint(&r->file.ir);
        uint64_t count = rk_cursor_flagged(&r->file.ir, &pairs);
        if (count > rk_cursor_left(&r->file.ir))
            r->file.ir.bad = true;
        for (; count && !r->file.ir.bad; count--)
            (void)rk_cursor_varint(&r->file.ir);
    }
}

// Gives the next value of the current region its type. Outside of all regions values have no
// number.
static void define(reader *r, uint32_t type, uint32_t location) {
    rk_model *model = r->file.model;
    rk_value value = {type, location};
    if (!r->frame_count) {
        if (rk_model_add_value(model, value) == RK_NO_ID)
            no_room(r);
        return;
    }
    frame *top = &r->frames[r->frame_count - 1];
    if (top->next_value == top->end_value) {
        fail(r, "a region has more values than it says");
        return;
    }
    model->values.items[top->next_id++] = value;
    top->next_value++;
}

static uint32_t next_value(const reader *r) {
    if (!r->frame_count)
        return count_values(r);
    return r->frames[r->frame_count - 1].next_id;
}

// The next values of the current region are there. Outside of all regions values have no number.
static void pass_values(reader *r, uint64_t count) {
    if (RK_UNLIKELY(!r->frame_count)) {
        r->next_id += (uint32_t)count;
        return;
    }
    frame *top = &r->frames[r->frame_count - 1];
    if (RK_UNLIKELY(count > top->end_value - top->next_value)) {
        fail(r, "a region has more values than it says");
        return;
    }
    top->next_value += (uint32_t)count;
    top->next_id += (uint32_t)count;
}

static void stream_arg(reader *r, uint32_t type) {
    rk_canon_put_type(r->canon, type);
    pass_values(r, 1);
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
            fail(r, "an operand that no operation gives");
        else if (!add_operand(r->file.model, r->values[r->scope + number]))
            no_room(r);
    }
}

// The block, by its place in the region.
static uint32_t read_successor(reader *r) {
    uint64_t block = rk_cursor_varint(&r->file.ir), blocks = 0;
    if (r->frame_count) {
        const frame *top = &r->frames[r->frame_count - 1];
        blocks = top->end_block - top->first_block;
    }
    if (block >= blocks)
        fail(r, "a block that the region has not");
    return (uint32_t)block;
}

static void read_successors(reader *r, rk_op *op) {
    uint64_t count = rk_cursor_count(&r->file.ir);
    op->successor_count = (uint32_t)count;
    for (; count && !r->file.failed; count--)
        if (rk_model_add_successor(r->file.model, read_successor(r)) == RK_NO_ID)
            no_room(r);
}

// Regions to come: a frame.
static void open_op(reader *r, uint32_t id, uint32_t first_region, bool is_func, uint64_t regions,
                    bool is_isolated) {
    if (r->frame_count == MAX_NESTING) {
        fail(r, "operations are nested too deeply");
        return;
    }
    if (r->frame_count == r->frame_capacity) {
        void *array = r->frames;
        if (!rk_bytecode_grow(&r->file, &array, &r->frame_capacity, sizeof *r->frames))
            return;
        r->frames = array;
    }
    frame *top = &r->frames[r->frame_count];
    *top = (frame){.op = id,
                   .is_func = is_func,
                   .region = first_region,
                   .end_region = first_region + (uint32_t)regions,
                   .is_isolated = is_isolated,
                   .outer_scope = r->scope,
                   .outer_end = r->file.ir.end};
    if (is_isolated) {
        r->scope = r->value_count;
        if (r->file.version >= VERSION_ISOLATED_SECTIONS) {
            uint8_t section;
            rk_span payload;
            if (!rk_bytecode_take_section(&r->file, &r->file.ir, &section, &payload) ||
                section != RK_SECTION_IR) {
                fail(r, "the regions of an operation have no section");
                return;
            }
            r->file.ir = rk_cursor_over(payload);
        }
    }
    r->frame_count++;
}

static void close_op(reader *r) {
    frame *top = &r->frames[--r->frame_count];
    if (!r->canon)
        r->file.model->ops.items[top->op].end = r->file.model->ops.count;
    r->scope = top->outer_scope;
    if (!top->is_isolated || r->file.version < VERSION_ISOLATED_SECTIONS)
        return;
    if (!rk_cursor_done(&r->file.ir))
        fail(r, "regions do not fill their section");
    r->file.ir.end = top->outer_end;
}

// Numbers of the model for the values that the region is going to define.
static bool add_values(reader *r, uint64_t count) {
    rk_model *model = r->file.model;
    uint64_t end = (uint64_t)r->value_count + count;
    void *array = r->values;
    while (r->value_capacity < end) {
        if (!rk_bytecode_grow(&r->file, &array, &r->value_capacity, sizeof *r->values))
            return false;
        r->values = array;
    }
    if (count > RK_NO_ID - count_values(r))
        return false;
    for (uint32_t id = count_values(r); r->value_count < end; id++)
        r->values[r->value_count++] = id;
    if (r->canon)
        r->next_id += (uint32_t)count;
    else if (rk_model_add_values(model, (uint32_t)count) == RK_NO_ID)
        return false;
    return true;
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
            no_room(r);
            return;
        }
        model->regions.items[top->region] = (rk_region){first, (uint32_t)blocks};
    }
    top->in_region = true;
    top->block = top->first_block = first;
    top->end_block = first + (uint32_t)blocks;
    top->first_value = top->next_value = r->value_count;
    top->next_id = count_values(r);
    if (!add_values(r, values))
        no_room(r);
    top->end_value = r->value_count;
}

static void close_region(reader *r, frame *top) {
    if (top->next_value != top->end_value)
        fail(r, "a region has fewer values than it says");
    r->value_count = top->first_value;
    top->in_region = false;
    top->region++;
}

static void read_block_args(reader *r, rk_block *block) {
    uint64_t count = rk_cursor_count(&r->file.ir);
    block->first_arg = next_value(r);
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
        skip_use_lists(r, count);
}

static void open_block(reader *r, frame *top) {
    bool has_args;
    rk_block block = {.first_op = r->file.model->ops.count};
    top->ops_left = rk_cursor_flagged(&r->file.ir, &has_args);
    top->in_block = true;
    if (top->ops_left > rk_cursor_left(&r->file.ir))
        r->file.ir.bad = true;
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

// VHLO's return is func.return in a function, stablehlo.return elsewhere.
static uint32_t name_of(reader *r, const rk_op_name *name) {
    if (!name->is_return || !r->frame_count || !r->frames[r->frame_count - 1].is_func)
        return name->name;
    if (!r->func_return)
        r->func_return = rk_model_add_string(r->file.model, rk_span_text("func.return"));
    return r->func_return;
}

static uint64_t read_region_count(reader *r, bool *out_is_isolated) {
    uint64_t regions = rk_cursor_flagged(&r->file.ir, out_is_isolated);
    if (regions > rk_cursor_left(&r->file.ir))
        r->file.ir.bad = true;
    return regions;
}

// The rest of an operation, into the model.
static void keep_op(reader *r, const rk_op_name *name, uint8_t mask, rk_op op) {
    rk_model *model = r->file.model;
    bool is_isolated = false;
    uint64_t regions = 0;
    if (mask & HAS_RESULTS)
        read_results(r, &op);
    if (mask & HAS_OPERANDS)
        read_operands(r, &op);
    if (mask & HAS_SUCCESSORS)
        read_successors(r, &op);
    if (mask & HAS_USE_LISTS)
        skip_use_lists(r, op.result_count);
    if (mask & HAS_REGIONS)
        regions = read_region_count(r, &is_isolated);
    if (r->file.ir.bad)
        fail(r, "an operation is cut");
    if (r->file.failed)
        return;
    op.region_count = (uint32_t)regions;
    op.end = model->ops.count + 1;
    uint32_t id = add_op(model, &op);
    if (id == RK_NO_ID || (regions && rk_model_add_regions(model, (uint32_t)regions) == RK_NO_ID))
        no_room(r);
    else if (regions)
        open_op(r, id, op.first_region, name->is_func, regions, is_isolated);
}


static void stream_operands(reader *r, uint64_t count, uint32_t next_id) {
    const uint32_t *values = r->values ? r->values + r->scope : NULL;
    uint32_t known = r->value_count - r->scope;
    for (; count; count--) {
        uint64_t number = rk_cursor_varint(&r->file.ir);
        if (RK_UNLIKELY(number >= known)) {
            fail(r, "an operand that no operation gives");
            return;
        }
        rk_canon_put_number(r->canon, next_id - values[number]);
    }
}

static void stream_types(reader *r, uint64_t count) {
    for (; count && !r->file.failed; count--) {
        uint32_t type = rk_bytecode_type(&r->file, rk_cursor_varint(&r->file.ir));
        if (!r->file.failed)
            rk_canon_put_type(r->canon, type);
    }
}

// What is said in so many words twice would have two forms.
static void expect_some(reader *r, bool is_said, uint64_t count) {
    if (is_said && !count)
        rk_model_count_opaque(r->file.model, "an operation says that it has what it has not");
}

// The last parts of an operation that has successors, or regions.
static void stream_regions(reader *r, const rk_op_name *name, uint8_t mask, uint64_t results) {
    rk_canon *c = r->canon;
    bool is_isolated = false;
    uint64_t blocks = mask & HAS_SUCCESSORS ? rk_cursor_count(&r->file.ir) : 0, regions = 0;
    expect_some(r, mask & HAS_SUCCESSORS, blocks);
    rk_canon_put_number(c, (uint32_t)blocks);
    for (; blocks && !r->file.failed; blocks--)
        rk_canon_put_number(c, read_successor(r));
    if (mask & HAS_USE_LISTS)
        skip_use_lists(r, results);
    if (mask & HAS_REGIONS)
        regions = read_region_count(r, &is_isolated);
    expect_some(r, mask & HAS_REGIONS, regions);
    rk_canon_put_number(c, (uint32_t)regions);
    if (r->file.ir.bad)
        fail(r, "an operation is cut");
    if (regions && !r->file.failed)
        open_op(r, 0, 0, name->is_func, regions, is_isolated);
}

// The rest of an operation that has many values, successors or regions. `types` are those of its
// results, and its operands are what comes next; or NULL, and it is its results.
static void stream_full(reader *r, const rk_op_name *name, uint8_t mask, uint64_t results,
                        const uint32_t *types, uint64_t operands) {
    rk_canon *c = r->canon;
    uint32_t next_id = next_value(r);
    rk_canon_put_number(c, RK_CANON_FULL);
    rk_canon_put_number(c, (uint32_t)results);
    for (uint64_t i = 0; types && i < results; i++)
        rk_canon_put_type(c, types[i]);
    if (!types) {
        stream_types(r, results);
        operands = mask & HAS_OPERANDS ? rk_cursor_count(&r->file.ir) : 0;
    }
    rk_canon_put_number(c, (uint32_t)operands);
    stream_operands(r, operands, next_id);
    pass_values(r, results);
    stream_regions(r, name, mask, results);
}

// The rest of an operation, into its canonical form.
static void stream_op(reader *r, const rk_op_name *name, uint8_t mask, const rk_op *op) {
    rk_canon *c = r->canon;
    rk_cursor *ir = &r->file.ir;
    rk_content_kind kind = RK_CONTENT_ATTRS;
    if (RK_UNLIKELY(r->frame_count < 2)) {
        rk_canon_begin_unit(c, op);
        kind = rk_canon_kind_of_head(c, op);
    }
    rk_canon_put_name(c, op->name);
    rk_canon_put_attrs(c, kind, op->first_attr, op->attr_count);
    uint64_t results = mask & HAS_RESULTS ? rk_cursor_count(ir) : 0;
    if (RK_UNLIKELY(results >= RK_CANON_FEW_RESULTS || mask & (HAS_SUCCESSORS | HAS_REGIONS))) {
        stream_full(r, name, mask, results, NULL, 0);
        return;
    }
    uint32_t types[RK_CANON_FEW_RESULTS];
    for (uint64_t i = 0; i < results; i++)
        types[i] = rk_bytecode_type(&r->file, rk_cursor_varint(ir));
    uint64_t operands = mask & HAS_OPERANDS ? rk_cursor_count(ir) : 0;
    if (RK_UNLIKELY(r->file.failed))
        return;
    if (RK_UNLIKELY(operands >= RK_CANON_FEW_OPERANDS)) {
        stream_full(r, name, mask, results, types, operands);
        return;
    }
    rk_canon_put_few(c, (uint32_t)results, (uint32_t)operands);
    for (uint64_t i = 0; i < results; i++)
        rk_canon_put_type(c, types[i]);
    stream_operands(r, operands, next_value(r));
    pass_values(r, results);
    if (mask & HAS_USE_LISTS)
        skip_use_lists(r, results);
    if (RK_UNLIKELY(ir->bad))
        fail(r, "an operation is cut");
}

static void read_op(reader *r) {
    rk_model *model = r->file.model;
    uint64_t index = rk_cursor_varint(&r->file.ir);
    const rk_op_name *name = rk_read_op_name(&r->file, index);
    uint8_t mask = rk_cursor_byte(&r->file.ir);
    if (!name || (mask & HAS_UNKNOWN) || r->file.ir.bad) {
        fail(r, "an operation of an unknown name or kind");
        return;
    }
    rk_op op = {.name = name_of(r, name),
                .location = read_location(r, rk_cursor_varint(&r->file.ir)),
                .first_operand = model->operands.count,
                .first_result = next_value(r),
                .first_successor = model->successors.count,
                .first_region = model->regions.count};
    uint64_t attrs = mask & HAS_ATTRS ? rk_cursor_varint(&r->file.ir) : UINT64_MAX;
    uint64_t properties = mask & HAS_PROPERTIES ? rk_cursor_varint(&r->file.ir) : UINT64_MAX;
    if (mask & (HAS_ATTRS | HAS_PROPERTIES))
        rk_read_op_attrs(&r->file, (uint32_t)index, attrs, properties, &op);
    if (r->file.failed)
        return;
    if (RK_UNLIKELY(name->is_custom_call))
        rk_payload_read(model, r->with_locations ? RK_READ_LOCATIONS : 0, !r->canon, &op);
    if (r->canon)
        stream_op(r, name, mask, &op);
    else
        keep_op(r, name, mask, op);
}

static void step(reader *r) {
    uint32_t depth = r->frame_count;
    frame *top = &r->frames[depth - 1];
    if (top->ops_left) {
        while (top->ops_left && r->frame_count == depth && !r->file.failed) {
            top->ops_left--;
            read_op(r); // with regions: another frame, and the frames may have moved
            top = &r->frames[depth - 1];
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
        close_op(r);
    }
    if (r->file.ir.bad)
        fail(r, "a region is cut");
}

static void read_ir(reader *r) {
    bool has_args;
    r->file.ir = rk_cursor_over(r->file.sections[RK_SECTION_IR]);
    uint64_t ops = rk_cursor_flagged(&r->file.ir, &has_args);
    size_t likely = r->file.sections[RK_SECTION_IR].len / LIKELY_OP_BYTES;
    if (!r->canon)
        rk_model_reserve(r->file.model, likely, likely, likely + likely / 2);
    if (ops != 1 || has_args) {
        fail(r, "not one operation at the top");
        return;
    }
    read_op(r);
    while (r->frame_count && !r->file.failed)
        step(r);
    if (!r->file.failed && !rk_cursor_done(&r->file.ir))
        fail(r, "operations do not fill their section");
}

rk_err *rk_read_bytecode(rk_span code, unsigned flags, rk_model *model, rk_canon *canon,
                         bool *out_good, rk_buf *out_reason) {
    __attribute__((cleanup(reader_cleanup))) reader r = {
        .file = {.code = code, .model = model, .reason = out_reason},
        .with_locations = flags & RK_READ_LOCATIONS,
        .canon = canon,
    };
    *out_good = false;
    if (rk_bytecode_open(&r.file))
        read_ir(&r);
    RK_TRY(rk_model_status(model));
    *out_good = !r.file.failed;
    return NULL;
}
