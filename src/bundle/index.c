#include "bundle/index_internal.h"

#include "base/alloc.h"
#include "bundle/name_internal.h"

enum {
    // Offsets in the row of a blob.
    AT_OFFSET = 0,
    AT_STORED_BYTES = 8,
    AT_RAW_BYTES = 16,
    AT_CODEC = 24,
    AT_RESERVED = 28,
    AT_DIGEST = 32,
    AT_STORED_DIGEST = 64,
    // The least bytes of each part.
    LEAST_MODULE_BYTES = 4 + 1 + 4 + 4,
    LEAST_ITEM_BYTES = 4 + 1 + 4 + 4 + 4,
};

void rk_bundle_index_cleanup(rk_bundle_index *index) {
    rk_free(index->modules);
    rk_free(index->items);
    *index = (rk_bundle_index){0};
}

void rk_bundle_row_write(const rk_bundle_blob *blob, rk_buf *out) {
    rk_buf_add_u64le(out, blob->offset);
    rk_buf_add_u64le(out, blob->stored_bytes);
    rk_buf_add_u64le(out, blob->raw_bytes);
    rk_buf_add_u32le(out, blob->is_compressed ? RK_BUNDLE_CODEC_ZSTD : RK_BUNDLE_CODEC_STORED);
    rk_buf_add_u32le(out, 0);
    rk_buf_add_span(out, rk_digest_span(&blob->digest));
    rk_buf_add_span(out, rk_digest_span(&blob->stored_digest));
}

rk_bundle_blob rk_bundle_index_blob(const rk_bundle_index *index, uint32_t number) {
    const uint8_t *row =
        index->data.data + RK_BUNDLE_INDEX_HEAD_BYTES + (size_t)number * RK_BUNDLE_ROW_BYTES;
    rk_bundle_blob blob = {
        .offset = rk_load_u64le(row + AT_OFFSET),
        .stored_bytes = rk_load_u64le(row + AT_STORED_BYTES),
        .raw_bytes = rk_load_u64le(row + AT_RAW_BYTES),
        .is_compressed = rk_load_u32le(row + AT_CODEC) != RK_BUNDLE_CODEC_STORED,
    };
    memcpy(blob.digest.bytes, row + AT_DIGEST, RK_DIGEST_BYTES);
    memcpy(blob.stored_digest.bytes, row + AT_STORED_DIGEST, RK_DIGEST_BYTES);
    return blob;
}

// The state of the parser.
typedef struct parser {
    const char *shown;
    rk_span rest;  // not parsed yet
    bool is_cut;   // a field was longer than the rest
    uint32_t used; // the items so far use the blobs below this number
    rk_bundle_index *index;
} parser;

static rk_err *fail(const parser *self, const char *what) {
    return rk_error(RK_INVALID_ARGUMENT, "%s: the index %s: do not use this bundle", self->shown,
                    what);
}

static rk_span take(parser *self, size_t len) {
    if (len > self->rest.len) {
        self->is_cut = true;
        len = self->rest.len;
    }
    rk_span taken = rk_span_of(self->rest.data, len);
    self->rest = rk_span_of(self->rest.data + len, self->rest.len - len);
    return taken;
}

static uint32_t take_u32(parser *self) {
    rk_span taken = take(self, 4);
    return self->is_cut ? 0 : rk_load_u32le(taken.data);
}

static rk_span take_text(parser *self) {
    return take(self, take_u32(self));
}

