#include "bundle/format_internal.h"

enum { MAGIC_BYTES = 8 };
static const uint8_t magic[MAGIC_BYTES] = {0x89, 'R', 'K', 'B', '\r', '\n', 0x1a, '\n'};

enum {
    AT_VERSION = 8,
    // preface
    AT_HEADER_BYTES = 12,
    AT_CREATED = 16,
    AT_PREFACE_RESERVED = 24,
    // footer
    AT_FOOTER_BYTES = 12,
    AT_INDEX_OFFSET = 16,
    AT_INDEX_BYTES = 24,
    AT_HEAD_DIGEST = 32,
    AT_INDEX_DIGEST = 64,
    AT_FILE_BYTES = 96,
    AT_SIGNATURE_TYPE = 104,
    AT_SIGNATURE_RESERVED = 108,
    AT_KEY = 112,
    AT_SIGNATURE = AT_KEY + RK_SIGN_PUBLIC_BYTES,
    AT_CHECK = AT_SIGNATURE + RK_SIGNATURE_BYTES,
    AT_FOOTER_RESERVED = AT_CHECK + RK_DIGEST_BYTES,
    AT_LAST_MAGIC = 248,
};
_Static_assert(AT_SIGNATURE == (int)RK_BUNDLE_SIGNED_BYTES &&
                   AT_FOOTER_RESERVED + 8 == AT_LAST_MAGIC &&
                   AT_LAST_MAGIC + MAGIC_BYTES == (int)RK_BUNDLE_FOOTER_BYTES,
               "the footer is 256 bytes, as docs/format.md says");

bool rk_bundle_is_zero(const uint8_t *data, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (data[i])
            return false;
    return true;
}

void rk_bundle_preface_write(const rk_bundle_preface *preface,
                             uint8_t out[RK_BUNDLE_PREFACE_BYTES]) {
    memset(out, 0, RK_BUNDLE_PREFACE_BYTES);
    memcpy(out, magic, MAGIC_BYTES);
    rk_store_u32le(out + AT_VERSION, RK_BUNDLE_VERSION);
    rk_store_u32le(out + AT_HEADER_BYTES, preface->header_bytes);
    rk_store_u64le(out + AT_CREATED, preface->created_ns);
}

rk_err *rk_bundle_preface_read(const uint8_t data[RK_BUNDLE_PREFACE_BYTES], const char *shown,
                               rk_bundle_preface *out_preface) {
    if (memcmp(data, magic, MAGIC_BYTES) != 0)
        return rk_error(
            RK_INVALID_ARGUMENT,
            "%s is not a bundle, or was changed by a transfer as text: copy it again as "
            "binary",
            shown);
    uint32_t version = rk_load_u32le(data + AT_VERSION);
    if (version != RK_BUNDLE_VERSION)
        return rk_error(RK_UNIMPLEMENTED,
                        "%s has format version %u, and this rekindle reads version %d: use the "
                        "rekindle that exported it, or export it again with this one",
                        shown, (unsigned)version, RK_BUNDLE_VERSION);
    out_preface->header_bytes = rk_load_u32le(data + AT_HEADER_BYTES);
    out_preface->created_ns = rk_load_u64le(data + AT_CREATED);
    if (!rk_bundle_is_zero(data + AT_PREFACE_RESERVED,
                           RK_BUNDLE_PREFACE_BYTES - AT_PREFACE_RESERVED))
        return rk_error(RK_DATA_LOSS, "%s: the preface is damaged: export it again", shown);
    if (out_preface->header_bytes > RK_BUNDLE_HEADER_MAX_BYTES)
        return rk_error(RK_OUT_OF_RANGE,
                        "%s: the header has %u bytes, more than the %d allowed: export it again",
                        shown, (unsigned)out_preface->header_bytes, RK_BUNDLE_HEADER_MAX_BYTES);
    return NULL;
}

static void compute_check(const uint8_t *data, rk_digest *out_check) {
    rk_digest_of(rk_span_of(data, AT_CHECK), out_check);
}

