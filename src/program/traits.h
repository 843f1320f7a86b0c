// Finds the traits of a program: reasons why its executable cannot be kept, such as a callback into
// this process. Internal to this module. The readers of the program formats pass in the names,
// configurations and numbers that they meet.
#pragma once

#include "base/buf.h"
#include "base/proto.h"

typedef enum rk_trait {
    RK_TRAIT_NONE,
    RK_TRAIT_POINTER, // a number in a custom call's configuration is an address in this process
    RK_TRAIT_HOST_TRANSFER,
    RK_TRAIT_INSPECTION,
    RK_TRAIT_PARTITIONER,
    RK_TRAIT_CALLBACK,
} rk_trait;

typedef struct rk_traits {
    rk_trait worst;   // the trait with the highest value in rk_trait so far
    rk_span name;     // its custom-call target or attribute; borrowed from the program
    uint64_t address; // of RK_TRAIT_POINTER
    unsigned checks;  // address lookups so far
} rk_traits;

// Checks the target of a custom call, or the name of an attribute. Compares whole names.
void rk_traits_see_name(rk_traits *traits, rk_span name);
// Searches a custom call's configuration for addresses. `config` is text (JSON, MLIR attributes) or
// bytes.
void rk_traits_see_config(rk_traits *traits, rk_span config);
// Checks a number in a custom call's configuration: is it an address in this process?
void rk_traits_see_number(rk_traits *traits, uint64_t number);
// Checks MLIR text: its identifiers as names, and its numbers if it contains a custom call.
void rk_traits_see_text(rk_traits *traits, rk_span text);
// Checks a whole program in MLIR text that cannot be read, including its strings with escapes.
void rk_traits_see_mlir_text(rk_traits *traits, rk_span text);

// `*out_reason`: why the executable cannot be kept; NULL if it can. Owned: rk_free.
RK_NODISCARD rk_err *rk_traits_describe(const rk_traits *traits, char **out_reason);

// Readers. Reading stops at bytes that are not of the format. No recursion; linear time.
// rk_traits_read_bytecode needs bytes that begin as bytecode (mlir/magic.h), and fails only if
// memory is short.
RK_NODISCARD rk_err *rk_traits_read_bytecode(rk_span code, rk_traits *traits);
void rk_traits_read_hlo(rk_span module, rk_traits *traits);

// For a reader that walks over HLO instructions itself. Call rk_traits_note_hlo for each field of
// an instruction, then rk_traits_see_hlo for the instruction. At the end, call
// rk_traits_see_hlo_payloads if any instruction had a target (was a custom call).
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
