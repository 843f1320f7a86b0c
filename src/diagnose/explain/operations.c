#include "diagnose/explain/operations_internal.h"

#include "diagnose/diff/hash.h"

// Minimum share of distinct kinds of operations that two versions of a function have in common.
#define SAME_KINDS_MIN 0.5

enum { ARITIES_MAX = 16, KINDS_IGNORED_MAX = 96 };

// Kinds of operations that say nothing about a function.
typedef struct ignored {
    uint32_t kinds[KINDS_IGNORED_MAX];
    uint32_t count;
} ignored;

// As rk_program_index hashes the kind of an operation that calls nothing.
static void ignore(ignored *list, const char *name, uint32_t operands, uint64_t results,
                   uint32_t regions) {
    uint64_t hash = rk_hash_mix(rk_hash_text(RK_HASH_SEED, name), operands);
    if (list->count < KINDS_IGNORED_MAX)
        list->kinds[list->count++] = (uint32_t)rk_hash_mix(hash, results << 32 | regions);
}

static void ignore_layouts(ignored *list) {
    static const char *const names[] = {
        "stablehlo.reshape", "stablehlo.transpose", "stablehlo.broadcast_in_dim",
        "hlo.reshape",       "hlo.transpose",       "hlo.broadcast",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        ignore(list, names[i], 1, 1, 0);
}

// Also what cuts a value, puts values together, or converts one; the module and the returns.
static void ignore_sizes(ignored *list) {
    static const char *const names[] = {"stablehlo.slice", "stablehlo.convert", "hlo.slice",
                                        "hlo.convert"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        ignore(list, names[i], 1, 1, 0);
    ignore(list, "stablehlo.pad", 2, 1, 0);
    ignore(list, "hlo.pad", 2, 1, 0);
    ignore(list, "stablehlo.iota", 0, 1, 0);
    ignore(list, "hlo.iota", 0, 1, 0);
    ignore(list, "builtin.module", 0, 0, 1);
    for (uint32_t arity = 1; arity <= ARITIES_MAX; arity++) {
        ignore(list, "func.return", arity, 0, 0);
        ignore(list, "stablehlo.return", arity, 0, 0);
    }
    for (uint32_t arity = 1; arity <= ARITIES_MAX / 2; arity++) {
        ignore(list, "stablehlo.concatenate", arity, 1, 0);
        ignore(list, "hlo.concatenate", arity, 1, 0);
    }
}

static bool is_ignored(const ignored *list, uint32_t kind) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->kinds[i] == kind)
            return true;
    return false;
}

// How often each side has a kind of operation.
typedef struct kind_pair {
    uint32_t a, b;
} kind_pair;

// Merges the kinds of two sketches, which are sorted. False at the end.
static bool next_kind(const rk_sketch *a, const rk_sketch *b, const ignored *without, uint32_t *i,
                      uint32_t *j, kind_pair *out_pair) {
    while (*i < a->kind_count || *j < b->kind_count) {
        const rk_sketch_kind *x = *i < a->kind_count ? &a->kinds[*i] : NULL;
        const rk_sketch_kind *y = *j < b->kind_count ? &b->kinds[*j] : NULL;
        bool left = x && (!y || x->hash <= y->hash), right = y && (!x || y->hash <= x->hash);
        *out_pair = (kind_pair){left ? x->count : 0, right ? y->count : 0};
        *i += left;
        *j += right;
        if (!is_ignored(without, left ? x->hash : y->hash))
            return true;
    }
    return false;
}

bool rk_same_operations(const rk_sketch *a, const rk_sketch *b) {
    ignored layouts = {.count = 0}, none = {.count = 0};
    uint32_t i = 0, j = 0;
    bool other_layouts = false;
    kind_pair pair;
    if (a->structure == b->structure)
        return true;
    ignore_layouts(&layouts);
    while (next_kind(a, b, &layouts, &i, &j, &pair))
        if (pair.a != pair.b)
            return false;
    // With the same operations of all kinds, only their order differs.
    for (i = 0, j = 0; next_kind(a, b, &none, &i, &j, &pair);)
        other_layouts |= pair.a != pair.b;
    return other_layouts;
}

