// Opens bundles and reads their blobs. The digests of random bytes never match, so the target also
// opens copies with corrected digests. It also uses the input as the modules of an index, and as a
// zstd frame, in bundles that are sound otherwise. What opens follows the rules for names, and a
// blob gives the content of its digest or an error.
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "bundle/format_internal.h"
#include "bundle/index_internal.h"
#include "bundle/name_internal.h"

enum { ITEMS_READ_MAX = 64 };

// jansson's memory is not counted: it does not come from base/alloc.h.
static size_t memory_limit(size_t input_bytes) {
    return input_bytes * 64 + RK_BUNDLE_READ_MEMORY_MAX_BYTES + ((size_t)64 << 10);
}

static bool is_expected(rk_err *err) {
    rk_code code = rk_err_code(err);
    FUZZ_REQUIRE(code == RK_OK || code == RK_DATA_LOSS || code == RK_INVALID_ARGUMENT ||
                 code == RK_OUT_OF_RANGE || code == RK_UNIMPLEMENTED);
    rk_err_free(err);
    return code == RK_OK;
}

static void check_attributes(rk_bundle_attributes attributes) {
    rk_bundle_pair pair;
    rk_span before = {0};
    FUZZ_REQUIRE(attributes.count <= RK_BUNDLE_ATTRIBUTES_MAX);
    while (rk_bundle_attribute_next(&attributes, &pair)) {
        FUZZ_REQUIRE(!rk_bundle_attribute_fault(&pair));
        FUZZ_REQUIRE(rk_span_compare(before, pair.name) < 0);
        before = pair.name;
    }
}

// The rules for names, once more, without the code of the reader.
static void check_name(rk_span name) {
    FUZZ_REQUIRE(name.len > 0 && name.len <= 4096 && name.data[0] != '/');
    FUZZ_REQUIRE(name.data[name.len - 1] != '/' && !memchr(name.data, '\\', name.len));
    for (size_t i = 0; i < name.len; i++)
        FUZZ_REQUIRE(name.data[i] >= 0x20 && name.data[i] != 0x7F);
    FUZZ_REQUIRE(!memmem(name.data, name.len, "//", 2) && !memmem(name.data, name.len, "/../", 4));
    FUZZ_REQUIRE(!rk_span_is(name, "..") && !(name.len > 2 && !memcmp(name.data, "../", 3)));
    FUZZ_REQUIRE(name.len < 3 || memcmp(name.data + name.len - 3, "/..", 3) != 0);
}

typedef struct totals {
    uint64_t bytes;
    rk_hasher hasher;
} totals;

static rk_err *add_part(void *context, rk_span part) {
    totals *self = context;
    self->bytes += part.len;
    rk_hasher_add(&self->hasher, part.data, part.len);
    return NULL;
}

static void read_item(const rk_bundle *bundle, const rk_bundle_module *module,
                      const rk_bundle_item *item) {
    totals read = {0};
    rk_digest digest;
    rk_hasher_init(&read.hasher);
    rk_bundle_blob blob = rk_bundle_blob_of(bundle, item);
    bool is_sound = is_expected(rk_bundle_read(bundle, module, item, add_part, &read));
    FUZZ_REQUIRE(read.bytes <= blob.raw_bytes);
    rk_hasher_finish(&read.hasher, &digest);
    if (is_sound)
        FUZZ_REQUIRE(read.bytes == blob.raw_bytes && rk_digest_equal(&digest, &blob.digest));
}

static void check_bundle(const rk_bundle *bundle) {
    size_t count = 0;
    const rk_bundle_module *modules = rk_bundle_modules(bundle, &count);
    for (size_t m = 0; m < count; m++) {
        FUZZ_REQUIRE(rk_bundle_module_name_is_valid(modules[m].name));
        check_attributes(modules[m].attributes);
        for (size_t i = 0; i < modules[m].item_count; i++) {
            const rk_bundle_item *item = &modules[m].items[i];
            check_name(item->name);
            check_attributes(item->attributes);
            for (size_t other = 0; other < i && i < ITEMS_READ_MAX; other++)
                FUZZ_REQUIRE(!rk_bundle_name_contains(item->name, modules[m].items[other].name) &&
                             !rk_bundle_name_contains(modules[m].items[other].name, item->name));
            if (i < ITEMS_READ_MAX)
                read_item(bundle, &modules[m], item);
        }
    }
    (void)rk_bundle_signature_of(bundle);
}

