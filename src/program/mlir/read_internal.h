// Walking the operations of MLIR bytecode, into a model (read_bytecode.c) or straight into the
// canonical form (read_bytecode_stream.c). Internal to these two.
#pragma once

#include "program/canon/canon.h"
#include "program/mlir/read.h"

// What an operation has.
enum {
    RK_IR_ATTRS = 0x01,
    RK_IR_RESULTS = 0x02,
    RK_IR_OPERANDS = 0x04,
    RK_IR_SUCCESSORS = 0x08,
    RK_IR_REGIONS = 0x10,
    RK_IR_USE_LISTS = 0x20,
    RK_IR_PROPERTIES = 0x40,
    RK_IR_UNKNOWN = 0x80,
};

// An operation whose regions are being read.
typedef struct rk_ir_frame {
    uint32_t op;
    bool is_func, in_region, in_block;
    uint32_t region, end_region; // to come, the current one first
    uint32_t block, end_block;   // of the current region; to come, the current one first
    uint32_t first_block;
    uint64_t ops_left; // of the current block
    // Values that the current region defines, by their places: those of the regions that are open,
    // one region after the other. A place and `to_id` (modulo 2^32) are the model's number.
    uint32_t first_value, next_value, end_value;
    uint32_t to_id;
    // Of the operations around an isolated one, which has a section and numbers of its own.
    bool is_isolated;
    uint32_t outer_scope;
    const uint8_t *outer_end;
} rk_ir_frame;

typedef struct rk_ir_reader {
    rk_bytecode file;
    bool with_locations;
    rk_canon *canon;      // where operations go instead of the model; or NULL
    uint32_t *attrs;      // then, owned: content of each dictionary, in both forms, and of types:
    uint32_t *types;      // one more than its number, or zero
    uint32_t value_total; // then, how many values have a number of the model
    rk_ir_frame *frames;  // owned
    uint32_t frame_count, frame_capacity;
    uint32_t value_count; // places
    uint32_t scope;       // the place that numbers in the file count from
    uint32_t func_return; // string id, once it was met
} rk_ir_reader;

void rk_ir_fail(rk_ir_reader *reader, const char *why);
void rk_ir_out_of_budget(rk_ir_reader *reader);

// Numbers that the model has given to values.
static inline uint32_t rk_ir_value_total(const rk_ir_reader *reader) {
    return reader->canon ? reader->value_total : reader->file.model->values.count;
}

static inline rk_ir_frame *rk_ir_top(const rk_ir_reader *reader) {
    return &reader->frames[reader->frame_count - 1];
}

// The model's number for the next value of the current region; where there is none, of all.
static inline uint32_t rk_ir_next_id(const rk_ir_reader *reader) {
    if (RK_LIKELY(reader->frame_count))
        return rk_ir_top(reader)->next_value + rk_ir_top(reader)->to_id;
    return rk_ir_value_total(reader);
}

// Of the value at this place.
uint32_t rk_ir_outer_id(const rk_ir_reader *reader, uint32_t place);
static inline uint32_t rk_ir_id(const rk_ir_reader *reader, uint32_t place) {
    const rk_ir_frame *top = rk_ir_top(reader);
    return RK_LIKELY(place >= top->first_value) ? place + top->to_id
                                                : rk_ir_outer_id(reader, place);
}

// Parts of an operation.
uint32_t rk_ir_read_successor(rk_ir_reader *reader); // a block, by its place in the region
void rk_ir_skip_use_lists(rk_ir_reader *reader, uint64_t values);
uint64_t rk_ir_read_regions(rk_ir_reader *reader, bool *out_is_isolated);
// Regions to come: a frame.
void rk_ir_open_op(rk_ir_reader *reader, uint32_t op, uint32_t first_region, bool is_func,
                   uint64_t regions, bool is_isolated);

// Into the canonical form (read_bytecode_stream.c). Memory for it; false if there is none.
RK_NODISCARD bool rk_ir_open_stream(rk_ir_reader *reader);
// The rest of an operation after its attributes, whatever it is.
void rk_ir_stream_op(rk_ir_reader *reader, rk_op_name *name, uint8_t mask, const rk_op *op);
// As many of the block's next operations as are of the ordinary kind: of those inside of functions,
// almost all.
void rk_ir_stream_ops(rk_ir_reader *reader);
// The next values of the current region are there.
void rk_ir_pass_values(rk_ir_reader *reader, uint64_t count);
