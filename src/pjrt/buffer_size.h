// The size of an array on the host.
#pragma once

#include "pjrt/abi.h"

// Returns the bytes of a dense array. 0 if the type is unknown or has no elements, or if the size
// overflows.
uint64_t rk_buffer_size_bytes(PJRT_Buffer_Type type, const int64_t *dims, size_t num_dims);
