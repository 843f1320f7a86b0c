// Lists and reads the files of a torch.compile cache directory, which other processes may be
// changing. Follows no symbolic link, and ignores everything except regular files of this user.
#pragma once

#include "base/buf.h"
#include "torch/module.h"

enum { RK_TORCH_FILES_MAX = 200000 };

typedef struct rk_torch_file {
    char *name; // owned; path in the directory
    uint64_t bytes, modified_ns;
    bool is_executable;
    rk_torch_module module;
} rk_torch_file;

typedef struct rk_torch_files {
    rk_torch_file *items; // owned; sorted by name
    size_t count, capacity;
} rk_torch_files;
void rk_torch_files_cleanup(rk_torch_files *files);

// Compares two rk_torch_file by name, for qsort and bsearch.
int rk_torch_file_compare(const void *a, const void *b);

// Lists the files that are kept (torch/module.h). A folder that is removed meanwhile is empty.
// RK_OUT_OF_RANGE if there are more than RK_TORCH_FILES_MAX files. `out_files` must be zeroed.
RK_NODISCARD rk_err *rk_torch_files_list(int directory_fd, rk_torch_files *out_files);

// Appends the content of a file. `*out_same` is false, and nothing is appended, if the file has
// changed since it was listed, or is gone.
RK_NODISCARD rk_err *rk_torch_file_read(int directory_fd, const rk_torch_file *file,
                                        rk_buf *out_data, bool *out_same);

// False for a file that was not written to its end: an empty one, or a shared library that is
// shorter than its header says. The linker writes into the final file, and may be killed.
bool rk_torch_content_is_whole(const char *name, rk_span content);

// True for such a file in the directory that nobody has changed since `before_ns`.
RK_NODISCARD bool rk_torch_file_is_unfinished(int directory_fd, const char *name,
                                              uint64_t before_ns);
