// The fixed head of an entry, parsed into numbers; private to src/store. docs/format.md has the
// offsets and meanings.
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
    RK_ENTRY_AT_SIGNATURE = 236,          // offset of the signature's type and size
    RK_ENTRY_SIGNATURE_FIELDS_BYTES = 12, // size of both; the digest counts them as zero
};

RK_HIDDEN extern const uint8_t rk_entry_magic[RK_ENTRY_MAGIC_BYTES];

// Writes magic and head without checks.
RK_HIDDEN void rk_entry_head_write(const rk_entry_head *head, uint8_t out[RK_ENTRY_HEADER_BYTES]);

// Reads the fields after the magic without checks. `data` may have any alignment.
RK_HIDDEN void rk_entry_head_read(const uint8_t data[RK_ENTRY_HEADER_BYTES],
                                  rk_entry_head *out_head);

// Computes the digest over a head and all its sections: the first `content_bytes` of the file, at
// least RK_ENTRY_HEADER_BYTES. The signature's fields count as zero, so that signing does not
// change the digest.
RK_HIDDEN void rk_entry_digest(const uint8_t *data, size_t content_bytes, rk_digest *out_digest);
