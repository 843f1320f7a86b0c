// Precompiled headers of torch.compile's kernels for the CPU.
//
// Inductor makes them in the user's own directory, torchinductor_USER/precompiled_headers in the
// folder for temporary files, whatever TORCHINDUCTOR_CACHE_DIR says. It makes them before it looks
// for a kernel, so that a start without them takes many seconds although all kernels are there
// (torch/_inductor/codecache.py, _precompile_header). Their names are digests of their content and
// of the compiler's command, so that files of several torches lie side by side.
#pragma once

#include "pack/files.h"

// Opens the folder, and makes it if `makes`. `own` is the user's own directory. `*out_fd` stays -1
// if there is none, or if others could write to it.
void rk_torch_headers_open(const char *own, bool makes, int *out_fd);

// Lists the headers that were modified after `since_ns`. `out_files` must be zeroed.
RK_NODISCARD rk_err *rk_torch_headers_list(int directory_fd, uint64_t since_ns,
                                           rk_pack_files *out_files);
