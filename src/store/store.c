#include "store/store.h"

#include <errno.h>

#include "base/tree.h"
#include "store/last_use_internal.h"
#include "store/removals.h"
#include "store/reservation_internal.h"

// More than an entry, since rk_tree_read reserves a little more than the size of the file.
#define FILE_BUFFER_MAX_BYTES (RK_ENTRY_MAX_BYTES + ((size_t)1 << 20))

void rk_store_lookup_cleanup(rk_store_lookup *lookup) {
    rk_entry_view_cleanup(&lookup->view);
    rk_buf_cleanup(&lookup->file);
    *lookup = (rk_store_lookup){0};
}

// Reads and decodes a file into the empty `lookup`. A file that is too large or not regular is a
// fault. If there is no file, `lookup` is not found and has no fault.
static rk_err *read_entry(const rk_store *store, rk_entry_kind kind, const char *hex,
                          const rk_key *expected, rk_entry_want want, rk_store_lookup *lookup) {
    RK_AUTO(rk_buf) path = {0};
    rk_store_add_path(store, kind, hex, &path);
    RK_TRY(rk_buf_status(&path));
    lookup->file = RK_BUF_INIT(FILE_BUFFER_MAX_BYTES);
    rk_err *err = rk_tree_read(store->directory, rk_store_below(store, &path), RK_ENTRY_MAX_BYTES,
                               &lookup->file);
    // Opening a symbolic link fails with ELOOP, a socket with ENXIO.
    bool not_a_file = rk_err_code(err) == RK_OUT_OF_RANGE || rk_err_errno(err) == ELOOP ||
                      rk_err_errno(err) == ENXIO;
    if (not_a_file || rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "a miss is a value");
        lookup->fault = not_a_file ? RK_ENTRY_NOT_AN_ENTRY : RK_ENTRY_OK;
        return NULL;
    }
    RK_TRY(err);
    RK_TRY(
        rk_entry_decode(rk_buf_span(&lookup->file), expected, want, &lookup->view, &lookup->fault));
    if (lookup->fault == RK_ENTRY_OK && lookup->view.entry.kind != kind)
        lookup->fault = RK_ENTRY_OTHER_KEY; // executable filed as program, or program as executable
    lookup->found = lookup->fault == RK_ENTRY_OK;
    if (lookup->found)
        lookup->trust = rk_store_judge(store, &lookup->view);
    return NULL;
}

// Frees the bytes after a miss or an error, and keeps the fault.
static void drop_bytes(rk_store_lookup *lookup) {
    rk_entry_view_cleanup(&lookup->view);
    rk_buf_cleanup(&lookup->file);
}

rk_err *rk_store_get(rk_store *store, const rk_key *key, rk_store_lookup *out_lookup) {
    *out_lookup = (rk_store_lookup){0};
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key->digest, hex);
    rk_err *err = read_entry(store, RK_ENTRY_EXECUTABLE, hex, key, RK_WANT_PAYLOAD, out_lookup);
    if (err || !out_lookup->found)
        drop_bytes(out_lookup);
    if (err)
        return err;
    // Another process may have replaced the file since it was read. Then a sound entry moves to
    // quarantine/, which costs only one compilation.
    if (out_lookup->found)
        rk_last_use_touch(store, hex);
    else if (out_lookup->fault && out_lookup->fault != RK_ENTRY_UNKNOWN_VERSION && !store->readonly)
        out_lookup->quarantined = rk_removals_set_aside(store, RK_ENTRY_EXECUTABLE, hex);
    return NULL;
}

bool rk_store_quarantine(rk_store *store, const rk_key *key) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key->digest, hex);
    return !store->readonly && rk_removals_set_aside(store, RK_ENTRY_EXECUTABLE, hex);
}

static atomic_bool *swept(rk_store *store, rk_entry_kind kind, const char *hex) {
    return &store->swept[kind - RK_ENTRY_EXECUTABLE][rk_place_of(kind, hex) & 0xffu];
}

// Sweeps a folder once per process, after a put. The put has just changed the folder, so the
// folder's modification time is the current time by the file system's clock.
static void sweep_once(rk_store *store, rk_entry_kind kind, const char *hex) {
    if (atomic_exchange(swept(store, kind, hex), true))
        return;
    RK_AUTO(rk_buf) folder = {0};
    rk_store_add_folder(store, kind, hex, &folder);
    rk_err *err = rk_buf_status(&folder);
    if (!err)
        err = rk_tree_sweep(store->directory, rk_store_below(store, &folder), 0, NULL);
    rk_err_drop(err, "leftovers cost only space, and gc sweeps too");
}

