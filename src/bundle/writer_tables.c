#include "base/alloc.h"
#include "bundle/writer_index_internal.h"

enum { SMALLEST_SLOTS = 64 };

void rk_bundle_new_index_cleanup(rk_bundle_new_index *index) {
    rk_buf_cleanup(&index->rows);
    rk_buf_cleanup(&index->modules);
    rk_free(index->by_digest);
    rk_free(index->by_length);
    *index = (rk_bundle_new_index){0};
}

// The rows alone look like the blobs of an index, so that rk_bundle_index_blob reads them.
static rk_bundle_blob blob_at(const rk_bundle_new_index *index, uint32_t number) {
    rk_bundle_index view = {.data = rk_buf_span(&index->rows)};
    return rk_bundle_index_blob(&view, number);
}

static size_t slot_of_digest(const rk_bundle_new_index *index, const rk_digest *digest) {
    return (size_t)rk_load_u64le(digest->bytes) & (index->slots - 1);
}

static size_t slot_of_length(const rk_bundle_new_index *index, uint64_t raw_bytes) {
    return (size_t)((raw_bytes * 0x9E3779B97F4A7C15u) >> 32) & (index->slots - 1);
}

bool rk_bundle_new_index_find(const rk_bundle_new_index *index, const rk_digest *digest,
                              uint64_t raw_bytes, uint32_t *out_blob) {
    if (index->slots == 0)
        return false;
    for (size_t slot = slot_of_digest(index, digest); index->by_digest[slot];
         slot = (slot + 1) & (index->slots - 1)) {
        rk_bundle_blob blob = blob_at(index, index->by_digest[slot] - 1);
        if (rk_digest_equal(&blob.digest, digest) && blob.raw_bytes == raw_bytes) {
            *out_blob = index->by_digest[slot] - 1;
            return true;
        }
    }
    return false;
}

// The slot of that length, or the free slot for it.
static size_t find_length(const rk_bundle_new_index *index, uint64_t raw_bytes) {
    size_t slot = slot_of_length(index, raw_bytes);
    while (index->by_length[slot] &&
           blob_at(index, index->by_length[slot] - 1).raw_bytes != raw_bytes)
        slot = (slot + 1) & (index->slots - 1);
    return slot;
}

bool rk_bundle_new_index_has_length(const rk_bundle_new_index *index, uint64_t raw_bytes) {
    return index->slots && index->by_length[find_length(index, raw_bytes)];
}

static void insert(rk_bundle_new_index *index, uint32_t number) {
    rk_bundle_blob blob = blob_at(index, number);
    size_t slot = slot_of_digest(index, &blob.digest);
    while (index->by_digest[slot])
        slot = (slot + 1) & (index->slots - 1);
    index->by_digest[slot] = number + 1;
    slot = find_length(index, blob.raw_bytes);
    if (!index->by_length[slot])
        index->by_length[slot] = number + 1;
}

static rk_err *grow(rk_bundle_new_index *index) {
    size_t slots = index->slots ? 2 * index->slots : SMALLEST_SLOTS;
    uint32_t *by_digest = rk_calloc(slots, sizeof *by_digest);
    uint32_t *by_length = rk_calloc(slots, sizeof *by_length);
    if (!by_digest || !by_length) {
        rk_free(by_digest);
        rk_free(by_length);
        return rk_err_no_memory();
    }
    rk_free(index->by_digest);
    rk_free(index->by_length);
    index->by_digest = by_digest;
    index->by_length = by_length;
    index->slots = slots;
    for (uint32_t i = 0; i < index->blob_count; i++)
        insert(index, i);
    return NULL;
}

rk_err *rk_bundle_new_index_add_blob(rk_bundle_new_index *index, const rk_bundle_blob *blob,
                                     uint32_t *out_blob) {
    if (2 * ((size_t)index->blob_count + 1) > index->slots)
        RK_TRY(grow(index));
    if (index->rows.len == 0) { // the place of the index's head, see blob_at
        static const uint8_t head[RK_BUNDLE_INDEX_HEAD_BYTES];
        rk_buf_add(&index->rows, head, sizeof head);
    }
    rk_bundle_row_write(blob, &index->rows);
    RK_TRY(rk_buf_status(&index->rows));
    *out_blob = index->blob_count++;
    insert(index, *out_blob);
    return NULL;
}
