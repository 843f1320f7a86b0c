#include "base/relay.h"
#include "bundle/name_internal.h"
#include "bundle/source_internal.h"
#include "bundle/writer_internal.h"

// The hash of the content.
typedef struct hashing {
    rk_hasher hasher;
    const rk_bundle_watch *watch; // NULL: none
} hashing;

static void add_to_hasher(void *context, rk_span part) {
    hashing *self = context;
    if (self->watch)
        self->watch->watcher.tap(self->watch->watcher.context, part, &self->hasher);
    rk_hasher_add(&self->hasher, part.data, part.len);
}

static rk_err *relay_file(rk_bundle_writer *self, rk_bundle_source *source,
                          const rk_bundle_watch *watch, rk_relay *relay) {
    uint64_t offset = 0;
    do { // once also for an empty file, to check its length
        rk_span chunk = {0};
        source->buffer = rk_relay_buffer(relay);
        RK_TRY(rk_bundle_source_chunk(source, offset, &chunk));
        rk_relay_pass(relay, chunk.len);
        RK_TRY(rk_bundle_output_add(&self->output, chunk));
        offset += chunk.len;
        if (watch && watch->step)
            watch->step(watch->watcher.context, offset);
    } while (offset < source->len);
    return NULL;
}

// Writes the content, and computes its digest.
static rk_err *write_content(rk_bundle_writer *self, int fd, uint64_t len,
                             const rk_bundle_watch *watch, rk_digest *out_digest) {
    hashing hash = {.watch = watch};
    rk_relay *relay = NULL;
    rk_relay_consumer consumers[2] = {{add_to_hasher, &hash}};
    rk_bundle_source source = {.fd = fd, .len = len, .chunk_bytes = RK_RELAY_PART_BYTES};
    if (watch)
        consumers[1] = (rk_relay_consumer){watch->watcher.add, watch->watcher.context};
    rk_hasher_init(&hash.hasher);
    RK_TRY(rk_relay_begin(consumers, watch ? 2 : 1, len, &relay));
    rk_err *err = relay_file(self, &source, watch, relay);
    rk_relay_end(relay);
    rk_hasher_finish(&hash.hasher, out_digest);
    return err;
}

// Makes a blob of what was written since `offset`, unless the bundle has that content already.
static rk_err *end_blob(rk_bundle_writer *self, uint64_t offset, const rk_digest *digest,
                        uint32_t *out_blob) {
    rk_bundle_blob blob = {.offset = offset, .digest = *digest, .stored_digest = *digest};
    blob.raw_bytes = blob.stored_bytes = self->output.bytes - offset;
    if (rk_bundle_new_index_find(&self->index, digest, blob.raw_bytes, out_blob))
        return rk_bundle_output_rewind(&self->output, offset);
    RK_TRY(rk_bundle_output_align(&self->output));
    return rk_bundle_new_index_add_blob(&self->index, &blob, out_blob);
}

static rk_err *add(rk_bundle_writer *self, rk_bundle_new_item *item, int fd, uint64_t len,
                   const rk_bundle_watch *watch, bool *out_kept) {
    uint64_t offset = self->output.bytes;
    uint32_t blob = 0;
    rk_digest digest;
    rk_bundle_pairs attributes = {0};
    *out_kept = true;
    RK_TRY(write_content(self, fd, len, watch, &digest));
    if (watch)
        RK_TRY(watch->end(watch->watcher.context, &attributes, out_kept));
    if (!*out_kept)
        return rk_bundle_output_rewind(&self->output, offset);
    if (attributes.count)
        item->attributes = attributes;
    RK_TRY(rk_bundle_writer_check_item(self, item, len));
    RK_TRY(end_blob(self, offset, &digest, &blob));
    return rk_bundle_new_index_add_item(&self->index, item, blob);
}

rk_err *rk_bundle_writer_add_watched(rk_bundle_writer *writer, const rk_bundle_new_item *item,
                                     int fd, uint64_t len, const rk_bundle_watch *watch,
                                     bool *out_kept) {
    bool kept = true;
    rk_bundle_new_item changed = *item;
    RK_TRY(rk_bundle_writer_check_item(writer, item, len));
    rk_err *err = add(writer, &changed, fd, len, watch, &kept);
    writer->is_failed = err;
    if (out_kept)
        *out_kept = kept;
    return rk_err_wrap(err, "item %s", rk_bundle_show(item->name).text);
}
