// Pins: keys whose executable and program are never evicted. A pin is an empty file, pins/<key>, so
// that two processes cannot overwrite each other's.
#pragma once

#include "store/store.h"

// Both take the 64 digits of a key. To pin what is pinned, or is not in the store, is no error; nor
// is to unpin what is not pinned: `*out_was_pinned` says so, and may be NULL.
RK_NODISCARD rk_err *rk_store_pin(rk_store *store, const char *hex, bool *out_was_pinned);
RK_NODISCARD rk_err *rk_store_unpin(rk_store *store, const char *hex, bool *out_was_pinned);

typedef struct rk_pins {
    char (*keys)[RK_DIGEST_HEX_CHARS + 1]; // owned; in byte order
    size_t count, capacity;
} rk_pins;

// All pins of the store. RK_OUT_OF_RANGE if there are more than 100,000.
RK_NODISCARD rk_err *rk_pins_load(const rk_store *store, rk_pins *out_pins);
void rk_pins_cleanup(rk_pins *pins);
RK_NODISCARD bool rk_pins_has(const rk_pins *pins, const char *hex);
