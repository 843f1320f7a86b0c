#include "base/at_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/temporary.h"

static rk_err *refuse_untrusted(const struct stat *info, const char *shown, mode_t refused_mode) {
    if (info->st_uid != geteuid() && info->st_uid != 0)
        return rk_error(RK_PERMISSION_DENIED, "%s belongs to user %ld, not to you (%ld)", shown,
                        (long)info->st_uid, (long)geteuid());
    if (info->st_mode & refused_mode)
        return rk_error(RK_PERMISSION_DENIED, "%s can be %s by other users: chmod 600 %s", shown,
                        info->st_mode & (S_IWGRP | S_IWOTH) ? "written" : "read", shown);
    return NULL;
}

rk_err *rk_at_check_regular(int fd, const char *shown, size_t max_bytes, mode_t refused_mode,
                            size_t *out_size) {
    struct stat info;
    if (rk_sys()->fstat_fn(fd, &info) != 0)
        return rk_error_errno(errno, "cannot stat %s", shown);
    if (!S_ISREG(info.st_mode))
        return rk_error(RK_OUT_OF_RANGE, "%s is not a regular file", shown);
    if (info.st_size < 0 || (uint64_t)info.st_size > max_bytes)
        return rk_error(RK_OUT_OF_RANGE, "%s has %lld bytes, more than the %zu allowed", shown,
                        (long long)info.st_size, max_bytes);
    *out_size = (size_t)info.st_size;
    return refused_mode ? refuse_untrusted(&info, shown, refused_mode) : NULL;
}

rk_err *rk_at_read(int fd, const char *shown, size_t max_bytes, mode_t refused_mode,
                   rk_buf *out_data) {
    size_t size = 0;
    RK_TRY(rk_at_check_regular(fd, shown, max_bytes, refused_mode, &size));
    rk_buf_reserve(out_data, size);
    RK_TRY(rk_buf_status(out_data));
    for (size_t total = 0;;) {
        // fstat promised `size` bytes (0 for files in /proc). Any later bytes go through a small
        // buffer, so that a file of the promised size needs exactly that much memory.
        uint8_t past_end[4096];
        bool promised = total < size;
        uint8_t *target = promised ? out_data->data + out_data->len : past_end;
        ssize_t got = rk_sys()->read_fn(fd, target, promised ? size - total : sizeof past_end);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rk_error_errno(errno, "cannot read %s", shown);
        if (got == 0)
            return NULL;
        total += (size_t)got;
        if (total > max_bytes)
            return rk_error(RK_OUT_OF_RANGE, "%s grew beyond the limit of %zu bytes", shown,
                            max_bytes);
        if (promised) {
            out_data->len += (size_t)got;
            out_data->data[out_data->len] = 0;
        } else {
            rk_buf_add(out_data, past_end, (size_t)got);
            RK_TRY(rk_buf_status(out_data));
        }
    }
}

// Creates an empty temporary file. Its name replaces the content of `out_name`. `out_fd` is owned.
static rk_err *create_temporary(int dir_fd, const char *shown, mode_t mode, rk_buf *out_name,
                                int *out_fd) {
    enum { ATTEMPTS = 8 };
    int fd = -1;
    for (int i = 0; fd < 0 && i < ATTEMPTS; i++) {
        rk_buf_clear(out_name);
        rk_temporary_add_name(out_name);
        RK_TRY(rk_buf_status(out_name));
        fd = rk_fd_open(dir_fd, rk_buf_text(out_name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                        mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return rk_error_errno(errno, "cannot create a temporary file in the directory of %s",
                              shown);
    *out_fd = fd;
    return NULL;
}

static rk_err *write_and_sync(int fd, const char *shown, const void *data, size_t len) {
    rk_err *err = rk_fd_write_all(fd, data, len);
    if (err)
        return rk_err_wrap(err, "%s", shown);
    if (!rk_fd_sync(fd))
        return rk_error_errno(errno, "cannot sync %s", shown);
    return NULL;
}

rk_err *rk_at_sync_directory(int dir_fd, const char *shown) {
    if (!rk_fd_sync(dir_fd) && errno != EINVAL && errno != EROFS)
        return rk_error_errno(errno, "cannot sync the directory of %s", shown);
    return NULL;
}

rk_err *rk_at_publish(int dir_fd, const char *name, const char *shown, const void *data, size_t len,
                      mode_t mode) {
    RK_AUTO(rk_buf) temporary = {0};
    int fd = -1;
    RK_TRY(create_temporary(dir_fd, shown, mode, &temporary, &fd));
    const char *temporary_name = rk_buf_text(&temporary);
    rk_err *err = write_and_sync(fd, shown, data, len);
    // A quota or NFS may report a failed write only here.
    if (rk_sys()->close_fn(fd) != 0 && errno != EINTR && !err)
        err = rk_error_errno(errno, "cannot close %s", shown);
    if (!err && rk_sys()->renameat_fn(dir_fd, temporary_name, dir_fd, name) != 0)
        err = rk_error_errno(errno, "cannot rename a new file to %s", shown);
    if (err) {
        (void)rk_sys()->unlinkat_fn(dir_fd, temporary_name, 0);
        return err;
    }
    return rk_at_sync_directory(dir_fd, shown);
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

// "." and "..", and NFS's names for files that were removed while open.
static bool is_to_be_skipped(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strncmp(name, ".nfs", 4) == 0;
}

static rk_err *read_names(DIR *directory, size_t max_entries, names *list) {
    while (list->count < max_entries) {
        errno = 0; // distinguishes the end from a failure
        const struct dirent *entry = rk_sys()->readdir_fn(directory);
        if (!entry)
            return errno ? rk_error_errno(errno, "cannot read a directory") : NULL;
        if (is_to_be_skipped(entry->d_name))
            continue;
        RK_TRY(names_add(list, entry->d_name));
    }
    return NULL;
}

rk_err *rk_at_list(DIR *directory, const char *shown, size_t max_entries, rk_fs_visit_fn visit,
                   void *context) {
    RK_AUTO(names) list = {0};
    rk_err *err = read_names(directory, max_entries, &list);
    (void)rk_sys()->closedir_fn(directory);
    if (err)
        return rk_err_wrap(err, "%s", shown);
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_bytes);
    for (size_t i = 0; i < list.count; i++)
        RK_TRY(visit(context, list.items[i]));
    return NULL;
}
