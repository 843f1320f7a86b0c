#include "pack/pack.h"

#include <stdlib.h>

#include "base/alloc.h"

static const char magic[] = "rktpack1";
enum {
    MAGIC_BYTES = sizeof magic - 1,
    HEAD_BYTES = MAGIC_BYTES + 8,
    ROW_BYTES = 8 + 3 * 8 + RK_DIGEST_BYTES, // without the name
    EXECUTABLE = 1,
};

static int by_name(const void *a, const void *b) {
    return rk_span_compare(((const rk_pack_item *)a)->name, ((const rk_pack_item *)b)->name);
}

// Where the content of an item lies.
typedef struct place {
    const rk_pack_item *item;
    size_t index;
    uint64_t offset;
} place;

static int by_content(const void *a, const void *b) {
    const place *left = a, *right = b;
    int order = memcmp(left->item->digest.bytes, right->item->digest.bytes, RK_DIGEST_BYTES);
    if (order)
        return order;
    return left->index < right->index ? -1 : left->index > right->index;
}

static int by_index(const void *a, const void *b) {
    const place *left = a, *right = b;
    return left->index < right->index ? -1 : left->index > right->index;
}

// Gives equal contents the same offset. Returns the places by index.
static place *arrange(const rk_pack_item *items, size_t count) {
    place *places = rk_calloc(count + 1, sizeof *places);
    uint64_t bytes = 0;
    for (size_t i = 0; places && i < count; i++)
        places[i] = (place){&items[i], i, 0};
    if (!places || count == 0)
        return places;
    qsort(places, count, sizeof *places, by_content);
    for (size_t i = 0; i < count; i++) {
        bool same = i && rk_digest_equal(&places[i].item->digest, &places[i - 1].item->digest);
        places[i].offset = same ? places[i - 1].offset : bytes;
        bytes += same ? 0 : places[i].item->content.len;
    }
    qsort(places, count, sizeof *places, by_index);
    return places;
}

static void add_row(const place *one, rk_buf *out) {
    const rk_pack_item *item = one->item;
    rk_buf_add_u32le(out, (uint32_t)item->name.len);
    rk_buf_add_u32le(out, item->is_executable ? EXECUTABLE : 0);
    rk_buf_add_u64le(out, item->modified_ns);
    rk_buf_add_u64le(out, one->offset);
    rk_buf_add_u64le(out, item->content.len);
    rk_buf_add_span(out, rk_digest_span(&item->digest));
    rk_buf_add_span(out, item->name);
}

// Contents follow in the order of their offsets, each once.
static rk_err *add_contents(place *places, size_t count, rk_buf *out) {
    uint64_t done = 0;
    if (count)
        qsort(places, count, sizeof *places, by_content);
    for (size_t i = 0; i < count; i++) {
        if (places[i].offset != done || places[i].item->content.len == 0)
            continue;
        rk_buf_add_span(out, places[i].item->content);
        done += places[i].item->content.len;
    }
    return NULL;
}

rk_err *rk_pack_encode(rk_pack_item *items, size_t count, rk_buf *out_data) {
    uint64_t bytes = 0;
    if (count > RK_PACK_ITEMS_MAX)
        return rk_error(RK_OUT_OF_RANGE, "%zu files are too many for a pack", count);
    for (size_t i = 0; i < count; i++)
        bytes += items[i].content.len;
    if (bytes > RK_PACK_MAX_BYTES)
        return rk_error(RK_OUT_OF_RANGE, "%llu bytes are too many for a pack",
                        (unsigned long long)bytes);
    if (count)
        qsort(items, count, sizeof *items, by_name);
    rk_autofree place *places = arrange(items, count);
    if (!places)
        return rk_err_no_memory();
    rk_buf_add(out_data, magic, MAGIC_BYTES);
    rk_buf_add_u32le(out_data, (uint32_t)count);
    rk_buf_add_u32le(out_data, 0);
    for (size_t i = 0; i < count; i++)
        add_row(&places[i], out_data);
    RK_TRY(add_contents(places, count, out_data));
    return rk_buf_status(out_data);
}

static rk_err *bad(const char *why) {
    return rk_error(RK_DATA_LOSS, "a pack is not valid: %s", why);
}

