// What makes an executable impossible to keep: calls back into this very process. Internal to this
// room; the readers of the program formats feed it what they find.
#pragma once

#include "base/buf.h"
#include "base/proto.h"

typedef enum rk_trait {
    RK_TRAIT_NONE,
    RK_TRAIT_POINTER, // a number in a custom call's configuration is an address of this process
    RK_TRAIT_HOST_TRANSFER,
    RK_TRAIT_INSPECTION,
    RK_TRAIT_PARTITIONER,
    RK_TRAIT_CALLBACK,
} rk_trait;

typedef struct rk_traits {
    rk_trait worst;   // the one that explains most: the highest seen
    rk_span name;     // its target or attribute; borrowed from the program
    uint64_t address; // of RK_TRAIT_POINTER
    unsigned checks;  // numbers that were looked up so far
} rk_traits;

// A name that may be the target of a custom call or the name of an attribute. Looked up as a whole.
void rk_traits_see_name(rk_traits *traits, rk_span name);
// A custom call's configuration: text (JSON, MLIR attributes) or bytes. Looks for addresses.
void rk_traits_see_config(rk_traits *traits, rk_span config);
// A number in a custom call's configuration.
void rk_traits_see_number(rk_traits *traits, uint64_t number);
// MLIR text: its identifiers as names, and its numbers if it has a custom call.
void rk_traits_see_text(rk_traits *traits, rk_span text);

// NULL in `out_reason` if there is nothing to tell. Owned: rk_free.
RK_NODISCARD rk_err *rk_traits_describe(const rk_traits *traits, char **out_reason);

// The readers. Bytes that are not of the format end the reading; no recursion; linear time. The
// first fails only for want of memory.
RK_NODISCARD rk_err *rk_traits_read_bytecode(rk_span code, rk_traits *traits);
bool rk_traits_is_bytecode(rk_span code);
void rk_traits_read_hlo(rk_span module, rk_traits *traits);

// For whoever walks over the fields of HLO instructions anyway: what was noted of one, and then the
// whole; the module, once there was a custom call (one with a target) in it.
enum { // xla/service/hlo.proto: HloInstructionProto
    RK_HLO_CUSTOM_CALL_TARGET = 28,
    RK_HLO_BACKEND_CONFIG = 43,
    RK_HLO_IS_HOST_TRANSFER = 47,
};
typedef struct rk_traits_instruction {
    rk_span target, config;
    bool is_host_transfer;
} rk_traits_instruction;
static inline void rk_traits_note_hlo(rk_traits_instruction *instruction,
                                      const rk_proto_field *field) {
    if (field->number == RK_HLO_CUSTOM_CALL_TARGET && field->wire == RK_PROTO_BYTES)
        instruction->target = field->bytes;
    else if (field->number == RK_HLO_BACKEND_CONFIG && field->wire == RK_PROTO_BYTES)
        instruction->config = field->bytes;
    else if (field->number == RK_HLO_IS_HOST_TRANSFER && field->value)
        instruction->is_host_transfer = true;
}
void rk_traits_see_hlo(rk_traits *traits, const rk_traits_instruction *instruction);
void rk_traits_see_hlo_payloads(rk_traits *traits, rk_span module);
