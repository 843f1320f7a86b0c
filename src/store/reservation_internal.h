// Room for what is stored: the cap, kept by those who put; private to src/store.
#pragma once

#include "store/usage_internal.h"

// From rk_room_take to rk_room_settle the entry counts as pending.
typedef struct rk_room {
    bool taken;
    rk_usage_count pending, change;
} rk_room;

// Makes room for an entry that will be a file of `bytes`, by evicting what is worth less. Nothing
// where no account is kept. RK_OUT_OF_RANGE if there is no room; then nothing is taken. May take
// seconds where much has to go; at most one process evicts at a time.
RK_HIDDEN RK_NODISCARD rk_err *rk_room_take(rk_store *store, const rk_entry *entry, const char *hex,
                                            uint64_t bytes, rk_room *out_room);
RK_HIDDEN void rk_room_settle(rk_store *store, const rk_room *room, rk_entry_kind kind,
                              const char *hex, bool stored);