static void open_bytes(rk_span data) {
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("bundle", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    rk_err *err = rk_fd_write_all(fd, data.data, data.len);
    FUZZ_REQUIRE(!err);
    rk_bundle *bundle = NULL;
    fuzz_memory_begin(memory_limit(data.len), FUZZ_FAIL_ABOVE);
    if (is_expected(rk_bundle_open_fd(fd, "input", &bundle)))
        check_bundle(bundle);
    rk_bundle_free(bundle);
    fuzz_memory_end();
}

// Appends a footer for the bytes in `file`, whose index begins at `index_offset`.
static void add_footer(rk_buf *file, size_t index_offset, size_t head_bytes) {
    rk_bundle_footer footer = {
        .index_offset = index_offset,
        .index_bytes = file->len - index_offset,
        .file_bytes = file->len + RK_BUNDLE_FOOTER_BYTES,
    };
    rk_digest_of(rk_span_of(file->data, head_bytes), &footer.head_digest);
    rk_digest_of(rk_span_of(file->data + index_offset, file->len - index_offset),
                 &footer.index_digest);
    uint8_t encoded[RK_BUNDLE_FOOTER_BYTES];
    rk_bundle_footer_write(&footer, encoded);
    rk_buf_add(file, encoded, sizeof encoded);
}

// The input is a bundle; its footer, and the digests in its index, are corrected.
static void open_corrected(rk_span data) {
    if (data.len < RK_BUNDLE_PREFACE_BYTES + RK_BUNDLE_FOOTER_BYTES)
        return;
    RK_AUTO(rk_buf) file = {0};
    size_t body_bytes = data.len - RK_BUNDLE_FOOTER_BYTES;
    uint64_t index_offset = rk_load_u64le(data.data + body_bytes + 16);
    size_t head_bytes = RK_BUNDLE_PREFACE_BYTES + rk_load_u32le(data.data + 12);
    if (index_offset > body_bytes || head_bytes > body_bytes)
        return;
    rk_buf_add(&file, data.data, body_bytes);
    uint8_t *index = file.data + index_offset;
    size_t index_bytes = body_bytes - (size_t)index_offset;
    uint32_t blobs = index_bytes >= 4 ? rk_load_u32le(index) : 0;
    for (uint32_t i = 0; i < blobs && i < ITEMS_READ_MAX; i++) {
        size_t at = RK_BUNDLE_INDEX_HEAD_BYTES + (size_t)i * RK_BUNDLE_ROW_BYTES;
        if (at + RK_BUNDLE_ROW_BYTES > index_bytes)
            break;
        uint8_t *row = index + at;
        uint64_t offset = rk_load_u64le(row), bytes = rk_load_u64le(row + 8);
        rk_digest digest;
        if (offset > index_offset || bytes > index_offset - offset)
            continue;
        rk_digest_of(rk_span_of(file.data + offset, (size_t)bytes), &digest);
        memcpy(row + 64, digest.bytes, RK_DIGEST_BYTES);
        if (rk_load_u32le(row + 24) == RK_BUNDLE_CODEC_STORED)
            memcpy(row + 32, digest.bytes, RK_DIGEST_BYTES);
    }
    add_footer(&file, (size_t)index_offset, head_bytes);
    open_bytes(rk_buf_span(&file));
}

// The input is the modules of an index, or a frame of zstd, in a bundle that is sound otherwise.
static void open_inside(rk_span data, bool is_frame) {
    static const char header[] =
        "{\"media_type\":\"" RK_BUNDLE_MEDIA_TYPE "\",\"made_with\":{},\"annotations\":{}}";
    static const uint8_t item[] = {1, 0,   0, 0, 'a', 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,
                                   0, 'b', 0, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    if (data.len < 16 || data.len > (1 << 20))
        return;
    RK_AUTO(rk_buf) file = {0};
    uint8_t preface_bytes[RK_BUNDLE_PREFACE_BYTES];
    rk_bundle_preface preface = {.header_bytes = sizeof header - 1};
    rk_bundle_preface_write(&preface, preface_bytes);
    rk_buf_add(&file, preface_bytes, sizeof preface_bytes);
    rk_buf_add_text(&file, header);
    size_t head_bytes = file.len;
    uint32_t blobs = is_frame ? 1 : data.data[0] % 4u;
    RK_AUTO(rk_buf) rows = {0};
    for (uint32_t i = 0; i < blobs; i++) {
        while (file.len % RK_BUNDLE_ALIGNMENT_BYTES)
            rk_buf_add_byte(&file, 0);
        rk_span stored = is_frame ? rk_span_of(data.data + 8, data.len - 8) : rk_span_of("x", 1);
        rk_bundle_blob blob = {.offset = file.len,
                               .stored_bytes = stored.len,
                               .raw_bytes = is_frame ? rk_load_u32le(data.data) : 1,
                               .is_compressed = is_frame};
        rk_digest_of(stored, &blob.digest);
        rk_digest_of(stored, &blob.stored_digest);
        rk_bundle_row_write(&blob, &rows);
        rk_buf_add_span(&file, stored);
    }
    while (file.len % RK_BUNDLE_ALIGNMENT_BYTES)
        rk_buf_add_byte(&file, 0);
    size_t index_offset = file.len;
    rk_buf_add_u32le(&file, blobs);
    rk_buf_add_u32le(&file, is_frame ? 1 : data.data[1] % 4u);
    rk_buf_add_u32le(&file, is_frame ? 1 : data.data[2] % 16u);
    rk_buf_add_u32le(&file, 0);
    rk_buf_add_span(&file, rk_buf_span(&rows));
    rk_buf_add_span(&file, is_frame ? rk_span_of(item, sizeof item)
                                    : rk_span_of(data.data + 3, data.len - 3));
    add_footer(&file, index_offset, head_bytes);
    open_bytes(rk_buf_span(&file));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rk_span input = rk_span_of(data, size);
    open_bytes(input);
    open_corrected(input);
    open_inside(input, false);
    open_inside(input, true);
    return 0;
}
