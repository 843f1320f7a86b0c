#include "store/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/temporary.h"
#include "base/tree.h"
#include "store/lease_text_internal.h"
#include "store/store_path_internal.h"

// All paths in this file are relative to the store.

static const char folder[] = "leases";

static void add_path(const rk_digest *key, rk_buf *out) {
    rk_buf_add_format(out, "%s/", folder);
    rk_buf_add_hex(out, rk_digest_span(key));
}

// The path of the claim to the lease with that identity (rk_lease_take_over).
static void add_claim_path(const rk_digest *key, uint64_t identity, rk_buf *out) {
    rk_buf_add_format(out, "%s/.claim-", folder);
    rk_buf_add_hex(out, rk_digest_span(key));
    rk_buf_add_format(out, "-%016llx", (unsigned long long)identity);
}

static rk_err *read_file(const rk_store *store, const char *path, rk_lease_view *out_view) {
    RK_AUTO(rk_buf) text = {0};
    rk_err *err = rk_tree_read(store->directory, path, RK_LEASE_MAX_BYTES, &text);
    if (rk_err_code(err) == RK_NOT_FOUND || rk_err_errno(err) == ESTALE) {
        rk_err_drop(err, "no lease, or one that another host has removed this moment");
        *out_view = (rk_lease_view){.state = RK_LEASE_NONE};
        return NULL;
    }
    RK_TRY(err);
    rk_lease_text_parse(rk_buf_span(&text), out_view);
    return NULL;
}

rk_err *rk_lease_read(const rk_store *store, const rk_digest *key, rk_lease_view *out_view) {
    *out_view = (rk_lease_view){0};
    RK_AUTO(rk_buf) path = {0};
    add_path(key, &path);
    RK_TRY(rk_buf_status(&path));
    return read_file(store, rk_buf_text(&path), out_view);
}

bool rk_lease_is_over(const rk_lease_view *view) {
    if (view->state == RK_LEASE_HELD)
        return rk_process_liveness(&view->holder) == RK_LIVENESS_DEAD;
    if (view->state != RK_LEASE_NOT_KEPT)
        return false;
    // A stamp equally far in the future has expired too: some clock was wrong.
    uint64_t now_ns = rk_realtime_ns();
    uint64_t distance_ns =
        now_ns > view->created_ns ? now_ns - view->created_ns : view->created_ns - now_ns;
    return distance_ns >= view->valid_ns;
}

// True for errors that may be temporary.
static bool may_pass(const rk_err *err) {
    int error_number = rk_err_errno(err);
    return error_number == EIO || error_number == EMFILE || error_number == ENFILE;
}

static void remove_file(const rk_store *store, const char *path) {
    rk_err *err = rk_tree_remove(store->directory, path);
    if (may_pass(err)) {
        rk_err_drop(err, "perhaps temporary: tried again");
        err = rk_tree_remove(store->directory, path);
    }
    rk_err_drop(err, "a later sweep removes the file");
}

static rk_err *create(const rk_store *store, const char *path, int *out_fd) {
    int flags = O_WRONLY | O_CREAT | O_EXCL;
    rk_err *err = rk_tree_open(store->directory, path, flags, 0600, out_fd);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "the folder is made with the first lease");
    RK_TRY(rk_tree_make_dirs(store->directory, folder));
    return rk_tree_open(store->directory, path, flags, 0600, out_fd);
}

// Writes a lease to a temporary file. `out_path`, which must be empty, is its path.
static rk_err *write_temporary(const rk_store *store, const rk_lease_view *lease, rk_buf *out_path,
                               uint64_t *out_identity) {
    enum { RANDOM_DIGITS = 16 };
    RK_TRY(rk_store_check_accepts(store));
    rk_buf_add_format(out_path, "%s/", folder);
    rk_temporary_add_name(out_path);
    RK_TRY(rk_buf_status(out_path));
    const char *path = rk_buf_text(out_path);
    RK_AUTO(rk_buf) text = {0};
    // The random number in the unique name makes the lease unique too.
    rk_lease_text_add(lease, path + out_path->len - RANDOM_DIGITS, &text);
    RK_TRY(rk_buf_status(&text));
    int fd = -1;
    RK_TRY(create(store, path, &fd));
    // Not synced: after a power cut the holder is dead, and the lease is not needed.
    rk_err *err = rk_fd_write_all(fd, text.data, text.len);
    if (rk_sys()->close_fn(fd) != 0 && !err)
        err = rk_error_errno(errno, "cannot close it");
    if (err)
        remove_file(store, path);
    *out_identity = rk_lease_text_identity(rk_buf_span(&text));
    return rk_err_wrap(err, "%s", path);
}

