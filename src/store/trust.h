// Reads and writes key files: signing keys, and lists of trusted keys.
//
// Both files are text, with one key per line; "#" begins a comment. A line of a list of trusted
// keys is "ed25519 <public key, 64 hex digits> <name>". The line of a signing key is
// "ed25519-secret <seed, 64 hex digits> <name>". Names are for people and prove nothing.
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
void rk_signing_key_cleanup(rk_signing_key *key); // overwrites the secret

typedef struct rk_trusted_keys {
    rk_public_key *items; // owned
    size_t count;
} rk_trusted_keys;
void rk_trusted_keys_cleanup(rk_trusted_keys *keys);

// The id of a key: the first hex digits of its digest. Ids are for people; compare keys, not ids.
void rk_key_id(const rk_sign_public *key, char out_id[RK_KEY_ID_HEX_CHARS + 1]);

// True for 1 to RK_KEY_NAME_MAX_CHARS letters, digits, '.', '_', '-' and '@'.
RK_NODISCARD bool rk_key_name_is_valid(const char *name);

// Appends the line of a public key, with its newline.
void rk_public_key_add_line(const rk_public_key *key, rk_buf *out);

// Parses a public key: a line of a list of trusted keys, or 64 hex digits alone.
RK_NODISCARD bool rk_public_key_parse(rk_span text, rk_public_key *out_key);

// Reads the file of a signing key. Follows links. Errors never contain the content of the file:
// RK_NOT_FOUND.
// RK_PERMISSION_DENIED: neither the user nor root owns the file, or others can read or write it.
// RK_INVALID_ARGUMENT, with the line: not the file of one signing key.
RK_NODISCARD rk_err *rk_signing_key_read(const char *path, rk_signing_key *out_key);

// Creates a new key and its file, with mode 0600. RK_ALREADY_EXISTS if the file exists: no key file
// is ever replaced. RK_INVALID_ARGUMENT if `name` is not valid.
RK_NODISCARD rk_err *rk_signing_key_create(const char *path, const char *name,
                                           rk_signing_key *out_key);

// Reads a list of trusted keys. Errors as for rk_signing_key_read, but others may read the file;
// RK_OUT_OF_RANGE if there are more than 10,000 keys. A key that occurs twice counts once, with its
// first name. `out_keys` is owned: rk_trusted_keys_cleanup.
RK_NODISCARD rk_err *rk_trusted_keys_read(const char *path, rk_trusted_keys *out_keys);

// Publishes the list with mode 0644, and replaces an existing file.
RK_NODISCARD rk_err *rk_trusted_keys_write(const char *path, const rk_trusted_keys *keys);

// Adds a copy of the key, unless the list has it already.
RK_NODISCARD rk_err *rk_trusted_keys_add(rk_trusted_keys *keys, const rk_public_key *key);

// Returns the key from the list; NULL if the list does not have it. Borrowed until the list
// changes.
const rk_public_key *rk_trusted_keys_find(const rk_trusted_keys *keys, const rk_sign_public *key);
