// Peak memory use of rk_malloc and its relatives. For one thread.
#pragma once

#include <stddef.h>

// Starts to count from zero.
void rk_peak_begin(void);

// The peak use in bytes since rk_peak_begin(), rounded up as the allocator rounds. Memory allocated
// in between may be freed later.
size_t rk_peak_bytes(void);

// Bytes that are still in use.
size_t rk_peak_left_bytes(void);

// Restores the allocator.
void rk_peak_end(void);
