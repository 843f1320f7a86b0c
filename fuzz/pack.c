// Decodes packs of cache files. Names that a pack gives are safe, contents lie in the
// input, and a valid pack encodes to one that decodes to the same files.
#include "fuzz.h"

#include "base/alloc.h"
#include "pack/module.h"
#include "pack/pack.h"

// Only data that is no pack, and want of memory, are errors.
static bool decode(rk_span data, rk_pack_item **out_items, size_t *out_count) {
    rk_err *err = rk_pack_decode(data, out_items, out_count);
    if (rk_err_code(err) == RK_DATA_LOSS) {
        rk_err_free(err);
        return false;
    }
    return fuzz_ok(err);
}

static void check_items(rk_span data, const rk_pack_item *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(rk_pack_name_is_valid(items[i].name));
        FUZZ_REQUIRE(items[i].content.len <= data.len);
        if (items[i].content.len)
            FUZZ_REQUIRE(items[i].content.data >= data.data &&
                         items[i].content.data + items[i].content.len <= data.data + data.len);
        FUZZ_REQUIRE(i == 0 || rk_span_compare(items[i - 1].name, items[i].name) < 0);
    }
}

static void check_again(rk_pack_item *items, size_t count) {
    RK_AUTO(rk_buf) encoded = {0};
    rk_autofree rk_pack_item *again = NULL;
    size_t again_count = 0;
    for (size_t i = 0; i < count; i++) // the digests of the input need not be right
        rk_digest_of(items[i].content, &items[i].digest);
    if (!fuzz_ok(rk_pack_encode(items, count, &encoded)) ||
        !decode(rk_buf_span(&encoded), &again, &again_count))
        return;
    FUZZ_REQUIRE(again_count == count);
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(rk_span_equal(items[i].name, again[i].name));
        FUZZ_REQUIRE(rk_span_equal(items[i].content, again[i].content));
        FUZZ_REQUIRE(items[i].modified_ns == again[i].modified_ns);
        FUZZ_REQUIRE(items[i].is_executable == again[i].is_executable);
    }
}

static void check(rk_span input, bool again) {
    rk_autofree rk_pack_item *items = NULL;
    size_t count = 0;
    bool sound = decode(input, &items, &count);
    FUZZ_REQUIRE(sound || (!items && !count));
    check_items(input, items, count);
    if (sound && again)
        check_again(items, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { AGAIN_MAX_BYTES = 64 << 10 }; // contents may overlap, and a copy be much larger
    rk_span input = rk_span_of(data, size);
    fuzz_memory_begin(FUZZ_PARSER_LIMIT_BYTES(size), FUZZ_FAIL_ABOVE);
    check(input, false);
    fuzz_memory_end();
    fuzz_memory_begin((size_t)512 << 20, FUZZ_REFUSE_ABOVE);
    check(input, size < AGAIN_MAX_BYTES);
    fuzz_memory_end();
    return 0;
}
