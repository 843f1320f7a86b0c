#include "bundle/writer_index_internal.h"

#include "base/alloc.h"
#include "bundle/head_internal.h"
#include "bundle/name_internal.h"

static rk_err *check_attributes(rk_bundle_pairs attributes) {
    if (attributes.count > RK_BUNDLE_ATTRIBUTES_MAX)
        return rk_error(RK_OUT_OF_RANGE, "%zu attributes, more than the %d allowed",
                        attributes.count, RK_BUNDLE_ATTRIBUTES_MAX);
    for (size_t i = 0; i < attributes.count; i++) {
        const char *fault = rk_bundle_attribute_fault(&attributes.items[i]);
        if (fault)
            return rk_error(RK_INVALID_ARGUMENT, "the attribute \"%s\" %s",
                            rk_bundle_show(attributes.items[i].name).text, fault);
    }
    rk_autofree rk_bundle_pair *sorted = NULL;
    return rk_bundle_pairs_sort(attributes, &sorted);
}

static size_t attributes_bytes(rk_bundle_pairs attributes) {
    size_t bytes = 4;
    for (size_t i = 0; i < attributes.count; i++)
        bytes += 8 + attributes.items[i].name.len + attributes.items[i].value.len;
    return bytes;
}

// Checks that the index can take `extra` more bytes.
static rk_err *check_space(const rk_bundle_new_index *index, size_t extra) {
    if (RK_BUNDLE_INDEX_HEAD_BYTES + index->rows.len + index->modules.len + extra >
        RK_BUNDLE_INDEX_MAX_BYTES)
        return rk_error(RK_OUT_OF_RANGE,
                        "the names and attributes need more than the %d bytes allowed: export "
                        "fewer modules",
                        RK_BUNDLE_INDEX_MAX_BYTES);
    return NULL;
}

rk_err *rk_bundle_new_index_check_module(const rk_bundle_new_index *index, const char *name,
                                         const rk_bundle_pairs *attributes) {
    if (index->module_count == RK_BUNDLE_MODULES_MAX)
        return rk_error(RK_OUT_OF_RANGE, "more than %d modules", RK_BUNDLE_MODULES_MAX);
    if (!rk_bundle_module_name_is_valid(rk_span_text(name)))
        return rk_error(RK_INVALID_ARGUMENT,
                        "the module name \"%s\" is not allowed: a letter, then letters, digits and "
                        "\"_\", all lower case, at most %d",
                        rk_bundle_show(rk_span_text(name)).text, RK_BUNDLE_MODULE_NAME_MAX_BYTES);
    if (attributes)
        RK_TRY(check_attributes(*attributes));
    return check_space(index, 8 + strlen(name) + (attributes ? attributes_bytes(*attributes) : 4));
}

rk_err *rk_bundle_new_index_check_item(const rk_bundle_new_index *index,
                                       const rk_bundle_new_item *item) {
    if (index->module_count == 0)
        return rk_error(RK_FAILED_PRECONDITION, "an item needs a module");
    if (index->item_count == RK_BUNDLE_ITEMS_MAX)
        return rk_error(RK_OUT_OF_RANGE, "more than %d items: export fewer modules",
                        RK_BUNDLE_ITEMS_MAX);
    const char *fault = rk_bundle_name_fault(item->name);
    if (fault)
        return rk_error(RK_INVALID_ARGUMENT, "the item name \"%s\" %s",
                        rk_bundle_show(item->name).text, fault);
    RK_TRY(check_attributes(item->attributes));
    return check_space(index, RK_BUNDLE_ROW_BYTES + 12 + item->name.len +
                                  attributes_bytes(item->attributes));
}

static void add_text(rk_buf *out, rk_span text) {
    rk_buf_add_u32le(out, (uint32_t)text.len);
    rk_buf_add_span(out, text);
}

static rk_err *add_attributes(rk_buf *out, rk_bundle_pairs attributes) {
    rk_autofree rk_bundle_pair *sorted = NULL;
    RK_TRY(rk_bundle_pairs_sort(attributes, &sorted));
    rk_buf_add_u32le(out, (uint32_t)attributes.count);
    for (size_t i = 0; i < attributes.count; i++) {
        add_text(out, sorted[i].name);
        add_text(out, sorted[i].value);
    }
    return rk_buf_status(out);
}

// Writes the item count of the last module into its place.
static void end_module(rk_bundle_new_index *index) {
    if (index->module_count)
        for (unsigned i = 0; i < 4; i++)
            index->modules.data[index->at_module_count + i] =
                (uint8_t)(index->module_item_count >> (8 * i));
    index->module_item_count = 0;
}

rk_err *rk_bundle_new_index_add_module(rk_bundle_new_index *index, const char *name,
                                       const rk_bundle_pairs *attributes) {
    end_module(index);
    add_text(&index->modules, rk_span_text(name));
    RK_TRY(add_attributes(&index->modules, attributes ? *attributes : (rk_bundle_pairs){0}));
    index->at_module_count = index->modules.len;
    rk_buf_add_u32le(&index->modules, 0);
    RK_TRY(rk_buf_status(&index->modules));
    index->module_count++;
    return NULL;
}

rk_err *rk_bundle_new_index_add_item(rk_bundle_new_index *index, const rk_bundle_new_item *item,
                                     uint32_t blob) {
    add_text(&index->modules, item->name);
    rk_buf_add_u32le(&index->modules, blob);
    rk_buf_add_u32le(&index->modules, item->is_executable ? RK_BUNDLE_MODE_EXECUTABLE : 0);
    RK_TRY(add_attributes(&index->modules, item->attributes));
    index->item_count++;
    index->module_item_count++;
    return NULL;
}

rk_err *rk_bundle_new_index_encode(rk_bundle_new_index *index, rk_buf *out) {
    end_module(index);
    rk_buf_reserve(out, RK_BUNDLE_INDEX_HEAD_BYTES + index->rows.len + index->modules.len);
    rk_buf_add_u32le(out, index->blob_count);
    rk_buf_add_u32le(out, index->module_count);
    rk_buf_add_u32le(out, index->item_count);
    rk_buf_add_u32le(out, 0);
    if (index->blob_count)
        rk_buf_add(out, index->rows.data + RK_BUNDLE_INDEX_HEAD_BYTES,
                   index->rows.len - RK_BUNDLE_INDEX_HEAD_BYTES);
    rk_buf_add_span(out, rk_buf_span(&index->modules));
    return rk_buf_status(out);
}
