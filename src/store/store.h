// The local store: plain files under one directory (docs/format.md), published atomically, correct
// without locks. Damaged entries are set aside in quarantine/ and count as a miss. Thread-safe;
// every function may block on the file system.
#pragma once

#include "store/entry.h"
#include "store/trust.h"

typedef struct rk_store rk_store;

// Opens (and, unless `readonly`, makes with mode 0700) the store. Errors, all naming the directory
// and the remedy: RK_PERMISSION_DENIED (not ours, or writable by others), RK_INVALID_ARGUMENT (not
// a directory, a URL), RK_FAILED_PRECONDITION (it holds files of others and is no store, or one of
// another version), or what the system said. `out_store` is owned: rk_store_free.
RK_NODISCARD rk_err *rk_store_open(const char *directory, bool readonly, rk_store **out_store);
// The error that rk_store_open would have for a folder that is there; NULL for one that is not.
RK_NODISCARD rk_err *rk_store_check_folder(const char *directory);
void rk_store_free(rk_store *store);                   // NULL is fine
const char *rk_store_directory(const rk_store *store); // borrowed

// Keeps the store, with all that lies in it, at `max_bytes` or less (UINT64_MAX: no limit) and
// keeps account of what this process adds and removes (docs/format.md, usage/). Once, before other
// threads use the store; nothing where it is readonly.
RK_NODISCARD rk_err *rk_store_set_limit(rk_store *store, uint64_t max_bytes);

// From now on puts are signed (unless `signing` is NULL; it is copied), and what is looked up is
// judged by `trusted`, which is consumed; NULL: nobody is trusted. Before other threads use the
// store.
void rk_store_use_keys(rk_store *store, const rk_signing_key *signing, rk_trusted_keys *trusted);

// The same with key files; "" for none. Where one cannot be read (store/trust.h), an error says so,
// and the store works without it.
RK_NODISCARD rk_err *rk_store_load_keys(rk_store *store, const char *signing_path,
                                        const char *trusted_path);

// Whether a sound entry's origin is known. The local store uses all of them; an entry that comes
// from elsewhere is for the caller to judge. (A signature that is wrong makes an entry
// RK_ENTRY_DAMAGED.)
typedef enum rk_trust {
    RK_TRUST_UNSIGNED,
    RK_TRUST_UNKNOWN_KEY, // signed, by a key that is not among the trusted ones
    RK_TRUST_TRUSTED,
} rk_trust;
RK_NODISCARD rk_trust rk_store_judge(const rk_store *store, const rk_entry_view *view);

typedef struct rk_store_lookup {
    bool found;
    rk_entry_fault fault; // why not found, where a file was there: RK_ENTRY_OK if there was none
    bool quarantined;     // the faulty file was moved to quarantine/
    rk_buf file;          // owned bytes that `view` borrows from
    rk_entry_view view;   // valid if found
    rk_trust trust;       // of what was found
} rk_store_lookup;
void rk_store_lookup_cleanup(rk_store_lookup *lookup);

// Looks an executable up, and notes that it was used. A miss is `found == false`; an error means
// the file system failed. An entry of an unknown version is left where it is; a damaged one, or one
// filed under another key, is moved to quarantine/ (unless readonly).
RK_NODISCARD rk_err *rk_store_get(rk_store *store, const rk_key *key, rk_store_lookup *out_lookup);

// Moves the executable's entry to quarantine/: the plugin refused its bytes. True if it was moved;
// false where there was none, or the store is readonly.
bool rk_store_quarantine(rk_store *store, const rk_key *key);

// False while puts would be refused without being tried: the store is readonly, or the file system
// has refused to be written (EROFS, EACCES: for good; ENOSPC, EDQUOT: for a minute). Cheap.
RK_NODISCARD bool rk_store_accepts(const rk_store *store);

// Takes note of such a refusal, by somebody who writes into the store's directory too; of no other
// error. True if it was one.
bool rk_store_note_refusal(rk_store *store, const rk_err *err);

// The process ends, or will put nothing for long: what it put is left in such order that others, on
// other hosts too, need not wait for its end. Best effort; it may put again.
void rk_store_flush_usage(rk_store *store);

// Publishes an entry under its key and kind, replacing what is there, and evicts what is worth less
// where the limit asks for it, which may take seconds (store/evict_internal.h).
// RK_PERMISSION_DENIED when opened readonly, or what was the reason while rk_store_accepts is
// false; RK_OUT_OF_RANGE when it is larger than 4 GiB or there is no room for it.
// `out_stored_bytes`, the size of the file, may be NULL.
RK_NODISCARD rk_err *rk_store_put(rk_store *store, const rk_entry *entry,
                                  uint64_t *out_stored_bytes);

// True if an entry of that kind is filed under the key (not whether it is sound).
RK_NODISCARD bool rk_store_has(rk_store *store, rk_entry_kind kind, const rk_key *key);

// Reads one entry by the hex of its key's digest or an unambiguous prefix of at least 4 digits.
// RK_NOT_FOUND, RK_INVALID_ARGUMENT (ambiguous, or not hex); faults as in rk_store_get, but nothing
// is moved.
RK_NODISCARD rk_err *rk_store_read(rk_store *store, rk_entry_kind kind, const char *hex_prefix,
                                   rk_entry_want want, rk_store_lookup *out_lookup);

typedef struct rk_store_item {
    const char *hex;  // the key's digest; borrowed for the visit
    const char *path; // borrowed for the visit
    uint64_t stored_bytes;
    uint64_t modified_ns; // of the file
} rk_store_item;
typedef rk_err *(*rk_store_visit_fn)(void *context, const rk_store_item *item);

// Visits every file of one kind, in byte order of keys.
RK_NODISCARD rk_err *rk_store_each(rk_store *store, rk_entry_kind kind, rk_store_visit_fn visit,
                                   void *context);

// Removes executable and program of a key given as in rk_store_read, and what deaths in loads say
// of it (store/loads.h). `*out_bytes`: freed.
RK_NODISCARD rk_err *rk_store_remove(rk_store *store, const char *hex_prefix, uint64_t *out_bytes);

// True if files that are set aside in quarantine/ are called so. No other file there is ours.
RK_NODISCARD bool rk_store_is_set_aside(const char *name);

// True if the summary of a run (runs/<run>/summary.json) may be written: there is none, or one of
// ours, perhaps damaged.
RK_NODISCARD bool rk_store_may_keep_summary(const rk_store *store, const char *run);

// Removes a file of quarantine/, by its name there; RK_NOT_FOUND if there is none, or it is not
// ours. `*out_bytes`: freed.
RK_NODISCARD rk_err *rk_store_remove_quarantined(rk_store *store, const char *name,
                                                 uint64_t *out_bytes);
