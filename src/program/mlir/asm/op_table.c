// Sources: openxla/stablehlo StablehloOps.td (forms), StablehloLegalizeToVhlo.cpp (defaults);
// openxla/shardy sdy/ir/ops.td; llvm-project FuncOps.td.
#include "program/mlir/asm/op_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "program/mlir/dialect_ops.h"

#define UNARY    "% {} :same"
#define ACCURATE "result_accuracy=accuracy"
#define ARROW_1  "% {} :arrow"
#define ARROW_2  "% , % {} :arrow"
#define BINARY   "% , % {} :same"
#define GENERAL  "%* {} :func"
#define REDUCER  "channel_id=0 use_global_device_ids=false"
#define WINDOW   "window_strides=ones base_dilations=ones window_dilations=ones padding=padding"
#define CONVOLVE "window_strides=ones lhs_dilation=ones rhs_dilation=ones window_reversal=reversal "
#define NO_ALGORITHM                                                                               \
    "lhs_precision_type=none rhs_precision_type=none accumulation_type=none "                      \
    "lhs_component_count=none rhs_component_count=none num_primitive_operations=none "             \
    "allow_imprecise_accumulation=none"

// Sorted by strcmp, for bsearch.
// clang-format off
static const rk_asm_spec SPECS[] = {
    {"builtin.module", "", ""},
    {"chlo._asin_acos_kernel", ARROW_1, ""},
    {"chlo.acos", ARROW_1, ""},
    {"chlo.acosh", ARROW_1, ""},
    {"chlo.asin", ARROW_1, ""},
    {"chlo.asinh", ARROW_1, ""},
    {"chlo.atan", ARROW_1, ""},
    {"chlo.atanh", ARROW_1, ""},
    {"chlo.bessel_i1e", ARROW_1, ""},
    {"chlo.broadcast_add", "% , % {} :func", ""},
    {"chlo.broadcast_and", "% , % {} :func", ""},
    {"chlo.broadcast_atan2", "% , % {} :func", ""},
    {"chlo.broadcast_compare", NULL, ""},
    {"chlo.broadcast_complex", "% , % {} :func", ""},
    {"chlo.broadcast_divide", "% , % {} :func", ""},
    {"chlo.broadcast_maximum", "% , % {} :func", ""},
    {"chlo.broadcast_minimum", "% , % {} :func", ""},
    {"chlo.broadcast_multiply", "% , % {} :func", ""},
    {"chlo.broadcast_next_after", "% , % {} :func", ""},
    {"chlo.broadcast_or", "% , % {} :func", ""},
    {"chlo.broadcast_polygamma", "% , % {} :func", ""},
    {"chlo.broadcast_power", "% , % {} :func", ""},
    {"chlo.broadcast_remainder", "% , % {} :func", ""},
    {"chlo.broadcast_select", "% , % , % {} :func", ""},
    {"chlo.broadcast_shift_left", "% , % {} :func", ""},
    {"chlo.broadcast_shift_right_arithmetic", "% , % {} :func", ""},
    {"chlo.broadcast_shift_right_logical", "% , % {} :func", ""},
    {"chlo.broadcast_subtract", "% , % {} :func", ""},
    {"chlo.broadcast_xor", "% , % {} :func", ""},
    {"chlo.broadcast_zeta", "% , % {} :func", ""},
    {"chlo.conj", ARROW_1, ""},
    {"chlo.cosh", ARROW_1, ""},
    {"chlo.digamma", ARROW_1, ""},
    {"chlo.erf", ARROW_1, ""},
    {"chlo.erf_inv", ARROW_1, ""},
    {"chlo.erfc", ARROW_1, ""},
    {"chlo.is_inf", ARROW_1, ""},
    {"chlo.is_neg_inf", ARROW_1, ""},
    {"chlo.is_pos_inf", ARROW_1, ""},
    {"chlo.lgamma", ARROW_1, ""},
    {"chlo.mulhi", ARROW_2, ""},
    {"chlo.next_after", ARROW_2, ""},
    {"chlo.polygamma", ARROW_2, ""},
    {"chlo.sinh", ARROW_1, ""},
    {"chlo.square", ARROW_1, ""},
    {"chlo.tan", ARROW_1, ""},
    {"chlo.top_k", "( % , k = i64:k stable:is_stable ) {} :arrow", "is_stable=true"},
    {"chlo.zeta", ARROW_2, ""},
    {"func.call", "callee:callee ( %* ) {} :func", ""},
    {"func.func", "", "sym_visibility=text arg_attrs=list res_attrs=list"},
    {"func.return", "{} %* {} :optional", ""},
    {"sdy.manual_computation", "", ""},
    {"sdy.mesh", "sym_name:sym_name = mesh:mesh {}", ""},
    {"sdy.reshard", "% sharding:sharding {} :same", ""},
    {"sdy.return", "{} %* {} :optional", ""},
    {"sdy.sharding_constraint", "% sharding:sharding {} :same", ""},
    {"stablehlo.abs", UNARY, ""},
    {"stablehlo.add", BINARY, ""},
    {"stablehlo.after_all", "%* {} :same", ""},
    {"stablehlo.all_gather", NULL, REDUCER},
    {"stablehlo.all_reduce", NULL, REDUCER},
    {"stablehlo.all_to_all", NULL, "channel_id=0"},
    {"stablehlo.and", BINARY, ""},
    {"stablehlo.atan2", BINARY, ""},
    {"stablehlo.batch_norm_grad", NULL, ""},
    {"stablehlo.batch_norm_inference", NULL, ""},
    {"stablehlo.batch_norm_training", NULL, ""},
    {"stablehlo.bitcast_convert", GENERAL, ""},
    {"stablehlo.broadcast", "% , sizes = dims:broadcast_sizes {} :func", ""},
    {"stablehlo.broadcast_in_dim", "% , dims = dims:broadcast_dimensions {} :func", ""},
    {"stablehlo.case", NULL, ""},
    {"stablehlo.cbrt", UNARY, ACCURATE},
    {"stablehlo.ceil", UNARY, ""},
    {"stablehlo.cholesky", "% lower:lower {} :same", "lower=false"},
    {"stablehlo.clamp", "% , % , % {} :same", ""},
    {"stablehlo.collective_broadcast", NULL, "channel_id=0 has_dynamic_root=false"},
    {"stablehlo.collective_permute", NULL, "channel_id=0"},
    {"stablehlo.compare", "enum:comparison_direction , % , % compare_type:compare_type {} :func",
     "compare_type=notype"},
    {"stablehlo.complex", "%* {} :complex", ""},
    {"stablehlo.composite", "text:name %* {} composite:version :func",
     "version=0 composite_attributes=dictionary"},
    {"stablehlo.concatenate", "%,* dim = i64:dimension {} :func", ""},
    {"stablehlo.constant", "", ""},
    {"stablehlo.convert", UNARY, ""},
    {"stablehlo.convolution",
     "( %* ) dim_numbers = conv:dimension_numbers , window = { window:window } {} :func",
     CONVOLVE "padding=padding precision_config=precision"},
    {"stablehlo.cosine", UNARY, ACCURATE},
    {"stablehlo.count_leading_zeros", UNARY, ""},
    {"stablehlo.create_token", "{} :result", ""},
    {"stablehlo.custom_call", "target:call_target_name ( %* ) {} :func",
     "has_side_effect=false api_version=original backend_config=config called_computations=list "
     "operand_layouts=list result_layouts=list output_operand_aliases=list result_tilings=list"},
    {"stablehlo.divide", BINARY, ""},
    {"stablehlo.dot", "% , % precision:precision_config {} :func", "precision_config=precision"},
    {"stablehlo.dot_general",
     "% , % , dot:dot_dimension_numbers precision:precision_config {} :func",
     "precision_config=precision " NO_ALGORITHM},
    {"stablehlo.dynamic_broadcast_in_dim", "% , % , dims = dims:broadcast_dimensions {} :func",
     "known_expanding_dimensions=ints known_nonexpanding_dimensions=ints"},
    {"stablehlo.dynamic_conv", NULL, CONVOLVE "precision_config=precision"},
    {"stablehlo.dynamic_gather", NULL, "indices_are_sorted=false"},
    {"stablehlo.dynamic_iota", "% , dim = i64:iota_dimension {} :func", ""},
    {"stablehlo.dynamic_pad", GENERAL, ""},
    {"stablehlo.dynamic_reshape", GENERAL, ""},
    {"stablehlo.dynamic_slice", "% , %,* sizes = dims:slice_sizes {} :func", ""},
    {"stablehlo.dynamic_update_slice", GENERAL, ""},
    {"stablehlo.einsum", "% , % , config = text:einsum_config {} :func", ""},
    {"stablehlo.exponential", UNARY, ACCURATE},
    {"stablehlo.exponential_minus_one", UNARY, ACCURATE},
    {"stablehlo.fft", "% , type = enum:fft_type , length = dims:fft_length {} :func", ""},
    {"stablehlo.floor", UNARY, ""},
    {"stablehlo.gather", NULL, "indices_are_sorted=false"},
    {"stablehlo.get_dimension_size", "% , dim = i64:dimension {} :func", ""},
    {"stablehlo.get_tuple_element", "% [ i32:index ] {} :func", ""},
    {"stablehlo.if", NULL, ""},
    {"stablehlo.imag", UNARY, ""},
    {"stablehlo.infeed", NULL, "infeed_config=text layout=list"},
    {"stablehlo.iota", "dim = i64:iota_dimension {} :result", ""},
    {"stablehlo.is_finite", GENERAL, ""},
    {"stablehlo.log", UNARY, ACCURATE},
    {"stablehlo.log_plus_one", UNARY, ACCURATE},
    {"stablehlo.logistic", UNARY, ACCURATE},
    {"stablehlo.map", NULL, ""},
    {"stablehlo.maximum", BINARY, ""},
    {"stablehlo.minimum", BINARY, ""},
    {"stablehlo.multiply", BINARY, ""},
    {"stablehlo.negate", UNARY, ""},
    {"stablehlo.not", UNARY, ""},
    {"stablehlo.optimization_barrier", "{} %* :pairs", ""},
    {"stablehlo.or", BINARY, ""},
    {"stablehlo.outfeed", NULL, "outfeed_config=text"},
    {"stablehlo.pad",
     "% , % , low = dims:edge_padding_low , high = dims:edge_padding_high , "
     "interior = dims:interior_padding {} :func", ""},
    {"stablehlo.partition_id", "{} :result", ""},
    {"stablehlo.popcnt", UNARY, ""},
    {"stablehlo.power", BINARY, ""},
    {"stablehlo.real", UNARY, ""},
    {"stablehlo.real_dynamic_slice", GENERAL, ""},
    {"stablehlo.recv", NULL, "is_host_transfer=false source_target_pairs=ints"},
    {"stablehlo.reduce", "", ""},
    {"stablehlo.reduce_precision", "% , format = bits:bits {} :same", ""},
    {"stablehlo.reduce_scatter", NULL, REDUCER},
    {"stablehlo.reduce_window", NULL, WINDOW},
    {"stablehlo.remainder", BINARY, ""},
    {"stablehlo.replica_id", "{} :result", ""},
    {"stablehlo.reshape", GENERAL, ""},
    {"stablehlo.return", "{} %* {} :optional", ""},
    {"stablehlo.reverse", "% , dims = dims:dimensions {} :same", ""},
    {"stablehlo.rng", "% , % , % , distribution = enum:rng_distribution {} :func", ""},
    {"stablehlo.rng_bit_generator", "% , algorithm = enum:rng_algorithm {} :func", ""},
    {"stablehlo.round_nearest_afz", UNARY, ""},
    {"stablehlo.round_nearest_even", UNARY, ""},
    {"stablehlo.rsqrt", UNARY, ACCURATE},
    {"stablehlo.scatter", NULL, "indices_are_sorted=false unique_indices=false"},
    {"stablehlo.select", "%* {} :select", ""},
    {"stablehlo.select_and_scatter", NULL, "window_strides=ones padding=padding"},
    {"stablehlo.send", NULL, "is_host_transfer=false source_target_pairs=ints"},
    {"stablehlo.set_dimension_size", "% , % , dim = i64:dimension {} :func", ""},
    {"stablehlo.shift_left", BINARY, ""},
    {"stablehlo.shift_right_arithmetic", BINARY, ""},
    {"stablehlo.shift_right_logical", BINARY, ""},
    {"stablehlo.sign", UNARY, ""},
    {"stablehlo.sine", UNARY, ACCURATE},
    {"stablehlo.slice", "% slice:ranges {} :func", ""},
    {"stablehlo.sort", NULL, "dimension=-1 is_stable=false"},
    {"stablehlo.sqrt", UNARY, ACCURATE},
    {"stablehlo.subtract", BINARY, ""},
    {"stablehlo.tan", UNARY, ACCURATE},
    {"stablehlo.tanh", UNARY, ACCURATE},
    {"stablehlo.torch_index_select", NULL, ""},
    {"stablehlo.transpose", "% , dims = dims:permutation {} :func", ""},
    {"stablehlo.triangular_solve", NULL, ""},
    {"stablehlo.tuple", "%* {} :tuple", ""},
    {"stablehlo.unary_einsum", "% , config = text:einsum_config {} :func", ""},
    {"stablehlo.while", "", ""},
    {"stablehlo.xor", BINARY, ""},
};
// clang-format on

static int compare(const void *key, const void *item) {
    const rk_span *name = key;
    const rk_asm_spec *spec = item;
    return rk_span_compare(*name, rk_span_text(spec->name));
}

const rk_asm_spec *rk_asm_find_spec(rk_span name) {
    return bsearch(&name, SPECS, RK_ARRAY_LEN(SPECS), sizeof SPECS[0], compare);
}

bool rk_asm_is_vhlo(const rk_asm_spec *spec) {
    return strncmp(spec->name, "stablehlo.", 10) == 0 || strncmp(spec->name, "func.", 5) == 0;
}

// VHLO has an operation in versions; the newest one has the most attributes.
const char *rk_asm_spec_properties(const rk_asm_spec *spec) {
    enum { NEWEST_VERSION = 4 };
    char key[64];
    const rk_op_spec *op = NULL;
    if (!rk_asm_is_vhlo(spec))
        op = rk_dialect_find_op(spec->name);
    for (int version = NEWEST_VERSION; version && !op && rk_asm_is_vhlo(spec); version--) {
        (void)snprintf(key, sizeof key, "vhlo.%s_v%d", strchr(spec->name, '.') + 1, version);
        op = rk_dialect_find_op(key);
    }
    return op ? op->properties : NULL;
}
