// The local store: entries as plain files under one directory (docs/format.md). Files are published
// atomically, and correctness needs no locks. A damaged entry is moved to quarantine/ and counts as
// a miss. Thread-safe, except for functions that say otherwise. Every function may block on the
// file system.
#pragma once

#include "store/entry.h"
#include "store/trust.h"

typedef struct rk_store rk_store;

// Opens the store, and creates its directory with mode 0700 unless `readonly`. `out_store` is
// owned: rk_store_free. Errors name the directory and, unless a system call failed, the remedy:
// RK_PERMISSION_DENIED: another user owns the directory or may write to it.
// RK_INVALID_ARGUMENT: not a directory, or a URL.
// RK_FAILED_PRECONDITION: no store, but a folder with other files; or a store of another version.
RK_NODISCARD rk_err *rk_store_open(const char *directory, bool readonly, rk_store **out_store);
// Returns the error that rk_store_open would return for an existing folder. NULL if the folder does
// not exist.
RK_NODISCARD rk_err *rk_store_check_folder(const char *directory);

// What is there before a store is opened, for rk_store_undo_open.
typedef struct rk_store_before {
    bool has_folder, has_marker;
} rk_store_before;
rk_store_before rk_store_look(const char *directory);

// Removes what rk_store_open has made since `before`, and frees the store. Leaves a store alone
// that holds anything.
void rk_store_undo_open(rk_store *store, rk_store_before before);

void rk_store_free(rk_store *store);                   // NULL is fine
const char *rk_store_directory(const rk_store *store); // borrowed

// Limits the size of the whole store to `max_bytes` (UINT64_MAX: no limit), and starts the usage
// account of this process (docs/format.md, usage/). Does nothing if the store is readonly. Not
// thread-safe: call once, before other threads use the store.
RK_NODISCARD rk_err *rk_store_set_limit(rk_store *store, uint64_t max_bytes);

// Sets the signing key and the trusted keys. Later puts are signed with `signing`, which is copied;
// NULL: not signed. Later lookups report whether an entry's signer is among `trusted`, which is
// consumed; NULL: an empty list. Not thread-safe: call before other threads use the store.
void rk_store_use_keys(rk_store *store, const rk_signing_key *signing, rk_trusted_keys *trusted);

// As rk_store_use_keys, with keys from files; "" for no file. If a file cannot be read, returns an
// error (store/trust.h), and the store works without the keys in that file.
RK_NODISCARD rk_err *rk_store_load_keys(rk_store *store, const char *signing_path,
                                        const char *trusted_path);

// Whether the signer of a sound entry is trusted. The local store uses all sound entries. For an
// entry from a remote tier, the caller decides. (An entry with a wrong signature is
// RK_ENTRY_DAMAGED.)
typedef enum rk_trust {
    RK_TRUST_UNSIGNED,
    RK_TRUST_UNKNOWN_KEY, // signed with a key that is not in the list of trusted keys
    RK_TRUST_TRUSTED,
} rk_trust;
RK_NODISCARD rk_trust rk_store_judge(const rk_store *store, const rk_entry_view *view);

typedef struct rk_store_lookup {
    bool found;
    rk_entry_fault fault; // if not found: the fault of the file; RK_ENTRY_OK: there was no file
    bool quarantined;     // the faulty file was moved to quarantine/
    rk_buf file;          // owned; `view` borrows from these bytes
    rk_entry_view view;   // valid if found
    rk_trust trust;       // valid if found
} rk_store_lookup;
void rk_store_lookup_cleanup(rk_store_lookup *lookup);

// Looks up an executable and records the use. A miss is `found == false`; an error means that the
// file system failed. A damaged entry, or an entry filed under another key, is moved to quarantine/
// unless the store is readonly. An entry of an unknown version is left in place.
RK_NODISCARD rk_err *rk_store_get(rk_store *store, const rk_key *key, rk_store_lookup *out_lookup);

