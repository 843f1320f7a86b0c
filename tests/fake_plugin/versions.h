// Differences between versions of the PJRT C API that the fake plugin and pjrt_host reproduce: the
// end of the table, and the sizes of structs that grew.
#pragma once

#include <stddef.h>

enum { PJRT_VERSIONS_FIRST = 40, PJRT_VERSIONS_LAST = 117 };

// Sizes of a struct, by its name without "_Args". `header_size` is its size in the header, and the
// result for structs that never grew.
size_t pjrt_struct_declared(const char *name, int minor, size_t header_size); // its STRUCT_SIZE
size_t pjrt_struct_real(const char *name, int minor, size_t header_size); // the size of its fields

// Sizes of the table: its struct_size, and the end of its entries.
size_t pjrt_table_declared(int minor);
size_t pjrt_table_real(int minor);
