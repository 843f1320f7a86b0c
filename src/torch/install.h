// Finds the PyTorch that a Python would import, without starting that Python: by the layout of the
// installation, and by torch/version.py.
#pragma once

#include "python/packages.h"

typedef struct rk_torch_install {
    char *folder;  // owned; ".../site-packages"
    char *python;  // owned; "3.11", "3.13t"
    char *version; // owned; of torch: "2.9.0+cu128"
    char *git;     // owned; the commit of torch; "" if unknown
    char *cuda;    // owned; that torch was built for; "" if none
    char *hip;     // owned; as above
    char *triton;  // owned; its version; "" if it is not installed
} rk_torch_install;
void rk_torch_install_cleanup(rk_torch_install *install);

// `*out_found` is false if that Python has no torch, or if it cannot be told. Fails only with
// RK_RESOURCE_EXHAUSTED. `out_install` must be zeroed; owned: rk_torch_install_cleanup.
RK_NODISCARD rk_err *rk_torch_install_find(const rk_python_where *where,
                                           rk_torch_install *out_install, bool *out_found);

// Looks for torch in one folder, such as a site-packages. As above.
RK_NODISCARD rk_err *rk_torch_install_look(const char *folder, const char *python_version,
                                           rk_torch_install *out_install, bool *out_found);
