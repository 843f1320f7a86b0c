// Limits of a bundle. The writer keeps them, and the reader refuses a file that exceeds one before
// it allocates memory. They are part of the format (docs/format.md, "Bundles").
#pragma once

#include <stdint.h>

enum {
    RK_BUNDLE_HEADER_MAX_BYTES = 256 << 10,
    RK_BUNDLE_HEADER_PAIRS_MAX = 1024, // of made_with, and of annotations
    RK_BUNDLE_INDEX_MAX_BYTES = 256 << 20,
    RK_BUNDLE_MODULES_MAX = 256,
    RK_BUNDLE_ITEMS_MAX = 1000000,        // in all modules together
    RK_BUNDLE_ATTRIBUTES_MAX = 64,        // of one item or module
    RK_BUNDLE_ATTRIBUTE_MAX_BYTES = 4096, // name and value together
    RK_BUNDLE_NAME_MAX_BYTES = 4096,      // of an item
    RK_BUNDLE_COMPONENT_MAX_BYTES = 255,  // of an item's name, between two slashes
    RK_BUNDLE_MODULE_NAME_MAX_BYTES = 32,
    RK_BUNDLE_WINDOW_MAX_BYTES = 2 << 20,          // window of a zstd frame
    RK_BUNDLE_EXPANSION_MAX = (128 << 10) / 4,     // of a zstd frame: the maximum of zstd
    RK_BUNDLE_READ_MEMORY_MAX_BYTES = 4 * 1048576, // for one blob, beyond the index
};
#define RK_BUNDLE_BLOB_MAX_BYTES ((uint64_t)1 << 40) // of the content; sums then fit in 64 bits
