// The fixed head of an entry, as numbers; private to src/store. Offsets and meanings:
// docs/format.md.
#pragma once

#include "store/entry.h"

typedef enum rk_section_id {
    RK_SECTION_COMPONENTS,
    RK_SECTION_METADATA,
    RK_SECTION_PAYLOAD,
    RK_SECTION_OPTIONS,
    RK_SECTION_COUNT,
} rk_section_id;

typedef enum rk_compression { RK_COMPRESSION_NONE = 0, RK_COMPRESSION_ZSTD = 1 } rk_compression;

typedef enum rk_signature_type {
    RK_SIGNATURE_TYPE_NONE = 0,
    RK_SIGNATURE_TYPE_ED25519 = 1,
} rk_signature_type;

typedef struct rk_section {
    uint64_t stored_bytes; // in the file
    uint64_t raw_bytes;    // decompressed
    uint8_t compression;   // rk_compression
} rk_section;

typedef struct rk_entry_head {
    uint32_t version;
    uint32_t header_bytes;
    uint32_t kind;
    uint32_t flags;
    uint64_t created_ns;
    uint64_t compile_ns;
    rk_key key;
    rk_section sections[RK_SECTION_COUNT];
    uint32_t signature_type;
    uint64_t signature_bytes;
    uint64_t reserved;
} rk_entry_head;

enum {
    RK_ENTRY_MAGIC_BYTES = 8,
    RK_ENTRY_PREFIX_BYTES = 12,           // magic and version
    RK_ENTRY_AT_SIGNATURE = 236,          // the signature's type and size, which count as zero in
    RK_ENTRY_SIGNATURE_FIELDS_BYTES = 12, // the digest
};

RK_HIDDEN extern const uint8_t rk_entry_magic[RK_ENTRY_MAGIC_BYTES];

// Writes magic and head. Nothing is checked.
RK_HIDDEN void rk_entry_head_write(const rk_entry_head *head, uint8_t out[RK_ENTRY_HEADER_BYTES]);

// Reads what follows the magic. Nothing is checked; any alignment.
RK_HIDDEN void rk_entry_head_read(const uint8_t data[RK_ENTRY_HEADER_BYTES],
                                  rk_entry_head *out_head);

// The digest over a head and all its sections: `content_bytes` from the start of the file, at least
// RK_ENTRY_HEADER_BYTES. The signature's fields count as zero, so that signing leaves it as it is.
RK_HIDDEN void rk_entry_digest(const uint8_t *data, size_t content_bytes, rk_digest *out_digest);

// Of an entry whose digest fits and whose extent is checked: true if it is not signed, or if every
// bit of its signature is as it was made. `*out_signer` is then whose it is.
RK_HIDDEN RK_NODISCARD bool rk_entry_signature_check(const rk_entry_head *head, const uint8_t *data,
                                                     size_t content_bytes,
                                                     rk_sign_public *out_signer);
