// Detects programs that run on a subset of a TPU's devices. Loading the executable of such a
// program from the store has crashed if the subset does not begin at device 0 (jax#38004), and no
// test has shown since then that it works.
#pragma once

#include "pjrt/clients.h"

// True if the client is a TPU client and the compile options place the program on a proper subset
// of its devices that does not begin at device 0. `options` are the fields of the canonical options
// (identity/options.h).
RK_NODISCARD RK_HIDDEN bool rk_subset_is_unproved(const rk_client *client,
                                                  const rk_components *options);
