// A writer; private to src/bundle.
#pragma once

#include "bundle/output_internal.h"
#include "bundle/pack_internal.h"
#include "bundle/writer_index_internal.h"

struct rk_bundle_writer {
    rk_bundle_output output;
    rk_bundle_new_index index;
    rk_bundle_pack pack;
    rk_digest head_digest;
    uint64_t blobs_begin;
    uint8_t *buffer; // owned: for parts of files
    bool is_failed, is_finished;
};

// RK_FAILED_PRECONDITION after rk_bundle_writer_finish, and after an error.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_writer_check_open(const rk_bundle_writer *self);

// Checks that an item with `len` bytes of content can be added now.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_writer_check_item(const rk_bundle_writer *self,
                                                           const rk_bundle_new_item *item,
                                                           uint64_t len);
