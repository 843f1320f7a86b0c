// Entries of the store. No random bytes have a digest that fits, so a copy is decoded as well whose
// digest was made to fit.
#include "fuzz.h"

#include <stdlib.h>

#include "store/entry_head.h"

enum { MEMORY_MAX_BYTES = 64 << 20 }; // an honest entry may be 32,768 times its size

static void require_same(const rk_entry *a, const rk_entry *b) {
    FUZZ_REQUIRE(a->kind == b->kind && a->flags == b->flags);
    FUZZ_REQUIRE(a->created_ns == b->created_ns && a->compile_ns == b->compile_ns);
    FUZZ_REQUIRE(memcmp(&a->key, &b->key, sizeof a->key) == 0);
    FUZZ_REQUIRE(rk_span_equal(a->components, b->components));
    FUZZ_REQUIRE(rk_span_equal(a->metadata, b->metadata));
    FUZZ_REQUIRE(rk_span_equal(a->payload, b->payload));
    FUZZ_REQUIRE(rk_span_equal(a->options, b->options));
}

// What was decoded is encoded again, and means the same.
static void check_round_trip(const rk_entry *entry) {
    RK_AUTO(rk_buf) encoded = {0};
    rk_entry_view again;
    rk_entry_fault fault;
    if (!fuzz_ok(rk_entry_encode(entry, &encoded)) ||
        !fuzz_ok(
            rk_entry_decode(rk_buf_span(&encoded), &entry->key, RK_WANT_PAYLOAD, &again, &fault)))
        return;
    FUZZ_REQUIRE(fault == RK_ENTRY_OK);
    require_same(entry, &again.entry);
    rk_entry_view_cleanup(&again);
}

static void decode(rk_span data, rk_entry_want want) {
    rk_entry_view view;
    rk_entry_fault fault;
    fuzz_memory_begin(MEMORY_MAX_BYTES, FUZZ_REFUSE_ABOVE);
    if (fuzz_ok(rk_entry_decode(data, NULL, want, &view, &fault)) && fault == RK_ENTRY_OK) {
        FUZZ_REQUIRE(view.stored_bytes == data.len);
        if (want == RK_WANT_PAYLOAD) {
            FUZZ_REQUIRE(view.entry.payload.len == view.payload_raw_bytes);
            check_round_trip(&view.entry);
        }
        rk_entry_view_cleanup(&view);
    }
    fuzz_memory_end();
}

static void make_digest_fit(uint8_t *data, size_t size) {
    rk_digest digest;
    rk_entry_digest(data, size - RK_DIGEST_BYTES, &digest);
    memcpy(data + size - RK_DIGEST_BYTES, digest.bytes, RK_DIGEST_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    decode(rk_span_of(data, size), RK_WANT_PAYLOAD);
    if (size < RK_ENTRY_HEADER_BYTES + RK_DIGEST_BYTES)
        return 0;
    uint8_t *copy = malloc(size);
    FUZZ_REQUIRE(copy);
    memcpy(copy, data, size);
    make_digest_fit(copy, size);
    decode(rk_span_of(copy, size), RK_WANT_HEAD);
    decode(rk_span_of(copy, size), RK_WANT_PAYLOAD);
    free(copy);
    return 0;
}
