#include "base/alloc.h"
#include "base/fd.h"
#include "base/parallel.h"
#include "base/relay.h"
#include "base/thread.h"
#include "bundle/name_internal.h"
#include "bundle/source_internal.h"
#include "bundle/writer_internal.h"

// One file.
typedef struct slot {
    int fd; // owned; -1: left out, or written
    bool is_left_out, is_large;
    uint64_t offset, len; // in the bundle
    rk_bundle_watcher watcher;
    rk_hasher hasher;
    rk_digest digest;
} slot;

// Files that are being added. Each gets its place in the bundle when it is opened, and is written
// there. If an earlier one is not kept, the later ones are moved, in order.
typedef struct adding {
    rk_bundle_writer *writer;
    const rk_bundle_files *files;
    slot **slots;         // owned; NULL before a file is opened, and after it has ended
    uint64_t next_offset; // of the next file
    uint64_t begun_bytes;
    size_t threads;
    pthread_mutex_t mutex; // for `step`
} adding;

static void slot_free(slot *one) {
    if (one)
        rk_autofd_cleanup(&one->fd);
    rk_free(one);
}

// Opens a file, and gives it its place.
static rk_err *begin(void *context, size_t index) {
    adding *self = context;
    slot *one = rk_calloc(1, sizeof *one);
    if (!one)
        return rk_err_no_memory();
    self->slots[index] = one;
    one->fd = -1;
    RK_TRY(self->files->open(self->files->context, index, &one->fd, &one->len, &one->watcher));
    one->is_left_out = one->fd < 0;
    if (one->is_left_out)
        return NULL;
    if (one->len > RK_BUNDLE_BLOB_MAX_BYTES)
        return rk_error(RK_OUT_OF_RANGE, "%s: a file of %llu bytes is larger than allowed",
                        self->writer->output.path, (unsigned long long)one->len);
    one->offset = self->next_offset;
    self->next_offset = rk_bundle_align(one->offset + one->len);
    uint64_t left = self->files->all_bytes - self->begun_bytes;
    one->is_large = self->begun_bytes < self->files->all_bytes &&
                    rk_parallel_is_large(self->threads, one->len, left);
    self->begun_bytes += one->len;
    return NULL;
}

static void add_to_hasher(void *context, rk_span part) {
    slot *self = context;
    if (self->watcher.tap)
        self->watcher.tap(self->watcher.context, part, &self->hasher);
    rk_hasher_add(&self->hasher, part.data, part.len);
}

static void show_step(adding *self, size_t bytes) {
    if (!self->files->step)
        return;
    (void)pthread_mutex_lock(&self->mutex);
    self->files->step(self->files->context, bytes);
    (void)pthread_mutex_unlock(&self->mutex);
}

static rk_err *copy_parts(adding *self, const slot *one, rk_relay *relay) {
    rk_bundle_source source = {.fd = one->fd, .len = one->len, .chunk_bytes = RK_RELAY_PART_BYTES};
    uint64_t offset = 0, behind = 0;
    do { // once also for an empty file, to check its length
        rk_span chunk = {0};
        source.buffer = rk_relay_buffer(relay);
        RK_TRY(rk_bundle_source_chunk(&source, offset, &chunk));
        rk_relay_pass(relay, chunk.len);
        RK_TRY(rk_bundle_output_put(&self->writer->output, one->offset + offset, chunk));
        offset += chunk.len;
        rk_bundle_output_write_behind(&self->writer->output, &behind, one->offset, offset);
        show_step(self, chunk.len);
    } while (offset < one->len);
    return NULL;
}

// Writes a file at its place, and computes its digest.
static rk_err *copy(adding *self, slot *one) {
    rk_relay *relay = NULL;
    rk_relay_consumer consumers[2] = {{add_to_hasher, one},
                                      {one->watcher.add, one->watcher.context}};
    rk_hasher_init(&one->hasher);
    RK_TRY(rk_relay_begin(consumers, one->watcher.add ? 2 : 1, one->len, one->is_large, &relay));
    rk_err *err = copy_parts(self, one, relay);
    rk_relay_end(relay);
    rk_hasher_finish(&one->hasher, &one->digest);
    return err;
}

static rk_err *run(void *context, size_t index) {
    adding *self = context;
    slot *one = self->slots[index];
    if (one->is_left_out)
        return NULL;
    RK_TRY(copy(self, one));
    rk_autofd_cleanup(&one->fd);
    one->fd = -1;
    return self->files->judge ? self->files->judge(self->files->context, index) : NULL;
}

// Makes a blob of a written file, unless the bundle has that content already.
static rk_err *add_blob(adding *self, const slot *one, uint32_t *out_blob) {
    rk_bundle_output *output = &self->writer->output;
    rk_bundle_blob blob = {.offset = output->bytes, .digest = one->digest};
    blob.stored_digest = one->digest;
    blob.raw_bytes = blob.stored_bytes = one->len;
    if (rk_bundle_new_index_find(&self->writer->index, &one->digest, one->len, out_blob))
        return NULL;
    RK_TRY(rk_bundle_output_take(output, one->offset, one->len));
    RK_TRY(rk_bundle_output_align(output));
    return rk_bundle_new_index_add_blob(&self->writer->index, &blob, out_blob);
}

static rk_err *add_item(adding *self, size_t index, const slot *one) {
    rk_bundle_new_item item = {0};
    bool kept = true;
    uint32_t blob = 0;
    RK_TRY(self->files->end(self->files->context, index, &item, &kept));
    if (!kept)
        return NULL;
    RK_TRY(rk_bundle_writer_check_item(self->writer, &item, one->len));
    RK_TRY(add_blob(self, one, &blob));
    return rk_bundle_new_index_add_item(&self->writer->index, &item, blob);
}

static rk_err *end(void *context, size_t index) {
    adding *self = context;
    slot *one = RK_TAKE(self->slots[index]);
    rk_err *err = one->is_left_out ? NULL : add_item(self, index, one);
    slot_free(one);
    return err;
}

static rk_err *add_all(adding *self) {
    rk_bundle_output *output = &self->writer->output;
    const rk_parallel_work work = {self, self->files->count, begin, run, end};
    RK_TRY(rk_bundle_output_flush(output));
    self->next_offset = output->bytes;
    (void)pthread_mutex_init(&self->mutex, NULL);
    rk_err *err = rk_parallel_run(&work, self->threads);
    (void)pthread_mutex_destroy(&self->mutex);
    RK_TRY(err);
    // Cuts off what the files that were not kept have left.
    return output->bytes < self->next_offset ? rk_bundle_output_rewind(output, output->bytes)
                                             : NULL;
}

rk_err *rk_bundle_writer_add_files(rk_bundle_writer *writer, const rk_bundle_files *files) {
    adding self = {.writer = writer, .files = files, .threads = files->threads};
    RK_TRY(rk_bundle_writer_check_open(writer));
    if (self.threads == 0)
        self.threads = rk_parallel_threads();
    self.slots = rk_calloc(files->count + 1, sizeof(slot *));
    if (!self.slots)
        return rk_err_no_memory();
    rk_err *err = add_all(&self);
    for (size_t i = 0; i < files->count; i++)
        slot_free(self.slots[i]);
    rk_free(self.slots);
    writer->is_failed = err;
    return err;
}
