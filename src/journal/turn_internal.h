// One thread's turn to write one line. Inside src/journal only.
#pragma once

#include "journal/journal.h"

// What a call of rk_journal_add_… holds. The host's errno and its wish to cancel this thread wait
// until the line is out and the lock is free.
typedef struct rk_turn {
    rk_journal *journal; // NULL: there is nothing to write to
    rk_json json;        // the line, its object begun
    int saved_errno, saved_cancel_state;
} rk_turn;

// Always follow with rk_turn_end, in the same thread; add members in between if `journal` is not
// NULL.
rk_turn rk_turn_begin(rk_journal *journal, const char *event);

// Writes the line, unless the journal is silent.
void rk_turn_end(rk_turn *mine);
