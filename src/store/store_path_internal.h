// The store object and the paths of its files; private to src/store.
#pragma once

#include <stdatomic.h>

#include "store/store.h"

enum { RK_STORE_MIN_PREFIX_DIGITS = 4, RK_STORE_FOLDERS = 256 };

typedef struct rk_usage rk_usage; // store/usage_internal.h

struct rk_store {
    char *directory; // owned; no slash at its end
    bool readonly;
    bool signs; // puts are signed with `signing`
    rk_signing_key signing;
    rk_trusted_keys trusted;
    // The last refusal to write. No write is tried until this time by the monotonic clock; 0: no
    // refusal; UINT64_MAX: never again.
    atomic_int refused_errno;
    atomic_uint_fast64_t refused_until_ns;
    // Folders that this process has swept of temporary files; by kind - 1 and the key's first byte.
    atomic_bool swept[2][RK_STORE_FOLDERS];
    rk_usage *usage; // owned; NULL: no usage account
    // File system's clock minus time since boot, in seconds, as last seen; 0: not seen yet.
    atomic_int_fast64_t clock_offset_s;
};

RK_HIDDEN const char *rk_store_kind_folder(rk_entry_kind kind); // "objects", "programs"; static
RK_HIDDEN const char *rk_store_kind_suffix(rk_entry_kind kind); // "rkx", "rkp"; static

// Append the path of an entry's folder, DIRECTORY/objects/ab, and of its file,
// DIRECTORY/objects/ab/abc….rkx. `hex` has 64 digits, or at least two for the folder.
RK_HIDDEN void rk_store_add_folder(const rk_store *store, rk_entry_kind kind, const char *hex,
                                   rk_buf *out);
RK_HIDDEN void rk_store_add_path(const rk_store *store, rk_entry_kind kind, const char *hex,
                                 rk_buf *out);

// Returns the part of `path` after the store's directory, for base/tree.h. Borrowed from `path`.
RK_HIDDEN const char *rk_store_below(const rk_store *store, const rk_buf *path);

// True if `name` is 64 lower-case hex digits, a dot and the kind's suffix, and if its first two
// digits are those of `folder`.
RK_HIDDEN RK_NODISCARD bool rk_store_name_is_entry(rk_entry_kind kind, const char *folder,
                                                   const char *name);

// Finds the key that begins with `hex_prefix`, among entries of the given kinds. `kinds` is a mask
// (1 << kind); a key with entries of both kinds counts once. RK_NOT_FOUND; RK_INVALID_ARGUMENT:
// ambiguous or not hex.
RK_HIDDEN RK_NODISCARD rk_err *rk_store_resolve(const rk_store *store, unsigned kinds,
                                                const char *hex_prefix,
                                                char out_hex[RK_DIGEST_HEX_CHARS + 1]);

// Moves an entry to quarantine/. Returns false if it was not moved: it does not exist, or the file
// system refuses. A failed move is no error, because the caller counts the entry as missing in any
// case.
RK_HIDDEN bool rk_store_set_aside(rk_store *store, rk_entry_kind kind, const char *hex);

// While rk_store_accepts is false, returns the reason as an error; otherwise NULL.
RK_HIDDEN RK_NODISCARD rk_err *rk_store_check_accepts(const rk_store *store);
