// Decodes StableHLO and CHLO.
// Source: openxla/stablehlo stablehlo/dialect/StablehloBytecode.cpp and ChloBytecode.cpp.
#include "program/mlir/decode.h"

static const rk_enumeration ENUMERATIONS[] = {
    {2, RK_WORD_comparison_direction, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {3, RK_WORD_comparison_type, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {6, RK_WORD_fft_type, {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {8, RK_WORD_precision, {"DEFAULT", "HIGH", "HIGHEST"}},
    {9, RK_WORD_rng_algorithm, {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {10, RK_WORD_rng_distribution, {NULL, "UNIFORM", "NORMAL"}},
    {12, RK_WORD_transpose, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {16, RK_WORD_result_accuracy_mode, {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};

static const rk_recipe ATTRIBUTES[] = {
    {1, RK_WORD_channel_handle, {{RK_WORD_handle, RK_READ_INT}, {RK_WORD_type, RK_READ_INT}}},
    {4,
     RK_WORD_conv,
     {{RK_WORD_input_batch_dimension, RK_READ_INT},
      {RK_WORD_input_feature_dimension, RK_READ_INT},
      {RK_WORD_input_spatial_dimensions, RK_READ_INTS},
      {RK_WORD_kernel_input_feature_dimension, RK_READ_INT},
      {RK_WORD_kernel_output_feature_dimension, RK_READ_INT},
      {RK_WORD_kernel_spatial_dimensions, RK_READ_INTS},
      {RK_WORD_output_batch_dimension, RK_READ_INT},
      {RK_WORD_output_feature_dimension, RK_READ_INT},
      {RK_WORD_output_spatial_dimensions, RK_READ_INTS}}},
    {5,
     RK_WORD_dot,
     {{RK_WORD_lhs_batching_dimensions, RK_READ_INTS},
      {RK_WORD_rhs_batching_dimensions, RK_READ_INTS},
      {RK_WORD_lhs_contracting_dimensions, RK_READ_INTS},
      {RK_WORD_rhs_contracting_dimensions, RK_READ_INTS}}},
    {7,
     RK_WORD_gather,
     {{RK_WORD_offset_dims, RK_READ_INTS},
      {RK_WORD_collapsed_slice_dims, RK_READ_INTS},
      {RK_WORD_operand_batching_dims, RK_READ_INTS},
      {RK_WORD_start_indices_batching_dims, RK_READ_INTS},
      {RK_WORD_start_index_map, RK_READ_INTS},
      {RK_WORD_index_vector_dim, RK_READ_INT}}},
    {11,
     RK_WORD_scatter,
     {{RK_WORD_update_window_dims, RK_READ_INTS},
      {RK_WORD_inserted_window_dims, RK_READ_INTS},
      {RK_WORD_input_batching_dims, RK_READ_INTS},
      {RK_WORD_scatter_indices_batching_dims, RK_READ_INTS},
      {RK_WORD_scatter_dims_to_operand_dims, RK_READ_INTS},
      {RK_WORD_index_vector_dim, RK_READ_INT}}},
    {13, RK_WORD_type_extensions, {{RK_WORD_bounds, RK_READ_INTS}}},
    {14,
     RK_WORD_output_operand_alias,
     {{RK_WORD_output_tuple_indices, RK_READ_INTS},
      {RK_WORD_operand_index, RK_READ_INT},
      {RK_WORD_operand_tuple_indices, RK_READ_INTS}}},
    {15,
     RK_WORD_dot_algorithm,
     {{RK_WORD_lhs_precision_type, RK_READ_TYPE},
      {RK_WORD_rhs_precision_type, RK_READ_TYPE},
      {RK_WORD_accumulation_type, RK_READ_TYPE},
      {RK_WORD_lhs_component_count, RK_READ_INT},
      {RK_WORD_rhs_component_count, RK_READ_INT},
      {RK_WORD_num_primitive_operations, RK_READ_INT},
      {RK_WORD_allow_imprecise_accumulation, RK_READ_BOOL}}},
    {17,
     RK_WORD_result_accuracy,
     {{RK_WORD_atol, RK_READ_DOUBLE},
      {RK_WORD_rtol, RK_READ_DOUBLE},
      {RK_WORD_ulps, RK_READ_INT},
      {RK_WORD_mode, RK_READ_ATTR}}},
    {18,
     RK_WORD_replica_group_mesh_axes,
     {{RK_WORD_mesh, RK_READ_ATTR}, {RK_WORD_axes, RK_READ_ATTRS}}},
    {19, RK_WORD_sub_axis_info, {{RK_WORD_pre_size, RK_READ_INT}, {RK_WORD_size, RK_READ_INT}}},
    {20,
     RK_WORD_axis_ref,
     {{RK_WORD_name, RK_READ_STRING}, {RK_WORD_sub_axis_info, RK_READ_BYTE_ATTR}}},
    {21, RK_WORD_mesh_axis, {{RK_WORD_name, RK_READ_STRING}, {RK_WORD_size, RK_READ_INT}}},
    {22, RK_WORD_mesh, {{RK_WORD_axes, RK_READ_ATTR}, {RK_WORD_device_ids, RK_READ_BYTE_ATTR}}},
};

static const rk_recipe TYPES[] = {
    {0, RK_WORD_token, {{0, RK_READ_NOTHING}}},
    {1, RK_WORD_future, {{RK_WORD_COUNT, RK_READ_TYPES}}},
};

uint32_t rk_dialect_stablehlo_attr(rk_bytecode *file) {
    uint64_t code = rk_cursor_varint(&file->in);
    for (size_t i = 0; i < RK_ARRAY_LEN(ENUMERATIONS); i++)
        if (ENUMERATIONS[i].code == code)
            return rk_decode_enum(file, code, ENUMERATIONS, RK_ARRAY_LEN(ENUMERATIONS));
    return rk_decode_struct(file, RK_NODE_STRUCT, code, ATTRIBUTES, RK_ARRAY_LEN(ATTRIBUTES));
}

uint32_t rk_dialect_stablehlo_type(rk_bytecode *file) {
    uint64_t code = rk_cursor_varint(&file->in);
    return rk_decode_struct(file, RK_NODE_TYPE, code, TYPES, RK_ARRAY_LEN(TYPES));
}

uint32_t rk_dialect_chlo_attr(rk_bytecode *file) {
    static const rk_enumeration enumerations[] = {
        {0, RK_WORD_comparison_direction, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
        {1, RK_WORD_comparison_type, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    };
    return rk_decode_enum(file, rk_cursor_varint(&file->in), enumerations,
                          RK_ARRAY_LEN(enumerations));
}
