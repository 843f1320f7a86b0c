#include "store/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "store/lease_text.h"
#include "store/store_path.h"

static void add_folder(const rk_store *store, rk_buf *out) {
    rk_buf_add_format(out, "%s/leases", store->directory);
}

static void add_path(const rk_store *store, const rk_digest *key, rk_buf *out) {
    add_folder(store, out);
    rk_buf_add_byte(out, '/');
    rk_buf_add_hex(out, rk_digest_span(key));
}

// Where the right to take one certain lease over is claimed.
static void add_claim_path(const rk_store *store, const rk_digest *key, uint64_t identity,
                           rk_buf *out) {
    add_folder(store, out);
    rk_buf_add_text(out, "/.claim-");
    rk_buf_add_hex(out, rk_digest_span(key));
    rk_buf_add_format(out, "-%016llx", (unsigned long long)identity);
}

static uint64_t random_number(void) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = rk_monotonic_ns() ^ rk_realtime_ns() << 8;
    return number;
}

static rk_err *read_file(const char *path, rk_lease_view *out_view) {
    RK_AUTO(rk_buf) text = {0};
    rk_err *err = rk_fs_read(path, RK_LEASE_MAX_BYTES, &text);
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
    add_path(store, key, &path);
    RK_TRY(rk_buf_status(&path));
    return read_file(rk_buf_text(&path), out_view);
}

bool rk_lease_is_over(const rk_lease_view *view) {
    if (view->state == RK_LEASE_HELD)
        return rk_process_liveness(&view->holder) == RK_LIVENESS_DEAD;
    if (view->state != RK_LEASE_NOT_KEPT)
        return false;
    // A stamp from the future is of no use either, whichever clock is wrong.
    uint64_t now_ns = rk_realtime_ns();
    uint64_t distance_ns =
        now_ns > view->created_ns ? now_ns - view->created_ns : view->created_ns - now_ns;
    return distance_ns >= view->valid_ns;
}

// Writes a file of a name of its own; `out_path` (owned by the caller) is where it lies.
static rk_err *write_temporary(const rk_store *store, const rk_process *self, rk_span text,
                               rk_buf *out_path) {
    add_folder(store, out_path);
    rk_buf_add_text(out_path, "/.tmp-");
    rk_process_add_text(self, out_path);
    rk_buf_add_format(out_path, "-%016llx", (unsigned long long)random_number());
    RK_TRY(rk_buf_status(out_path));
    const char *path = rk_buf_text(out_path);
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = rk_sys()->open_fn(path, flags, 0600);
    if (fd < 0 && errno == ENOENT) { // the folder is made with the first lease
        RK_AUTO(rk_buf) folder = {0};
        add_folder(store, &folder);
        RK_TRY(rk_buf_status(&folder));
        (void)rk_sys()->mkdir_fn(rk_buf_text(&folder), 0700); // there already, or open says so
        fd = rk_sys()->open_fn(path, flags, 0600);
    }
    if (fd < 0)
        return rk_error_errno(errno, "cannot create %s", path);
    // Not synced: after a power cut its holder is dead, and so is a lease of which nothing is left.
    rk_err *err = rk_fs_write_all(fd, text.data, text.len);
    if (rk_sys()->close_fn(fd) != 0 && !err)
        err = rk_error_errno(errno, "cannot close %s", path);
    if (err)
        (void)rk_sys()->unlink_fn(path);
    return rk_err_wrap(err, "%s", path);
}

// True if `path` is the second name of the file: NFS may have linked it and lost its answer.
static bool has_second_name(const char *temporary) {
    struct stat info;
    return rk_sys()->lstat_fn(temporary, &info) == 0 && info.st_nlink == 2;
}

// Gives the file `temporary` the name `path`, unless something has it already; then it is not
// `*out_linked`. Removes `temporary` either way.
static rk_err *link_or_drop(const char *temporary, const char *path, bool *out_linked) {
    int status = rk_sys()->linkat_fn(AT_FDCWD, temporary, AT_FDCWD, path);
    int error_number = errno;
    *out_linked = status == 0 || has_second_name(temporary);
    (void)rk_sys()->unlink_fn(temporary);
    if (*out_linked || error_number == EEXIST)
        return NULL;
    if (error_number == EPERM) // link(2): the file system has no hard links
        return rk_error(RK_UNIMPLEMENTED, "the file system of %s has no hard links", path);
    return rk_error_errno(error_number, "cannot link %s", path);
}

// Writes a lease of our own and links it to `path`. `*out_identity` is 0 if that name was taken.
static rk_err *link_new(const rk_store *store, const rk_process *self, const char *path,
                        uint64_t *out_identity) {
    *out_identity = 0;
    const rk_lease_view mine = {
        .state = RK_LEASE_HELD, .holder = *self, .created_ns = rk_realtime_ns()};
    RK_AUTO(rk_buf) text = {0};
    RK_AUTO(rk_buf) temporary = {0};
    rk_lease_text_add(&mine, random_number(), &text);
    RK_TRY(rk_buf_status(&text));
    RK_TRY(write_temporary(store, self, rk_buf_span(&text), &temporary));
    bool linked = false;
    RK_TRY(link_or_drop(rk_buf_text(&temporary), path, &linked));
    if (linked)
        *out_identity = rk_lease_text_identity(rk_buf_span(&text));
    return NULL;
}

