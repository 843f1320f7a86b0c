// Source: openxla/shardy shardy/dialect/sdy/ir/parsers.cc
#include "program/mlir/asm/sdy_rule.h"

#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/types.h"

// Factors are letters from "i" to "z"; the next ones are "z_1", "z_2", …. Appends the factors of a
// word ("ijz_1") to `p->ints`. Returns their number, or SIZE_MAX and `failed`.
static size_t add_factors(rk_asm *p, rk_span word) {
    enum { Z = 'z' - 'i', MOST_DIGITS = 9 };
    size_t count = 0;
    for (size_t i = 0; i < word.len; count++) {
        int64_t factor = word.data[i] - 'i';
        if (factor < 0 || factor > Z) {
            rk_asm_fail(p, "a factor of a sharding rule that is not understood");
            return SIZE_MAX;
        }
        i++;
        if (factor == Z && i < word.len && word.data[i] == '_') {
            int64_t number = 0;
            size_t digits = 0;
            for (i++; i < word.len && rk_asm_is_digit(word.data[i]) && digits < MOST_DIGITS;
                 digits++)
                number = number * 10 + (word.data[i++] - '0');
            if (!number) {
                rk_asm_fail(p, "a factor of a sharding rule that is not understood");
                return SIZE_MAX;
            }
            factor += number;
        }
        rk_asm_add_int(p, factor);
    }
    return count;
}

static uint32_t wrap(rk_asm *p, uint32_t word, uint32_t part) {
    rk_field field = {RK_NO_ID, part};
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = word}, &field, 1);
}

// "[i, jk]": for each dimension its factors.
static uint32_t read_tensor(rk_asm *p) {
    uint32_t first = p->nodes.count;
    if (!rk_asm_expect(p, '['))
        return RK_NO_ID;
    if (!rk_asm_accept(p, ']')) {
        do {
            rk_buf_clear(&p->ints);
            if (add_factors(p, rk_asm_word(p)) == SIZE_MAX)
                return RK_NO_ID;
            uint32_t dimension = wrap(p, RK_WORD_dim_mapping, rk_asm_take_ints(p));
            if (dimension == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, dimension))
                return RK_NO_ID;
        } while (rk_asm_accept(p, ','));
        if (!rk_asm_expect(p, ']'))
            return RK_NO_ID;
    }
    return wrap(p, RK_WORD_tensor_mapping, rk_asm_pop_list(p, first));
}

static uint32_t read_tensors(rk_asm *p) {
    uint32_t first = p->nodes.count;
    if (!rk_asm_expect(p, '('))
        return RK_NO_ID;
    if (!rk_asm_accept(p, ')')) {
        do {
            uint32_t tensor = read_tensor(p);
            if (tensor == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, tensor))
                return RK_NO_ID;
        } while (rk_asm_accept(p, ','));
        if (!rk_asm_expect(p, ')'))
            return RK_NO_ID;
    }
    return rk_asm_pop_list(p, first);
}

// "{i=2, j=4}": the sizes of all factors, in order.
static uint32_t read_sizes(rk_asm *p) {
    RK_AUTO(rk_buf) sizes = {0};
    int64_t size, expected = 0;
    rk_buf_clear(&sizes);
    if (rk_asm_accept(p, '{') && !rk_asm_accept(p, '}')) {
        do {
            rk_buf_clear(&p->ints);
            bool is_one = add_factors(p, rk_asm_word(p)) == 1 && !p->ints.failed &&
                          (int64_t)rk_load_u64le(p->ints.data) == expected++;
            if (!is_one)
                rk_asm_fail(p, "a factor of a sharding rule that is not understood");
            if (p->failed || !rk_asm_expect(p, '=') || !rk_asm_integer(p, &size))
                return RK_NO_ID;
            rk_buf_add_u64le(&sizes, (uint64_t)size);
        } while (rk_asm_accept(p, ','));
        if (!rk_asm_expect(p, '}'))
            return RK_NO_ID;
    }
    rk_buf_clear(&p->ints);
    rk_buf_add_span(&p->ints, rk_buf_span(&sizes));
    p->ints.failed |= sizes.failed;
    return rk_asm_take_ints(p);
}

// "reduction={k}", or nothing.
static uint32_t read_special(rk_asm *p, const char *word) {
    rk_buf_clear(&p->ints);
    if (rk_asm_accept_word(p, word)) {
        if (!rk_asm_expect(p, '=') || !rk_asm_expect(p, '{'))
            return RK_NO_ID;
        if (!rk_asm_accept(p, '}')) {
            do {
                if (add_factors(p, rk_asm_word(p)) != 1) {
                    rk_asm_fail(p, "a factor of a sharding rule that is not understood");
                    return RK_NO_ID;
                }
            } while (rk_asm_accept(p, ','));
            if (!rk_asm_expect(p, '}'))
                return RK_NO_ID;
        }
    }
    return rk_asm_take_ints(p);
}

uint32_t rk_asm_sdy_rule(rk_asm *p) {
    rk_field fields[] = {{RK_WORD_factor_sizes, RK_NO_ID},
                         {RK_WORD_operand_mappings, read_tensors(p)},
                         {RK_WORD_result_mappings, RK_NO_ID},
                         {RK_WORD_reduction_factors, RK_NO_ID},
                         {RK_WORD_need_replication_factors, RK_NO_ID},
                         {RK_WORD_permutation_factors, RK_NO_ID},
                         {RK_WORD_blocked_propagation_factors, RK_NO_ID},
                         {RK_WORD_is_custom, RK_NO_ID}};
    static const char *const words[] = {"reduction", "need_replication", "permutation",
                                        "blocked_propagation"};
    if (p->failed || !rk_asm_expect_text(p, "->"))
        return RK_NO_ID;
    fields[2].node = read_tensors(p);
    if (p->failed)
        return RK_NO_ID;
    fields[0].node = read_sizes(p);
    for (size_t i = 0; i < RK_ARRAY_LEN(words) && !p->failed; i++)
        fields[3 + i].node = read_special(p, words[i]);
    bool is_custom = !p->failed && rk_asm_accept(p, ',');
    if (p->failed || (is_custom && !rk_asm_expect_word(p, "custom")) || !rk_asm_expect(p, '>'))
        return RK_NO_ID;
    fields[7].node = rk_asm_bool(p, is_custom);
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = RK_WORD_op_sharding_rule},
                       fields, RK_ARRAY_LEN(fields));
}
