// The bridge's messages for differences that it cannot bridge.
#pragma once

#include "base/status.h"
#include "pjrt/bridge_table.h"

// A plugin's refusal of a struct because of its size.
typedef struct rk_refusal {
    const char *name; // of the struct; borrowed from the message
    size_t name_len;
    rk_struct_id id; // RK_STRUCT_NONE: not a struct of the bridge
    size_t expected, got;
} rk_refusal;

// Parses a message of the form "Unexpected NAME size: expected N, got M", which is XLA's wording.
// Returns false if the message has another form.
bool rk_refusal_parse(const char *message, size_t len, rk_refusal *out_refusal);

// Narrows the caller's possible versions to those that declare this size for the struct.
void rk_bridge_note_caller(rk_bridge *bridge, rk_struct_id id, size_t declared);

// Returns the error for a struct that cannot be shortened: the plugin accepts at most `size` bytes,
// and the caller sets a field beyond them. `at` is the offset of the word that contains this field.
// (The first non-zero byte would be misleading: a pointer's low byte may be zero.)
RK_NODISCARD rk_err *rk_bridge_gap(rk_bridge *bridge, rk_struct_id id, size_t declared, size_t size,
                                   size_t at);
