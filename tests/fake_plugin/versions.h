// What the versions of the PJRT C API differ in, as far as the fake plugin and pjrt_host act it
// out: where the table ends, and the sizes of structs that grew.
#pragma once

#include <stddef.h>

enum { PJRT_VERSIONS_FIRST = 40, PJRT_VERSIONS_LAST = 117 };

// A struct by its name without "_Args". `header_size` is its size in the header, which is the
// answer for all structs that never grew.
size_t pjrt_struct_declared(const char *name, int minor, size_t header_size); // its STRUCT_SIZE
size_t pjrt_struct_real(const char *name, int minor, size_t header_size); // what its fields take

// The table: what its struct_size says, and where its entries end.
size_t pjrt_table_declared(int minor);
size_t pjrt_table_real(int minor);
