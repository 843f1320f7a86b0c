#include "pjrt/buffer_size.h"

// Bits per element, by PJRT_Buffer_Type; 0 if there are none or the type is unknown.
static uint64_t element_bits(PJRT_Buffer_Type type) {
    static const uint8_t bits[] = {
        [PJRT_Buffer_Type_PRED] = 8,
        [PJRT_Buffer_Type_S8] = 8,
        [PJRT_Buffer_Type_S16] = 16,
        [PJRT_Buffer_Type_S32] = 32,
        [PJRT_Buffer_Type_S64] = 64,
        [PJRT_Buffer_Type_U8] = 8,
        [PJRT_Buffer_Type_U16] = 16,
        [PJRT_Buffer_Type_U32] = 32,
        [PJRT_Buffer_Type_U64] = 64,
        [PJRT_Buffer_Type_F16] = 16,
        [PJRT_Buffer_Type_F32] = 32,
        [PJRT_Buffer_Type_F64] = 64,
        [PJRT_Buffer_Type_BF16] = 16,
        [PJRT_Buffer_Type_C64] = 64,
        [PJRT_Buffer_Type_C128] = 128,
        [PJRT_Buffer_Type_F8E5M2] = 8,
        [PJRT_Buffer_Type_F8E4M3FN] = 8,
        [PJRT_Buffer_Type_F8E4M3B11FNUZ] = 8,
        [PJRT_Buffer_Type_F8E5M2FNUZ] = 8,
        [PJRT_Buffer_Type_F8E4M3FNUZ] = 8,
        // On the host, types of fewer than eight bits take one byte each.
        [PJRT_Buffer_Type_S4] = 8,
        [PJRT_Buffer_Type_U4] = 8,
        [PJRT_Buffer_Type_S2] = 8,
        [PJRT_Buffer_Type_U2] = 8,
        [PJRT_Buffer_Type_F8E4M3] = 8,
        [PJRT_Buffer_Type_F8E3M4] = 8,
        [PJRT_Buffer_Type_F8E8M0FNU] = 8,
        [PJRT_Buffer_Type_F4E2M1FN] = 8,
    };
    size_t index = (size_t)type;
    return index < sizeof bits ? bits[index] : 0;
}

uint64_t rk_buffer_size_bytes(PJRT_Buffer_Type type, const int64_t *dims, size_t num_dims) {
    uint64_t bytes = element_bits(type) / 8;
    for (size_t i = 0; i < num_dims; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)dims[i], &bytes))
            return 0;
    return bytes;
}
