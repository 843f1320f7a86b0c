// Memory mappings, as the kernel reports them.
#pragma once

#include <stddef.h>

// Size in bytes of the writable mapping that contains the address; 0 if there is none.
size_t rk_mapped_bytes(const void *address);
