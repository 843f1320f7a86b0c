// HLO programs for tests: written field by field, rewritten, read, and as text.
#pragma once

#include "base/proto.h"
#include "program/hlo/schema.h"
#include "program/model.h"

// Reads a program. Fails the test if it cannot be read, or if the model breaks a guarantee of
// model.h. Owned: rk_model_free.
rk_model *rk_test_read_hlo(rk_span code, const char *format, unsigned flags);
// The reason why the bytes are not read. Fails the test if they are read. Owned: rk_free.
char *rk_test_refusal(rk_span code);
void rk_test_check_model(const rk_model *model);
// The program as text with complete constants and attributes. Owned: rk_buf_cleanup.
rk_buf rk_test_text(const rk_model *model);
rk_buf rk_test_text_of(rk_span code);

// The same module with its fields in another order (repeated fields keep theirs), and with packed
// numbers written one by one.
typedef struct rk_test_rewriting {
    uint64_t seed; // of the order; 0: unchanged
    bool unpack;
    bool reverse_maps;
} rk_test_rewriting;
rk_buf rk_test_rewrite(rk_span module, const rk_test_rewriting *how);

// Writing. Write inner messages first.
static inline void rk_test_add_message(rk_buf *out, uint32_t number, const rk_buf *message) {
    rk_proto_add_bytes_field(out, number, rk_buf_span(message));
}
static inline void rk_test_add_text(rk_buf *out, uint32_t number, const char *text) {
    rk_proto_add_bytes_field(out, number, rk_span_text(text));
}
// Adds a shape: element type and up to two dimensions (0: none).
void rk_test_add_shape(rk_buf *out, uint32_t number, uint64_t type, uint64_t rows,
                       uint64_t columns);
// The beginning of an instruction: opcode, shape f32[4], id.
rk_buf rk_test_instruction(const char *opcode, uint64_t id);
// Appends the instruction with its operands to a computation. Frees the instruction.
void rk_test_add_instruction(rk_buf *computation, rk_buf *instruction, uint64_t left,
                             uint64_t right);
// A module with the computation "main", id 1. Its only instruction (id 1, f32[4] parameter) gets
// `more_fields`.
rk_buf rk_test_module_with(const rk_buf *more_fields);
// Gives the computation a name and ids and appends it to the module. Frees the computation.
void rk_test_add_computation(rk_buf *module, rk_buf *computation, const char *name, uint64_t id,
                             uint64_t root_id);
