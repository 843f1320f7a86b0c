// Who signs, and whose signatures count: signing keys and lists of trusted keys, as files.
//
// Both are text, a line a key, "#" begins a comment: "ed25519 <public key, 64 hex digits> <name>"
// in a list of trusted keys, "ed25519-secret <seed, 64 hex digits> <name>" in the file of a signing
// key. Names are for people and prove nothing.
#pragma once

#include "base/buf.h"
#include "base/sign.h"

enum { RK_KEY_NAME_MAX_CHARS = 64, RK_KEY_ID_HEX_CHARS = 16 };

typedef struct rk_public_key {
    rk_sign_public key;
    char name[RK_KEY_NAME_MAX_CHARS + 1];
} rk_public_key;

typedef struct rk_signing_key {
    rk_sign_secret secret;
    rk_public_key public_key;
} rk_signing_key;
void rk_signing_key_cleanup(rk_signing_key *key); // wipes it

typedef struct rk_trusted_keys {
    rk_public_key *items; // owned
    size_t count;
} rk_trusted_keys;
void rk_trusted_keys_cleanup(rk_trusted_keys *keys);

// The short name of a key, for people: the first digits of its digest. Compare keys, not ids.
void rk_key_id(const rk_sign_public *key, char out_id[RK_KEY_ID_HEX_CHARS + 1]);

// Letters, digits, '.', '_', '-' and '@', not empty.
RK_NODISCARD bool rk_key_name_is_valid(const char *name);

// Appends the line of a public key, with its newline.
void rk_public_key_add_line(const rk_public_key *key, rk_buf *out);

// Reads one: such a line, or 64 hex digits alone.
RK_NODISCARD bool rk_public_key_parse(rk_span text, rk_public_key *out_key);

// Reads the file of a signing key. RK_NOT_FOUND; RK_PERMISSION_DENIED where others than its owner
// (we, or root) can read or write it; RK_INVALID_ARGUMENT with the line for what is no such file.
// Links are followed. Messages never hold any of its content.
RK_NODISCARD rk_err *rk_signing_key_read(const char *path, rk_signing_key *out_key);

// Makes a new key and its file, with mode 0600. RK_ALREADY_EXISTS: none is ever replaced.
RK_NODISCARD rk_err *rk_signing_key_create(const char *path, const char *name,
                                           rk_signing_key *out_key);

// Reads a list of trusted keys. Errors as above, but others may read it. The same key twice counts
// once, with its first name.
RK_NODISCARD rk_err *rk_trusted_keys_read(const char *path, rk_trusted_keys *out_keys);

// Replaces (or makes) the file, with mode 0644.
RK_NODISCARD rk_err *rk_trusted_keys_write(const char *path, const rk_trusted_keys *keys);

RK_NODISCARD rk_err *rk_trusted_keys_add(rk_trusted_keys *keys, const rk_public_key *key);

// NULL if it is not among them. Borrowed from the list.
const rk_public_key *rk_trusted_keys_find(const rk_trusted_keys *keys, const rk_sign_public *key);
