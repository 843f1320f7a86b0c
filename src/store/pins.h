// Pins, which protect the executable and the program of a key from eviction. A pin is an empty
// file, pins/<key>, so that two processes cannot overwrite each other's pins.
#pragma once

#include "store/store.h"

// Pin and unpin a key, given as 64 hex digits. The key need not have an entry. It is no error if
// the key is pinned or unpinned already. `*out_was_pinned`, which may be NULL, is the earlier
// state.
RK_NODISCARD rk_err *rk_store_pin(rk_store *store, const char *hex, bool *out_was_pinned);
RK_NODISCARD rk_err *rk_store_unpin(rk_store *store, const char *hex, bool *out_was_pinned);

typedef struct rk_pins {
    char (*keys)[RK_DIGEST_HEX_CHARS + 1]; // owned; in byte order
    size_t count, capacity;
} rk_pins;

// Reads all pins of the store. `out_pins` is owned: rk_pins_cleanup. RK_OUT_OF_RANGE if there are
// more than 100,000.
RK_NODISCARD rk_err *rk_pins_load(const rk_store *store, rk_pins *out_pins);
void rk_pins_cleanup(rk_pins *pins);
RK_NODISCARD bool rk_pins_has(const rk_pins *pins, const char *hex);
