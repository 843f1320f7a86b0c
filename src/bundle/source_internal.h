// Where the content of a new item comes from: memory or a file; private to src/bundle.
#pragma once

#include "bundle/bundle.h"

typedef struct rk_bundle_source {
    rk_span span; // borrowed
    int fd;       // borrowed; -1: the content is `span`
    uint64_t len;
    uint8_t *buffer;    // borrowed: RK_BUNDLE_CHUNK_BYTES for parts of the file
    size_t chunk_bytes; // 0: RK_BUNDLE_CHUNK_BYTES
} rk_bundle_source;

// Returns the next `chunk_bytes` from `offset`, or the rest. `out_chunk` is borrowed until
// the next call. RK_ABORTED if the file has another length than `len`.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_source_chunk(const rk_bundle_source *source,
                                                      uint64_t offset, rk_span *out_chunk);

// Reads the whole content and computes its digest.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_source_digest(const rk_bundle_source *source,
                                                       rk_digest *out_digest);
