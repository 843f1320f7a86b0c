// Lists of files in Triton's cache: triton/<key>/__grp__<name>.json has the absolute path of each
// file of a kernel. Triton takes a kernel if the path of its metadata exists, and the job dies if
// another path does not (triton/runtime/cache.py, get_group; triton/compiler/compiler.py).
#pragma once

#include "pack/files.h"

// Removes the lists of which only some paths exist, because a pack was evicted or damaged, or the
// disk was full: Triton then compiles the kernel. If no path exists, as on another machine, Triton
// does so by itself. `files` are those of the directory. Best effort.
void rk_torch_groups_mend(int directory_fd, const rk_pack_files *files);
