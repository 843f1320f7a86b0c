// How much memory is in use at one time, of what rk_malloc & co give. For one thread.
#pragma once

#include <stddef.h>

// Counts from here on, from nothing.
void rk_peak_begin(void);

// The most bytes that were in use at one time since rk_peak_begin(), rounded up as the allocator
// does. What was allocated in between may be freed before or after.
size_t rk_peak_bytes(void);

// What is still in use of that.
size_t rk_peak_left_bytes(void);

// Back to the allocator as it was.
void rk_peak_end(void);
