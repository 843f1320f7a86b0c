// Preface and footer of a bundle, and the places of its parts; private to src/bundle.
// docs/format.md has the offsets and meanings.
#pragma once

#include "bundle/bundle.h"
#include "bundle/limits.h"

enum {
    RK_BUNDLE_PREFACE_BYTES = 64,
    RK_BUNDLE_FOOTER_BYTES = 256,
    RK_BUNDLE_SIGNED_BYTES = 144, // the part of the footer that the signature covers
    RK_BUNDLE_ALIGNMENT_BYTES = 64,
};

typedef enum rk_bundle_signature_type {
    RK_BUNDLE_SIGNATURE_NONE = 0,
    RK_BUNDLE_SIGNATURE_ED25519 = 1,
} rk_bundle_signature_type;

typedef struct rk_bundle_preface {
    uint32_t header_bytes;
    uint64_t created_ns;
} rk_bundle_preface;

typedef struct rk_bundle_footer {
    uint64_t index_offset, index_bytes;
    rk_digest head_digest; // of preface and header
    rk_digest index_digest;
    uint64_t file_bytes;
    uint32_t signature_type;
    rk_sign_public key;
    uint8_t signature[RK_SIGNATURE_BYTES];
} rk_bundle_footer;

// Rounds up to the alignment. `offset` is at most 2^63.
static inline uint64_t rk_bundle_align(uint64_t offset) {
    return (offset + RK_BUNDLE_ALIGNMENT_BYTES - 1) & ~(uint64_t)(RK_BUNDLE_ALIGNMENT_BYTES - 1);
}

RK_HIDDEN bool rk_bundle_is_zero(const uint8_t *data, size_t len);

RK_HIDDEN void rk_bundle_preface_write(const rk_bundle_preface *preface,
                                       uint8_t out[RK_BUNDLE_PREFACE_BYTES]);
// Errors as in bundle.h. `shown` is the file's name.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_preface_read(const uint8_t data[RK_BUNDLE_PREFACE_BYTES],
                                                      const char *shown,
                                                      rk_bundle_preface *out_preface);

// Writes the footer with its check.
RK_HIDDEN void rk_bundle_footer_write(const rk_bundle_footer *footer,
                                      uint8_t out[RK_BUNDLE_FOOTER_BYTES]);
// Checks magic, check, version, file length and signature type.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_footer_read(const uint8_t data[RK_BUNDLE_FOOTER_BYTES],
                                                     const char *shown, uint64_t file_bytes,
                                                     rk_bundle_footer *out_footer);