// Moves the executable's entry to quarantine/, because the plugin refused its bytes. Returns false
// if no entry was moved: there is none, or the store cannot be written.
bool rk_store_quarantine(rk_store *store, const rk_key *key);

// False while the store refuses puts without an attempt: it is readonly, or the file system refused
// an earlier write (EROFS, EACCES, EPERM: for good; ENOSPC, EDQUOT: for one minute). Cheap.
RK_NODISCARD bool rk_store_accepts(const rk_store *store);

// Records a refusal for rk_store_accepts if `err` has one of the error numbers above. Returns true
// if it has. Other modules that write into the store's directory call this too.
bool rk_store_note_refusal(rk_store *store, const rk_err *err);

// Closes the usage log of this process, so that processes on all hosts may add it to the usage base
// and remove it while this process still runs (store/usage_internal.h). Call before the process
// ends or pauses its puts for long. Best effort. Later puts are allowed.
void rk_store_flush_usage(rk_store *store);

// Publishes an entry under its key and kind, and replaces an existing entry. Evicts other entries
// if the limit requires it, which may take seconds (store/evict_internal.h). `out_stored_bytes`,
// the size of the file, may be NULL. Errors:
// RK_PERMISSION_DENIED: the store is readonly.
// RK_OUT_OF_RANGE: the entry is larger than 4 GiB, or eviction cannot free enough space.
// The error of the earlier refusal, while rk_store_accepts is false.
RK_NODISCARD rk_err *rk_store_put(rk_store *store, const rk_entry *entry,
                                  uint64_t *out_stored_bytes);

// As rk_store_put, for an encoded entry, such as one of another store. The file is published as it
// is: compression and signature stay. RK_DATA_LOSS if `file` is not a sound entry.
RK_NODISCARD rk_err *rk_store_put_file(rk_store *store, rk_span file);

// True if the store has a file of that kind for the key. The file may be damaged.
RK_NODISCARD bool rk_store_has(rk_store *store, rk_entry_kind kind, const rk_key *key);

// Reads one entry by the hex digits of its key's digest, or by an unambiguous prefix of at least 4
// digits. RK_NOT_FOUND; RK_INVALID_ARGUMENT: ambiguous or not hex. Reports faults as rk_store_get
// does, but moves no file.
RK_NODISCARD rk_err *rk_store_read(rk_store *store, rk_entry_kind kind, const char *hex_prefix,
                                   rk_entry_want want, rk_store_lookup *out_lookup);

typedef struct rk_store_item {
    const char *hex;  // the key's digest; borrowed for the visit
    const char *path; // borrowed for the visit
    uint64_t stored_bytes;
    uint64_t modified_ns; // of the file
} rk_store_item;
typedef rk_err *(*rk_store_visit_fn)(void *context, const rk_store_item *item);

// Visits every entry of one kind, in byte order of keys. An error from `visit` ends the walk and is
// returned.
RK_NODISCARD rk_err *rk_store_each(rk_store *store, rk_entry_kind kind, rk_store_visit_fn visit,
                                   void *context);

// Removes the executable, the program and the load verdict (store/loads.h) of one key.
// `hex_prefix` is as in rk_store_read. `*out_bytes` is the number of bytes freed.
RK_NODISCARD rk_err *rk_store_remove(rk_store *store, const char *hex_prefix, uint64_t *out_bytes);

// True if `name` has the form of rekindle's own file names in quarantine/.
RK_NODISCARD bool rk_store_is_set_aside(const char *name);

// True if the summary of a run (runs/<run>/summary.json) may be written: there is no such file, or
// it is rekindle's own, perhaps damaged.
RK_NODISCARD bool rk_store_may_keep_summary(const rk_store *store, const char *run);

// Removes one file of quarantine/ by its name. RK_NOT_FOUND if there is no such file, or it is not
// rekindle's own. `*out_bytes` is the number of bytes freed.
RK_NODISCARD rk_err *rk_store_remove_quarantined(rk_store *store, const char *name,
                                                 uint64_t *out_bytes);
