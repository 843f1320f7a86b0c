// Writes the totals of this process into the journal: executions, transfers, steps.
#pragma once

#include <stdbool.h>

// Writes the totals; at most once a second unless `now`. With `now`, also writes the steps that are
// not in the journal yet. Thread-safe. Does nothing before the start and after the end.
void rk_counts_write(bool now);
