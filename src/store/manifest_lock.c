#include "store/manifest_lock_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/tree.h"
#include "store/gc_lock_internal.h"
#include "store/store_path_internal.h"

static rk_err *open_folder(const rk_store *store, const char *job, int *out_fd) {
    enum { FLAGS = O_RDONLY | O_DIRECTORY };
    RK_AUTO(rk_buf) folder = {0};
    rk_buf_add_format(&folder, "jobs/%s", job);
    RK_TRY(rk_buf_status(&folder));
    rk_err *err = rk_tree_open(store->directory, rk_buf_text(&folder), FLAGS, 0, out_fd);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "the folder is made lazily");
    RK_TRY(rk_tree_make_dirs(store->directory, rk_buf_text(&folder)));
    return rk_tree_open(store->directory, rk_buf_text(&folder), FLAGS, 0, out_fd);
}

static bool try_lock(int fd) {
    int status;
    do {
        status = rk_sys()->flock_fn(fd, LOCK_EX | LOCK_NB);
    } while (status != 0 && errno == EINTR);
    return status == 0;
}

static bool wait_for_lock(int fd) {
    enum { WAIT_MS = 1000, POLL_MS = 2 };
    for (unsigned waited_ms = 0; !try_lock(fd); waited_ms += POLL_MS) {
        if (errno != EWOULDBLOCK || waited_ms >= WAIT_MS)
            return false;
        rk_gc_lock_pause(POLL_MS);
    }
    return true;
}

rk_manifest_lock rk_manifest_lock_take(rk_store *store, const char *job) {
    rk_manifest_lock lock = {.fd = -1};
    struct stat info;
    int fd = -1;
    rk_err *err = open_folder(store, job, &fd);
    (void)rk_store_note_refusal(store, err);
    rk_err_drop(err, "publishing reports the same error");
    if (err)
        return lock;
    if (rk_sys()->fstat_fn(fd, &info) == 0 && wait_for_lock(fd))
        lock = (rk_manifest_lock){fd, info.st_dev, info.st_ino};
    else
        (void)rk_sys()->close_fn(fd);
    return lock;
}

// True if `fd` is still the locked folder. A program that becomes a daemon closes all descriptors,
// and the number may then belong to another file.
static bool is_ours(const rk_manifest_lock *lock) {
    struct stat info;
    if (rk_sys()->fstat_fn(lock->fd, &info) != 0)
        return errno != EBADF;
    return info.st_dev == lock->device && info.st_ino == lock->inode;
}

void rk_manifest_unlock(rk_manifest_lock *lock) {
    if (lock->fd >= 0 && is_ours(lock)) {
        // Closing alone does not unlock: a child that was forked meanwhile shares the lock.
        (void)rk_sys()->flock_fn(lock->fd, LOCK_UN);
        (void)rk_sys()->close_fn(lock->fd);
    }
    lock->fd = -1;
}
