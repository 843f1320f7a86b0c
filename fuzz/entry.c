// Decodes entries of the store. The digest of random bytes never matches, so the target also
// decodes copies with a corrected digest. It signs valid entries.
#include "fuzz.h"

#include <stdlib.h>

#include "store/entry_head_internal.h"

enum {
    MEMORY_MAX_BYTES = 64 << 20, // a valid entry may need 32,768 times its size
    SECTION_BYTES = 128,         // length of a signature section
    CHECK_BYTES = 32,
};

static void require_same(const rk_entry *a, const rk_entry *b) {
    FUZZ_REQUIRE(a->kind == b->kind && a->flags == b->flags);
    FUZZ_REQUIRE(a->created_ns == b->created_ns && a->compile_ns == b->compile_ns);
    FUZZ_REQUIRE(memcmp(&a->key, &b->key, sizeof a->key) == 0);
    FUZZ_REQUIRE(rk_span_equal(a->components, b->components));
    FUZZ_REQUIRE(rk_span_equal(a->metadata, b->metadata));
    FUZZ_REQUIRE(rk_span_equal(a->payload, b->payload));
    FUZZ_REQUIRE(rk_span_equal(a->options, b->options));
}

// Encodes a decoded entry: the result must decode to the same entry.
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

// Signs the entry: it must stay the same entry. A changed signature section is damage.
static void check_signing(rk_span data, const rk_entry *entry) {
    static const uint8_t seed[RK_SIGN_SEED_BYTES] = "rekindle's fuzz target";
    rk_sign_secret secret;
    rk_sign_public public_key;
    RK_AUTO(rk_buf) copy = {0};
    rk_entry_view again;
    rk_entry_fault fault;
    rk_sign_from_seed(seed, &secret, &public_key);
    rk_buf_add_span(&copy, data);
    if (copy.failed || !fuzz_ok(rk_entry_sign(&secret, &public_key, &copy)) ||
        !fuzz_ok(rk_entry_decode(rk_buf_span(&copy), NULL, RK_WANT_PAYLOAD, &again, &fault)))
        return;
    FUZZ_REQUIRE(fault == RK_ENTRY_OK);
    FUZZ_REQUIRE(again.is_signed && rk_sign_public_equal(&again.signer, &public_key));
    require_same(entry, &again.entry);
    rk_entry_view_cleanup(&again);
    copy.data[copy.len - SECTION_BYTES] ^= 1;
    if (!fuzz_ok(rk_entry_decode(rk_buf_span(&copy), NULL, RK_WANT_HEAD, &again, &fault)))
        return;
    FUZZ_REQUIRE(fault == RK_ENTRY_DAMAGED);
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
            check_signing(data, &view.entry);
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

// Decodes the last bytes of the input as a signature. Corrects the entry's digest and the check of
// the signature, and nothing else.
static void decode_with_signature(uint8_t *data, size_t size) {
    uint8_t *section = data + size - SECTION_BYTES;
    rk_hasher hasher;
    rk_digest check;
    make_digest_fit(data, size - SECTION_BYTES);
    rk_hasher_init(&hasher);
    rk_hasher_add(&hasher, data + RK_ENTRY_AT_SIGNATURE, RK_ENTRY_SIGNATURE_FIELDS_BYTES);
    rk_hasher_add(&hasher, section, SECTION_BYTES - CHECK_BYTES);
    rk_hasher_finish(&hasher, &check);
    memcpy(section + SECTION_BYTES - CHECK_BYTES, check.bytes, CHECK_BYTES);
    decode(rk_span_of(data, size), RK_WANT_PAYLOAD);
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
    if (size >= RK_ENTRY_HEADER_BYTES + RK_DIGEST_BYTES + SECTION_BYTES)
        decode_with_signature(copy, size);
    free(copy);
    return 0;
}
