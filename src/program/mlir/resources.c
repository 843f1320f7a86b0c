// Reads resources: blobs outside the attributes. JAX writes none. A resource's handle is its index
// among the dialects' resources.
#include "program/mlir/bytecode.h"

enum { BLOB = 0 };

// A blob: alignment, size, padding up to the alignment in the file, bytes.
static rk_span open_blob(rk_bytecode *file, rk_span value) {
    rk_cursor cursor = rk_cursor_over(value);
    uint64_t alignment = rk_cursor_varint(&cursor), size = rk_cursor_varint(&cursor);
    rk_cursor_skip_padding(&cursor, file->code.data, alignment);
    rk_span bytes = rk_cursor_span(&cursor, size);
    return rk_cursor_done(&cursor) ? bytes : (rk_span){0};
}

// Each resource has a key, a size and a kind. Their values follow each other in the other section.
// `counts`: the resources have handles.
static void open_group(rk_bytecode *file, rk_cursor *offsets, rk_cursor *values, bool counts,
                       uint32_t *capacity) {
    for (uint64_t count = rk_cursor_count(offsets); count && !file->failed; count--) {
        (void)rk_cursor_varint(offsets);
        rk_span value = rk_cursor_span(values, rk_cursor_varint(offsets));
        bool is_blob = rk_cursor_byte(offsets) == BLOB && value.len;
        void *array = file->resources;
        if (!counts)
            continue;
        if (file->resource_count == *capacity) {
            if (!rk_bytecode_grow(file, &array, capacity, sizeof *file->resources))
                return;
            file->resources = array;
        }
        file->resources[file->resource_count++] = is_blob ? open_blob(file, value) : (rk_span){0};
    }
}

static void open_resources(rk_bytecode *file) {
    rk_cursor offsets = rk_cursor_over(file->sections[RK_SECTION_RESOURCE_OFFSET]);
    rk_cursor values = rk_cursor_over(file->sections[RK_SECTION_RESOURCE]);
    uint32_t capacity = 0;
    for (uint64_t count = rk_cursor_count(&offsets); count && !offsets.bad; count--) {
        (void)rk_cursor_varint(&offsets);
        open_group(file, &offsets, &values, false, &capacity);
    }
    while (offsets.at < offsets.end && !offsets.bad && !file->failed) {
        (void)rk_cursor_varint(&offsets);
        open_group(file, &offsets, &values, true, &capacity);
    }
    if (offsets.bad || values.bad)
        rk_bytecode_fail(file, "ResourceOffset", offsets.at, "damaged resources");
}

bool rk_bytecode_resource(rk_bytecode *file, uint64_t handle, rk_span *out_bytes) {
    if (!file->resources_opened && file->has_section[RK_SECTION_RESOURCE]) {
        file->resources_opened = true;
        open_resources(file);
    }
    if (file->failed || handle >= file->resource_count || !file->resources[handle].data)
        return false;
    *out_bytes = file->resources[handle];
    return true;
}
