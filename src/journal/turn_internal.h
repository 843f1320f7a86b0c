// One thread's exclusive access to the journal, for one line. Inside src/journal only.
#pragma once

#include "journal/journal.h"

// State of one rk_journal_add_… call. The lock is held and the thread cannot be cancelled until
// rk_turn_end, which also restores errno.
typedef struct rk_turn {
    rk_journal *journal; // NULL: there is no journal to write to
    rk_json json;        // the line; its object is open
    int saved_errno, saved_cancel_state;
} rk_turn;

// Begins a line. The same thread must call rk_turn_end afterwards. If the result's `journal` is not
// NULL, the caller may add members to the line in between.
rk_turn rk_turn_begin(rk_journal *journal, const char *event);

// Writes the line, unless an earlier write failed.
void rk_turn_end(rk_turn *turn);
