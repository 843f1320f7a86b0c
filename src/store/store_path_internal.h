// Where things lie in the store; private to src/store.
#pragma once

#include <stdatomic.h>

#include "store/store.h"

enum { RK_STORE_MIN_PREFIX_DIGITS = 4, RK_STORE_FOLDERS = 256 };

typedef struct rk_usage rk_usage; // store/usage_internal.h

struct rk_store {
    char *directory; // owned; no slash at its end
    bool readonly;
    bool signs; // with `signing`
    rk_signing_key signing;
    rk_trusted_keys trusted;
    atomic_int refused_errno; // why writing is not tried until then; UINT64_MAX: never again
    atomic_uint_fast64_t refused_until_ns; // monotonic clock; 0: it was not refused
    // By kind less one: folders from which this process has swept what dead writers left.
    atomic_bool swept[2][RK_STORE_FOLDERS];
    rk_usage *usage; // owned; NULL: no account is kept
    // The realtime clock less the boottime clock, in seconds, as this process has last seen it; 0
    // for not yet.
    atomic_int_fast64_t clock_offset_s;
};

RK_HIDDEN const char *rk_store_kind_folder(rk_entry_kind kind); // "objects", "programs"; static
RK_HIDDEN const char *rk_store_kind_suffix(rk_entry_kind kind); // "rkx", "rkp"; static

// DIRECTORY/objects/ab, then with the slash and abc….rkx: appended to `out`. `hex` has 64 digits,
// or at least two for the folder alone.
RK_HIDDEN void rk_store_add_folder(const rk_store *store, rk_entry_kind kind, const char *hex,
                                   rk_buf *out);
RK_HIDDEN void rk_store_add_path(const rk_store *store, rk_entry_kind kind, const char *hex,
                                 rk_buf *out);

// What rk_store_add_folder and rk_store_add_path gave, less the directory: what base/tree.h takes.
RK_HIDDEN const char *rk_store_below(const rk_store *store, const rk_buf *path); // borrowed

// True if `name` is 64 lower-case hex digits, a dot and the kind's suffix, and lies in the folder
// that its first two digits name.
RK_HIDDEN RK_NODISCARD bool rk_store_name_is_entry(rk_entry_kind kind, const char *folder,
                                                   const char *name);

// Finds the one key of that kind that begins with `hex_prefix`. RK_NOT_FOUND, RK_INVALID_ARGUMENT.
// With both kinds given as one mask (1 << kind), a key filed under both counts once.
RK_HIDDEN RK_NODISCARD rk_err *rk_store_resolve(const rk_store *store, unsigned kinds,
                                                const char *hex_prefix,
                                                char out_hex[RK_DIGEST_HEX_CHARS + 1]);

// Moves a file of the store to quarantine/; true if it was there and was moved. Best effort: a file
// system that refuses is not worth a word, for the caller counts the entry as missing anyway.
RK_HIDDEN bool rk_store_set_aside(rk_store *store, rk_entry_kind kind, const char *hex);

// An error while rk_store_accepts is false, with the reason there was.
RK_HIDDEN RK_NODISCARD rk_err *rk_store_check_accepts(const rk_store *store);