static rk_err *check_blob(const parser *self, uint32_t number, uint64_t expected_offset,
                          uint64_t blobs_end) {
    const uint8_t *row =
        self->index->data.data + RK_BUNDLE_INDEX_HEAD_BYTES + (size_t)number * RK_BUNDLE_ROW_BYTES;
    rk_bundle_blob blob = rk_bundle_index_blob(self->index, number);
    if (rk_load_u32le(row + AT_CODEC) > RK_BUNDLE_CODEC_ZSTD || rk_load_u32le(row + AT_RESERVED))
        return fail(self, "has a blob with an unknown codec");
    if (blob.offset != expected_offset)
        return fail(self, "has blobs that overlap, or holes between them");
    if (blob.stored_bytes > blobs_end - blob.offset)
        return fail(self, "has a blob outside the file");
    if (blob.raw_bytes > RK_BUNDLE_BLOB_MAX_BYTES)
        return rk_error(RK_OUT_OF_RANGE,
                        "%s: the index has a blob of %llu bytes, more than the %llu allowed: do "
                        "not use this bundle",
                        self->shown, (unsigned long long)blob.raw_bytes,
                        (unsigned long long)RK_BUNDLE_BLOB_MAX_BYTES);
    if (!blob.is_compressed)
        return blob.raw_bytes == blob.stored_bytes &&
                       rk_digest_equal(&blob.digest, &blob.stored_digest)
                   ? NULL
                   : fail(self, "has a stored blob with two sizes or digests");
    if (blob.stored_bytes == 0 || blob.raw_bytes == 0 ||
        blob.raw_bytes / RK_BUNDLE_EXPANSION_MAX > blob.stored_bytes)
        return fail(self, "has a compressed blob with an impossible size");
    return NULL;
}

static rk_err *check_blobs(parser *self, uint64_t blobs_begin, uint64_t blobs_end) {
    uint64_t offset = blobs_begin;
    for (uint32_t i = 0; i < self->index->blob_count; i++) {
        RK_TRY(check_blob(self, i, offset, blobs_end));
        rk_bundle_blob blob = rk_bundle_index_blob(self->index, i);
        offset = rk_bundle_align(blob.offset + blob.stored_bytes);
        self->index->raw_bytes += blob.raw_bytes;
    }
    return offset == blobs_end ? NULL : fail(self, "does not cover all bytes of the file");
}

// Parses and checks the attributes of an item or a module.
static rk_err *take_attributes(parser *self, rk_bundle_attributes *out_attributes) {
    uint32_t count = take_u32(self);
    if (self->is_cut)
        return fail(self, "ends before the attributes");
    if (count > RK_BUNDLE_ATTRIBUTES_MAX)
        return rk_error(RK_OUT_OF_RANGE,
                        "%s: the index has an item with %u attributes, more than the %d allowed: "
                        "do not use this bundle",
                        self->shown, (unsigned)count, RK_BUNDLE_ATTRIBUTES_MAX);
    *out_attributes = (rk_bundle_attributes){self->rest.data, count};
    rk_span before = {0};
    for (uint32_t i = 0; i < count; i++) {
        rk_bundle_pair pair;
        pair.name = take_text(self);
        pair.value = take_text(self);
        if (self->is_cut)
            return fail(self, "ends inside an attribute");
        const char *fault = rk_bundle_attribute_fault(&pair);
        if (!fault && i > 0 && rk_span_compare(before, pair.name) >= 0)
            fault = "occurs twice, or is not in order";
        if (fault)
            return rk_error(RK_INVALID_ARGUMENT,
                            "%s: the attribute \"%s\" in the index %s: do not use this bundle",
                            self->shown, rk_bundle_show(pair.name).text, fault);
        before = pair.name;
    }
    return NULL;
}

static rk_err *take_item(parser *self, rk_bundle_module *module, rk_bundle_item *out_item) {
    out_item->name = take_text(self);
    out_item->blob = take_u32(self);
    uint32_t mode = take_u32(self);
    if (self->is_cut)
        return fail(self, "ends inside an item");
    const char *fault = rk_bundle_name_fault(out_item->name);
    if (fault)
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s: module %s: the item name \"%s\" %s: do not use this bundle",
                        self->shown, rk_bundle_show(module->name).text,
                        rk_bundle_show(out_item->name).text, fault);
    // Blobs are numbered by their first use, so no blob can be without an item.
    if (out_item->blob > self->used || out_item->blob >= self->index->blob_count)
        return fail(self, "has an item without its blob, or blobs in another order");
    if (out_item->blob == self->used)
        self->used++;
    if (mode & ~(uint32_t)RK_BUNDLE_MODE_EXECUTABLE)
        return fail(self, "has an item with an unknown mode");
    out_item->is_executable = mode & RK_BUNDLE_MODE_EXECUTABLE;
    module->raw_bytes += rk_bundle_index_blob(self->index, out_item->blob).raw_bytes;
    return take_attributes(self, &out_item->attributes);
}

