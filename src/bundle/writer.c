#include "bundle/writer.h"

#include "base/alloc.h"
#include "bundle/head_internal.h"
#include "bundle/name_internal.h"
#include "bundle/signature_internal.h"
#include "bundle/source_internal.h"
#include "bundle/writer_internal.h"

// Compression must save at least one part in SAVING, and a shorter content is not tried.
enum { SAVING = 20, SMALLEST_WORTH_COMPRESSING = 64 };

void rk_bundle_writer_free(rk_bundle_writer *writer) {
    if (!writer)
        return;
    rk_bundle_output_cleanup(&writer->output);
    rk_bundle_new_index_cleanup(&writer->index);
    rk_bundle_pack_cleanup(&writer->pack);
    rk_free(writer->buffer);
    rk_free(writer);
}

void rk_bundle_writer_cleanup(rk_bundle_writer **writer) {
    rk_bundle_writer_free(*writer);
}

uint64_t rk_bundle_writer_file_bytes(const rk_bundle_writer *writer) {
    return writer->output.bytes;
}

static rk_err *write_head(rk_bundle_writer *self, const rk_bundle_head *head) {
    RK_AUTO(rk_buf) json = {0};
    RK_TRY(rk_bundle_head_encode(head, &json));
    rk_bundle_preface preface = {.header_bytes = (uint32_t)json.len,
                                 .created_ns = head->created_ns};
    uint8_t preface_bytes[RK_BUNDLE_PREFACE_BYTES];
    rk_bundle_preface_write(&preface, preface_bytes);
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add(&hasher, preface_bytes, sizeof preface_bytes);
    rk_hasher_add(&hasher, json.data, json.len);
    rk_hasher_finish(&hasher, &self->head_digest);
    RK_TRY(rk_bundle_output_add(&self->output, rk_span_of(preface_bytes, sizeof preface_bytes)));
    RK_TRY(rk_bundle_output_add(&self->output, rk_buf_span(&json)));
    RK_TRY(rk_bundle_output_align(&self->output));
    self->blobs_begin = self->output.bytes;
    return NULL;
}

rk_err *rk_bundle_writer_begin(const char *path, mode_t mode, const rk_bundle_head *head,
                               rk_bundle_writer **out_writer) {
    rk_autobundle_writer self = rk_calloc(1, sizeof *self);
    if (!self)
        return rk_err_no_memory();
    self->index.rows.max = self->index.modules.max = RK_BUNDLE_INDEX_MAX_BYTES;
    RK_TRY(rk_bundle_output_begin(path, mode, &self->output));
    self->buffer = rk_malloc(RK_BUNDLE_CHUNK_BYTES);
    if (!self->buffer)
        return rk_err_no_memory();
    RK_TRY(write_head(self, head));
    *out_writer = RK_TAKE(self);
    return NULL;
}

rk_err *rk_bundle_writer_begin_module(rk_bundle_writer *writer, const char *name,
                                      const rk_bundle_pairs *attributes) {
    RK_TRY(rk_bundle_writer_check_open(writer));
    RK_TRY(rk_err_wrap(rk_bundle_new_index_check_module(&writer->index, name, attributes), "%s",
                       writer->output.path));
    rk_err *err = rk_bundle_new_index_add_module(&writer->index, name, attributes);
    writer->is_failed = err;
    return err;
}

static rk_err *write_part(void *context, rk_span part) {
    rk_bundle_writer *self = context;
    return rk_bundle_output_add(&self->output, part);
}

// What is written for one blob.
typedef struct writing {
    rk_bundle_writer *writer;
    rk_hasher stored;
} writing;

static rk_err *write_packed(void *context, rk_span part) {
    writing *self = context;
    rk_hasher_add(&self->stored, part.data, part.len);
    return write_part(self->writer, part);
}

static rk_err *write_stored(rk_bundle_writer *self, const rk_bundle_source *source,
                            rk_hasher *raw) {
    uint64_t offset = 0;
    do {
        rk_span chunk = {0};
        RK_TRY(rk_bundle_source_chunk(source, offset, &chunk));
        rk_hasher_add(raw, chunk.data, chunk.len);
        RK_TRY(write_part(self, chunk));
        offset += chunk.len;
    } while (offset < source->len);
    return NULL;
}

static rk_err *write_compressed(rk_bundle_writer *self, const rk_bundle_source *source,
                                rk_hasher *raw, rk_digest *out_stored_digest) {
    writing out = {.writer = self};
    rk_hasher_init(&out.stored);
    RK_TRY(rk_bundle_pack_begin(&self->pack, source->len));
    uint64_t offset = 0;
    while (offset < source->len) {
        rk_span chunk = {0};
        RK_TRY(rk_bundle_source_chunk(source, offset, &chunk));
        rk_hasher_add(raw, chunk.data, chunk.len);
        offset += chunk.len;
        RK_TRY(rk_bundle_pack_add(&self->pack, chunk, offset == source->len, write_packed, &out));
    }
    rk_hasher_finish(&out.stored, out_stored_digest);
    return NULL;
}

