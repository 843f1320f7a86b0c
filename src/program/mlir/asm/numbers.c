#include "program/mlir/asm/numbers.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "program/mlir/words.h"

enum { DOUBLE_FRACTION_BITS = 52, DOUBLE_BIAS = 1023, DOUBLE_EXPONENT_MAX = 2047 };

static bool is_digit(uint8_t c) {
    return (uint8_t)(c - '0') < 10;
}

static int hex_digit(uint8_t c) {
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reading.

static const uint8_t *read_hex(const uint8_t *at, const uint8_t *end, uint64_t *out_value) {
    const uint8_t *start = at;
    *out_value = 0;
    for (; at < end && hex_digit(*at) >= 0; at++) {
        if (*out_value >> 60)
            return NULL;
        *out_value = *out_value << 4 | (uint64_t)hex_digit(*at);
    }
    return at == start ? NULL : at;
}

// The correctly rounded value of a decimal number, for numbers that the fast path leaves.
static bool read_slowly(const uint8_t *start, const uint8_t *end, double *out_value) {
    char text[512], *rest;
    size_t len = (size_t)(end - start);
    if (len >= sizeof text)
        return false;
    memcpy(text, start, len);
    text[len] = 0;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    *out_value = strtod_l(text, &rest, c_locale);
    freelocale(c_locale);
    return rest == text + len;
}

// `digits` times ten to the power of `exponent` is exact for few digits and small exponents: both
// factors are exact, so the result is rounded once.
static bool read_decimal(const uint8_t *start, const uint8_t *end, uint64_t digits, bool is_exact,
                         int exponent, uint64_t *out_bits) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int most = (int)RK_ARRAY_LEN(powers) - 1;
    double value;
    if (is_exact && digits >> 53 == 0 && exponent >= -most && exponent <= most) {
        value = (double)digits;
        value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
    } else if (!read_slowly(start, end, &value)) {
        return false;
    }
    memcpy(out_bits, &value, sizeof *out_bits);
    return *out_bits >> DOUBLE_FRACTION_BITS < DOUBLE_EXPONENT_MAX; // not infinite
}

// Reads the digits behind the point and the exponent. `at` is behind the point.
static const uint8_t *read_fraction(const uint8_t *start, const uint8_t *at, const uint8_t *end,
                                    uint64_t digits, rk_asm_literal *literal) {
    enum { MOST_EXPONENT = 100000 };
    bool is_exact = true, is_minus;
    int scale = 0, exponent = 0;
    for (; at < end && is_digit(*at); at++) {
        is_exact &= digits < UINT64_MAX / 16;
        digits = is_exact ? digits * 10 + (*at - '0') : digits;
        scale -= scale > -MOST_EXPONENT;
    }
    if (at < end && (*at | 0x20) == 'e') {
        const uint8_t *sign = at + 1;
        is_minus = sign < end && *sign == '-';
        sign += sign < end && (*sign == '-' || *sign == '+');
        if (sign < end && is_digit(*sign)) {
            for (at = sign; at < end && is_digit(*at); at++)
                exponent = exponent < MOST_EXPONENT ? exponent * 10 + (*at - '0') : exponent;
            scale += is_minus ? -exponent : exponent;
        }
    }
    literal->is_float = true;
    return read_decimal(start, at, digits, is_exact, scale, &literal->value) ? at : NULL;
}

const uint8_t *rk_asm_read_literal(const uint8_t *at, const uint8_t *end,
                                   rk_asm_literal *out_literal) {
    rk_asm_literal literal = {0};
    if (at < end && *at == '-') {
        literal.is_negative = true;
        at++;
    }
    if (at >= end || !is_digit(*at))
        return NULL;
    const uint8_t *start = at;
    if (*at == '0' && end - at > 2 && at[1] == 'x' && hex_digit(at[2]) >= 0) {
        literal.is_hex = true;
        at = read_hex(at + 2, end, &literal.value);
    } else {
        bool fits = true;
        for (; at < end && is_digit(*at); at++)
            fits = fits && !__builtin_mul_overflow(literal.value, 10, &literal.value) &&
                   !__builtin_add_overflow(literal.value, (uint64_t)(*at - '0'), &literal.value);
        if (at < end && *at == '.' && literal.value < UINT64_MAX / 16)
            at = fits ? read_fraction(start, at + 1, end, literal.value, &literal) : NULL;
        else if (!fits || (at < end && *at == '.'))
            at = NULL;
    }
    *out_literal = literal;
    return at;
}

// Types.

#define INTEGER(word, width, size, sign)                                                           \
    {                                                                                              \
        RK_WORD_##word, {                                                                          \
            .bits = (width), .bytes = (size), .is_unsigned = (sign)                                \
        }                                                                                          \
    }
#define FLOAT(word, width, size, exponent, fraction, offset)                                       \
    {                                                                                              \
        RK_WORD_##word, {                                                                          \
            .bits = (width), .bytes = (size), .is_float = true, .exponent_bits = (exponent),       \
            .fraction_bits = (fraction), .bias = (offset), .has_infinity = true,                   \
            .has_minus_zero = true                                                                 \
        }                                                                                          \
    }
// Floats without infinity. `most`: the bits of the greatest number.
#define FINITE(word, width, exponent, fraction, offset, most, minus_zero)                          \
    {                                                                                              \
        RK_WORD_##word, {                                                                          \
            .bits = (width), .bytes = 1, .is_float = true, .exponent_bits = (exponent),            \
            .fraction_bits = (fraction), .bias = (offset), .has_minus_zero = (minus_zero),         \
            .highest = (most)                                                                      \
        }                                                                                          \
    }

