// The index of a bundle; private to src/bundle. docs/format.md describes its bytes.
#pragma once

#include "bundle/format_internal.h"

enum {
    RK_BUNDLE_INDEX_HEAD_BYTES = 16,
    RK_BUNDLE_ROW_BYTES = 96, // of one blob
    RK_BUNDLE_MODE_EXECUTABLE = 1u << 0,
};

typedef enum rk_bundle_codec {
    RK_BUNDLE_CODEC_STORED = 0,
    RK_BUNDLE_CODEC_ZSTD = 1,
} rk_bundle_codec;

typedef struct rk_bundle_index {
    rk_span data; // borrowed
    uint32_t blob_count;
    uint64_t raw_bytes;        // of all blobs
    rk_bundle_module *modules; // owned
    size_t module_count;
    rk_bundle_item *items; // owned: of all modules, one after the other
    size_t item_count;
} rk_bundle_index;
RK_HIDDEN void rk_bundle_index_cleanup(rk_bundle_index *index);

// Parses an index, and checks every rule of the format. The blobs must fill the bytes from
// `blobs_begin` to `blobs_end`. `data` must outlive `out_index`, which is owned:
// rk_bundle_index_cleanup, also after an error. Errors as in bundle.h.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_index_parse(rk_span data, const char *shown,
                                                     uint64_t blobs_begin, uint64_t blobs_end,
                                                     rk_bundle_index *out_index);

// `number` is less than `index->blob_count`.
RK_HIDDEN rk_bundle_blob rk_bundle_index_blob(const rk_bundle_index *index, uint32_t number);

// Appends the row of a blob.
RK_HIDDEN void rk_bundle_row_write(const rk_bundle_blob *blob, rk_buf *out);

// Refuses items of one module with the same name after ASCII case folding, and names that are both
// a file and a folder. Errors as in bundle.h.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_check_conflicts(const rk_bundle_module *module,
                                                         const char *shown);