rk_err *rk_lease_take(const rk_store *store, const rk_digest *key, const rk_process *self,
                      rk_lease *out_lease) {
    *out_lease = (rk_lease){.key = *key};
    if (store->readonly)
        return rk_error(RK_PERMISSION_DENIED, "the store %s is open for reading only",
                        store->directory);
    RK_AUTO(rk_buf) path = {0};
    add_path(store, key, &path);
    RK_TRY(rk_buf_status(&path));
    return link_new(store, self, rk_buf_text(&path), &out_lease->identity);
}

static bool still_there(const char *path, uint64_t identity) {
    rk_lease_view now;
    rk_err *err = read_file(path, &now);
    bool same = !err && now.state != RK_LEASE_NONE && now.identity == identity;
    rk_err_drop(err, "what cannot be read is not touched");
    return same;
}

// A claim that a dead process left keeps nobody else from claiming.
static void remove_dead_claim(const char *claim) {
    rk_lease_view view;
    rk_err *err = read_file(claim, &view);
    if (!err && view.state == RK_LEASE_HELD && rk_lease_is_over(&view))
        (void)rk_sys()->unlink_fn(claim);
    rk_err_drop(err, "the next one to look, or a sweep, removes it");
}

rk_err *rk_lease_take_over(const rk_store *store, const rk_lease_view *judged, const rk_digest *key,
                           const rk_process *self, rk_lease *out_lease) {
    *out_lease = (rk_lease){.key = *key};
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) claim = {0};
    add_path(store, key, &path);
    add_claim_path(store, key, judged->identity, &claim);
    RK_TRY(rk_buf_status(&path));
    RK_TRY(rk_buf_status(&claim));
    // The claim is the new lease already, under another name. Only who has claimed a lease may
    // replace it, so between the look and the rename nobody else does.
    uint64_t identity = 0;
    RK_TRY(link_new(store, self, rk_buf_text(&claim), &identity));
    if (!identity) {
        remove_dead_claim(rk_buf_text(&claim));
        return NULL;
    }
    if (!still_there(rk_buf_text(&path), judged->identity)) {
        (void)rk_sys()->unlink_fn(rk_buf_text(&claim));
        return NULL;
    }
    if (rk_sys()->rename_fn(rk_buf_text(&claim), rk_buf_text(&path)) != 0) {
        rk_err *err = rk_error_errno(errno, "cannot take %s over", rk_buf_text(&path));
        (void)rk_sys()->unlink_fn(rk_buf_text(&claim));
        return err;
    }
    out_lease->identity = identity;
    return NULL;
}

// Appends to our own lease. One write(2), so that a reader sees all of it or nothing.
static bool append(const rk_store *store, const rk_lease *lease, rk_span text) {
    RK_AUTO(rk_buf) path = {0};
    add_path(store, &lease->key, &path);
    rk_lease_view now = {0};
    rk_err *err = rk_buf_status(&path);
    if (!err)
        err = read_file(rk_buf_text(&path), &now);
    if (err) {
        rk_err_drop(err, "a sign of life that fails is given again");
        return true;
    }
    if (now.state != RK_LEASE_HELD || now.identity != lease->identity)
        return false;
    if (now.size_bytes + text.len > RK_LEASE_MAX_BYTES)
        return true; // late from here on, after days
    rk_autofd fd = rk_sys()->open_fn(rk_buf_text(&path),
                                     O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0)
        return errno != ENOENT;
    ssize_t written = rk_sys()->write_fn(fd, text.data, text.len);
    (void)written;
    return true;
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
    add_path(store, &mine.key, &path);
    if (mine.identity && !path.failed && still_there(rk_buf_text(&path), mine.identity))
        (void)rk_sys()->unlink_fn(rk_buf_text(&path));
}

static rk_err *replace_by_word(const rk_store *store, const rk_lease *lease, const rk_process *self,
                               uint64_t valid_ns, const char *path) {
    const rk_lease_view word = {.state = RK_LEASE_NOT_KEPT,
                                .holder = *self,
                                .created_ns = rk_realtime_ns(),
                                .valid_ns = valid_ns};
    RK_AUTO(rk_buf) text = {0};
    RK_AUTO(rk_buf) temporary = {0};
    rk_lease_text_add(&word, random_number(), &text);
    RK_TRY(rk_buf_status(&text));
    RK_TRY(write_temporary(store, self, rk_buf_span(&text), &temporary));
    bool done = still_there(path, lease->identity) &&
                rk_sys()->rename_fn(rk_buf_text(&temporary), path) == 0;
    if (!done)
        (void)rk_sys()->unlink_fn(rk_buf_text(&temporary));
    return NULL;
}

void rk_lease_release_not_kept(const rk_store *store, rk_lease *lease, const rk_process *self,
                               uint64_t valid_ns) {
    RK_AUTO(rk_buf) path = {0};
    add_path(store, &lease->key, &path);
    if (lease->identity && !path.failed)
        rk_err_drop(replace_by_word(store, lease, self, valid_ns, rk_buf_text(&path)),
                    "then the lease is given back without a word");
    rk_lease_release(store, lease);
}
