// Decodes VHLO, the versioned StableHLO. Names lose their versions, so that a program is the same
// in every version.
// Source: openxla/stablehlo stablehlo/dialect/VhloBytecode.cpp
#include "program/mlir/decode.h"

enum {
    ARRAY = 1,
    BOOL = 2,
    DICT = 6,
    FLOAT = 8,
    INTEGER = 9,
    STRING = 14,
    TENSOR = 15,
    TYPE = 17,
};

static const rk_enumeration ENUMERATIONS[] = {
    {3, RK_WORD_comparison_direction, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {4, RK_WORD_comparison_type, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {5,
     RK_WORD_api_version,
     {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
      "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"}},
    {7, RK_WORD_fft_type, {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {11, RK_WORD_precision, {"DEFAULT", "HIGH", "HIGHEST"}},
    {12, RK_WORD_rng_algorithm, {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {13, RK_WORD_rng_distribution, {NULL, "UNIFORM", "NORMAL"}},
    {16, RK_WORD_transpose, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {19, RK_WORD_result_accuracy_mode, {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};

static const rk_recipe ATTRIBUTES[] = {
    {10,
     RK_WORD_output_operand_alias,
     {{RK_WORD_output_tuple_indices, RK_READ_INTS},
      {RK_WORD_operand_index, RK_READ_INT},
      {RK_WORD_operand_tuple_indices, RK_READ_INTS}}},
    {18, RK_WORD_type_extensions, {{RK_WORD_bounds, RK_READ_INTS}}},
    {20,
     RK_WORD_result_accuracy,
     {{RK_WORD_atol, RK_READ_DOUBLE},
      {RK_WORD_rtol, RK_READ_DOUBLE},
      {RK_WORD_ulps, RK_READ_INT},
      {RK_WORD_mode, RK_READ_ATTR}}},
    {21, RK_WORD_sub_axis_info, {{RK_WORD_pre_size, RK_READ_INT}, {RK_WORD_size, RK_READ_INT}}},
    {22,
     RK_WORD_axis_ref,
     {{RK_WORD_name, RK_READ_ATTR}, {RK_WORD_sub_axis_info, RK_READ_VARINT_ATTR}}},
    {23,
     RK_WORD_replica_group_mesh_axes,
     {{RK_WORD_mesh, RK_READ_ATTR}, {RK_WORD_axes, RK_READ_ATTR}}},
    {24, RK_WORD_mesh_axis, {{RK_WORD_name, RK_READ_ATTR}, {RK_WORD_size, RK_READ_INT}}},
    {25, RK_WORD_mesh, {{RK_WORD_axes, RK_READ_ATTR}, {RK_WORD_device_ids, RK_READ_FLAGGED_ATTR}}},
};

static uint32_t boolean(rk_bytecode *file) {
    uint64_t value = rk_cursor_varint(&file->in);
    rk_node node = {.kind = RK_NODE_BOOL, .name = RK_NO_ID, .value = value != 0};
    return rk_model_add_node(file->model, node);
}

static uint32_t other_attr(rk_bytecode *file, uint64_t code) {
    for (size_t i = 0; i < RK_ARRAY_LEN(ENUMERATIONS); i++)
        if (ENUMERATIONS[i].code == code)
            return rk_decode_enum(file, code, ENUMERATIONS, RK_ARRAY_LEN(ENUMERATIONS));
    return rk_decode_struct(file, RK_NODE_STRUCT, code, ATTRIBUTES, RK_ARRAY_LEN(ATTRIBUTES));
}

uint32_t rk_dialect_vhlo_attr(rk_bytecode *file) {
    uint64_t code = rk_cursor_varint(&file->in);
    switch (code) {
    case ARRAY:
        return rk_decode_list(file, false);
    case BOOL:
        return boolean(file);
    case DICT:
        return rk_decode_dict(file);
    case FLOAT:
        return rk_decode_number(file, RK_NODE_FLOAT);
    case INTEGER:
        return rk_decode_number(file, RK_NODE_INT);
    case STRING:
        return rk_decode_bytes_node(file, RK_NODE_STRING, rk_decode_string(file));
    case TENSOR:
        return rk_decode_elements(file);
    case TYPE:
        return rk_decode_type(file);
    default:
        return other_attr(file, code);
    }
}

enum { T_TENSOR = 20, T_TENSOR_ENCODING = 21, T_BUFFER = 41 };

// Indexed by code.
static const uint8_t SCALARS[] = {
    [0] = RK_WORD_i1,
    [2] = RK_WORD_bf16,
    [3] = RK_WORD_f16,
    [4] = RK_WORD_f32,
    [5] = RK_WORD_f64,
    [6] = RK_WORD_f8E4M3FN,
    [7] = RK_WORD_f8E5M2,
    [9] = RK_WORD_index,
    [10] = RK_WORD_i4,
    [11] = RK_WORD_i8,
    [12] = RK_WORD_i16,
    [13] = RK_WORD_i32,
    [14] = RK_WORD_i64,
    [15] = RK_WORD_ui4,
    [16] = RK_WORD_ui8,
    [17] = RK_WORD_ui16,
    [18] = RK_WORD_ui32,
    [19] = RK_WORD_ui64,
    [22] = RK_WORD_token,
    [26] = RK_WORD_witness,
    [27] = RK_WORD_f8E4M3FNUZ,
    [28] = RK_WORD_f8E5M2FNUZ,
    [29] = RK_WORD_f8E4M3B11FNUZ,
    [31] = RK_WORD_i2,
    [32] = RK_WORD_ui2,
    [33] = RK_WORD_none,
    [34] = RK_WORD_tf32,
    [35] = RK_WORD_f8E4M3,
    [36] = RK_WORD_f8E3M4,
    [37] = RK_WORD_f4E2M1FN,
    [38] = RK_WORD_f6E2M3FN,
    [39] = RK_WORD_f6E3M2FN,
    [40] = RK_WORD_f8E8M0FNU,
};

static const rk_recipe TYPES[] = {
    {1, RK_WORD_complex, {{RK_WORD_COUNT, RK_READ_TYPE}}},
    {8, RK_WORD_function, {{RK_WORD_inputs, RK_READ_TYPES}, {RK_WORD_results, RK_READ_TYPES}}},
    {23, RK_WORD_tuple, {{RK_WORD_COUNT, RK_READ_TYPES}}},
    {24,
     RK_WORD_quantized,
     {{RK_WORD_flags, RK_READ_VARINT},
      {RK_WORD_storage_type, RK_READ_TYPE},
      {RK_WORD_expressed_type, RK_READ_TYPE},
      {RK_WORD_scale, RK_READ_DOUBLE},
      {RK_WORD_zero_point, RK_READ_INT},
      {RK_WORD_storage_min, RK_READ_INT},
      {RK_WORD_storage_max, RK_READ_INT}}},
    {25, RK_WORD_unranked_tensor, {{RK_WORD_COUNT, RK_READ_TYPE}}},
    {30,
     RK_WORD_quantized_per_axis,
     {{RK_WORD_flags, RK_READ_VARINT},
      {RK_WORD_storage_type, RK_READ_TYPE},
      {RK_WORD_expressed_type, RK_READ_TYPE},
      {RK_WORD_dimension, RK_READ_VARINT},
      {RK_WORD_storage_min, RK_READ_INT},
      {RK_WORD_storage_max, RK_READ_INT},
      {RK_WORD_scales, RK_READ_DOUBLES},
      {RK_WORD_zero_points, RK_READ_INTS}}},
    {42, RK_WORD_future, {{RK_WORD_COUNT, RK_READ_TYPES}}},
};

uint32_t rk_dialect_vhlo_type(rk_bytecode *file) {
    uint64_t code = rk_cursor_varint(&file->in);
    if (code == 0 || (code < RK_ARRAY_LEN(SCALARS) && SCALARS[code]))
        return rk_decode_scalar_type(file, SCALARS[code]);
    switch (code) {
    case T_TENSOR:
        return rk_decode_shaped(file, RK_WORD_tensor, RK_NO_ID);
    case T_TENSOR_ENCODING:
        return rk_decode_shaped(file, RK_WORD_tensor, rk_decode_attr(file));
    case T_BUFFER:
        return rk_decode_shaped(file, RK_WORD_memref, RK_NO_ID);
    default:
        return rk_decode_struct(file, RK_NODE_TYPE, code, TYPES, RK_ARRAY_LEN(TYPES));
    }
}