bool rk_are_two_functions(const rk_sketch *a, const rk_sketch *b, bool other_inputs) {
    ignored sizes = {.count = 0};
    uint32_t i = 0, j = 0, common = 0, all = 0, sides[2] = {0};
    kind_pair pair;
    ignore_layouts(&sizes);
    ignore_sizes(&sizes);
    while (next_kind(a, b, &sizes, &i, &j, &pair)) {
        common += pair.a && pair.b;
        sides[0] += pair.a > 0;
        sides[1] += pair.b > 0;
        all++;
    }
    uint32_t smaller = sides[0] < sides[1] ? sides[0] : sides[1];
    return common < SAME_KINDS_MIN * (other_inputs ? smaller : all);
}

static bool has_function(const rk_sketch *sketch, uint64_t caller) {
    for (uint32_t i = 0; i < sketch->line_count; i++)
        if (sketch->lines[i].caller == caller)
            return true;
    return false;
}

// Returns whether a program has operations in a function of the user that the other one lacks. The
// function of the call contains both programs. `*out_has_others`: it has operations in functions of
// the user that the other one has, too.
static bool uses_function(const rk_sketch *sketch, const rk_sketch *other, bool *out_has_others) {
    *out_has_others = false;
    for (uint32_t i = 0; i < sketch->line_count; i++) {
        uint64_t caller = sketch->lines[i].caller;
        if (caller == sketch->call.caller || caller == other->call.caller)
            continue;
        if (!has_function(other, caller))
            return true;
        *out_has_others = true;
    }
    return false;
}

// A program without any function of the user is a function of a library.
static bool has_own_function(const rk_sketch *sketch, const rk_sketch *other) {
    bool has_others;
    return uses_function(sketch, other, &has_others) || !has_others;
}

bool rk_has_own_line(const rk_sketch *a, const rk_sketch *b) {
    for (uint32_t i = 0; i < a->line_count; i++) {
        uint64_t line = a->lines[i].hash;
        if (line != a->call.hash && !rk_sketch_find_line(b, line))
            return true;
    }
    return false;
}

bool rk_is_check(const rk_sketch *sketch) {
    return rk_sketch_is_read(sketch) && strcmp(sketch->results[0].type, "tensor<pred>") == 0;
}

