// The names of the GPUs of this machine, as their drivers tell them without being loaded.
#pragma once

#include "base/buf.h"

// Adds the names of the GPUs, as the drivers of NVIDIA and AMD tell them below `proc` ("/proc") and
// `sys` ("/sys"): "NVIDIA H200", "gfx942". Sorted, each once; "" without a GPU.
RK_NODISCARD rk_err *rk_host_gpus_add(const char *proc, const char *sys, rk_buf *out);
