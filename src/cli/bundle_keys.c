#include "cli/bundle_keys.h"

#include <stdlib.h>

#include "base/process.h"
#include "cli/fail.h"
#include "cli/key_operand.h"

void rk_bundle_keys_cleanup(rk_bundle_keys *keys) {
    rk_trusted_keys_cleanup(&keys->own);
    rk_trusted_keys_cleanup(&keys->trusted);
}

// The path of the created key. False if there is no home directory.
static bool add_path(rk_buf *out) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/')
        rk_buf_add_format(out, "%s/rekindle/bundle.key", config);
    else if (home && home[0] == '/')
        rk_buf_add_format(out, "%s/.config/rekindle/bundle.key", home);
    else
        return false;
    return true;
}

static rk_err *create(const char *path, rk_signing_key *out_key) {
    rk_process self;
    rk_process_self(&self);
    RK_TRY(rk_key_folder_make(path));
    rk_err *err = rk_signing_key_create(
        path, rk_key_name_is_valid(self.host) ? self.host : "rekindle", out_key);
    if (rk_err_code(err) != RK_ALREADY_EXISTS)
        return err;
    rk_err_drop(err, "another process has just created it");
    return rk_signing_key_read(path, out_key);
}

rk_err *rk_bundle_signing_key(const rk_settings *settings, rk_signing_key *out_key) {
    const char *named = rk_settings_get(settings)->signing_key;
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    if (*named)
        return rk_signing_key_read(named, out_key);
    if (!add_path(&path))
        return rk_error(RK_FAILED_PRECONDITION,
                        "bundles are signed, and there is no place for a key: set HOME or "
                        "REKINDLE_SIGNING_KEY");
    rk_err *err = rk_signing_key_read(rk_need_text(&path), out_key);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "the first export creates it");
    return create(rk_need_text(&path), out_key);
}

// Adds the public key of a file to the user's own keys. A missing file adds nothing.
static rk_err *add_own(const char *path, rk_bundle_keys *keys) {
    RK_AUTO(rk_signing_key) key = {0};
    rk_err *err = rk_signing_key_read(path, &key);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "this user has made no bundle yet");
        return NULL;
    }
    RK_TRY(err);
    return rk_trusted_keys_add(&keys->own, &key.public_key);
}

static rk_err *add_trusted(const char *path, rk_bundle_keys *keys) {
    rk_err *err = rk_trusted_keys_read(path, &keys->trusted);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "a missing list is empty");
    return NULL;
}

rk_err *rk_bundle_keys_read(const rk_settings *settings, const rk_opt_list *trust,
                            rk_bundle_keys *out_keys) {
    const rk_settings_values *values = rk_settings_get(settings);
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    if (add_path(&path))
        RK_TRY(add_own(rk_need_text(&path), out_keys));
    if (*values->signing_key)
        RK_TRY(add_own(values->signing_key, out_keys));
    if (*values->trusted_keys)
        RK_TRY(add_trusted(values->trusted_keys, out_keys));
    for (size_t i = 0; i < trust->count; i++) {
        RK_AUTO(rk_trusted_keys) more = {0};
        RK_TRY(rk_key_operand_read(trust->items[i], &more));
        for (size_t k = 0; k < more.count; k++)
            RK_TRY(rk_trusted_keys_add(&out_keys->trusted, &more.items[k]));
    }
    return NULL;
}

rk_bundle_signer rk_bundle_signer_of(const rk_bundle *bundle, const rk_bundle_keys *keys) {
    rk_bundle_signature signature = rk_bundle_signature_of(bundle);
    if (!signature.is_present)
        return RK_SIGNER_NONE;
    if (!signature.is_valid)
        return RK_SIGNER_INVALID;
    if (rk_trusted_keys_find(&keys->own, &signature.key))
        return RK_SIGNER_OWN;
    return rk_trusted_keys_find(&keys->trusted, &signature.key) ? RK_SIGNER_TRUSTED
                                                                : RK_SIGNER_UNKNOWN;
}

json_t *rk_bundle_signature_json(const rk_bundle *bundle, const rk_bundle_keys *keys) {
    rk_bundle_signature signature = rk_bundle_signature_of(bundle);
    rk_bundle_signer signer = rk_bundle_signer_of(bundle, keys);
    char id[RK_KEY_ID_HEX_CHARS + 1];
    RK_AUTO(rk_buf) hex = RK_BUF_INIT(0);
    if (signer == RK_SIGNER_NONE)
        return rk_out_string(NULL);
    json_t *object = rk_out_object();
    rk_key_id(&signature.key, id);
    rk_buf_add_hex(&hex, rk_span_of(signature.key.bytes, sizeof signature.key.bytes));
    rk_out_set(object, "key", rk_out_string(id));
    rk_out_set(object, "public_key", rk_out_string(rk_need_text(&hex)));
    rk_out_set(object, "valid", rk_out_bool(signature.is_valid));
    rk_out_set(object, "made_here", rk_out_bool(signer == RK_SIGNER_OWN));
    rk_out_set(object, "trusted",
               rk_out_bool(signer == RK_SIGNER_OWN || signer == RK_SIGNER_TRUSTED));
    return object;
}

void rk_bundle_signature_add_text(const rk_bundle *bundle, const rk_bundle_keys *keys,
                                  rk_buf *out) {
    static const char *const words[] = {
        [RK_SIGNER_NONE] = "none",
        [RK_SIGNER_INVALID] = ", but it does not match: the bundle was changed",
        [RK_SIGNER_UNKNOWN] = ", which is not among the trusted keys",
        [RK_SIGNER_TRUSTED] = ", which is trusted",
        [RK_SIGNER_OWN] = ", your own key: made here",
    };
    rk_bundle_signer signer = rk_bundle_signer_of(bundle, keys);
    rk_sign_public key = rk_bundle_signature_of(bundle).key;
    char id[RK_KEY_ID_HEX_CHARS + 1];
    rk_key_id(&key, id);
    if (signer != RK_SIGNER_NONE)
        rk_buf_add_format(out, "by %s", id);
    rk_buf_add_text(out, words[signer]);
}
