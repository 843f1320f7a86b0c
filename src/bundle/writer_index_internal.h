// The index of a bundle that is being written; private to src/bundle.
#pragma once

#include "bundle/index_internal.h"
#include "bundle/writer.h"

typedef struct rk_bundle_new_index {
    rk_buf rows;    // of the blobs
    rk_buf modules; // with their items
    uint32_t blob_count, module_count, item_count;
    uint32_t module_item_count; // of the last module
    size_t at_module_count;     // place of the last module's item count, in `modules`
    uint32_t *by_digest;        // owned: hash table of blob numbers plus 1; 0: free
    uint32_t *by_length;        // owned: the same, one blob for each length
    size_t slots;               // of each table; a power of two
} rk_bundle_new_index;
RK_HIDDEN void rk_bundle_new_index_cleanup(rk_bundle_new_index *index);

// Finds the blob with that content. False if there is none.
RK_HIDDEN bool rk_bundle_new_index_find(const rk_bundle_new_index *index, const rk_digest *digest,
                                        uint64_t raw_bytes, uint32_t *out_blob);
RK_HIDDEN bool rk_bundle_new_index_has_length(const rk_bundle_new_index *index, uint64_t raw_bytes);
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_new_index_add_blob(rk_bundle_new_index *index,
                                                            const rk_bundle_blob *blob,
                                                            uint32_t *out_blob);

// Check the names, attributes and limits. An error changes nothing.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_new_index_check_module(const rk_bundle_new_index *index,
                                                                const char *name,
                                                                const rk_bundle_pairs *attributes);
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_new_index_check_item(const rk_bundle_new_index *index,
                                                              const rk_bundle_new_item *item);

// Add a module or an item that was checked.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_new_index_add_module(rk_bundle_new_index *index,
                                                              const char *name,
                                                              const rk_bundle_pairs *attributes);
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_new_index_add_item(rk_bundle_new_index *index,
                                                            const rk_bundle_new_item *item,
                                                            uint32_t blob);

// Appends the encoded index to the empty `out`.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_new_index_encode(rk_bundle_new_index *index, rk_buf *out);