// True if the file has two names. On NFS, link(2) may fail with EEXIST although it succeeded,
// because the answer was lost.
static bool has_second_name(const rk_store *store, const char *path) {
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    bool has = !err && info.st_nlink == 2;
    rk_err_drop(err, "then it was not linked, as far as can be seen");
    return has;
}

// Links the file `temporary` to the name `path`. `*out_linked` is false if the name is taken.
// Removes `temporary` in both cases.
static rk_err *link_or_drop(const rk_store *store, const char *temporary, const char *path,
                            bool *out_linked) {
    rk_err *err = rk_tree_link(store->directory, temporary, path);
    *out_linked = !err || has_second_name(store, temporary);
    remove_file(store, temporary);
    if (*out_linked || rk_err_code(err) == RK_ALREADY_EXISTS) {
        rk_err_drop(err, "the name is taken, perhaps by this file");
        return NULL;
    }
    if (rk_err_errno(err) != EPERM)
        return err;
    rk_err_drop(err, "link(2): the file system has no hard links");
    return rk_error(RK_UNIMPLEMENTED, "the file system of %s has no hard links", store->directory);
}

// Writes a lease of this process and links it to `path`. `*out_identity` is 0 if the name is taken.
static rk_err *link_new(const rk_store *store, const rk_process *self, const char *path,
                        uint64_t *out_identity) {
    *out_identity = 0;
    const rk_lease_view mine = {
        .state = RK_LEASE_HELD, .holder = *self, .created_ns = rk_realtime_ns()};
    RK_AUTO(rk_buf) temporary = {0};
    uint64_t identity = 0;
    RK_TRY(write_temporary(store, &mine, &temporary, &identity));
    bool linked = false;
    RK_TRY(link_or_drop(store, rk_buf_text(&temporary), path, &linked));
    *out_identity = linked ? identity : 0;
    return NULL;
}

rk_err *rk_lease_take(const rk_store *store, const rk_digest *key, const rk_process *self,
                      rk_lease *out_lease) {
    *out_lease = (rk_lease){.key = *key};
    RK_AUTO(rk_buf) path = {0};
    add_path(key, &path);
    RK_TRY(rk_buf_status(&path));
    return link_new(store, self, rk_buf_text(&path), &out_lease->identity);
}

static bool still_there(const rk_store *store, const char *path, uint64_t identity) {
    rk_lease_view now;
    rk_err *err = read_file(store, path, &now);
    if (may_pass(err)) {
        rk_err_drop(err, "perhaps temporary: tried again");
        err = read_file(store, path, &now);
    }
    bool same = !err && now.state != RK_LEASE_NONE && now.identity == identity;
    rk_err_drop(err, "files that cannot be read are left alone");
    return same;
}

// Removes a claim whose process is dead, so that another process can claim the lease.
static void remove_dead_claim(const rk_store *store, const char *claim) {
    rk_lease_view view;
    rk_err *err = read_file(store, claim, &view);
    if (!err && view.state == RK_LEASE_HELD && rk_lease_is_over(&view))
        remove_file(store, claim);
    rk_err_drop(err, "the next one to look, or a sweep, removes it");
}

