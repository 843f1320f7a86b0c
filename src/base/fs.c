#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"

void rk_autofd_cleanup(int *fd) {
    if (*fd >= 0) {
        int saved = errno;
        (void)rk_sys()->close_fn(*fd);
        errno = saved;
    }
}

static int open_retry(const char *path, int flags, mode_t mode) {
    int fd;
    do
        fd = rk_sys()->open_fn(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

// The size of a regular file of at most `max_bytes`.
static rk_err *check_regular(int fd, const char *path, size_t max_bytes, size_t *out_size) {
    struct stat info;
    if (rk_sys()->fstat_fn(fd, &info) != 0)
        return rk_error_errno(errno, "cannot stat %s", path);
    if (!S_ISREG(info.st_mode))
        return rk_error(RK_OUT_OF_RANGE, "%s is not a regular file", path);
    if (info.st_size < 0 || (uint64_t)info.st_size > max_bytes)
        return rk_error(RK_OUT_OF_RANGE, "%s has %lld bytes, more than the %zu allowed", path,
                        (long long)info.st_size, max_bytes);
    *out_size = (size_t)info.st_size;
    return NULL;
}

rk_err *rk_fs_read(const char *path, size_t max_bytes, rk_buf *out_data) {
    // O_NONBLOCK: a FIFO put where a file should be must not hang the job.
    rk_autofd fd = open_retry(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open %s", path);
    size_t size = 0;
    RK_TRY(check_regular(fd, path, max_bytes, &size));
    rk_buf_reserve(out_data, size);
    RK_TRY(rk_buf_status(out_data));
    for (size_t total = 0;;) {
        // What lies past the promised end (files in /proc promise nothing) goes through a small
        // buffer: a file that keeps its promise is read into memory of its own size.
        uint8_t past_end[4096];
        bool promised = total < size;
        uint8_t *target = promised ? out_data->data + out_data->len : past_end;
        ssize_t got = rk_sys()->read_fn(fd, target, promised ? size - total : sizeof past_end);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rk_error_errno(errno, "cannot read %s", path);
        if (got == 0)
            return NULL;
        total += (size_t)got;
        if (total > max_bytes)
            return rk_error(RK_OUT_OF_RANGE, "%s grew past the %zu bytes allowed", path, max_bytes);
        if (promised) {
            out_data->len += (size_t)got;
            out_data->data[out_data->len] = 0;
        } else {
            rk_buf_add(out_data, past_end, (size_t)got);
            RK_TRY(rk_buf_status(out_data));
        }
    }
}

rk_err *rk_fs_write_all(int fd, const void *data, size_t len) {
    const uint8_t *next = data;
    while (len) {
        ssize_t written = rk_sys()->write_fn(fd, next, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return rk_error_errno(errno, "cannot write");
        if (written == 0)
            return rk_error(RK_DATA_LOSS, "write(2) took no bytes");
        next += written;
        len -= (size_t)written;
    }
    return NULL;
}

// Opens the directory that holds `path`; `out_fd` is owned.
static rk_err *open_directory_of(const char *path, int *out_fd) {
    rk_autofree char *directory = rk_strdup(path);
    if (!directory)
        return rk_err_no_memory();
    char *slash = strrchr(directory, '/');
    if (slash == directory)
        slash[1] = '\0';
    else if (slash)
        *slash = '\0';
    int fd = open_retry(slash ? directory : ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open the directory of %s", path);
    *out_fd = fd;
    return NULL;
}

// A name that no other process uses, not even one with our process id in another container or on
// another host of a shared file system.
static uint64_t unique_number(void) {
    static atomic_uint serial;
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = rk_realtime_ns() << 8 ^ atomic_fetch_add(&serial, 1);
    return number;
}

// Creates an empty file beside `path`; its name replaces what is in `out_path`. `out_fd` is owned.
static rk_err *create_temporary(const char *path, mode_t mode, rk_buf *out_path, int *out_fd) {
    enum { ATTEMPTS = 8 };
    const char *slash = strrchr(path, '/');
    size_t directory_len = slash ? (size_t)(slash - path) + 1 : 0;
    int fd = -1;
    for (int i = 0; fd < 0 && i < ATTEMPTS; i++) {
        rk_buf_clear(out_path);
        rk_buf_add(out_path, path, directory_len);
        rk_buf_add_format(out_path, ".tmp-%ld-%016llx", (long)getpid(),
                          (unsigned long long)unique_number());
        RK_TRY(rk_buf_status(out_path));
        fd = open_retry(rk_buf_text(out_path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return rk_error_errno(errno, "cannot create %s", rk_buf_text(out_path));
    *out_fd = fd;
    return NULL;
}

static rk_err *write_and_sync(int fd, const char *path, const void *data, size_t len) {
    rk_err *err = rk_fs_write_all(fd, data, len);
    if (err)
        return rk_err_wrap(err, "%s", path);
    if (rk_sys()->fsync_fn(fd) != 0)
        return rk_error_errno(errno, "cannot sync %s", path);
    return NULL;
}

rk_err *rk_fs_publish(const char *path, const void *data, size_t len, mode_t mode) {
    // All that can fail for want of memory or descriptors comes before the rename.
    rk_autofd directory = -1;
    RK_TRY(open_directory_of(path, &directory));
    RK_AUTO(rk_buf) temporary = {0};
    int fd = -1;
    RK_TRY(create_temporary(path, mode, &temporary, &fd));
    const char *temporary_path = rk_buf_text(&temporary);

    rk_err *err = write_and_sync(fd, temporary_path, data, len);
    if (rk_sys()->close_fn(fd) != 0 && !err) // a quota or NFS may say only now that it failed
        err = rk_error_errno(errno, "cannot close %s", temporary_path);
    if (!err && rk_sys()->rename_fn(temporary_path, path) != 0)
        err = rk_error_errno(errno, "cannot rename %s to %s", temporary_path, path);
    if (err) {
        (void)rk_sys()->unlink_fn(temporary_path);
        return err;
    }
    // Some network file systems cannot sync a directory (EINVAL); their rename is synchronous.
    if (rk_sys()->fsync_fn(directory) != 0 && errno != EINVAL && errno != EROFS)
        return rk_error_errno(errno, "cannot sync the directory of %s", path);
    return NULL;
}

// Follows symbolic links, and needs no permission on the directory itself.
static bool is_directory(const char *path) {
    rk_autofd fd = open_retry(path, O_PATH | O_DIRECTORY, 0);
    return fd >= 0;
}

static rk_err *make_dir(const char *path, mode_t mode) {
    if (rk_sys()->mkdir_fn(path, mode) == 0)
        return NULL;
    int error_number = errno;
    // A read-only or foreign parent answers EROFS or EACCES, not EEXIST, also for one that exists.
    if (is_directory(path))
        return NULL;
    return rk_error_errno(error_number, "cannot make directory %s", path);
}

rk_err *rk_fs_make_dirs(const char *path, mode_t mode) {
    rk_autofree char *partial = rk_strdup(path);
    if (!partial)
        return rk_err_no_memory();
    char *next = partial + strspn(partial, "/");
    while (*next) {
        next += strcspn(next, "/");
        char *rest = next + strspn(next, "/");
        char kept = *next;
        *next = '\0';
        RK_TRY(make_dir(partial, mode));
        *next = kept;
        next = rest;
    }
    return NULL;
}

static int by_bytes(const void *a, const void *b) {
    const char *left, *right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return strcmp(left, right);
}

typedef struct names {
    char **items;
    size_t count, capacity;
} names;

static void names_cleanup(names *list) {
    for (size_t i = 0; i < list->count; i++)
        rk_free(list->items[i]);
    rk_free(list->items);
}

static rk_err *names_add(names *list, const char *name) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        char **items = rk_realloc(list->items, capacity * sizeof *items);
        if (!items)
            return rk_err_no_memory();
        list->items = items;
        list->capacity = capacity;
    }
    char *copy = rk_strdup(name);
    if (!copy)
        return rk_err_no_memory();
    list->items[list->count++] = copy;
    return NULL;
}

static rk_err *read_names(DIR *directory, size_t max_entries, names *list) {
    while (list->count < max_entries) {
        errno = 0; // what tells the end from a failure
        const struct dirent *entry = rk_sys()->readdir_fn(directory);
        if (!entry)
            return errno ? rk_error_errno(errno, "cannot read a directory") : NULL;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        RK_TRY(names_add(list, entry->d_name));
    }
    return NULL;
}

rk_err *rk_fs_list(const char *path, size_t max_entries, rk_fs_visit_fn visit, void *context) {
    DIR *directory = rk_sys()->opendir_fn(path);
    if (!directory)
        return rk_error_errno(errno, "cannot list %s", path);
    RK_AUTO(names) list = {0};
    rk_err *err = read_names(directory, max_entries, &list);
    (void)rk_sys()->closedir_fn(directory);
    if (err)
        return rk_err_wrap(err, "%s", path);
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_bytes);
    for (size_t i = 0; i < list.count; i++)
        RK_TRY(visit(context, list.items[i]));
    return NULL;
}

rk_err *rk_fs_remove(const char *path) {
    if (rk_sys()->unlink_fn(path) != 0)
        return rk_error_errno(errno, "cannot remove %s", path);
    return NULL;
}

char *rk_path_join(const char *directory, const char *name) {
    size_t directory_len = strlen(directory);
    while (directory_len > 1 && directory[directory_len - 1] == '/')
        directory_len--;
    size_t name_len = strlen(name);
    char *path = rk_malloc(directory_len + name_len + 2);
    if (!path)
        return NULL;
    memcpy(path, directory, directory_len);
    size_t at = directory_len;
    if (at && path[at - 1] != '/')
        path[at++] = '/';
    memcpy(path + at, name, name_len + 1);
    return path;
}
