#include "store/entry_signature_internal.h"

// The signature's section (docs/format.md): the public key, the signature, and a check. The check
// is a digest over public key, signature and the two fields of the head that the entry's digest
// leaves out, so that a change of any bit is found.
enum {
    AT_PUBLIC = 0,
    AT_SIGNATURE = AT_PUBLIC + RK_SIGN_PUBLIC_BYTES,
    AT_CHECK = AT_SIGNATURE + RK_SIGNATURE_BYTES,
    SECTION_BYTES = AT_CHECK + RK_DIGEST_BYTES,
};
_Static_assert(SECTION_BYTES == (int)RK_ENTRY_SIGNATURE_BYTES, "as docs/format.md says");

static const char purpose[] = "rekindle entry signature 1\n";

enum { MESSAGE_BYTES = sizeof purpose - 1 + 4 + 6 * RK_DIGEST_BYTES };

static uint8_t *append(uint8_t *to, const void *data, size_t len) {
    memcpy(to, data, len);
    return to + len;
}

// Builds the signed message of an entry. The caller has checked the entry's digest.
static void make_message(const rk_entry_head *head, const uint8_t *data, size_t content_bytes,
                         uint8_t out[MESSAGE_BYTES]) {
    size_t metadata_at = RK_ENTRY_HEADER_BYTES;
    metadata_at += (size_t)head->sections[RK_SECTION_COMPONENTS].stored_bytes;
    rk_digest metadata;
    rk_digest_of(
        rk_span_of(data + metadata_at, (size_t)head->sections[RK_SECTION_METADATA].stored_bytes),
        &metadata);
    uint8_t *next = append(out, purpose, sizeof purpose - 1);
    next = append(next, data + RK_ENTRY_MAGIC_BYTES, 4); // the version
    next = append(next, head->key.digest.bytes, RK_DIGEST_BYTES);
    next = append(next, head->key.program.bytes, RK_DIGEST_BYTES);
    next = append(next, head->key.options.bytes, RK_DIGEST_BYTES);
    next = append(next, head->key.environment.bytes, RK_DIGEST_BYTES);
    next = append(next, data + content_bytes, RK_DIGEST_BYTES);
    (void)append(next, metadata.bytes, RK_DIGEST_BYTES);
}

static void make_check(const uint8_t *data, const uint8_t *section, rk_digest *out_check) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add(&hasher, data + RK_ENTRY_AT_SIGNATURE, RK_ENTRY_SIGNATURE_FIELDS_BYTES);
    rk_hasher_add(&hasher, section, AT_CHECK);
    rk_hasher_finish(&hasher, out_check);
}

bool rk_entry_signature_check(const rk_entry_head *head, const uint8_t *data, size_t content_bytes,
                              rk_sign_public *out_signer) {
    if (head->signature_type == RK_SIGNATURE_TYPE_NONE)
        return head->signature_bytes == 0;
    if (head->signature_type != RK_SIGNATURE_TYPE_ED25519 || head->signature_bytes != SECTION_BYTES)
        return false;
    const uint8_t *section = data + content_bytes + RK_DIGEST_BYTES;
    rk_digest check;
    make_check(data, section, &check);
    if (memcmp(check.bytes, section + AT_CHECK, RK_DIGEST_BYTES) != 0)
        return false;
    uint8_t message[MESSAGE_BYTES];
    make_message(head, data, content_bytes, message);
    memcpy(out_signer->bytes, section + AT_PUBLIC, RK_SIGN_PUBLIC_BYTES);
    return rk_sign_verify(out_signer, rk_span_of(message, sizeof message), section + AT_SIGNATURE);
}

void rk_entry_signature_make(const rk_sign_secret *secret, const rk_sign_public *public_key,
                             const rk_entry_head *head, uint8_t *data, size_t content_bytes) {
    uint8_t *section = data + content_bytes + RK_DIGEST_BYTES;
    uint8_t message[MESSAGE_BYTES];
    make_message(head, data, content_bytes, message);
    memcpy(section + AT_PUBLIC, public_key->bytes, RK_SIGN_PUBLIC_BYTES);
    rk_sign(secret, rk_span_of(message, sizeof message), section + AT_SIGNATURE);
    rk_digest check;
    make_check(data, section, &check);
    memcpy(section + AT_CHECK, check.bytes, RK_DIGEST_BYTES);
}
