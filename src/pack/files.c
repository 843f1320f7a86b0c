#include "pack/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <zstd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/sys.h"
#include "pack/layout_internal.h"

enum { DEPTH_MAX = 16 };

void rk_pack_files_cleanup(rk_pack_files *files) {
    for (size_t i = 0; i < files->count; i++)
        rk_free(files->items[i].name);
    rk_free(files->items);
    *files = (rk_pack_files){0};
}

static rk_err *add_file(rk_pack_files *files, rk_pack_family family, const char *path,
                        const struct stat *info) {
    rk_pack_module module;
    if (!rk_pack_module_of(family, path, &module) || !rk_pack_name_is_valid(rk_span_text(path)))
        return NULL;
    if (files->count == RK_PACK_FILES_MAX)
        return rk_error(RK_OUT_OF_RANGE, "the cache directory has more than %d files",
                        RK_PACK_FILES_MAX);
    if (files->count == files->capacity) {
        size_t capacity = files->capacity ? 2 * files->capacity : 256;
        rk_pack_file *items = rk_realloc(files->items, capacity * sizeof *items);
        if (!items)
            return rk_err_no_memory();
        files->items = items;
        files->capacity = capacity;
    }
    char *name = rk_strdup(path);
    if (!name)
        return rk_err_no_memory();
    files->items[files->count++] = (rk_pack_file){
        .name = name,
        .bytes = (uint64_t)info->st_size,
        .modified_ns = rk_stat_modified_ns(info),
        .is_executable = info->st_mode & S_IXUSR,
        .module = module,
    };
    return NULL;
}

// A folder that is listed, with its path below the directory.
typedef struct folder {
    rk_pack_files *files;
    rk_pack_family family;
    const char *path; // "" for the top; borrowed
    unsigned depth;
} folder;

static rk_err *list_folder(int fd, const folder *self);

static rk_err *visit(DIR *stream, const folder *self, const char *name) {
    RK_AUTO(rk_buf) path = {0};
    struct stat info;
    int fd = dirfd(stream);
    rk_buf_add_format(&path, "%s%s%s", self->path, *self->path ? "/" : "", name);
    RK_TRY(rk_buf_status(&path));
    if (rk_sys()->fstatat_fn(fd, name, &info) != 0 || info.st_uid != geteuid())
        return NULL; // it is gone, or is another user's
    if (S_ISREG(info.st_mode))
        return add_file(self->files, self->family, rk_buf_text(&path), &info);
    if (!S_ISDIR(info.st_mode) || self->depth == DEPTH_MAX ||
        !rk_pack_keeps_folder(self->family, rk_buf_text(&path)))
        return NULL;
    int inner = rk_fd_open(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    const folder below = {self->files, self->family, rk_buf_text(&path), self->depth + 1};
    return inner < 0 ? NULL : list_folder(inner, &below);
}

// Lists an open folder. `fd` is consumed.
static rk_err *list_folder(int fd, const folder *self) {
    DIR *stream = rk_sys()->fdopendir_fn(fd);
    struct dirent *one;
    rk_err *err = NULL;
    if (!stream) {
        int number = errno;
        rk_autofd_cleanup(&fd);
        return rk_error_errno(number, "cannot list the cache directory");
    }
    while (!err && (one = rk_sys()->readdir_fn(stream)) != NULL)
        if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
            err = visit(stream, self, one->d_name);
    (void)rk_sys()->closedir_fn(stream);
    return err;
}

int rk_pack_file_compare(const void *a, const void *b) {
    return strcmp(((const rk_pack_file *)a)->name, ((const rk_pack_file *)b)->name);
}

rk_err *rk_pack_files_list(int directory_fd, rk_pack_family family, rk_pack_files *out_files) {
    const folder top = {out_files, family, "", 0};
    int fd = rk_fd_open(directory_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open the cache directory");
    RK_TRY(list_folder(fd, &top));
    if (out_files->count)
        qsort(out_files->items, out_files->count, sizeof *out_files->items, rk_pack_file_compare);
    return NULL;
}

static bool is_as_listed(int fd, const rk_pack_file *file) {
    struct stat info;
    return rk_sys()->fstat_fn(fd, &info) == 0 && S_ISREG(info.st_mode) &&
           (uint64_t)info.st_size == file->bytes && rk_stat_modified_ns(&info) == file->modified_ns;
}

rk_err *rk_pack_file_read(int directory_fd, const rk_pack_file *file, rk_buf *out_data,
                          bool *out_same) {
    // A folder on the way could be replaced by a link only by this user.
    rk_autofd fd = rk_fd_open(directory_fd, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    size_t before = out_data->len, got = 0;
    *out_same = false;
    if (fd < 0 || !is_as_listed(fd, file))
        return NULL;
    rk_buf_reserve(out_data, (size_t)file->bytes);
    RK_TRY(rk_buf_status(out_data));
    if (!rk_fd_read_at(fd, 0, out_data->data + before, (size_t)file->bytes, &got))
        return rk_error_errno(errno, "cannot read %s in the cache directory", file->name);
    *out_same = got == file->bytes && is_as_listed(fd, file);
    out_data->len = *out_same ? before + got : before;
    return NULL;
}

// `start` is the beginning of a file of `bytes`: at least that of an ELF header, if it has so many.
static bool is_whole(const char *name, rk_span start, uint64_t bytes) {
    size_t len = strlen(name);
    bool is_library = len > 3 && strcmp(name + len - 3, ".so") == 0;
    Elf64_Ehdr head;
    if (!is_library)
        return bytes > 0;
    if (start.len < sizeof head || memcmp(start.data, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&head, start.data, sizeof head);
    // Linkers place the table of sections at the end.
    return head.e_shoff <= bytes &&
           (uint64_t)head.e_shnum * head.e_shentsize <= bytes - head.e_shoff;
}

static bool is_cut_frame(const char *name, rk_span content) {
    return rk_text_ends(name, "-cache") && content.len >= 4 &&
           rk_load_u32le(content.data) == ZSTD_MAGICNUMBER &&
           ZSTD_findFrameCompressedSize(content.data, content.len) != content.len;
}

bool rk_pack_content_is_whole(const char *name, rk_span content) {
    return is_whole(name, content, content.len) && !is_cut_frame(name, content);
}

bool rk_pack_file_is_unfinished(int directory_fd, const char *name, uint64_t before_ns) {
    rk_autofd fd = rk_fd_open(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    uint8_t start[sizeof(Elf64_Ehdr)];
    struct stat info;
    size_t got = 0;
    return fd >= 0 && rk_sys()->fstat_fn(fd, &info) == 0 && S_ISREG(info.st_mode) &&
           rk_stat_modified_ns(&info) < before_ns &&
           rk_fd_read_at(fd, 0, start, sizeof start, &got) &&
           !is_whole(name, rk_span_of(start, got), (uint64_t)info.st_size);
}
