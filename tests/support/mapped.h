// What is mapped where, as the kernel says.
#pragma once

#include <stddef.h>

// Bytes of the writable mapping that holds that address; 0 if none does.
size_t rk_mapped_bytes(const void *address);
