// Names of types, attributes and fields in MLIR models. The names are the first strings of every
// MLIR model, so that their string ids are constants.
#pragma once

#include "program/model.h"

// clang-format off
#define RK_WORDS(X) \
    /* scalar types; spelled as builtin MLIR does */ \
    X(i1) X(i2) X(i4) X(i8) X(i16) X(i32) X(i64) X(ui2) X(ui4) X(ui8) X(ui16) X(ui32) X(ui64) \
    X(si2) X(si4) X(si8) X(si16) X(si32) X(si64) X(index) X(bf16) X(f16) X(f32) X(f64) X(f80) \
    X(f128) X(tf32) X(f8E5M2) X(f8E4M3) X(f8E4M3FN) X(f8E5M2FNUZ) X(f8E4M3FNUZ) X(f8E4M3B11FNUZ) \
    X(f8E3M4) X(f4E2M1FN) X(f6E2M3FN) X(f6E3M2FN) X(f8E8M0FNU) X(none) X(token) X(witness) \
    /* other types */ \
    X(function) X(complex) X(tensor) X(unranked_tensor) X(memref) X(unranked_memref) X(vector) \
    X(tuple) X(future) X(quantized) X(quantized_per_axis) X(text) \
    X(inputs) X(results) X(encoding) X(layout) X(memory_space) X(scalable) X(flags) \
    X(storage_type) X(expressed_type) X(scale) X(zero_point) X(storage_min) X(storage_max) \
    X(dimension) X(scales) X(zero_points) \
    /* enumerations */ \
    X(comparison_direction) X(comparison_type) X(api_version) X(fft_type) X(precision) \
    X(rng_algorithm) X(rng_distribution) X(transpose) X(result_accuracy_mode) \
    /* structures and their fields */ \
    X(metadata) X(sparse) X(indices) X(values) X(distinct) X(dense_string) X(splat) X(type) \
    X(output_operand_alias) X(output_tuple_indices) X(operand_index) X(operand_tuple_indices) \
    X(type_extensions) X(bounds) X(result_accuracy) X(atol) X(rtol) X(ulps) X(mode) \
    X(sub_axis_info) X(pre_size) X(size) X(axis_ref) X(name) X(replica_group_mesh_axes) X(mesh) \
    X(axes) X(mesh_axis) X(device_ids) X(channel_handle) X(handle) X(conv) X(dot) X(gather) \
    X(scatter) X(input_batch_dimension) X(input_feature_dimension) X(input_spatial_dimensions) \
    X(kernel_input_feature_dimension) X(kernel_output_feature_dimension) \
    X(kernel_spatial_dimensions) X(output_batch_dimension) X(output_feature_dimension) \
    X(output_spatial_dimensions) X(lhs_batching_dimensions) X(rhs_batching_dimensions) \
    X(lhs_contracting_dimensions) X(rhs_contracting_dimensions) X(offset_dims) \
    X(collapsed_slice_dims) X(operand_batching_dims) X(start_indices_batching_dims) \
    X(start_index_map) X(index_vector_dim) X(update_window_dims) X(inserted_window_dims) \
    X(input_batching_dims) X(scatter_indices_batching_dims) X(scatter_dims_to_operand_dims) \
    X(dot_algorithm) X(lhs_precision_type) X(rhs_precision_type) X(accumulation_type) \
    X(lhs_component_count) X(rhs_component_count) X(num_primitive_operations) \
    X(allow_imprecise_accumulation) \
    X(manual_axes) X(dim_sharding) X(is_closed) X(priority) X(sharding) X(dims) \
    X(replicated_axes) X(unreduced_axes) X(reduction_op) X(sharding_per_value) X(dim_mapping) \
    X(tensor_mapping) X(op_sharding_rule) X(factor_sizes) X(operand_mappings) X(result_mappings) \
    X(reduction_factors) X(need_replication_factors) X(permutation_factors) \
    X(blocked_propagation_factors) X(is_custom) X(axis_ref_list) X(list_of_axis_ref_lists) \
    X(all_to_all_param) X(src_dim) X(tgt_dim) X(all_to_all_param_list) \
    /* of operations */ \
    X(operandSegmentSizes) X(resultSegmentSizes) X(properties)
// clang-format on

enum {
#define RK_WORD(word) RK_WORD_##word,
    RK_WORDS(RK_WORD)
#undef RK_WORD
        RK_WORD_COUNT
};

// Adds the words to a model without strings, or to one that has them already. False if memory is
// short.
RK_NODISCARD bool rk_mlir_add_words(rk_model *model);
