#include "bundle/blob_internal.h"

#include <errno.h>

#include "base/fd.h"
#include "base/relay.h"
#include "bundle/format_internal.h"
#include "bundle/unpack_internal.h"

rk_err *rk_bundle_pread(int fd, const char *shown, void *out, size_t len, uint64_t offset) {
    size_t got;
    if (!rk_fd_read_at(fd, offset, out, len, &got))
        return rk_error_errno(errno, "cannot read %s", shown);
    return got == len ? NULL
                      : rk_error(RK_DATA_LOSS, "%s became shorter while it was read: copy it again",
                                 shown);
}

typedef struct reading {
    const rk_bundle_blob *blob;
    const char *where;
    const rk_bundle_watcher *watcher; // NULL: none
    rk_bundle_sink_fn sink;
    void *context;
    rk_hasher stored, raw; // `raw` only if the blob is compressed
    rk_bundle_unpack unpack;
} reading;

static rk_err *fail(const reading *self, const char *what) {
    return rk_error(RK_DATA_LOSS, "%s: the content %s: export it again", self->where, what);
}

static rk_err *take_raw(void *context, rk_span part) {
    reading *self = context;
    rk_hasher_add(&self->raw, part.data, part.len);
    return self->sink(self->context, part);
}

static void hash_stored(void *context, rk_span part) {
    reading *self = context;
    if (self->watcher)
        self->watcher->tap(self->watcher->context, part, &self->stored);
    rk_hasher_add(&self->stored, part.data, part.len);
}

static rk_err *take_stored(reading *self, rk_span part) {
    if (!self->blob->is_compressed)
        return self->sink(self->context, part);
    const char *fault = NULL;
    RK_TRY(rk_bundle_unpack_add(&self->unpack, part, take_raw, self, &fault));
    return fault ? fail(self, fault) : NULL;
}

// Checks the digests, after the relay has ended.
static rk_err *finish(reading *self) {
    rk_digest digest;
    rk_hasher_finish(&self->stored, &digest);
    if (!rk_digest_equal(&digest, &self->blob->stored_digest))
        return fail(self, "is damaged: its digest is not the one in the index");
    if (!self->blob->is_compressed)
        return NULL;
    if (!self->unpack.is_ended)
        return fail(self, "has another size than the index states");
    rk_hasher_finish(&self->raw, &digest);
    if (!rk_digest_equal(&digest, &self->blob->digest))
        return fail(self, "differs, when decompressed, from its digest in the index");
    return NULL;
}

static rk_err *read_all(reading *self, int fd, rk_relay *relay) {
    uint64_t offset = self->blob->offset, left = self->blob->stored_bytes;
    uint64_t padding = rk_bundle_align(offset + left) - (offset + left);
    while (left + padding) {
        uint8_t *chunk = rk_relay_buffer(relay);
        size_t len =
            left + padding < RK_RELAY_PART_BYTES ? (size_t)(left + padding) : RK_RELAY_PART_BYTES;
        RK_TRY(rk_bundle_pread(fd, self->where, chunk, len, offset));
        size_t content = len < left ? len : (size_t)left;
        rk_relay_pass(relay, content);
        if (content)
            RK_TRY(take_stored(self, rk_span_of(chunk, content)));
        if (!rk_bundle_is_zero(chunk + content, len - content))
            return fail(self, "is followed by bytes that are not zero");
        left -= content;
        padding -= len - content;
        offset += len;
    }
    return NULL;
}

rk_err *rk_bundle_blob_read(int fd, const rk_bundle_blob *blob, const char *where,
                            const rk_bundle_watcher *watcher, rk_bundle_sink_fn sink,
                            void *context) {
    reading self = {
        .blob = blob, .where = where, .watcher = watcher, .sink = sink, .context = context};
    rk_relay_consumer consumers[2] = {{hash_stored, &self}};
    rk_relay *relay = NULL;
    rk_hasher_init(&self.stored);
    if (watcher)
        consumers[1] = (rk_relay_consumer){watcher->add, watcher->context};
    if (blob->is_compressed) {
        rk_hasher_init(&self.raw);
        RK_TRY(rk_bundle_unpack_begin(blob->raw_bytes, &self.unpack));
    }
    rk_err *err = rk_relay_begin(consumers, watcher ? 2 : 1, rk_bundle_align(blob->stored_bytes),
                                 !watcher || watcher->is_threaded, &relay);
    if (!err)
        err = read_all(&self, fd, relay);
    rk_relay_end(relay);
    if (!err)
        err = finish(&self);
    rk_bundle_unpack_cleanup(&self.unpack);
    return err;
}
