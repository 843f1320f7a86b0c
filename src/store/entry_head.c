#include "store/entry_head_internal.h"

const uint8_t rk_entry_magic[RK_ENTRY_MAGIC_BYTES] = {0x89, 'R', 'K', 'X', '\r', '\n', 0x1a, '\n'};

enum {
    AT_VERSION = 8,
    AT_HEADER_BYTES = 12,
    AT_KIND = 16,
    AT_FLAGS = 20,
    AT_CREATED = 24,
    AT_COMPILE = 32,
    AT_KEY = 40,
    AT_PROGRAM = AT_KEY + RK_DIGEST_BYTES,
    AT_OPTIONS = AT_PROGRAM + RK_DIGEST_BYTES,
    AT_ENVIRONMENT = AT_OPTIONS + RK_DIGEST_BYTES,
    AT_SIZES = AT_ENVIRONMENT + RK_DIGEST_BYTES,
    SIZES_STRIDE = 16,
    AT_COMPRESSIONS = AT_SIZES + RK_SECTION_COUNT * SIZES_STRIDE,
    AT_SIGNATURE_TYPE = AT_COMPRESSIONS + RK_SECTION_COUNT,
    AT_SIGNATURE_BYTES = AT_SIGNATURE_TYPE + 4,
    AT_RESERVED = AT_SIGNATURE_BYTES + 8,
};
_Static_assert(AT_SIGNATURE_TYPE == (int)RK_ENTRY_AT_SIGNATURE &&
                   AT_RESERVED == RK_ENTRY_AT_SIGNATURE + (int)RK_ENTRY_SIGNATURE_FIELDS_BYTES &&
                   AT_RESERVED + 8 == RK_ENTRY_HEADER_BYTES,
               "the head is 256 bytes, as docs/format.md says");

static void store_digest(uint8_t *data, const rk_digest *digest) {
    memcpy(data, digest->bytes, RK_DIGEST_BYTES);
}

static void load_digest(const uint8_t *data, rk_digest *out_digest) {
    memcpy(out_digest->bytes, data, RK_DIGEST_BYTES);
}

void rk_entry_head_write(const rk_entry_head *head, uint8_t out[RK_ENTRY_HEADER_BYTES]) {
    memcpy(out, rk_entry_magic, RK_ENTRY_MAGIC_BYTES);
    rk_store_u32le(out + AT_VERSION, head->version);
    rk_store_u32le(out + AT_HEADER_BYTES, head->header_bytes);
    rk_store_u32le(out + AT_KIND, head->kind);
    rk_store_u32le(out + AT_FLAGS, head->flags);
    rk_store_u64le(out + AT_CREATED, head->created_ns);
    rk_store_u64le(out + AT_COMPILE, head->compile_ns);
    store_digest(out + AT_KEY, &head->key.digest);
    store_digest(out + AT_PROGRAM, &head->key.program);
    store_digest(out + AT_OPTIONS, &head->key.options);
    store_digest(out + AT_ENVIRONMENT, &head->key.environment);
    for (size_t i = 0; i < RK_SECTION_COUNT; i++) {
        const rk_section *section = &head->sections[i];
        rk_store_u64le(out + AT_SIZES + i * SIZES_STRIDE, section->stored_bytes);
        rk_store_u64le(out + AT_SIZES + i * SIZES_STRIDE + 8, section->raw_bytes);
        out[AT_COMPRESSIONS + i] = section->compression;
    }
    rk_store_u32le(out + AT_SIGNATURE_TYPE, head->signature_type);
    rk_store_u64le(out + AT_SIGNATURE_BYTES, head->signature_bytes);
    rk_store_u64le(out + AT_RESERVED, head->reserved);
}

void rk_entry_head_read(const uint8_t data[RK_ENTRY_HEADER_BYTES], rk_entry_head *out_head) {
    out_head->version = rk_load_u32le(data + AT_VERSION);
    out_head->header_bytes = rk_load_u32le(data + AT_HEADER_BYTES);
    out_head->kind = rk_load_u32le(data + AT_KIND);
    out_head->flags = rk_load_u32le(data + AT_FLAGS);
    out_head->created_ns = rk_load_u64le(data + AT_CREATED);
    out_head->compile_ns = rk_load_u64le(data + AT_COMPILE);
    load_digest(data + AT_KEY, &out_head->key.digest);
    load_digest(data + AT_PROGRAM, &out_head->key.program);
    load_digest(data + AT_OPTIONS, &out_head->key.options);
    load_digest(data + AT_ENVIRONMENT, &out_head->key.environment);
    for (size_t i = 0; i < RK_SECTION_COUNT; i++) {
        rk_section *section = &out_head->sections[i];
        section->stored_bytes = rk_load_u64le(data + AT_SIZES + i * SIZES_STRIDE);
        section->raw_bytes = rk_load_u64le(data + AT_SIZES + i * SIZES_STRIDE + 8);
        section->compression = data[AT_COMPRESSIONS + i];
    }
    out_head->signature_type = rk_load_u32le(data + AT_SIGNATURE_TYPE);
    out_head->signature_bytes = rk_load_u64le(data + AT_SIGNATURE_BYTES);
    out_head->reserved = rk_load_u64le(data + AT_RESERVED);
}

void rk_entry_digest(const uint8_t *data, size_t content_bytes, rk_digest *out_digest) {
    static const uint8_t zeros[RK_ENTRY_SIGNATURE_FIELDS_BYTES];
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add(&hasher, data, AT_SIGNATURE_TYPE);
    rk_hasher_add(&hasher, zeros, sizeof zeros);
    rk_hasher_add(&hasher, data + AT_RESERVED, content_bytes - AT_RESERVED);
    rk_hasher_finish(&hasher, out_digest);
}
