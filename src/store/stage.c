#include "store/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/temporary.h"
#include "base/tree.h"
#include "store/reservation_internal.h"
#include "store/store_path_internal.h"

enum { BEHIND_BYTES = 8 << 20 };

// Makes later puts skip a full or read-only disk, as rk_store_put does.
static rk_err *noted(rk_store *store, rk_err *err) {
    if (err)
        rk_store_note_refusal(store, err);
    return err;
}

rk_err *rk_stage_begin(rk_store *store) {
    RK_TRY(rk_store_check_accepts(store));
    rk_err_drop(rk_tree_sweep(store->directory, "", 0, NULL), "gc sweeps too");
    return NULL;
}

rk_err *rk_staged_create(rk_store *store, rk_staged *out_staged) {
    RK_AUTO(rk_buf) name = {0};
    *out_staged = (rk_staged){.fd = -1};
    rk_temporary_add_name(&name);
    RK_TRY(rk_buf_status(&name));
    RK_TRY(noted(store, rk_tree_open(store->directory, rk_buf_text(&name),
                                     O_WRONLY | O_CREAT | O_EXCL, 0600, &out_staged->fd)));
    size_t len;
    out_staged->name = (char *)rk_buf_detach(&name, &len);
    return NULL;
}

void rk_staged_write_behind(rk_staged *staged) {
    rk_fd_write_behind(staged->fd, staged->behind_bytes, staged->bytes - staged->behind_bytes);
    staged->behind_bytes = staged->bytes;
}

rk_err *rk_staged_add(rk_store *store, rk_staged *staged, rk_span data) {
    rk_err *err = noted(store, rk_fd_write_all(staged->fd, data.data, data.len));
    RK_TRY(rk_err_wrap(err, "%s/%s", store->directory, staged->name));
    staged->bytes += data.len;
    if (staged->bytes - staged->behind_bytes >= BEHIND_BYTES)
        rk_staged_write_behind(staged);
    return NULL;
}

rk_err *rk_staged_sync(rk_store *store, rk_staged *staged) {
    rk_err *err = rk_fd_sync(staged->fd)
                      ? NULL
                      : rk_error_errno(errno, "cannot sync %s/%s", store->directory, staged->name);
    int fd = staged->fd;
    staged->fd = -1;
    // A quota or NFS may report a failed write only here.
    if (rk_sys()->close_fn(fd) != 0 && errno != EINTR && !err)
        err = rk_error_errno(errno, "cannot close %s/%s", store->directory, staged->name);
    return noted(store, err);
}

// True if the file system has no hard links.
static bool has_no_links(const rk_err *err) {
    int number = rk_err_errno(err);
    return number == EPERM || number == EOPNOTSUPP || number == ENOSYS || number == EMLINK;
}

static rk_err *link_or_rename(const rk_store *store, rk_staged *staged, const char *to) {
    rk_err *err = rk_tree_link(store->directory, staged->name, to);
    if (!has_no_links(err))
        return err;
    rk_err_drop(err, "it is renamed, which may replace another process's entry");
    RK_TRY(rk_tree_rename(store->directory, staged->name, to));
    rk_free(RK_TAKE(staged->name));
    return NULL;
}

static rk_err *place(rk_store *store, rk_staged *staged, rk_entry_kind kind, const char *hex) {
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) folder = {0};
    rk_store_add_path(store, kind, hex, &path);
    rk_store_add_folder(store, kind, hex, &folder);
    RK_TRY(rk_buf_status(&path));
    RK_TRY(rk_buf_status(&folder));
    const char *to = rk_store_below(store, &path);
    rk_err *err = link_or_rename(store, staged, to);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "the folder is made lazily");
        RK_TRY(rk_tree_make_dirs(store->directory, rk_store_below(store, &folder)));
        err = link_or_rename(store, staged, to);
    }
    return err;
}

// Removes a damaged file, or moves away what cannot be removed.
static rk_err *make_way(rk_store *store, rk_entry_kind kind, const char *hex) {
    RK_AUTO(rk_buf) path = {0};
    rk_store_add_path(store, kind, hex, &path);
    RK_TRY(rk_buf_status(&path));
    rk_err *err = rk_tree_remove(store->directory, rk_store_below(store, &path));
    bool gone = !err || rk_err_code(err) == RK_NOT_FOUND || rk_store_set_aside(store, kind, hex);
    if (!gone)
        return err;
    rk_err_drop(err, "nothing is in the way now");
    return NULL;
}

rk_err *rk_staged_publish(rk_store *store, rk_staged *staged, const rk_entry *entry, bool replaces,
                          bool *out_published) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_reservation reservation;
    *out_published = false;
    rk_digest_to_hex(&entry->key.digest, hex);
    RK_TRY(noted(store, rk_reservation_take(store, entry, hex, staged->bytes, &reservation)));
    rk_err *err = replaces ? make_way(store, entry->kind, hex) : NULL;
    if (!err)
        err = place(store, staged, entry->kind, hex);
    rk_reservation_settle(store, &reservation, entry->kind, hex, !err);
    if (rk_err_code(err) == RK_ALREADY_EXISTS) {
        rk_err_drop(err, "another process has stored it");
        return NULL;
    }
    *out_published = !err;
    return noted(store, err);
}

static unsigned folder_of(const rk_entry *entry) {
    return entry->key.digest.bytes[0];
}

void rk_stage_note_folder(rk_stage_folders *folders, const rk_entry *entry) {
    unsigned number = folder_of(entry);
    folders->bits[entry->kind == RK_ENTRY_PROGRAM][number / 8] |= (uint8_t)(1u << number % 8);
}

rk_err *rk_stage_end(rk_store *store, const rk_stage_folders *folders) {
    for (unsigned i = 0; i < 2 * RK_STORE_FOLDERS; i++) {
        unsigned number = i % RK_STORE_FOLDERS;
        rk_entry_kind kind = i < RK_STORE_FOLDERS ? RK_ENTRY_EXECUTABLE : RK_ENTRY_PROGRAM;
        char path[32];
        if (!(folders->bits[kind == RK_ENTRY_PROGRAM][number / 8] & 1u << number % 8))
            continue;
        (void)snprintf(path, sizeof path, "%s/%02x", rk_store_kind_folder(kind), number);
        RK_TRY(noted(store, rk_tree_sync(store->directory, path)));
    }
    return NULL;
}

void rk_staged_drop(rk_store *store, rk_staged *staged) {
    rk_autofd_cleanup(&staged->fd);
    if (staged->name)
        rk_err_drop(rk_tree_remove(store->directory, staged->name), "gc removes it");
    rk_free(staged->name);
    *staged = (rk_staged){.fd = -1};
}