static bool has_kind(const rk_sketch *sketch, uint64_t kind) {
    uint32_t from = 0, to = sketch->kind_count; // sorted by hash
    while (from < to) {
        uint32_t middle = from + (to - from) / 2, hash = sketch->kinds[middle].hash;
        if (hash == (uint32_t)kind)
            return true;
        if (hash < (uint32_t)kind)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

// Returns whether the kind is a concatenation in PyTorch/XLA. The number of its operands is that of
// the steps in an unrolled loop. The hash is that of rk_program_index_kind.
static bool is_concatenation(uint32_t kind) {
    enum { OPERANDS_MAX = 512 };
    const uint64_t name = rk_hash_text(RK_HASH_SEED, "hlo.concatenate");
    for (uint32_t i = 1; i <= OPERANDS_MAX; i++)
        if ((uint32_t)rk_hash_mix(rk_hash_mix(name, i), 1ULL << 32) == kind)
            return true;
    return false;
}

static bool has_all_kinds_of(const rk_sketch *a, const rk_sketch *b) {
    uint64_t results = rk_program_index_kind(rk_span_text("hlo.tuple"), b->result_count, 1, 0);
    for (uint32_t i = 0; i < b->kind_count; i++)
        if (!has_kind(a, b->kinds[i].hash) && b->kinds[i].hash != (uint32_t)results &&
            (b->is_mlir || !is_concatenation(b->kinds[i].hash)))
            return false;
    return true;
}

bool rk_have_same_kinds(const rk_sketch *a, const rk_sketch *b) {
    return has_all_kinds_of(a, b) && has_all_kinds_of(b, a);
}

bool rk_have_same_kinds_and_lines(const rk_sketch *a, const rk_sketch *b) {
    return rk_have_same_kinds(a, b) && !rk_has_own_line(a, b) && !rk_has_own_line(b, a);
}

uint32_t rk_operations_apart(const rk_sketch *a, const rk_sketch *b) {
    return a->op_count > b->op_count ? a->op_count - b->op_count : b->op_count - a->op_count;
}

bool rk_uses_statistics_of_batch(const rk_sketch *sketch) {
    const char *name =
        sketch->is_mlir ? "stablehlo.batch_norm_training" : "hlo.batch-norm-training";
    uint32_t results = sketch->is_mlir ? 3 : 1; // HLO: a tuple
    return has_kind(sketch, rk_program_index_kind(rk_span_text(name), 3, results, 0));
}

static bool uses_stored_statistics(const rk_sketch *sketch) {
    const char *name =
        sketch->is_mlir ? "stablehlo.batch_norm_inference" : "hlo.batch-norm-inference";
    return has_kind(sketch, rk_program_index_kind(rk_span_text(name), 5, 1, 0));
}

bool rk_are_training_and_evaluation(const rk_sketch *a, const rk_sketch *b) {
    const bool a_trains = rk_uses_statistics_of_batch(a), b_trains = rk_uses_statistics_of_batch(b);
    return a_trains != b_trains && uses_stored_statistics(a) == b_trains &&
           uses_stored_statistics(b) == a_trains;
}

bool rk_is_same_call(const rk_sketch *a, const rk_sketch *b) {
    return a->call.hash == b->call.hash;
}

bool rk_use_own_functions(const rk_sketch *a, const rk_sketch *b) {
    bool has_others;
    return a->call.line && b->call.line && uses_function(a, b, &has_others) &&
           uses_function(b, a, &has_others);
}

bool rk_have_own_functions(const rk_sketch *a, const rk_sketch *b) {
    return a->call.line && b->call.line && !rk_is_same_call(a, b) && has_own_function(a, b) &&
           has_own_function(b, a);
}

double rk_contained_operations(const rk_sketch *a, const rk_sketch *b) {
    ignored none = {.count = 0};
    uint32_t i = 0, j = 0;
    uint64_t common = 0, sums[2] = {0};
    kind_pair pair;
    while (next_kind(a, b, &none, &i, &j, &pair)) {
        common += pair.a < pair.b ? pair.a : pair.b;
        sums[0] += pair.a;
        sums[1] += pair.b;
    }
    uint64_t smaller = sums[0] < sums[1] ? sums[0] : sums[1];
    return smaller ? (double)common / (double)smaller : 1;
}

double rk_same_results(const rk_sketch *a, const rk_sketch *b) {
    uint32_t common = 0,
             all = a->result_count > b->result_count ? a->result_count : b->result_count;
    for (uint32_t i = 0; i < a->result_count; i++) {
        uint32_t before = 0, there = 0; // equal types up to here, and on the other side
        for (uint32_t k = 0; k <= i; k++)
            before += strcmp(a->results[k].type, a->results[i].type) == 0;
        for (uint32_t k = 0; k < b->result_count; k++)
            there += strcmp(b->results[k].type, a->results[i].type) == 0;
        common += before <= there;
    }
    return all ? (double)common / all : 1;
}

static bool same_values(const rk_sketch_value *a, uint32_t a_count, const rk_sketch_value *b,
                        uint32_t b_count) {
    for (uint32_t i = 0; i < a_count && a_count == b_count; i++)
        if (strcmp(a[i].type, b[i].type) != 0)
            return false;
    return a_count == b_count;
}

// Equal for two lists that have the same types in any order.
static uint64_t sum_types(const rk_sketch_value *values, uint32_t count) {
    uint64_t sum = count;
    for (uint32_t i = 0; i < count; i++)
        sum += rk_hash_span(RK_HASH_SEED, rk_span_text(values[i].type));
    return sum;
}

bool rk_same_types_in_any_order(const rk_sketch *a, const rk_sketch *b) {
    return sum_types(a->inputs, a->input_count) == sum_types(b->inputs, b->input_count) &&
           sum_types(a->results, a->result_count) == sum_types(b->results, b->result_count);
}

bool rk_same_types(const rk_sketch *a, const rk_sketch *b) {
    return same_values(a->inputs, a->input_count, b->inputs, b->input_count) &&
           same_values(a->results, a->result_count, b->results, b->result_count);
}
