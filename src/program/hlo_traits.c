// HloModuleProto (openxla/xla xla/service/hlo.proto), as far as custom calls and host transfers go.
#include "program/traits.h"

#include "base/proto.h"

enum {
    MODULE_COMPUTATIONS = 3,
    MODULE_PAYLOADS = 22, // configurations that instructions share
    COMPUTATION_INSTRUCTIONS = 2,
    INSTRUCTION_CUSTOM_CALL_TARGET = 28,
    INSTRUCTION_BACKEND_CONFIG = 43,
    INSTRUCTION_IS_HOST_TRANSFER = 47,
};

static bool is_message(const rk_proto_field *field, uint32_t number) {
    return field->number == number && field->wire == RK_PROTO_BYTES;
}

// True if it is a custom call.
static bool read_instruction(rk_span message, rk_traits *traits) {
    rk_proto_field field;
    rk_span target = {0}, config = {0};
    bool bad;
    while (rk_proto_next(&message, &field, &bad)) {
        if (is_message(&field, INSTRUCTION_CUSTOM_CALL_TARGET))
            target = field.bytes;
        else if (is_message(&field, INSTRUCTION_BACKEND_CONFIG))
            config = field.bytes;
        else if (field.number == INSTRUCTION_IS_HOST_TRANSFER && field.value)
            rk_traits_see_name(traits, rk_span_text("_xla_host_transfer_handler_name"));
    }
    if (!target.len)
        return false;
    rk_traits_see_name(traits, target);
    rk_traits_see_config(traits, config);
    return true;
}

static bool read_computation(rk_span message, rk_traits *traits) {
    rk_proto_field field;
    bool bad, has_custom_call = false;
    while (rk_proto_next(&message, &field, &bad))
        if (is_message(&field, COMPUTATION_INSTRUCTIONS))
            has_custom_call |= read_instruction(field.bytes, traits);
    return has_custom_call;
}

void rk_traits_read_hlo(rk_span module, rk_traits *traits) {
    rk_proto_field field;
    bool bad, has_custom_call = false;
    rk_span rest = module;
    while (rk_proto_next(&rest, &field, &bad))
        if (is_message(&field, MODULE_COMPUTATIONS))
            has_custom_call |= read_computation(field.bytes, traits);
    rest = module;
    while (has_custom_call && rk_proto_next(&rest, &field, &bad))
        if (is_message(&field, MODULE_PAYLOADS))
            rk_traits_see_config(traits, field.bytes);
}
