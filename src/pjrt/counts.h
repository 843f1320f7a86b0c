// Writes the totals of this process into the journal: executions, transfers, steps.
#pragma once

#include <stdbool.h>

// Writes the totals. Without `now`, does nothing if the last write was less than a second ago. With
// `now`, also writes the steps that are not in the journal yet. Thread-safe. Does nothing before
// the start and after the end.
void rk_counts_write(bool now);
