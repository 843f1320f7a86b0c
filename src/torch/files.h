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

// Lists the files that are kept (torch/module.h). A folder that is removed meanwhile is empty.
// RK_OUT_OF_RANGE if there are more than RK_TORCH_FILES_MAX files. `out_files` must be zeroed.
RK_NODISCARD rk_err *rk_torch_files_list(int directory_fd, rk_torch_files *out_files);

// Appends the content of a file. `*out_same` is false, and nothing is appended, if the file has
// changed since it was listed, or is gone.
RK_NODISCARD rk_err *rk_torch_file_read(int directory_fd, const rk_torch_file *file,
                                        rk_buf *out_data, bool *out_same);

// False for a shared library that was not written to its end: the linker writes into the final
// file, and may be killed.
bool rk_torch_content_is_whole(const char *name, rk_span content);
