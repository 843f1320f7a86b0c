// What torch.compile's caches depend on: versions, devices, the CPU, the C++ compiler. Caches of
// different environments never mix.
#pragma once

#include "identity/components.h"
#include "torch/install.h"

typedef struct rk_torch_variables {
    const char *cxx;  // CXX; NULL: not set
    const char *path; // PATH
} rk_torch_variables;

// Lists the components, sorted. Names: torch, torch.git, torch.cuda, torch.hip, triton, python,
// compiler.cxx, gpu, host.cpu_features, host.machine. `out_components` must be zeroed; owned:
// rk_components_cleanup.
RK_NODISCARD rk_err *rk_torch_environment_read(const rk_torch_install *install,
                                               const rk_torch_variables *variables,
                                               rk_components *out_components);

// Adds the names of the GPUs, as the drivers of NVIDIA and AMD tell them below `proc` ("/proc") and
// `sys` ("/sys"): "NVIDIA H200", "gfx942". Sorted, each once; "" without a GPU.
RK_NODISCARD rk_err *rk_torch_gpus_add(const char *proc, const char *sys, rk_buf *out);