// Takes one row off the front. `content` is an offset and a length so far.
static rk_err *take_row(rk_span *data, rk_pack_item *out_item, uint64_t *out_offset,
                        uint64_t *out_len) {
    const uint8_t *row = data->data;
    if (data->len < ROW_BYTES)
        return bad("its table is cut off");
    uint32_t name_len = rk_load_u32le(row), flags = rk_load_u32le(row + 4);
    out_item->is_executable = flags & EXECUTABLE;
    out_item->modified_ns = rk_load_u64le(row + 8);
    *out_offset = rk_load_u64le(row + 16);
    *out_len = rk_load_u64le(row + 24);
    memcpy(out_item->digest.bytes, row + 32, RK_DIGEST_BYTES);
    *data = rk_span_of(row + ROW_BYTES, data->len - ROW_BYTES);
    if (flags & ~(uint32_t)EXECUTABLE)
        return bad("a file has unknown flags");
    if (name_len > data->len)
        return bad("its table is cut off");
    out_item->name = rk_span_of(data->data, name_len);
    *data = rk_span_of(data->data + name_len, data->len - name_len);
    return rk_pack_name_is_valid(out_item->name) ? NULL
                                                 : bad("a file has a name that is not allowed");
}

// Finds the contents behind the table. `ends` are offsets and lengths, two for each item.
static rk_err *find_contents(rk_span contents, const uint64_t *ends, rk_pack_item *items,
                             size_t count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = ends[2 * i], len = ends[2 * i + 1];
        if (offset > contents.len || len > contents.len - offset)
            return bad("the content of a file is cut off");
        bytes += len;
        if (bytes > RK_PACK_MAX_BYTES)
            return bad("its files are larger than a pack may be");
        items[i].content = rk_span_of(contents.data + offset, (size_t)len);
        if (i && rk_span_compare(items[i - 1].name, items[i].name) >= 0)
            return bad("its files are not in order, or two have the same name");
    }
    return NULL;
}

rk_err *rk_pack_decode(rk_span data, rk_pack_item **out_items, size_t *out_count) {
    *out_items = NULL;
    *out_count = 0;
    if (data.len < HEAD_BYTES || memcmp(data.data, magic, MAGIC_BYTES) != 0)
        return bad("it does not begin as a pack of this version does");
    size_t count = rk_load_u32le(data.data + MAGIC_BYTES);
    rk_span rest = rk_span_of(data.data + HEAD_BYTES, data.len - HEAD_BYTES);
    if (rk_load_u32le(data.data + MAGIC_BYTES + 4) != 0)
        return bad("it has unknown flags");
    if (count > RK_PACK_ITEMS_MAX || count > rest.len / ROW_BYTES)
        return bad("it names more files than it has");
    rk_autofree rk_pack_item *items = rk_calloc(count + 1, sizeof *items);
    rk_autofree uint64_t *ends = rk_calloc(2 * count + 1, sizeof *ends);
    if (!items || !ends)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++)
        RK_TRY(take_row(&rest, &items[i], &ends[2 * i], &ends[2 * i + 1]));
    RK_TRY(find_contents(rest, ends, items, count));
    *out_items = RK_TAKE(items);
    *out_count = count;
    return NULL;
}

rk_err *rk_pack_check(rk_pack_family family, rk_pack_module module, const rk_pack_item *items,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        char name[RK_PACK_NAME_MAX_BYTES + 1];
        rk_pack_item_name(&items[i], name);
        if (!rk_pack_module_has(family, module, name))
            return bad("a file is not of the pack's module");
    }
    return NULL;
}

void rk_pack_item_name(const rk_pack_item *item, char out_name[RK_PACK_NAME_MAX_BYTES + 1]) {
    memcpy(out_name, item->name.data, item->name.len);
    out_name[item->name.len] = '\0';
}

void rk_pack_digest(const rk_pack_item *items, size_t count, rk_digest *out_digest) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_u64(&hasher, count);
    for (size_t i = 0; i < count; i++) {
        rk_hasher_add_field(&hasher, items[i].name);
        rk_hasher_add_u64(&hasher, items[i].is_executable);
        rk_hasher_add_field(&hasher, rk_digest_span(&items[i].digest));
    }
    rk_hasher_finish(&hasher, out_digest);
}
