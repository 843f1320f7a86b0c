// Parts of an operation of MLIR bytecode that do not depend on the output: opens and closes
// operations with regions, finds values, skips use lists.
#include "program/mlir/read_internal.h"

enum { MAX_NESTING = 512, VERSION_ISOLATED_SECTIONS = 2 };

typedef rk_ir_reader reader;
typedef rk_ir_frame frame;

void rk_ir_fail(reader *r, const char *why) {
    rk_bytecode_fail(&r->file, "IR", r->file.ir.at, why);
}

void rk_ir_out_of_budget(reader *r) {
    r->file.failed = true;
}

// Finds the frame that defines the place. Places of outer regions come first.
uint32_t rk_ir_outer_id(const reader *r, uint32_t place) {
    uint32_t low = 0, high = r->frame_count - 1;
    while (low < high) { // find the last frame that begins at or before the place
        uint32_t middle = high - (high - low) / 2;
        if (r->frames[middle].first_value <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return place + r->frames[low].to_id;
}

// Returns the block's index in the region.
uint32_t rk_ir_read_successor(reader *r) {
    uint64_t block = rk_cursor_varint(&r->file.ir), blocks = 0;
    if (r->frame_count) {
        const frame *top = &r->frames[r->frame_count - 1];
        blocks = top->end_block - top->first_block;
    }
    if (block >= blocks)
        rk_ir_fail(r, "a block number outside the region");
    return (uint32_t)block;
}

// Skips use-list orders. They describe the order of a value's uses in memory and have no meaning.
void rk_ir_skip_use_lists(reader *r, uint64_t values) {
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

uint64_t rk_ir_read_regions(reader *r, bool *out_is_isolated) {
    uint64_t regions = rk_cursor_flagged(&r->file.ir, out_is_isolated);
    if (regions > rk_cursor_left(&r->file.ir))
        r->file.ir.bad = true;
    return regions;
}

// Pushes a frame for an operation with regions.
void rk_ir_open_op(reader *r, uint32_t id, uint32_t first_region, bool is_func, uint64_t regions,
                   bool is_isolated) {
    if (r->frame_count == MAX_NESTING) {
        rk_ir_fail(r, "operations are nested too deeply");
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
    // An isolated operation numbers its values from zero. From version 2 on, its regions are a
    // section of their own.
    if (is_isolated) {
        r->scope = r->value_count;
        if (r->file.version >= VERSION_ISOLATED_SECTIONS) {
            uint8_t section;
            rk_span payload;
            if (!rk_bytecode_take_section(&r->file, &r->file.ir, &section, &payload) ||
                section != RK_SECTION_IR) {
                rk_ir_fail(r, "the regions of an operation have no section");
                return;
            }
            r->file.ir = rk_cursor_over(payload);
        }
    }
    r->frame_count++;
}

void rk_ir_close_op(reader *r) {
    frame *top = &r->frames[--r->frame_count];
    if (!r->canon)
        r->file.model->ops.items[top->op].end = r->file.model->ops.count;
    r->scope = top->outer_scope;
    if (!top->is_isolated || r->file.version < VERSION_ISOLATED_SECTIONS)
        return;
    if (!rk_cursor_done(&r->file.ir))
        rk_ir_fail(r, "regions do not fill their section");
    r->file.ir.end = top->outer_end;
}
