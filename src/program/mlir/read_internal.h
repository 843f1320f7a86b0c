// Walks the operations of MLIR bytecode, into a model (read.c) or into the canonical form
// (read_stream.c). Internal to these two files and read_parts.c, which both use.
#pragma once

#include "program/canon/canon.h"
#include "program/mlir/read.h"
#include "program/mlir/read_ops.h"

// Parts of an operation, as bits of its mask.
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
    uint32_t region, end_region; // regions left, the current one first
    uint32_t block, end_block;   // blocks left in the current region, the current one first
    uint32_t first_block;
    uint64_t ops_left; // operations left in the current block
    // Values that the current region defines, as places. Places count the values of all open
    // regions, outer regions first. Place + `to_id` (modulo 2^32) is the value's number in the
    // model.
    uint32_t first_value, next_value, end_value;
    uint32_t to_id;
    // An isolated operation has its own section and its own value numbers. The next members restore
    // the state of the operation that contains it.
    bool is_isolated;
    uint32_t outer_scope;
    const uint8_t *outer_end;
} rk_ir_frame;

typedef struct rk_ir_reader {
    rk_bytecode file;
    bool with_locations, keeps_programs;
    rk_canon *canon;             // receives the operations in place of the model; or NULL
    rk_payload_fn *read_payload; // or NULL
    uint32_t *attrs; // with `canon`; owned: content number plus one, or zero; two items for each
                     // dictionary: as in the file, and in the form of rk_op_name.has_other_forms
    uint32_t *types; // with `canon`; owned: the same for each type
    uint32_t value_total; // with `canon`: value numbers of the model in use
    rk_ir_frame *frames;  // owned
    uint32_t frame_count, frame_capacity;
    uint32_t value_count; // open places
    uint32_t scope;       // place of the value that the file numbers 0 in this scope
    uint32_t func_return; // string id; zero before first use
} rk_ir_reader;

void rk_ir_fail(rk_ir_reader *reader, const char *why);
void rk_ir_out_of_budget(rk_ir_reader *reader);

// Returns how many value numbers of the model are in use.
static inline uint32_t rk_ir_value_total(const rk_ir_reader *reader) {
    return reader->canon ? reader->value_total : reader->file.model->values.count;
}

static inline rk_ir_frame *rk_ir_top(const rk_ir_reader *reader) {
    return &reader->frames[reader->frame_count - 1];
}

// Returns the model's number of the current region's next value. Outside all regions: of the next
// value.
static inline uint32_t rk_ir_next_id(const rk_ir_reader *reader) {
    if (RK_LIKELY(reader->frame_count))
        return rk_ir_top(reader)->next_value + rk_ir_top(reader)->to_id;
    return rk_ir_value_total(reader);
}

// Return the model's number of the value at a place. rk_ir_outer_id: for places outside the current
// region.
uint32_t rk_ir_outer_id(const rk_ir_reader *reader, uint32_t place);
static inline uint32_t rk_ir_id(const rk_ir_reader *reader, uint32_t place) {
    const rk_ir_frame *top = rk_ir_top(reader);
    return RK_LIKELY(place >= top->first_value) ? place + top->to_id
                                                : rk_ir_outer_id(reader, place);
}

// Parts of an operation (read_parts.c).
uint32_t rk_ir_read_successor(rk_ir_reader *reader); // returns the block's index in the region
void rk_ir_skip_use_lists(rk_ir_reader *reader, uint64_t values);
uint64_t rk_ir_read_regions(rk_ir_reader *reader, bool *out_is_isolated);
// Pushes a frame for an operation with regions.
void rk_ir_open_op(rk_ir_reader *reader, uint32_t op, uint32_t first_region, bool is_func,
                   uint64_t regions, bool is_isolated);
// Pops the frame of an operation whose regions are read.
void rk_ir_close_op(rk_ir_reader *reader);

// Canonical form (read_stream.c). Allocates the tables for it. False if memory is short.
RK_NODISCARD bool rk_ir_open_stream(rk_ir_reader *reader);
// Writes the rest of an operation of any kind: what follows its attributes.
void rk_ir_stream_op(rk_ir_reader *reader, rk_op_name *name, uint8_t mask, const rk_op *op);
// Writes the block's next operations as long as they are of the common kind. Almost all operations
// inside functions are.
void rk_ir_stream_ops(rk_ir_reader *reader);
// Marks the current region's next `count` values as defined.
void rk_ir_pass_values(rk_ir_reader *reader, uint64_t count);
