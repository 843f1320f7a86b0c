#include "torch/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/fs.h"
#include "base/tree.h"

enum { DEPTH_MAX = 32, ID_DIGITS = 16, JOB_MAX_CHARS = 100, POLL_MS = 20, OPENS_MAX = 1000 };

void rk_torch_directory_cleanup(rk_torch_directory *directory) {
    if (directory->path) {
        rk_autofd_cleanup(&directory->fd);
        rk_autofd_cleanup(&directory->lock_fd);
        rk_autofd_cleanup(&directory->job_fd);
    }
    rk_free(directory->path);
    rk_free(directory->lock);
    *directory = (rk_torch_directory){.fd = -1, .lock_fd = -1, .job_fd = -1};
}

// Makes <base>/rekindle-<uid>, and checks that nobody else can put code into it. Appends its path.
static rk_err *make_top(const char *base, rk_buf *out) {
    struct stat info;
    rk_buf_add_format(out, "%s/rekindle-%lu", base, (unsigned long)geteuid());
    RK_TRY(rk_buf_status(out));
    const char *top = rk_buf_text(out);
    if (rk_sys()->mkdir_fn(top, 0700) != 0 && errno != EEXIST)
        return rk_error_errno(errno, "cannot make %s", top);
    if (rk_sys()->lstat_fn(top, &info) != 0)
        return rk_error_errno(errno, "cannot use %s", top);
    RK_TRY(rk_tree_check_folder(&info, top));
    if (info.st_mode & 0077)
        return rk_error(RK_PERMISSION_DENIED, "%s may be entered by other users: chmod 700 %s", top,
                        top);
    return NULL;
}

// Sets the paths. The job's name is a valid name of a folder, but perhaps a long one.
static rk_err *set_paths(rk_torch_directory *self, const char *top, const char *job,
                         const rk_digest *identity) {
    RK_AUTO(rk_buf) path = {0};
    char hex[RK_DIGEST_HEX_CHARS + 1];
    size_t len;
    rk_digest_to_hex(identity, hex);
    rk_buf_add_format(&path, "%s/%.*s-%.*s", top, JOB_MAX_CHARS, job, ID_DIGITS, hex);
    RK_TRY(rk_buf_status(&path));
    self->path = (char *)rk_buf_detach(&path, &len);
    rk_buf_add_format(&path, "%s.lock", self->path);
    RK_TRY(rk_buf_status(&path));
    self->lock = (char *)rk_buf_detach(&path, &len);
    return NULL;
}