// Publishes an entry. Creates the folders of its path only after a first attempt found them
// missing.
static rk_err *publish(rk_store *store, rk_entry_kind kind, const char *hex, rk_span file) {
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) folder = {0};
    rk_store_add_path(store, kind, hex, &path);
    rk_store_add_folder(store, kind, hex, &folder);
    RK_TRY(rk_buf_status(&path));
    RK_TRY(rk_buf_status(&folder));
    const char *below = rk_store_below(store, &path);
    rk_err *err = rk_tree_publish(store->directory, below, file.data, file.len, 0600);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "the folder is made lazily");
        RK_TRY(rk_tree_make_dirs(store->directory, rk_store_below(store, &folder)));
        atomic_store(swept(store, kind, hex), true); // a new folder has no temporary files
        err = rk_tree_publish(store->directory, below, file.data, file.len, 0600);
    }
    if (rk_err_errno(err) == EISDIR && rk_store_set_aside(store, kind, hex)) {
        rk_err_drop(err, "the directory in its place was moved");
        err = rk_tree_publish(store->directory, below, file.data, file.len, 0600);
    }
    return err;
}

static rk_err *put_file(rk_store *store, const rk_entry *entry, rk_span file) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&entry->key.digest, hex);
    rk_reservation reservation;
    rk_err *err = rk_reservation_take(store, entry, hex, file.len, &reservation);
    if (!err) {
        err = publish(store, entry->kind, hex, file);
        rk_reservation_settle(store, &reservation, entry->kind, hex, !err);
    }
    rk_store_note_refusal(store, err);
    RK_TRY(err);
    sweep_once(store, entry->kind, hex);
    return NULL;
}

rk_err *rk_store_put(rk_store *store, const rk_entry *entry, uint64_t *out_stored_bytes) {
    RK_TRY(rk_store_check_accepts(store));
    RK_AUTO(rk_buf) file = RK_BUF_INIT(FILE_BUFFER_MAX_BYTES);
    RK_TRY(rk_entry_encode(entry, &file));
    if (store->signs)
        RK_TRY(rk_entry_sign(&store->signing.secret, &store->signing.public_key.key, &file));
    RK_TRY(put_file(store, entry, rk_buf_span(&file)));
    if (out_stored_bytes)
        *out_stored_bytes = file.len;
    return NULL;
}

rk_err *rk_store_put_file(rk_store *store, rk_span file) {
    __attribute__((cleanup(rk_entry_view_cleanup))) rk_entry_view view = {0};
    rk_entry_fault fault;
    RK_TRY(rk_store_check_accepts(store));
    RK_TRY(rk_entry_decode(file, NULL, RK_WANT_HEAD, &view, &fault));
    if (fault)
        return rk_error(RK_DATA_LOSS, "not a sound entry: %s", rk_entry_fault_text(fault));
    return put_file(store, &view.entry, file);
}

rk_err *rk_store_set_limit(rk_store *store, uint64_t max_bytes) {
    return store->readonly ? NULL : rk_usage_start(store, max_bytes);
}

bool rk_store_has(rk_store *store, rk_entry_kind kind, const rk_key *key) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key->digest, hex);
    RK_AUTO(rk_buf) path = {0};
    rk_store_add_path(store, kind, hex, &path);
    struct stat info;
    rk_err *err = rk_buf_status(&path);
    if (!err)
        err = rk_tree_stat(store->directory, rk_store_below(store, &path), &info);
    bool has = !err && S_ISREG(info.st_mode);
    rk_err_drop(err, "an unreadable file counts as missing");
    return has;
}

rk_err *rk_store_read(rk_store *store, rk_entry_kind kind, const char *hex_prefix,
                      rk_entry_want want, rk_store_lookup *out_lookup) {
    *out_lookup = (rk_store_lookup){0};
    char hex[RK_DIGEST_HEX_CHARS + 1];
    RK_TRY(rk_store_resolve(store, 1u << kind, hex_prefix, hex));
    rk_err *err = read_entry(store, kind, hex, NULL, want, out_lookup);
    rk_digest digest;
    if (!err && out_lookup->found && rk_digest_from_hex(rk_span_text(hex), &digest) &&
        !rk_digest_equal(&digest, &out_lookup->view.entry.key.digest)) {
        out_lookup->found = false;
        out_lookup->fault = RK_ENTRY_OTHER_KEY;
    }
    if (err || !out_lookup->found)
        drop_bytes(out_lookup);
    return err;
}
