// What the bridge says where it cannot help.
#pragma once

#include "base/status.h"
#include "pjrt/bridge_table.h"

// A plugin's refusal of a struct's size.
typedef struct rk_refusal {
    const char *name; // of the struct; borrowed from the message
    size_t name_len;
    rk_struct_id id; // RK_STRUCT_NONE: none of ours
    size_t expected, got;
} rk_refusal;

// True if the message begins "Unexpected NAME size: expected N, got M", as XLA words it.
bool rk_refusal_parse(const char *message, size_t len, rk_refusal *out_refusal);

// Remembers which versions have a caller with a struct of that size.
void rk_bridge_note_caller(rk_bridge *bridge, rk_struct_id id, size_t declared);

// The error for a struct that the plugin takes in `size` bytes only, while a field in the word that
// begins at byte `at` of the caller's is in use. (The first byte that is not zero would not do: a
// pointer's low byte may be zero.)
RK_NODISCARD rk_err *rk_bridge_gap(rk_bridge *bridge, rk_struct_id id, size_t declared, size_t size,
                                   size_t at);