static const struct {
    uint32_t word;
    rk_asm_scalar scalar;
} SCALARS[] = {
    INTEGER(i1, 1, 1, false),
    INTEGER(i2, 2, 1, false),
    INTEGER(i4, 4, 1, false),
    INTEGER(i8, 8, 1, false),
    INTEGER(i16, 16, 2, false),
    INTEGER(i32, 32, 4, false),
    INTEGER(i64, 64, 8, false),
    INTEGER(ui2, 2, 1, true),
    INTEGER(ui4, 4, 1, true),
    INTEGER(ui8, 8, 1, true),
    INTEGER(ui16, 16, 2, true),
    INTEGER(ui32, 32, 4, true),
    INTEGER(ui64, 64, 8, true),
    INTEGER(index, 64, 8, false),
    FLOAT(f64, 64, 8, 11, 52, 1023),
    FLOAT(f32, 32, 4, 8, 23, 127),
    FLOAT(f16, 16, 2, 5, 10, 15),
    FLOAT(bf16, 16, 2, 8, 7, 127),
    FLOAT(f8E5M2, 8, 1, 5, 2, 15),
    FLOAT(f8E4M3, 8, 1, 4, 3, 7),
    FLOAT(f8E3M4, 8, 1, 3, 4, 3),
    FINITE(f8E4M3FN, 8, 4, 3, 7, 0x7E, true),
    FINITE(f8E5M2FNUZ, 8, 5, 2, 16, 0x7F, false),
    FINITE(f8E4M3FNUZ, 8, 4, 3, 8, 0x7F, false),
    FINITE(f8E4M3B11FNUZ, 8, 4, 3, 11, 0x7F, false),
    FINITE(f4E2M1FN, 4, 2, 1, 1, 0x7, true),
    FINITE(f6E2M3FN, 6, 2, 3, 1, 0x1F, true),
    FINITE(f6E3M2FN, 6, 3, 2, 3, 0x1F, true),
    // Only hexadecimal numbers.
    {RK_WORD_f8E8M0FNU, {.bits = 8, .bytes = 1, .is_float = true}},
};

const rk_asm_scalar *rk_asm_find_scalar(uint32_t word) {
    for (size_t i = 0; i < RK_ARRAY_LEN(SCALARS); i++)
        if (SCALARS[i].word == word)
            return &SCALARS[i].scalar;
    return NULL;
}

// Conversion.

static bool integer_bits(const rk_asm_scalar *type, const rk_asm_literal *literal,
                         uint64_t *out_bits) {
    uint64_t most = type->bits == 64 ? UINT64_MAX : ((uint64_t)1 << type->bits) - 1;
    uint64_t value = literal->value;
    if (literal->is_float || (literal->is_negative && type->is_unsigned))
        return false;
    if (literal->is_negative ? value > most / 2 + 1 : value > most)
        return false;
    *out_bits = literal->is_negative ? (0 - value) & most : value;
    return true;
}

// Shifts right and rounds to nearest, ties to even.
static uint64_t shift_rounded(uint64_t value, unsigned by) {
    if (by == 0)
        return value;
    if (by > 63)
        return 0;
    uint64_t kept = value >> by, lost = value & (((uint64_t)1 << by) - 1);
    uint64_t half = (uint64_t)1 << (by - 1);
    return kept + (lost > half || (lost == half && (kept & 1)));
}

// Rounds an f64 to the type, as APFloat::convert does. A fraction that overflows carries into the
// exponent by itself.
static bool narrow(const rk_asm_scalar *type, uint64_t bits, uint64_t *out_bits) {
    unsigned drop = (unsigned)(DOUBLE_FRACTION_BITS - type->fraction_bits);
    int exponent = (int)(bits >> DOUBLE_FRACTION_BITS) - DOUBLE_BIAS + type->bias;
    uint64_t fraction = bits & (((uint64_t)1 << DOUBLE_FRACTION_BITS) - 1);
    uint64_t most = ((uint64_t)1 << type->exponent_bits) - 1, result;
    if (bits >> DOUBLE_FRACTION_BITS == 0) // zero; an f64 this small is zero in every other type
        result = 0;
    else if (exponent > (int)most)
        return false;
    else if (exponent > 0)
        result = ((uint64_t)exponent << type->fraction_bits) + shift_rounded(fraction, drop);
    else // subnormal
        result = shift_rounded(fraction | (uint64_t)1 << DOUBLE_FRACTION_BITS,
                               drop + (unsigned)(1 - exponent));
    if (type->has_infinity ? result >> type->fraction_bits >= most : result > type->highest)
        return false; // infinity, NaN or saturation: not printed like this, so not needed
    *out_bits = result;
    return true;
}

bool rk_asm_literal_bits(const rk_asm_scalar *type, const rk_asm_literal *literal,
                         uint64_t *out_bits) {
    if (!type->is_float)
        return integer_bits(type, literal, out_bits);
    if (!literal->is_float) { // the bits themselves
        *out_bits = literal->value;
        return literal->is_hex && !literal->is_negative &&
               (type->bits == 64 || literal->value >> type->bits == 0);
    }
    if (!type->exponent_bits)
        return false;
    *out_bits = literal->value;
    if (type->bits != 64 && !narrow(type, literal->value, out_bits))
        return false;
    if (literal->is_negative) {
        if (!*out_bits && !type->has_minus_zero)
            return false;
        *out_bits |= (uint64_t)1 << (type->bits - 1);
    }
    return true;
}