static rk_err *check_module_name(const parser *self, size_t number) {
    const rk_bundle_module *module = &self->index->modules[number];
    if (!rk_bundle_module_name_is_valid(module->name))
        return fail(self, "has a module with a name that is not allowed");
    for (size_t i = 0; i < number; i++)
        if (rk_span_equal(self->index->modules[i].name, module->name))
            return fail(self, "has two modules of one name");
    return NULL;
}

// Parses a module, whose items begin at `first_item`.
static rk_err *take_module(parser *self, size_t number, size_t first_item) {
    rk_bundle_index *index = self->index;
    rk_bundle_module *module = &index->modules[number];
    module->name = take_text(self);
    RK_TRY(check_module_name(self, number));
    RK_TRY(take_attributes(self, &module->attributes));
    size_t count = take_u32(self);
    if (self->is_cut || count > index->item_count - first_item)
        return fail(self, "has another number of items than it says");
    module->item_count = count;
    module->items = index->items + first_item;
    for (size_t i = 0; i < count; i++)
        RK_TRY(take_item(self, module, &index->items[first_item + i]));
    return rk_bundle_check_conflicts(module, self->shown);
}

// Checks the counts against the limits and the length of the index, then allocates.
static rk_err *begin(parser *self, uint32_t modules, uint32_t items) {
    rk_bundle_index *index = self->index;
    if (index->blob_count > RK_BUNDLE_ITEMS_MAX || items > RK_BUNDLE_ITEMS_MAX ||
        modules > RK_BUNDLE_MODULES_MAX)
        return rk_error(RK_OUT_OF_RANGE,
                        "%s: the index has %u items in %u modules, more than the %d in %d allowed: "
                        "do not use this bundle",
                        self->shown, (unsigned)items, (unsigned)modules, RK_BUNDLE_ITEMS_MAX,
                        RK_BUNDLE_MODULES_MAX);
    (void)take(self, (size_t)index->blob_count * RK_BUNDLE_ROW_BYTES);
    size_t least = (size_t)modules * LEAST_MODULE_BYTES + (size_t)items * LEAST_ITEM_BYTES;
    if (self->is_cut || least > self->rest.len)
        return fail(self, "is shorter than its counts say");
    index->modules = rk_calloc(modules ? modules : 1, sizeof *index->modules);
    index->items = rk_calloc(items ? items : 1, sizeof *index->items);
    if (!index->modules || !index->items)
        return rk_err_no_memory();
    index->module_count = modules;
    index->item_count = items;
    return NULL;
}

rk_err *rk_bundle_index_parse(rk_span data, const char *shown, uint64_t blobs_begin,
                              uint64_t blobs_end, rk_bundle_index *out_index) {
    *out_index = (rk_bundle_index){.data = data};
    parser self = {.shown = shown, .rest = data, .index = out_index};
    out_index->blob_count = take_u32(&self);
    uint32_t modules = take_u32(&self), items = take_u32(&self), reserved = take_u32(&self);
    if (self.is_cut || reserved)
        return fail(&self, "has a damaged beginning");
    RK_TRY(begin(&self, modules, items));
    RK_TRY(check_blobs(&self, blobs_begin, blobs_end));
    size_t done_items = 0;
    for (size_t i = 0; i < modules; i++) {
        RK_TRY(take_module(&self, i, done_items));
        done_items += out_index->modules[i].item_count;
    }
    if (done_items != items || self.rest.len || self.used != out_index->blob_count)
        return fail(&self, "has items, blobs or bytes beyond its modules");
    return NULL;
}
