// Reads kernels inside custom calls: the input as the configuration of a TPU call, and as the
// bytecode in such a configuration. The target makes the program around the call, so the program is
// always valid.
#include "fuzz.h"

#include <stdlib.h>

#include "base/proto.h"

// Field numbers of HloModuleProto, HloComputationProto, HloInstructionProto and ShapeProto.
enum {
    MODULE_COMPUTATIONS = 3,
    MODULE_ENTRY_ID = 6,
    COMPUTATION_INSTRUCTIONS = 2,
    COMPUTATION_ID = 5,
    COMPUTATION_ROOT_ID = 6,
    INSTRUCTION_OPCODE = 2,
    INSTRUCTION_SHAPE = 3,
    INSTRUCTION_TARGET = 28,
    INSTRUCTION_ID = 35,
    INSTRUCTION_CONFIG = 43,
    SHAPE_ELEMENT_TYPE = 2,
    F32 = 11,
};

static void call_with(rk_span config) {
    RK_AUTO(rk_buf) shape = {0}, call = {0}, computation = {0}, module = {0};
    rk_proto_add_varint_field(&shape, SHAPE_ELEMENT_TYPE, F32);
    rk_proto_add_bytes_field(&call, INSTRUCTION_OPCODE, rk_span_text("custom-call"));
    rk_proto_add_bytes_field(&call, INSTRUCTION_SHAPE, rk_buf_span(&shape));
    rk_proto_add_bytes_field(&call, INSTRUCTION_TARGET, rk_span_text("tpu_custom_call"));
    rk_proto_add_varint_field(&call, INSTRUCTION_ID, 1);
    rk_proto_add_bytes_field(&call, INSTRUCTION_CONFIG, config);
    rk_proto_add_bytes_field(&computation, COMPUTATION_INSTRUCTIONS, rk_buf_span(&call));
    rk_proto_add_varint_field(&computation, COMPUTATION_ID, 1);
    rk_proto_add_varint_field(&computation, COMPUTATION_ROOT_ID, 1);
    rk_proto_add_bytes_field(&module, MODULE_COMPUTATIONS, rk_buf_span(&computation));
    rk_proto_add_varint_field(&module, MODULE_ENTRY_ID, 1);
    fuzz_program(rk_buf_span(&module), "hlo");
}

static void add_base64(rk_buf *out, rk_span bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        uint32_t bits = 0;
        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (i + j < bytes.len ? bytes.data[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            rk_buf_add_byte(out,
                            i + j > bytes.len ? '=' : (uint8_t)digits[bits >> (18 - 6 * j) & 63]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    RK_AUTO(rk_buf) config = {0};
    rk_span input = rk_span_of(data, size);
    call_with(input);
    // The same bytes serve as the list of locations: both are MLIR bytecode.
    rk_buf_add_text(&config, "{\"custom_call_config\": {\"body\": \"");
    add_base64(&config, input);
    rk_buf_add_text(&config, "\", \"debug_locations\": \"");
    add_base64(&config, input);
    rk_buf_add_text(&config, "\"}}");
    call_with(rk_buf_span(&config));
    return 0;
}
