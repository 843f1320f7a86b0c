// Finds traits in HloModuleProto (openxla/xla xla/service/hlo.proto): custom calls and host
// transfers.
#include "program/traits.h"

enum {
    MODULE_COMPUTATIONS = 3,
    MODULE_PAYLOADS = 22, // configurations shared by instructions
    COMPUTATION_INSTRUCTIONS = 2,
};

static bool is_message(const rk_proto_field *field, uint32_t number) {
    return field->number == number && field->wire == RK_PROTO_BYTES;
}

void rk_traits_see_hlo(rk_traits *traits, const rk_traits_instruction *instruction) {
    if (instruction->is_host_transfer)
        rk_traits_see_name(traits, rk_span_text("_xla_host_transfer_handler_name"));
    if (!instruction->target.len)
        return;
    rk_traits_see_name(traits, instruction->target);
    rk_traits_see_config(traits, instruction->config);
}

// Returns whether the instruction is a custom call.
static bool read_instruction(rk_span message, rk_traits *traits) {
    rk_proto_field field;
    rk_traits_instruction instruction = {.is_host_transfer = false};
    bool bad;
    while (rk_proto_next(&message, &field, &bad))
        rk_traits_note_hlo(&instruction, &field);
    rk_traits_see_hlo(traits, &instruction);
    return instruction.target.len;
}

static bool read_computation(rk_span message, rk_traits *traits) {
    rk_proto_field field;
    bool bad, has_custom_call = false;
    while (rk_proto_next(&message, &field, &bad))
        if (is_message(&field, COMPUTATION_INSTRUCTIONS))
            has_custom_call |= read_instruction(field.bytes, traits);
    return has_custom_call;
}

void rk_traits_see_hlo_payloads(rk_traits *traits, rk_span module) {
    rk_proto_field field;
    bool bad;
    while (rk_proto_next(&module, &field, &bad))
        if (is_message(&field, MODULE_PAYLOADS))
            rk_traits_see_config(traits, field.bytes);
}

void rk_traits_read_hlo(rk_span module, rk_traits *traits) {
    rk_proto_field field;
    bool bad, has_custom_call = false;
    rk_span rest = module;
    while (rk_proto_next(&rest, &field, &bad))
        if (is_message(&field, MODULE_COMPUTATIONS))
            has_custom_call |= read_computation(field.bytes, traits);
    if (has_custom_call)
        rk_traits_see_hlo_payloads(traits, module);
}
