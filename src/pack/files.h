// Lists and reads the files of a cache directory, which other processes may be
// changing. Follows no symbolic link, and ignores everything except regular files of this user.
#pragma once

#include "base/buf.h"
#include "pack/module.h"

enum { RK_PACK_FILES_MAX = 200000 };

typedef struct rk_pack_file {
    char *name; // owned; path in the directory
    uint64_t bytes, modified_ns;
    bool is_executable;
    rk_pack_module module;
} rk_pack_file;

typedef struct rk_pack_files {
    rk_pack_file *items; // owned; sorted by name
    size_t count, capacity;
} rk_pack_files;
void rk_pack_files_cleanup(rk_pack_files *files);

// Compares two rk_pack_file by name, for qsort and bsearch.
int rk_pack_file_compare(const void *a, const void *b);

// Lists the files that are kept (pack/module.h). A folder that is removed meanwhile is empty.
// RK_OUT_OF_RANGE if there are more than RK_PACK_FILES_MAX files. `out_files` must be zeroed.
RK_NODISCARD rk_err *rk_pack_files_list(int directory_fd, rk_pack_family family,
                                        rk_pack_files *out_files);

// Appends the content of a file. `*out_same` is false, and nothing is appended, if the file has
// changed since it was listed, or is gone.
RK_NODISCARD rk_err *rk_pack_file_read(int directory_fd, const rk_pack_file *file, rk_buf *out_data,
                                       bool *out_same);

// False for a file that was not written to its end: an empty one, a shared library that is shorter
// than its header says, or a compiled function of JAX whose zstd frame is cut. The linker and JAX
// write into the final file, and may be killed. (Of a function that JAX compressed with zlib it is
// not known; JAX notices, and compiles.)
bool rk_pack_content_is_whole(const char *name, rk_span content);

// True for such a file in the directory that nobody has changed since `before_ns`.
RK_NODISCARD bool rk_pack_file_is_unfinished(int directory_fd, const char *name,
                                             uint64_t before_ns);
