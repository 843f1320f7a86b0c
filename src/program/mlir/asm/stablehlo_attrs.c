// Source: openxla/stablehlo stablehlo/dialect/StablehloAttrs.td, StablehloOps.cpp,
// AssemblyFormat.cpp.
#include "program/mlir/asm/stablehlo_attrs.h"

#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/numbers.h"
#include "program/mlir/asm/types.h"

// Enumerations.

enum { MOST_VALUES = 6 };

static const struct {
    uint32_t word;
    const char *values[MOST_VALUES];
} ENUMERATIONS[] = {
    {RK_WORD_comparison_direction, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {RK_WORD_comparison_type, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {RK_WORD_fft_type, {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {RK_WORD_precision, {"DEFAULT", "HIGH", "HIGHEST"}},
    {RK_WORD_rng_algorithm, {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {RK_WORD_rng_distribution, {"UNIFORM", "NORMAL"}},
    {RK_WORD_transpose, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {RK_WORD_result_accuracy_mode, {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};

uint32_t rk_asm_enum_value(rk_asm *p, uint32_t word) {
    rk_span value = rk_asm_word(p);
    for (size_t i = 0; i < RK_ARRAY_LEN(ENUMERATIONS); i++)
        for (size_t v = 0; v < MOST_VALUES && ENUMERATIONS[i].word == word; v++)
            if (ENUMERATIONS[i].values[v] && rk_span_is(value, ENUMERATIONS[i].values[v]))
                return rk_asm_enum(p, word, ENUMERATIONS[i].values[v]);
    rk_asm_fail(p, "an unknown value of an enumeration");
    return RK_NO_ID;
}

uint32_t rk_asm_api_version(rk_asm *p, uint64_t number) {
    static const char *const values[] = {
        "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
    if (number < RK_ARRAY_LEN(values))
        return rk_asm_enum(p, RK_WORD_api_version, values[number]);
    rk_asm_fail(p, "an unknown version of custom calls");
    return RK_NO_ID;
}

// Structures.

typedef enum field_kind { INT, INTS, TYPE, BOOL } field_kind;

enum { MOST_FIELDS = 9 };

// The fields are in the order of VHLO's bytecode. `in_order`: the text has all fields in this
// order; else it may leave out fields that are zero or empty, and have them in any order.
typedef struct recipe {
    uint32_t word;
    bool in_order;
    struct {
        uint32_t word;
        field_kind kind;
    } fields[MOST_FIELDS];
    size_t count;
} recipe;

static const recipe DOT = {RK_WORD_dot,
                           false,
                           {{RK_WORD_lhs_batching_dimensions, INTS},
                            {RK_WORD_rhs_batching_dimensions, INTS},
                            {RK_WORD_lhs_contracting_dimensions, INTS},
                            {RK_WORD_rhs_contracting_dimensions, INTS}},
                           4};

static const recipe GATHER = {RK_WORD_gather,
                              false,
                              {{RK_WORD_offset_dims, INTS},
                               {RK_WORD_collapsed_slice_dims, INTS},
                               {RK_WORD_operand_batching_dims, INTS},
                               {RK_WORD_start_indices_batching_dims, INTS},
                               {RK_WORD_start_index_map, INTS},
                               {RK_WORD_index_vector_dim, INT}},
                              6};

static const recipe SCATTER = {RK_WORD_scatter,
                               false,
                               {{RK_WORD_update_window_dims, INTS},
                                {RK_WORD_inserted_window_dims, INTS},
                                {RK_WORD_input_batching_dims, INTS},
                                {RK_WORD_scatter_indices_batching_dims, INTS},
                                {RK_WORD_scatter_dims_to_operand_dims, INTS},
                                {RK_WORD_index_vector_dim, INT}},
                               6};

static const recipe CHANNEL_HANDLE = {
    RK_WORD_channel_handle, true, {{RK_WORD_handle, INT}, {RK_WORD_type, INT}}, 2};

static const recipe ALIAS = {RK_WORD_output_operand_alias,
                             true,
                             {{RK_WORD_output_tuple_indices, INTS},
                              {RK_WORD_operand_index, INT},
                              {RK_WORD_operand_tuple_indices, INTS}},
                             3};

static const recipe ALGORITHM = {RK_WORD_dot_algorithm,
                                 true,
                                 {{RK_WORD_lhs_precision_type, TYPE},
                                  {RK_WORD_rhs_precision_type, TYPE},
                                  {RK_WORD_accumulation_type, TYPE},
                                  {RK_WORD_lhs_component_count, INT},
                                  {RK_WORD_rhs_component_count, INT},
                                  {RK_WORD_num_primitive_operations, INT},
                                  {RK_WORD_allow_imprecise_accumulation, BOOL}},
                                 7};

static uint32_t read_int(rk_asm *p) {
    int64_t value;
    return rk_asm_integer(p, &value) ? rk_asm_int64(p, value) : RK_NO_ID;
}

static uint32_t read_bool(rk_asm *p) {
    bool value = rk_asm_accept_word(p, "true");
    return value || rk_asm_expect_word(p, "false") ? rk_asm_bool(p, value) : RK_NO_ID;
}

static uint32_t read_field(rk_asm *p, field_kind kind) {
    switch (kind) {
    case INT:
        return read_int(p);
    case INTS:
        return rk_asm_int_list(p) ? rk_asm_take_ints(p) : RK_NO_ID;
    case TYPE:
        return rk_asm_type(p);
    case BOOL:
        return read_bool(p);
    }
    return RK_NO_ID;
}

static size_t find_field(const rk_asm *p, const recipe *r, rk_span name) {
    size_t i = 0;
    while (i < r->count && !rk_span_equal(rk_model_string(p->model, r->fields[i].word), name))
        i++;
    return i;
}

static uint32_t absent_field(rk_asm *p, field_kind kind) {
    rk_buf_clear(&p->ints);
    return kind == INT ? rk_asm_int64(p, 0) : rk_asm_take_ints(p);
}

// `p->at` is behind "<".
static uint32_t read_struct(rk_asm *p, const recipe *r) {
    rk_field fields[MOST_FIELDS];
    size_t read = 0;
    for (size_t i = 0; i < r->count; i++)
        fields[i] = (rk_field){r->fields[i].word, RK_NO_ID};
    while (!p->failed && !rk_asm_accept(p, '>')) {
        if (read && (!rk_asm_expect(p, ',')))
            return RK_NO_ID;
        size_t i = find_field(p, r, rk_asm_word(p));
        if (i == r->count || fields[i].node != RK_NO_ID || (r->in_order && i != read)) {
            rk_asm_fail(p, "an attribute with an unknown part");
            return RK_NO_ID;
        }
        if (!rk_asm_expect(p, '='))
            return RK_NO_ID;
        fields[i].node = read_field(p, r->fields[i].kind);
        read++;
    }
    if (r->in_order && read != r->count)
        rk_asm_fail(p, "an attribute without all its parts");
    for (size_t i = 0; i < r->count && !p->failed; i++)
        if (fields[i].node == RK_NO_ID)
            fields[i].node = absent_field(p, r->fields[i].kind);
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = r->word}, fields,
                       (uint32_t)r->count);
}

uint32_t rk_asm_dot_algorithm(rk_asm *p) {
    return rk_asm_expect(p, '<') ? read_struct(p, &ALGORITHM) : RK_NO_ID;
}

// Dimensions of convolutions.

enum { MOST_DIMENSIONS = 64 };

// The dimensions of one tensor: the places of two letters, and of the numbers 0, 1, ….
typedef struct layout {
    int64_t letters[2], spatial[MOST_DIMENSIONS];
    size_t count; // of spatial dimensions
} layout;

static bool place_dimension(rk_asm *p, const char *letters, int64_t place, layout *out) {
    rk_span word = {0};
    int64_t number;
    if (rk_asm_is_letter(rk_asm_peek(p)))
        word = rk_asm_word(p);
    if (word.len) {
        const char *letter = word.len == 1 ? strchr(letters, word.data[0]) : NULL;
        if (!letter || out->letters[letter - letters] >= 0)
            return false;
        out->letters[letter - letters] = place;
        return true;
    }
    if (!rk_asm_integer(p, &number) || number < 0 || number >= MOST_DIMENSIONS ||
        out->spatial[number] >= 0)
        return false;
    out->spatial[number] = place;
    out->count++;
    return true;
}

static bool read_layout(rk_asm *p, const char *letters, layout *out) {
    int64_t place = 0;
    *out = (layout){.letters = {-1, -1}};
    for (size_t i = 0; i < MOST_DIMENSIONS; i++)
        out->spatial[i] = -1;
    bool is_good = rk_asm_expect(p, '[');
    do {
        is_good = is_good && place_dimension(p, letters, place++, out);
    } while (is_good && rk_asm_accept(p, ','));
    for (size_t i = 0; i < out->count && is_good; i++)
        is_good = out->spatial[i] >= 0;
    is_good = is_good && out->letters[0] >= 0 && out->letters[1] >= 0 && rk_asm_expect(p, ']');
    if (!is_good)
        rk_asm_fail(p, "dimensions of a convolution that are not understood");
    return is_good;
}

static uint32_t spatial(rk_asm *p, const layout *l) {
    rk_buf_clear(&p->ints);
    for (size_t i = 0; i < l->count; i++)
        rk_asm_add_int(p, l->spatial[i]);
    return rk_asm_take_ints(p);
}

uint32_t rk_asm_conv_dimensions(rk_asm *p) {
    layout input, kernel, output;
    if (!read_layout(p, "bf", &input) || !rk_asm_expect(p, 'x') || !read_layout(p, "io", &kernel) ||
        !rk_asm_expect_text(p, "->") || !read_layout(p, "bf", &output))
        return RK_NO_ID;
    const rk_field fields[] = {
        {RK_WORD_input_batch_dimension, rk_asm_int64(p, input.letters[0])},
        {RK_WORD_input_feature_dimension, rk_asm_int64(p, input.letters[1])},
        {RK_WORD_input_spatial_dimensions, spatial(p, &input)},
        {RK_WORD_kernel_input_feature_dimension, rk_asm_int64(p, kernel.letters[0])},
        {RK_WORD_kernel_output_feature_dimension, rk_asm_int64(p, kernel.letters[1])},
        {RK_WORD_kernel_spatial_dimensions, spatial(p, &kernel)},
        {RK_WORD_output_batch_dimension, rk_asm_int64(p, output.letters[0])},
        {RK_WORD_output_feature_dimension, rk_asm_int64(p, output.letters[1])},
        {RK_WORD_output_spatial_dimensions, spatial(p, &output)},
    };
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = RK_WORD_conv}, fields,
                       RK_ARRAY_LEN(fields));
}

// Result accuracy. Zero tolerances are not written.

static bool read_tolerance(rk_asm *p, const char *name, bool is_float, uint32_t *out_node) {
    rk_asm_literal literal = {0};
    if (rk_asm_accept_word(p, name)) {
        if (!rk_asm_expect(p, '='))
            return false;
        (void)rk_asm_peek(p);
        const uint8_t *end = rk_asm_read_literal(p->at, p->end, &literal);
        if (!end || literal.is_float != is_float || literal.is_negative || literal.is_hex) {
            rk_asm_fail(p, "a tolerance that is not understood");
            return false;
        }
        p->at = end;
        if (!rk_asm_expect(p, ','))
            return false;
    }
    *out_node =
        is_float ? rk_asm_float64(p, literal.value) : rk_asm_int64(p, (int64_t)literal.value);
    return *out_node != RK_NO_ID;
}

static uint32_t read_accuracy_mode(rk_asm *p) {
    uint32_t mode =
        rk_asm_expect(p, '<') ? rk_asm_enum_value(p, RK_WORD_result_accuracy_mode) : RK_NO_ID;
    return mode != RK_NO_ID && rk_asm_expect(p, '>') ? mode : RK_NO_ID;
}

static uint32_t read_accuracy(rk_asm *p) {
    rk_field fields[4] = {{RK_WORD_atol, RK_NO_ID},
                          {RK_WORD_rtol, RK_NO_ID},
                          {RK_WORD_ulps, RK_NO_ID},
                          {RK_WORD_mode, RK_NO_ID}};
    if (!read_tolerance(p, "atol", true, &fields[0].node) ||
        !read_tolerance(p, "rtol", true, &fields[1].node) ||
        !read_tolerance(p, "ulps", false, &fields[2].node) || !rk_asm_expect_word(p, "mode") ||
        !rk_asm_expect(p, '=') || !rk_asm_expect_text(p, "#stablehlo.result_accuracy_mode"))
        return RK_NO_ID;
    fields[3].node = read_accuracy_mode(p);
    if (fields[3].node == RK_NO_ID || !rk_asm_expect(p, '>'))
        return RK_NO_ID;
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = RK_WORD_result_accuracy},
                       fields, RK_ARRAY_LEN(fields));
}

// Attributes.

static uint32_t read_conv(rk_asm *p) {
    uint32_t node = rk_asm_conv_dimensions(p);
    return node != RK_NO_ID && rk_asm_expect(p, '>') ? node : RK_NO_ID;
}

// "#stablehlo.name<…>"
static uint32_t read_named(rk_asm *p, rk_span name) {
    static const recipe *const recipes[] = {&DOT,   &GATHER,   &SCATTER, &CHANNEL_HANDLE,
                                            &ALIAS, &ALGORITHM};
    if (rk_span_is(name, "result_accuracy_mode"))
        return read_accuracy_mode(p);
    if (!rk_asm_expect(p, '<'))
        return RK_NO_ID;
    if (rk_span_is(name, "conv"))
        return read_conv(p);
    if (rk_span_is(name, "result_accuracy"))
        return read_accuracy(p);
    for (size_t i = 0; i < RK_ARRAY_LEN(recipes); i++)
        if (rk_span_equal(name, rk_model_string(p->model, recipes[i]->word)))
            return read_struct(p, recipes[i]);
    rk_asm_fail(p, "an unknown attribute of StableHLO");
    return RK_NO_ID;
}

uint32_t rk_asm_stablehlo_attr(rk_asm *p) {
    if (rk_asm_here(p) == '.') {
        p->at++;
        return read_named(p, rk_asm_word(p));
    }
    if (!rk_asm_expect(p, '<'))
        return RK_NO_ID;
    rk_span name = rk_asm_word(p);
    uint32_t number = rk_interner_find(&p->names, name);
    uint32_t node = number < RK_WORD_COUNT ? rk_asm_enum_value(p, number) : RK_NO_ID;
    if (node == RK_NO_ID)
        rk_asm_fail(p, "an unknown attribute of StableHLO");
    return !p->failed && rk_asm_expect(p, '>') ? node : RK_NO_ID;
}
