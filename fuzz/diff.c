// Compares two programs. Any two readable programs can be compared, in time and memory that grow
// with their sizes. The input holds both: four bytes with the length of the first program
// (little-endian), one byte with the two formats (bits 0 and 1), and the programs. An input without
// such a head is a single program, which is compared with itself.
#include "fuzz.h"

#include "base/alloc.h"
#include "diagnose/diff/diff.h"
#include "diagnose/diff/sketch.h"
#include "program/read.h"

enum { HEAD_BYTES = 5, DIFF_MAX_BYTES = 1 << 20 };

typedef struct side {
    rk_model *model;
    rk_program_index index;
    rk_sketch sketch;
} side;

static bool read_side(rk_span code, const char *format, side *out) {
    char *reason = NULL;
    *out = (side){0};
    bool ok =
        fuzz_ok(rk_model_read(code, rk_span_text(format), RK_READ_LOCATIONS, &out->model, &reason));
    rk_free(reason);
    return ok && out->model && fuzz_ok(rk_program_index_make(out->model, &out->index)) &&
           fuzz_ok(rk_sketch_make(&out->index, &out->sketch));
}

static void free_side(side *s) {
    rk_sketch_cleanup(&s->sketch);
    rk_program_index_cleanup(&s->index);
    rk_model_free(s->model);
}

// Checks that the result is complete: causes come first, and the counts match.
static void check(const rk_program_diff *diff, const side *a, const side *b) {
    FUZZ_REQUIRE(diff->list.count <= RK_DIFFERENCES_MAX);
    FUZZ_REQUIRE(diff->list.cause_count <= diff->list.count);
    FUZZ_REQUIRE((diff->cause == RK_CAUSE_FIRST) == (diff->list.count == 0));
    FUZZ_REQUIRE(diff->matched <= a->index.item_count && diff->matched <= b->index.item_count);
    for (size_t i = 0; i < diff->list.count; i++)
        FUZZ_REQUIRE(diff->list.items[i].follows == (i >= diff->list.cause_count));
}

static void compare(const side *a, const side *b, bool same) {
    rk_program_diff diff;
    bool ok = fuzz_ok(rk_diff_programs(&a->index, &b->index, &diff));
    if (ok) {
        check(&diff, a, b);
        FUZZ_REQUIRE(!same || diff.list.count == 0);
    }
    rk_program_diff_cleanup(&diff);
    double similarity = rk_sketch_similarity(&a->sketch, &b->sketch, true);
    FUZZ_REQUIRE(similarity >= 0 && similarity <= 1);
}

static void compare_codes(rk_span first, const char *first_format, rk_span second,
                          const char *second_format) {
    side a, b;
    bool good = read_side(first, first_format, &a);
    good = read_side(second, second_format, &b) && good;
    if (good) {
        compare(&a, &b, false);
        compare(&b, &a, false);
        compare(&a, &a, true);
    }
    free_side(&a);
    free_side(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const formats[] = {"mlir", "hlo"};
    rk_span whole = rk_span_of(data, size);
    fuzz_memory_begin(2 * FUZZ_PARSER_LIMIT_BYTES(size) + DIFF_MAX_BYTES + 512 * size,
                      FUZZ_FAIL_ABOVE);
    uint32_t first = size >= HEAD_BYTES ? rk_load_u32le(data) : UINT32_MAX;
    if (size >= HEAD_BYTES && first <= size - HEAD_BYTES) {
        rk_span rest = rk_span_of(data + HEAD_BYTES, size - HEAD_BYTES);
        compare_codes(rk_span_of(rest.data, first), formats[data[4] & 1],
                      rk_span_of(rest.data + first, rest.len - first), formats[data[4] >> 1 & 1]);
    } else {
        for (size_t i = 0; i < RK_ARRAY_LEN(formats); i++)
            compare_codes(whole, formats[i], whole, formats[i]);
    }
    fuzz_memory_end();
    return 0;
}
