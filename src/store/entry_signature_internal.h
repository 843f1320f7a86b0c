// Makes and checks the signature of an entry, which follows the digest; private to src/store.
#pragma once

#include "store/entry_head_internal.h"

// True if the entry is unsigned or its signature is valid. For a valid signature, `*out_signer` is
// the key of the signer. The caller has checked the entry's digest and size.
RK_HIDDEN RK_NODISCARD bool rk_entry_signature_check(const rk_entry_head *head, const uint8_t *data,
                                                     size_t content_bytes,
                                                     rk_sign_public *out_signer);

// Writes the signature section into `data`, after the digest: RK_ENTRY_SIGNATURE_BYTES at offset
// content_bytes + RK_DIGEST_BYTES. `data` is large enough, and begins with `head`, whose
// signature fields are set.
RK_HIDDEN void rk_entry_signature_make(const rk_sign_secret *secret,
                                       const rk_sign_public *public_key, const rk_entry_head *head,
                                       uint8_t *data, size_t content_bytes);
