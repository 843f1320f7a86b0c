// The alignment of two sequences: always correct, the longest for short sequences, and never slow.
#include "diagnose/diff/align.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "support/expect.h"
#include "support/work.h"

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Checks that partners are equal and in order. Returns the number of pairs.
static size_t check(const uint64_t *a, size_t a_len, const uint64_t *b, size_t b_len,
                    const uint32_t *match) {
    size_t count = 0;
    int64_t last = -1;
    for (size_t i = 0; i < a_len; i++) {
        if (match[i] == RK_ALIGN_NONE)
            continue;
        assert_true(match[i] < b_len);
        assert_true((int64_t)match[i] > last);
        assert_int_equal(a[i], b[match[i]]);
        last = match[i];
        count++;
    }
    return count;
}

static size_t longest(const uint64_t *a, size_t n, const uint64_t *b, size_t m) {
    static size_t table[64][64];
    for (size_t i = n + 1; i-- > 0;)
        for (size_t j = m + 1; j-- > 0;)
            table[i][j] = i == n || j == m                    ? 0
                          : a[i] == b[j]                      ? table[i + 1][j + 1] + 1
                          : table[i + 1][j] > table[i][j + 1] ? table[i + 1][j]
                                                              : table[i][j + 1];
    return table[0][0];
}

static void short_ones_are_longest(void **unused) {
    (void)unused;
    uint64_t state = 88172645463325252u, a[60], b[60];
    uint32_t match[60];
    for (unsigned round = 0; round < 3000; round++) {
        size_t n = next_random(&state) % 60, m = next_random(&state) % 60;
        uint64_t letters = 1 + next_random(&state) % 12;
        for (size_t i = 0; i < 60; i++) {
            a[i] = next_random(&state) % letters;
            b[i] = next_random(&state) % letters;
        }
        rk_expect_ok(rk_align(a, n, b, m, match));
        assert_int_equal(check(a, n, b, m, match), longest(a, n, b, m));
    }
}

enum { LONG = 60000 };

typedef struct sequences {
    uint64_t *a, *b;
    uint32_t *match;
} sequences;

static sequences make(void) {
    sequences s = {calloc(2 * LONG, sizeof *s.a), calloc(2 * LONG, sizeof *s.b),
                   calloc(2 * LONG, sizeof *s.match)};
    assert_non_null(s.a);
    assert_non_null(s.b);
    assert_non_null(s.match);
    return s;
}

static void drop(sequences *s) {
    free(s->a);
    free(s->b);
    free(s->match);
}

// Some operations are removed and others inserted. All remaining operations are aligned.
static void edits_of_long_ones_are_found(void **unused) {
    (void)unused;
    sequences s = make();
    uint64_t state = 7;
    size_t m = 0, gone = 0;
    for (size_t i = 0; i < LONG; i++) {
        s.a[i] = next_random(&state) % 40; // few kinds of operations, as in programs
        if (i % 5000 == 77) {
            gone++;
            continue;
        }
        s.b[m++] = s.a[i];
        if (i % 7000 == 99)
            s.b[m++] = 1000 + i;
    }
    rk_expect_ok(rk_align(s.a, LONG, s.b, m, s.match));
    assert_int_equal(check(s.a, LONG, s.b, m, s.match), LONG - gone);
    drop(&s);
}

// An additional copy of a repeated block. No item of the block is unique.
static void a_repeated_block_is_one_insertion(void **unused) {
    (void)unused;
    enum { BLOCK = 211, BLOCKS = 200 };
    sequences s = make();
    for (size_t i = 0; i < BLOCK * BLOCKS; i++)
        s.a[i] = s.b[i] = i % BLOCK * 3 % 50;
    for (size_t i = 0; i < BLOCK; i++)
        s.b[BLOCK * BLOCKS + i] = i % BLOCK * 3 % 50;
    rk_expect_ok(rk_align(s.a, BLOCK * BLOCKS, s.b, BLOCK * (BLOCKS + 1), s.match));
    assert_int_equal(check(s.a, BLOCK * BLOCKS, s.b, BLOCK * (BLOCKS + 1), s.match),
                     BLOCK * BLOCKS);
    drop(&s);
}

// All inputs stay below a time limit that a quadratic algorithm (3.6e9 comparisons) would exceed.
static void nothing_is_slow(void **unused) {
    (void)unused;
    sequences s = make();
    uint64_t state = 99;
    for (unsigned letters = 1; letters <= 1000000; letters *= 10) {
        for (size_t i = 0; i < LONG; i++) {
            s.a[i] = next_random(&state) % letters;
            s.b[i] = next_random(&state) % letters + (letters > 1 && i % 3 == 0 ? letters : 0);
        }
        s.a[0] = 5000000;
        s.a[LONG - 1] = 6000000; // no common beginning or end
        uint64_t start_ns = rk_test_work_ns();
        rk_expect_ok(rk_align(s.a, LONG, s.b, LONG, s.match));
        (void)check(s.a, LONG, s.b, LONG, s.match);
        assert_true(rk_test_work_ns() - start_ns < 10 * (uint64_t)1000000000u);
    }
    drop(&s);
}

static void empty_ones_have_no_partners(void **unused) {
    (void)unused;
    uint64_t a[] = {1, 2};
    uint32_t match[2] = {0, 0};
    rk_expect_ok(rk_align(a, 2, a, 0, match));
    assert_int_equal(match[0], RK_ALIGN_NONE);
    assert_int_equal(match[1], RK_ALIGN_NONE);
    rk_expect_ok(rk_align(a, 0, a, 2, match));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_ones_are_longest),
        cmocka_unit_test(edits_of_long_ones_are_found),
        cmocka_unit_test(a_repeated_block_is_one_insertion),
        cmocka_unit_test(nothing_is_slow),
        cmocka_unit_test(empty_ones_have_no_partners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