rk_err *rk_lease_take_over(const rk_store *store, const rk_lease_view *judged, const rk_digest *key,
                           const rk_process *self, rk_lease *out_lease) {
    *out_lease = (rk_lease){.key = *key};
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) claim = {0};
    add_path(key, &path);
    add_claim_path(key, judged->identity, &claim);
    RK_TRY(rk_buf_status(&path));
    RK_TRY(rk_buf_status(&claim));
    // The claim is the new lease under another name. Only the process with the claim may replace
    // the old lease, so no other process replaces it between the check and the rename.
    uint64_t identity = 0;
    RK_TRY(link_new(store, self, rk_buf_text(&claim), &identity));
    if (!identity) {
        remove_dead_claim(store, rk_buf_text(&claim));
        return NULL;
    }
    if (!still_there(store, rk_buf_text(&path), judged->identity)) {
        remove_file(store, rk_buf_text(&claim));
        return NULL;
    }
    rk_err *err = rk_tree_rename(store->directory, rk_buf_text(&claim), rk_buf_text(&path));
    if (err)
        remove_file(store, rk_buf_text(&claim));
    else
        out_lease->identity = identity;
    return err;
}

// Appends to the caller's own lease with one write(2), so that a reader sees all of it or nothing.
// Returns false if the caller no longer holds the lease.
static bool append(const rk_store *store, const rk_lease *lease, rk_span text) {
    if (!rk_store_accepts(store))
        return true;
    RK_AUTO(rk_buf) path = {0};
    add_path(&lease->key, &path);
    rk_lease_view now = {0};
    rk_err *err = rk_buf_status(&path);
    if (!err)
        err = read_file(store, rk_buf_text(&path), &now);
    if (err) {
        rk_err_drop(err, "the next heartbeat tries again");
        return true;
    }
    if (now.state != RK_LEASE_HELD || now.identity != lease->identity)
        return false;
    if (now.size_bytes + text.len > RK_LEASE_MAX_BYTES)
        return true; // full after days of heartbeats: the lease becomes late
    rk_autofd fd = -1;
    err = rk_tree_open(store->directory, rk_buf_text(&path), O_WRONLY | O_APPEND | O_NONBLOCK, 0,
                       &fd);
    if (!err) {
        ssize_t written = rk_sys()->write_fn(fd, text.data, text.len);
        (void)written;
    }
    bool gone = rk_err_code(err) == RK_NOT_FOUND;
    rk_err_drop(err, "the next heartbeat tries again");
    return !gone;
}

bool rk_lease_beat(const rk_store *store, const rk_lease *lease) {
    return append(store, lease, rk_span_text("."));
}

void rk_lease_note_compiled(const rk_store *store, const rk_lease *lease, uint64_t compile_ns) {
    RK_AUTO(rk_buf) note = {0};
    rk_buf_add_format(&note, "compiled %llu\n", (unsigned long long)compile_ns);
    if (lease->identity && !note.failed)
        (void)append(store, lease, rk_buf_span(&note));
}

void rk_lease_release(const rk_store *store, rk_lease *lease) {
    rk_lease mine = *lease;
    lease->identity = 0;
    RK_AUTO(rk_buf) path = {0};
    add_path(&mine.key, &path);
    if (mine.identity && !path.failed && still_there(store, rk_buf_text(&path), mine.identity))
        remove_file(store, rk_buf_text(&path));
}

// Replaces the lease by one in the state RK_LEASE_NOT_KEPT, if the caller still holds it.
static rk_err *replace_by_word(const rk_store *store, const rk_lease *lease, const rk_process *self,
                               uint64_t valid_ns, const char *path) {
    const rk_lease_view word = {.state = RK_LEASE_NOT_KEPT,
                                .holder = *self,
                                .created_ns = rk_realtime_ns(),
                                .valid_ns = valid_ns};
    RK_AUTO(rk_buf) temporary = {0};
    uint64_t identity = 0;
    RK_TRY(write_temporary(store, &word, &temporary, &identity));
    rk_err *err = NULL;
    bool ours = still_there(store, path, lease->identity);
    if (ours)
        err = rk_tree_rename(store->directory, rk_buf_text(&temporary), path);
    if (!ours || err)
        remove_file(store, rk_buf_text(&temporary));
    return err;
}

void rk_lease_release_not_kept(const rk_store *store, rk_lease *lease, const rk_process *self,
                               uint64_t valid_ns) {
    RK_AUTO(rk_buf) path = {0};
    add_path(&lease->key, &path);
    if (lease->identity && !path.failed)
        rk_err_drop(replace_by_word(store, lease, self, valid_ns, rk_buf_text(&path)),
                    "the lease is only released");
    rk_lease_release(store, lease);
}
