// Detects programs that run on a subset of a TPU's devices. A warm load onto a proper subset that
// does not begin at device 0 has crashed (jax#38004), and no test has shown since that it works.
#pragma once

#include "pjrt/clients.h"

// True if the compile options place the program on such a subset of the client's devices. `options`
// are the fields of the canonical options (identity/options.h).
RK_NODISCARD RK_HIDDEN bool rk_subset_is_unproved(const rk_client *client,
                                                  const rk_components *options);
