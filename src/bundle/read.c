#include "base/fd.h"
#include "bundle/blob_internal.h"
#include "bundle/bundle_internal.h"
#include "bundle/name_internal.h"

const rk_bundle_head *rk_bundle_head_of(const rk_bundle *bundle) {
    return &bundle->head.head;
}

const rk_bundle_module *rk_bundle_modules(const rk_bundle *bundle, size_t *out_count) {
    *out_count = bundle->index.module_count;
    return bundle->index.modules;
}

const rk_bundle_module *rk_bundle_module_find(const rk_bundle *bundle, const char *name) {
    for (size_t i = 0; i < bundle->index.module_count; i++)
        if (rk_span_is(bundle->index.modules[i].name, name))
            return &bundle->index.modules[i];
    return NULL;
}

uint64_t rk_bundle_file_bytes(const rk_bundle *bundle) {
    return bundle->footer.file_bytes;
}

size_t rk_bundle_blob_count(const rk_bundle *bundle) {
    return bundle->index.blob_count;
}

rk_bundle_blob rk_bundle_blob_of(const rk_bundle *bundle, const rk_bundle_item *item) {
    return rk_bundle_index_blob(&bundle->index, item->blob);
}

static rk_span take_text(const uint8_t **next) {
    rk_span text = rk_span_of(*next + 4, rk_load_u32le(*next));
    *next = text.data + text.len;
    return text;
}

bool rk_bundle_attribute_next(rk_bundle_attributes *attributes, rk_bundle_pair *out_pair) {
    if (attributes->count == 0)
        return false;
    // The index was checked when the bundle was opened.
    out_pair->name = take_text(&attributes->encoded);
    out_pair->value = take_text(&attributes->encoded);
    attributes->count--;
    return true;
}

bool rk_bundle_attribute_find(rk_bundle_attributes attributes, const char *name,
                              rk_span *out_value) {
    rk_bundle_pair pair;
    while (rk_bundle_attribute_next(&attributes, &pair)) {
        if (rk_span_is(pair.name, name)) {
            *out_value = pair.value;
            return true;
        }
    }
    return false;
}

rk_err *rk_bundle_read_watched(const rk_bundle *bundle, const rk_bundle_module *module,
                               const rk_bundle_item *item, const rk_bundle_watcher *watcher,
                               rk_bundle_sink_fn sink, void *context) {
    RK_AUTO(rk_buf) where = {0};
    rk_buf_add_format(&where, "%s: module %s, item %s", bundle->shown,
                      rk_bundle_show(module->name).text, rk_bundle_show(item->name).text);
    RK_TRY(rk_buf_status(&where));
    rk_bundle_blob blob = rk_bundle_blob_of(bundle, item);
    return rk_bundle_blob_read(bundle->fd, &blob, rk_buf_text(&where), watcher, sink, context);
}

rk_err *rk_bundle_read(const rk_bundle *bundle, const rk_bundle_module *module,
                       const rk_bundle_item *item, rk_bundle_sink_fn sink, void *context) {
    return rk_bundle_read_watched(bundle, module, item, NULL, sink, context);
}

rk_err *rk_bundle_peek(const rk_bundle *bundle, const rk_bundle_item *item, uint64_t offset,
                       size_t len, rk_buf *out_data) {
    rk_bundle_blob blob = rk_bundle_blob_of(bundle, item);
    uint64_t left = offset < blob.stored_bytes ? blob.stored_bytes - offset : 0;
    len = len < left ? len : (size_t)left;
    rk_buf_reserve(out_data, len);
    RK_TRY(rk_buf_status(out_data));
    RK_TRY(rk_bundle_pread(bundle->fd, bundle->shown, out_data->data + out_data->len, len,
                           blob.offset + offset));
    out_data->len += len;
    return NULL;
}

static rk_err *write_part(void *context, rk_span part) {
    const int *fd = context;
    return rk_fd_write_all(*fd, part.data, part.len);
}

rk_err *rk_bundle_read_to_fd(const rk_bundle *bundle, const rk_bundle_module *module,
                             const rk_bundle_item *item, int fd) {
    return rk_bundle_read(bundle, module, item, write_part, &fd);
}

static rk_err *append_part(void *context, rk_span part) {
    rk_buf_add_span(context, part);
    return rk_buf_status(context);
}

rk_err *rk_bundle_read_whole(const rk_bundle *bundle, const rk_bundle_module *module,
                             const rk_bundle_item *item, size_t max_bytes, rk_buf *out_data) {
    // A compressed blob may declare much more than it has: memory then grows with what comes.
    enum { TRUSTED_BYTES = 16 << 20 };
    rk_bundle_blob blob = rk_bundle_blob_of(bundle, item);
    if (blob.raw_bytes > max_bytes)
        return rk_error(
            RK_OUT_OF_RANGE, "%s: module %s, item %s has %llu bytes, more than the %zu allowed",
            bundle->shown, rk_bundle_show(module->name).text, rk_bundle_show(item->name).text,
            (unsigned long long)blob.raw_bytes, max_bytes);
    if (!blob.is_compressed || blob.raw_bytes <= TRUSTED_BYTES)
        rk_buf_reserve(out_data, (size_t)blob.raw_bytes);
    RK_TRY(rk_buf_status(out_data));
    size_t start = out_data->len;
    rk_err *err = rk_bundle_read(bundle, module, item, append_part, out_data);
    if (err) {
        out_data->len = start;
        if (out_data->data)
            out_data->data[start] = 0;
    }
    return err;
}

static rk_err *drop_part(void *context, rk_span part) {
    (void)context;
    (void)part;
    return NULL;
}

rk_err *rk_bundle_check(const rk_bundle *bundle, rk_bundle_progress_fn progress, void *context) {
    const rk_bundle_index *index = &bundle->index;
    uint32_t next = 0; // blobs are numbered by their first use
    uint64_t done_bytes = 0;
    for (size_t m = 0; m < index->module_count; m++) {
        const rk_bundle_module *module = &index->modules[m];
        for (size_t i = 0; i < module->item_count; i++) {
            const rk_bundle_item *item = &module->items[i];
            if (item->blob != next)
                continue;
            RK_TRY(rk_bundle_read(bundle, module, item, drop_part, NULL));
            next++;
            done_bytes += rk_bundle_blob_of(bundle, item).raw_bytes;
            if (progress)
                RK_TRY(progress(context, done_bytes, index->raw_bytes));
        }
    }
    return NULL;
}
