#include "jax/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "base/temporary.h"

#define LOCK_WAIT_NS (UINT64_C(10) * 1000000000) // as JAX itself waits

static const char lock_name[] = ".lockfile", entry_ending[] = "-cache", time_ending[] = "-atime";

bool rk_jax_directory_has_name(const char *name) {
    return strcmp(name, lock_name) == 0 || strncmp(name, "xla_gpu_", 8) == 0 ||
           rk_temporary_is_name(name) || rk_text_ends(name, entry_ending) ||
           rk_text_ends(name, time_ending);
}

// Takes the lock, if the directory has one. `*out_fd` holds it: closing it releases the lock.
static rk_err *take_lock(int directory_fd, const char *path, int *out_fd) {
    const struct timespec pause = {.tv_nsec = 10 * 1000000};
    uint64_t until_ns = rk_monotonic_ns() + LOCK_WAIT_NS;
    *out_fd = rk_fd_open(directory_fd, lock_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (*out_fd < 0)
        return errno == ENOENT ? NULL : rk_error_errno(errno, "cannot open %s/%s", path, lock_name);
    while (rk_sys()->flock_fn(*out_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return rk_error_errno(errno, "cannot lock %s/%s", path, lock_name);
        if (rk_monotonic_ns() > until_ns)
            return rk_error(RK_UNAVAILABLE,
                            "a job has held %s/%s for 10 seconds: import again when it is done",
                            path, lock_name);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

// Writes the time of use, unless there is one.
static rk_err *add_time(int directory_fd, const char *path, const char *entry) {
    enum { BYTES = 8 };
    char name[RK_PACK_NAME_MAX_BYTES + 1];
    uint8_t bytes[BYTES];
    size_t stem = strlen(entry) - (sizeof entry_ending - 1);
    uint64_t now_ns = rk_realtime_ns();
    memcpy(name, entry, stem);
    memcpy(name + stem, time_ending, sizeof time_ending);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(now_ns >> (8 * i));
    int fd = rk_fd_open(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno == EEXIST ? NULL : rk_error_errno(errno, "cannot write %s/%s", path, name);
    rk_err *err = rk_fd_write_all(fd, bytes, sizeof bytes);
    if (rk_sys()->close_fn(fd) != 0 && errno != EINTR && !err)
        err = rk_error_errno(errno, "cannot write %s/%s", path, name);
    if (err)
        (void)rk_sys()->unlinkat_fn(directory_fd, name, 0);
    return err;
}

// The time comes first: a job that sees the file finds its time too.
static rk_err *restore_entry(int directory_fd, const char *path, const char *name,
                             const rk_pack_item *item, rk_pack_restored *sums) {
    rk_autofd lock = -1;
    rk_err *err = take_lock(directory_fd, path, &lock);
    if (!err)
        err = add_time(directory_fd, path, name);
    if (!err)
        return rk_pack_restore(directory_fd, path, item, 1, sums);
    sums->failed++;
    sums->is_full |= rk_pack_restore_is_full(err);
    return err;
}

static rk_err *restore_one(int directory_fd, const char *path, const rk_pack_item *item,
                           rk_pack_restored *sums) {
    char name[RK_PACK_NAME_MAX_BYTES + 1];
    rk_pack_item_name(item, name);
    bool is_entry = !strchr(name, '/') && rk_text_ends(name, entry_ending);
    return is_entry && !sums->is_full ? restore_entry(directory_fd, path, name, item, sums)
                                      : rk_pack_restore(directory_fd, path, item, 1, sums);
}

rk_err *rk_jax_directory_restore(int directory_fd, const char *path, const rk_pack_item *items,
                                 size_t count, rk_pack_restored *sums) {
    rk_err *first = NULL;
    for (size_t i = 0; i < count; i++) {
        rk_err *err = restore_one(directory_fd, path, &items[i], sums);
        bool is_locked = rk_err_code(err) == RK_UNAVAILABLE;
        if (first)
            rk_err_drop(err, "the first one is reported");
        else
            first = err;
        if (is_locked) {
            sums->failed += count - i - 1;
            break;
        }
    }
    return first;
}