// The lock file may be removed between opening and locking it.
static bool is_same_file(int fd, const char *path) {
    struct stat open, named;
    return rk_sys()->fstat_fn(fd, &open) == 0 && rk_sys()->lstat_fn(path, &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

static bool try_lock(int fd, int operation) {
    int result;
    do
        result = rk_sys()->flock_fn(fd, operation | LOCK_NB);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

static void pause_ms(long milliseconds) {
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    (void)nanosleep(&time, NULL);
}

// Opens the lock file, and locks it for this process alone, or else together with others.
static rk_err *lock(rk_torch_directory *self, unsigned wait_ms) {
    for (unsigned waited_ms = 0, opens = 0; opens < OPENS_MAX;) {
        rk_autofd_cleanup(&self->lock_fd);
        self->lock_fd =
            rk_fd_open(AT_FDCWD, self->lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (self->lock_fd < 0)
            return rk_error_errno(errno, "cannot open %s", self->lock);
        self->is_new = try_lock(self->lock_fd, LOCK_EX);
        if (!self->is_new && errno != EWOULDBLOCK)
            return rk_error_errno(errno, "cannot lock %s", self->lock);
        bool locked = self->is_new || try_lock(self->lock_fd, LOCK_SH);
        if (locked && is_same_file(self->lock_fd, self->lock))
            return NULL;
        opens++;
        if (locked)
            continue; // the last user has just removed it
        if (waited_ms >= wait_ms)
            break;
        pause_ms(POLL_MS);
        waited_ms += POLL_MS;
    }
    return rk_error(RK_UNAVAILABLE, "another start has been filling %s for %u seconds", self->path,
                    wait_ms / 1000);
}

static void remove_below(int fd, unsigned depth);

static void remove_one(int fd, const char *name, unsigned depth) {
    if (rk_sys()->unlinkat_fn(fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    int inner = rk_fd_open(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (inner >= 0)
        remove_below(inner, depth + 1);
    (void)rk_sys()->unlinkat_fn(fd, name, AT_REMOVEDIR);
}

// Removes everything in an open folder. Follows no links. `fd` is consumed.
static void remove_below(int fd, unsigned depth) {
    DIR *stream = depth < DEPTH_MAX ? rk_sys()->fdopendir_fn(fd) : NULL;
    struct dirent *one;
    if (!stream) {
        rk_autofd_cleanup(&fd);
        return;
    }
    while ((one = rk_sys()->readdir_fn(stream)) != NULL)
        if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
            remove_one(dirfd(stream), one->d_name, depth);
    (void)rk_sys()->closedir_fn(stream);
}

// Empties a folder, or removes another file in its place.
static void empty(const char *path) {
    int fd = rk_fd_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd >= 0)
        remove_below(fd, 0);
    else if (errno == ENOTDIR || errno == ELOOP)
        (void)rk_sys()->unlink_fn(path);
}

static rk_err *open_directory(rk_torch_directory *self) {
    struct stat info;
    if (self->is_new)
        empty(self->path);
    if (rk_sys()->mkdir_fn(self->path, 0700) != 0 && errno != EEXIST)
        return rk_error_errno(errno, "cannot make %s", self->path);
    self->fd = rk_fd_open(AT_FDCWD, self->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (self->fd < 0 || rk_sys()->fstat_fn(self->fd, &info) != 0)
        return rk_error_errno(errno, "cannot open %s", self->path);
    return rk_tree_check_folder(&info, self->path);
}

rk_err *rk_torch_directory_open(const char *base, const char *job, const rk_digest *identity,
                                unsigned wait_ms, rk_torch_directory *out_directory) {
    RK_AUTO(rk_buf) top = {0};
    *out_directory = (rk_torch_directory){.fd = -1, .lock_fd = -1, .job_fd = -1};
    RK_TRY(make_top(base, &top));
    RK_TRY(set_paths(out_directory, rk_buf_text(&top), job, identity));
    RK_TRY(lock(out_directory, wait_ms));
    return open_directory(out_directory);
}

// Waits, because a lock is given up before the weaker one is taken: another start may have got it,
// and be filling the directory again.
static bool lock_shared(int fd) {
    int result;
    do
        result = rk_sys()->flock_fn(fd, LOCK_SH);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

void rk_torch_directory_share(rk_torch_directory *directory) {
    if (directory->is_new && !lock_shared(directory->lock_fd))
        return; // others wait, and then run without the directory
    // A second lock, because locks of one open file do not exclude each other. Without O_CLOEXEC.
    directory->job_fd = rk_sys()->open_fn(directory->lock, O_RDWR | O_NOFOLLOW, 0);
    if (directory->job_fd >= 0)
        (void)try_lock(directory->job_fd, LOCK_SH);
}

bool rk_torch_directory_claim(rk_torch_directory *directory) {
    rk_autofd_cleanup(&directory->job_fd);
    directory->job_fd = -1;
    return try_lock(directory->lock_fd, LOCK_EX) &&
           is_same_file(directory->lock_fd, directory->lock);
}

void rk_torch_directory_remove(rk_torch_directory *directory) {
    empty(directory->path);
    (void)rk_sys()->rmdir_fn(directory->path);
    (void)rk_sys()->unlink_fn(directory->lock);
}
