// Room for what is stored: the cap, kept by those who put; private to src/store.
#pragma once

#include "store/usage_internal.h"

// From rk_reservation_take to rk_reservation_settle the entry counts as pending.
typedef struct rk_reservation {
    bool taken;
    rk_usage_count pending, change;
} rk_reservation;

// Makes room for an entry that will be a file of `bytes`, by evicting what is worth less. Nothing
// where no account is kept. RK_OUT_OF_RANGE if there is no room; then nothing is taken. May take
// seconds where much has to go; at most one process evicts at a time.
RK_HIDDEN RK_NODISCARD rk_err *rk_reservation_take(rk_store *store, const rk_entry *entry,
                                                   const char *hex, uint64_t bytes,
                                                   rk_reservation *out_room);
RK_HIDDEN void rk_reservation_settle(rk_store *store, const rk_reservation *room,
                                     rk_entry_kind kind, const char *hex, bool stored);
