// The keys of bundles: which key signs what this user exports, and whether a signature is trusted.
//
// Every bundle is signed. The key is REKINDLE_SIGNING_KEY, or else a key that the first export
// creates for the user: $XDG_CONFIG_HOME/rekindle/bundle.key or ~/.config/rekindle/bundle.key.
#pragma once

#include "bundle/bundle.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "settings/settings.h"
#include "store/trust.h"

typedef struct rk_bundle_keys {
    rk_trusted_keys own;     // of this user: the created key, and REKINDLE_SIGNING_KEY
    rk_trusted_keys trusted; // of REKINDLE_TRUSTED_KEYS, and of --trust
} rk_bundle_keys;
void rk_bundle_keys_cleanup(rk_bundle_keys *keys);

// Reads the key that signs, and creates it if this user has none. Owned: rk_signing_key_cleanup.
RK_NODISCARD rk_err *rk_bundle_signing_key(const rk_settings *settings, rk_signing_key *out_key);

// Reads the keys that count for this user. `trust` has the values of --trust. Creates nothing.
RK_NODISCARD rk_err *rk_bundle_keys_read(const rk_settings *settings, const rk_opt_list *trust,
                                         rk_bundle_keys *out_keys);

typedef enum rk_bundle_signer {
    RK_SIGNER_NONE,    // the bundle is not signed
    RK_SIGNER_INVALID, // the signature does not match the bundle
    RK_SIGNER_UNKNOWN, // another key than those below
    RK_SIGNER_TRUSTED,
    RK_SIGNER_OWN, // "made here"
} rk_bundle_signer;

rk_bundle_signer rk_bundle_signer_of(const rk_bundle *bundle, const rk_bundle_keys *keys);

// The JSON of the signature; null if there is none.
json_t *rk_bundle_signature_json(const rk_bundle *bundle, const rk_bundle_keys *keys);

// Appends the signature in words: "by 0123456789abcdef, your own key".
void rk_bundle_signature_add_text(const rk_bundle *bundle, const rk_bundle_keys *keys, rk_buf *out);
