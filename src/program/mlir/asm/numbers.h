// Numbers in MLIR text, and their bits in a type. Uses integer arithmetic where the process's
// floating-point mode could matter: a job may flush small numbers to zero. Internal to
// mlir/asm/*.c.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A number as written.
typedef struct rk_asm_literal {
    bool is_negative, is_hex, is_float;
    uint64_t value; // the magnitude of an integer; the bits of a float as f64
} rk_asm_literal;

// Reads a number at `at`: "-12", "0x1F", "1.5e-3". Returns the position behind it; NULL if there is
// no number, or it does not fit into 64 bits.
const uint8_t *rk_asm_read_literal(const uint8_t *at, const uint8_t *end,
                                   rk_asm_literal *out_literal);

// A scalar type of constants.
typedef struct rk_asm_scalar {
    uint8_t bits;          // of the value
    uint8_t bytes;         // in a constant
    bool is_float;         // else an integer
    bool is_unsigned;      // the sign is not allowed
    uint8_t exponent_bits; // of floats; 0: only hexadecimal numbers are understood
    uint8_t fraction_bits;
    int16_t bias;
    bool has_infinity;   // as IEEE 754: the highest exponent means infinity or NaN
    bool has_minus_zero; // else the bits of -0 mean NaN
    uint8_t highest;     // without infinity: the bits of the greatest number
} rk_asm_scalar;

// Returns the type with that string id (a word), or NULL: no constants of this type are understood.
const rk_asm_scalar *rk_asm_find_scalar(uint32_t word);

// Converts a number to the type's bits, zero-extended, as MLIR does. False if the number does not
// fit, or the result is not certain.
bool rk_asm_literal_bits(const rk_asm_scalar *type, const rk_asm_literal *literal,
                         uint64_t *out_bits);
