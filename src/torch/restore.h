// Writes the files of a pack into the directory of a job.
#pragma once

#include "torch/pack.h"

// Writes the items that are not there yet, with their times and permissions; the others stay as
// they are. `is_new`: nobody else uses the directory. Otherwise each file appears with its whole
// content. Nothing is synced. `*out_written` counts the items written; also after an error, which
// leaves no part of a file.
RK_NODISCARD rk_err *rk_torch_restore(int directory_fd, bool is_new, const rk_torch_item *items,
                                      size_t count, size_t *out_written);
