// What torch.compile's caches depend on: versions, devices, the CPU, the C++ compiler, the C
// library, and, without a GPU, the number of threads: Inductor writes it into the kernels. Caches
// of different environments never mix.
#pragma once

#include "identity/components.h"
#include "torch/install.h"

typedef struct rk_torch_variables {
    const char *cxx;  // CXX; NULL: not set
    const char *path; // PATH
    const char *omp;  // OMP_NUM_THREADS; NULL: not set
    const char *mkl;  // MKL_NUM_THREADS; as above
} rk_torch_variables;

// Lists the components, sorted. Names: torch, torch.git, torch.cuda, torch.hip, triton, python,
// compiler.cxx, libc, gpu, host.cpu_features, host.machine; without a GPU also host.cpus, or
// instead of it OMP_NUM_THREADS, and MKL_NUM_THREADS. `out_components` must be zeroed; owned:
// rk_components_cleanup.
RK_NODISCARD rk_err *rk_torch_environment_read(const rk_torch_install *install,
                                               const rk_torch_variables *variables,
                                               rk_components *out_components);