void rk_bundle_footer_write(const rk_bundle_footer *footer, uint8_t out[RK_BUNDLE_FOOTER_BYTES]) {
    memset(out, 0, RK_BUNDLE_FOOTER_BYTES);
    memcpy(out, magic, MAGIC_BYTES);
    rk_store_u32le(out + AT_VERSION, RK_BUNDLE_VERSION);
    rk_store_u32le(out + AT_FOOTER_BYTES, RK_BUNDLE_FOOTER_BYTES);
    rk_store_u64le(out + AT_INDEX_OFFSET, footer->index_offset);
    rk_store_u64le(out + AT_INDEX_BYTES, footer->index_bytes);
    memcpy(out + AT_HEAD_DIGEST, footer->head_digest.bytes, RK_DIGEST_BYTES);
    memcpy(out + AT_INDEX_DIGEST, footer->index_digest.bytes, RK_DIGEST_BYTES);
    rk_store_u64le(out + AT_FILE_BYTES, footer->file_bytes);
    rk_store_u32le(out + AT_SIGNATURE_TYPE, footer->signature_type);
    memcpy(out + AT_KEY, footer->key.bytes, RK_SIGN_PUBLIC_BYTES);
    memcpy(out + AT_SIGNATURE, footer->signature, RK_SIGNATURE_BYTES);
    rk_digest check;
    compute_check(out, &check);
    memcpy(out + AT_CHECK, check.bytes, RK_DIGEST_BYTES);
    memcpy(out + AT_LAST_MAGIC, magic, MAGIC_BYTES);
}

static bool frame_is_sound(const uint8_t *data) {
    rk_digest check;
    compute_check(data, &check);
    return memcmp(data, magic, MAGIC_BYTES) == 0 &&
           memcmp(data + AT_CHECK, check.bytes, RK_DIGEST_BYTES) == 0 &&
           rk_load_u32le(data + AT_VERSION) == RK_BUNDLE_VERSION &&
           rk_load_u32le(data + AT_FOOTER_BYTES) == RK_BUNDLE_FOOTER_BYTES &&
           rk_load_u32le(data + AT_SIGNATURE_RESERVED) == 0 &&
           rk_bundle_is_zero(data + AT_FOOTER_RESERVED, AT_LAST_MAGIC - AT_FOOTER_RESERVED);
}

static bool signature_is_sound(const rk_bundle_footer *footer) {
    if (footer->signature_type == RK_BUNDLE_SIGNATURE_NONE)
        return rk_bundle_is_zero(footer->key.bytes, RK_SIGN_PUBLIC_BYTES) &&
               rk_bundle_is_zero(footer->signature, RK_SIGNATURE_BYTES);
    return footer->signature_type == RK_BUNDLE_SIGNATURE_ED25519;
}

rk_err *rk_bundle_footer_read(const uint8_t data[RK_BUNDLE_FOOTER_BYTES], const char *shown,
                              uint64_t file_bytes, rk_bundle_footer *out_footer) {
    if (memcmp(data + AT_LAST_MAGIC, magic, MAGIC_BYTES) != 0)
        return rk_error(RK_DATA_LOSS,
                        "%s: the end of the bundle is missing or damaged (%llu bytes are there): "
                        "copy it again, or export it again",
                        shown, (unsigned long long)file_bytes);
    out_footer->index_offset = rk_load_u64le(data + AT_INDEX_OFFSET);
    out_footer->index_bytes = rk_load_u64le(data + AT_INDEX_BYTES);
    memcpy(out_footer->head_digest.bytes, data + AT_HEAD_DIGEST, RK_DIGEST_BYTES);
    memcpy(out_footer->index_digest.bytes, data + AT_INDEX_DIGEST, RK_DIGEST_BYTES);
    out_footer->file_bytes = rk_load_u64le(data + AT_FILE_BYTES);
    out_footer->signature_type = rk_load_u32le(data + AT_SIGNATURE_TYPE);
    memcpy(out_footer->key.bytes, data + AT_KEY, RK_SIGN_PUBLIC_BYTES);
    memcpy(out_footer->signature, data + AT_SIGNATURE, RK_SIGNATURE_BYTES);
    if (!frame_is_sound(data) || !signature_is_sound(out_footer))
        return rk_error(RK_DATA_LOSS, "%s: the footer is damaged: export it again", shown);
    if (out_footer->file_bytes != file_bytes)
        return rk_error(RK_DATA_LOSS,
                        "%s has %llu bytes, and its footer says %llu: copy it again, or export it "
                        "again",
                        shown, (unsigned long long)file_bytes,
                        (unsigned long long)out_footer->file_bytes);
    return NULL;
}
