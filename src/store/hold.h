// Who collects: at most one process at a time, as far as that can be told; private to src/store.
// usage/gc names the holder. Two that collect at once only do more than was needed.
#pragma once

#include "store/store_path.h"

// Takes the hold if nobody has it, or its holder is dead, or has had it for five minutes.
// `*out_held` is false if somebody else has it.
RK_HIDDEN RK_NODISCARD rk_err *rk_hold_try(const rk_store *store, bool *out_held);

// As rk_hold_try, for at most `timeout_ms`.
RK_HIDDEN RK_NODISCARD rk_err *rk_hold_wait(const rk_store *store, unsigned timeout_ms,
                                            bool *out_held);
RK_HIDDEN void rk_hold_release(const rk_store *store);
RK_HIDDEN void rk_hold_pause(unsigned milliseconds);

// Releases at the end of a scope where it is not NULL.
RK_HIDDEN void rk_hold_cleanup(const rk_store **held);
#define RK_AUTO_HOLD __attribute__((cleanup(rk_hold_cleanup))) const rk_store *
