#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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

rk_err *rk_fs_read(const char *path, size_t max_bytes, rk_buf *out_data) {
    // O_NONBLOCK: a FIFO put where a file should be must not hang the job.
    rk_autofd fd = open_retry(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open %s", path);
    struct stat info;
    if (rk_sys()->fstat_fn(fd, &info) != 0)
        return rk_error_errno(errno, "cannot stat %s", path);
    if (!S_ISREG(info.st_mode))
        return rk_error(RK_OUT_OF_RANGE, "%s is not a regular file", path);
    if (info.st_size < 0 || (uint64_t)info.st_size > max_bytes)
        return rk_error(RK_OUT_OF_RANGE, "%s has %lld bytes, more than the %zu allowed", path,
                        (long long)info.st_size, max_bytes);
    // Files in /proc claim a size of 0, so a little more is always asked for.
    rk_buf_reserve(out_data, (size_t)info.st_size + 1);
    size_t total = 0;
    for (;;) {
        enum { CHUNK_BYTES = 65536 };
        rk_buf_reserve(out_data, out_data->capacity - out_data->len > 1 ? 0 : CHUNK_BYTES);
        RK_TRY(rk_buf_status(out_data));
        size_t room = out_data->capacity - out_data->len - 1;
        if (room == 0) {
            rk_buf_reserve(out_data, CHUNK_BYTES);
            RK_TRY(rk_buf_status(out_data));
            room = out_data->capacity - out_data->len - 1;
        }
        ssize_t got = rk_sys()->read_fn(fd, out_data->data + out_data->len, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rk_error_errno(errno, "cannot read %s", path);
        if (got == 0)
            return NULL;
        out_data->len += (size_t)got;
        out_data->data[out_data->len] = 0;
        total += (size_t)got;
        if (total > max_bytes)
            return rk_error(RK_OUT_OF_RANGE, "%s grew past the %zu bytes allowed", path, max_bytes);
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

static rk_err *sync_directory_of(const char *path) {
    rk_autofree char *directory = rk_strdup(path);
    if (!directory)
        return rk_err_no_memory();
    char *slash = strrchr(directory, '/');
    if (slash == directory)
        slash[1] = '\0';
    else if (slash)
        *slash = '\0';
    rk_autofd fd = open_retry(slash ? directory : ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open the directory of %s", path);
    // Some network file systems cannot sync a directory (EINVAL); their rename is synchronous.
    if (rk_sys()->fsync_fn(fd) != 0 && errno != EINVAL && errno != EROFS)
        return rk_error_errno(errno, "cannot sync the directory of %s", path);
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
    static atomic_uint serial;
    unsigned number = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed);
    const char *slash = strrchr(path, '/');
    size_t directory_len = slash ? (size_t)(slash - path) + 1 : 0;
    RK_AUTO(rk_buf) temporary = {0};
    rk_buf_add(&temporary, path, directory_len);
    rk_buf_add_format(&temporary, ".tmp-%ld-%u", (long)getpid(), number);
    RK_TRY(rk_buf_status(&temporary));
    const char *temporary_path = rk_buf_text(&temporary);

    int fd = open_retry(temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd < 0 && errno == EEXIST) { // left by a dead process that had our pid
        (void)rk_sys()->unlink_fn(temporary_path);
        fd = open_retry(temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    }
    if (fd < 0)
        return rk_error_errno(errno, "cannot create %s", temporary_path);
    rk_err *err = write_and_sync(fd, temporary_path, data, len);
    if (rk_sys()->close_fn(fd) != 0 && !err) // a quota or NFS may say only now that it failed
        err = rk_error_errno(errno, "cannot close %s", temporary_path);
    if (!err && rk_sys()->rename_fn(temporary_path, path) != 0)
        err = rk_error_errno(errno, "cannot rename %s to %s", temporary_path, path);
    if (err) {
        (void)rk_sys()->unlink_fn(temporary_path);
        return err;
    }
    return sync_directory_of(path);
}

rk_err *rk_fs_make_dirs(const char *path, mode_t mode) {
    rk_autofree char *partial = rk_strdup(path);
    if (!partial)
        return rk_err_no_memory();
    for (char *next = partial;;) {
        char *slash = strchr(next == partial ? next + 1 : next, '/');
        if (slash)
            *slash = '\0';
        if (*partial && rk_sys()->mkdir_fn(partial, mode) != 0 && errno != EEXIST) {
            int error_number = errno;
            struct stat info;
            // A read-only or foreign parent answers EROFS or EACCES also for one that exists.
            if (rk_sys()->lstat_fn(partial, &info) != 0 || !S_ISDIR(info.st_mode))
                return rk_error_errno(error_number, "cannot make directory %s", partial);
        }
        if (!slash)
            return NULL;
        *slash = '/';
        next = slash + 1;
        while (*next == '/')
            next++;
        if (!*next)
            return NULL;
    }
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
    const struct dirent *entry;
    while (list->count < max_entries && (entry = readdir(directory))) {
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
    (void)closedir(directory);
    if (err)
        return err;
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
