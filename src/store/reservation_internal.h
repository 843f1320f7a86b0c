// Reserves space within the limit of the store for an entry before it is written; private to
// src/store.
#pragma once

#include "store/usage_internal.h"

// The space of one entry. It counts as pending from rk_reservation_take to rk_reservation_settle.
typedef struct rk_reservation {
    bool taken;
    rk_usage_count pending, change;
} rk_reservation;

// Reserves space for an entry whose file will have `bytes`. If the limit of the store requires it,
// evicts entries that are worth less, which may take seconds. Waits up to 10 seconds while another
// process evicts. Does nothing without a usage account. RK_OUT_OF_RANGE, and no reservation, if
// eviction cannot free enough space.
RK_HIDDEN RK_NODISCARD rk_err *rk_reservation_take(rk_store *store, const rk_entry *entry,
                                                   const char *hex, uint64_t bytes,
                                                   rk_reservation *out_reservation);
// Ends the reservation after the write. `stored`: the entry was published. Does nothing if no
// reservation was taken.
RK_HIDDEN void rk_reservation_settle(rk_store *store, const rk_reservation *reservation,
                                     rk_entry_kind kind, const char *hex, bool stored);