// Decides by the first chunk, so that the content of a file need not be in memory.
static rk_err *is_worth_compressing(rk_bundle_writer *self, const rk_bundle_source *source,
                                    bool *out_worth) {
    rk_span chunk = {0}, packed = {0};
    *out_worth = false;
    if (source->len < SMALLEST_WORTH_COMPRESSING)
        return NULL;
    RK_TRY(rk_bundle_source_chunk(source, 0, &chunk));
    RK_TRY(rk_bundle_pack_chunk(&self->pack, chunk, &packed));
    *out_worth = packed.len <= chunk.len - chunk.len / SAVING;
    return NULL;
}

// Writes a content. `known` is its digest, or NULL.
static rk_err *write_blob(rk_bundle_writer *self, const rk_bundle_source *source, bool may_compress,
                          const rk_digest *known, uint32_t *out_blob) {
    rk_bundle_blob blob = {.offset = self->output.bytes, .raw_bytes = source->len};
    if (may_compress)
        RK_TRY(is_worth_compressing(self, source, &blob.is_compressed));
    rk_hasher raw;
    rk_hasher_init(&raw);
    RK_TRY(blob.is_compressed ? write_compressed(self, source, &raw, &blob.stored_digest)
                              : write_stored(self, source, &raw));
    rk_hasher_finish(&raw, &blob.digest);
    if (known && !rk_digest_equal(known, &blob.digest))
        return rk_error(RK_ABORTED, "the file changed while it was read");
    if (!blob.is_compressed)
        blob.stored_digest = blob.digest;
    blob.stored_bytes = self->output.bytes - blob.offset;
    RK_TRY(rk_bundle_output_align(&self->output));
    return rk_bundle_new_index_add_blob(&self->index, &blob, out_blob);
}

// Writes the content unless the bundle has it already.
static rk_err *add_content(rk_bundle_writer *self, const rk_bundle_source *source,
                           bool may_compress, uint32_t *out_blob) {
    // A content of a new length is new. So its digest is computed while it is written.
    if (!rk_bundle_new_index_has_length(&self->index, source->len))
        return write_blob(self, source, may_compress, NULL, out_blob);
    rk_digest digest;
    RK_TRY(rk_bundle_source_digest(source, &digest));
    if (rk_bundle_new_index_find(&self->index, &digest, source->len, out_blob))
        return NULL;
    return write_blob(self, source, may_compress, &digest, out_blob);
}

static rk_err *add(rk_bundle_writer *self, const rk_bundle_new_item *item,
                   const rk_bundle_source *source) {
    uint32_t blob = 0;
    RK_TRY(rk_bundle_writer_check_item(self, item, source->len));
    rk_err *err = add_content(self, source, !item->is_incompressible, &blob);
    if (!err)
        err = rk_bundle_new_index_add_item(&self->index, item, blob);
    self->is_failed = err;
    return rk_err_wrap(err, "item %s", rk_bundle_show(item->name).text);
}

rk_err *rk_bundle_writer_add(rk_bundle_writer *writer, const rk_bundle_new_item *item,
                             rk_span content) {
    rk_bundle_source source = {.span = content, .fd = -1, .len = content.len};
    return add(writer, item, &source);
}

rk_err *rk_bundle_writer_add_fd(rk_bundle_writer *writer, const rk_bundle_new_item *item, int fd,
                                uint64_t len) {
    rk_bundle_source source = {.fd = fd, .len = len, .buffer = writer->buffer};
    return add(writer, item, &source);
}

// Encodes the index, checks it as a reader does, and writes it with the footer.
static rk_err *write_end(rk_bundle_writer *self, const rk_sign_secret *secret,
                         const rk_sign_public *public_key) {
    RK_AUTO(rk_buf) encoded = RK_BUF_INIT(RK_BUNDLE_INDEX_MAX_BYTES);
    rk_bundle_index parsed;
    RK_TRY(rk_bundle_new_index_encode(&self->index, &encoded));
    rk_err *err = rk_bundle_index_parse(rk_buf_span(&encoded), self->output.path, self->blobs_begin,
                                        self->output.bytes, &parsed);
    rk_bundle_index_cleanup(&parsed);
    RK_TRY(err);
    rk_bundle_footer footer = {
        .index_offset = self->output.bytes,
        .index_bytes = encoded.len,
        .head_digest = self->head_digest,
        .file_bytes = self->output.bytes + encoded.len + RK_BUNDLE_FOOTER_BYTES,
    };
    rk_digest_of(rk_buf_span(&encoded), &footer.index_digest);
    if (secret && public_key)
        rk_bundle_footer_sign(secret, public_key, &footer);
    uint8_t footer_bytes[RK_BUNDLE_FOOTER_BYTES];
    rk_bundle_footer_write(&footer, footer_bytes);
    RK_TRY(rk_bundle_output_add(&self->output, rk_buf_span(&encoded)));
    return rk_bundle_output_add(&self->output, rk_span_of(footer_bytes, sizeof footer_bytes));
}

rk_err *rk_bundle_writer_finish(rk_bundle_writer *writer, const rk_sign_secret *secret,
                                const rk_sign_public *public_key) {
    RK_TRY(rk_bundle_writer_check_open(writer));
    writer->is_failed = true;
    RK_TRY(write_end(writer, secret, public_key));
    RK_TRY(rk_bundle_output_publish(&writer->output));
    writer->is_failed = false;
    writer->is_finished = true;
    return NULL;
}
