#include "store/entry_head_internal.h"
#include "store/entry_zstd_internal.h"

// A shorter section does not become smaller with zstd.
enum { SMALLEST_WORTH_COMPRESSING = 32 };

static rk_err *check(const rk_entry *entry, const rk_span raw[RK_SECTION_COUNT],
                     size_t *out_most_bytes) {
    if (entry->kind != RK_ENTRY_EXECUTABLE && entry->kind != RK_ENTRY_PROGRAM)
        return rk_error(RK_INVALID_ARGUMENT, "an entry of kind %d cannot be encoded",
                        (int)entry->kind);
    if (entry->flags & ~(uint32_t)RK_ENTRY_FLAG_AOT)
        return rk_error(RK_INVALID_ARGUMENT, "an entry with flags 0x%x cannot be encoded",
                        (unsigned)entry->flags);
    size_t most_bytes = RK_ENTRY_HEADER_BYTES + RK_DIGEST_BYTES;
    for (size_t i = 0; i < RK_SECTION_COUNT; i++)
        if (__builtin_add_overflow(most_bytes, raw[i].len, &most_bytes) ||
            most_bytes > RK_ENTRY_MAX_BYTES)
            return rk_error(RK_OUT_OF_RANGE, "an entry may not be larger than %zu bytes",
                            RK_ENTRY_MAX_BYTES);
    *out_most_bytes = most_bytes;
    return NULL;
}

// Appends a section to `out`, whose capacity suffices for the uncompressed section. Compresses
// directly into `out`, so that nothing is copied twice. If the result is not smaller than the
// section, appends the section uncompressed.
static rk_err *add_section(rk_span raw, bool compress, rk_buf *out, rk_section *out_section) {
    *out_section = (rk_section){.stored_bytes = raw.len, .raw_bytes = raw.len};
    if (compress && raw.len >= SMALLEST_WORTH_COMPRESSING) {
        size_t packed_bytes = 0;
        RK_TRY(rk_zstd_pack(raw, out->data + out->len, raw.len - 1, &packed_bytes));
        if (packed_bytes) {
            out->len += packed_bytes;
            out_section->stored_bytes = packed_bytes;
            out_section->compression = RK_COMPRESSION_ZSTD;
            return NULL;
        }
    }
    rk_buf_add_span(out, raw);
    return rk_buf_status(out);
}

static rk_err *encode(const rk_entry *entry, const rk_span raw[RK_SECTION_COUNT], rk_buf *out) {
    size_t start = out->len;
    rk_entry_head head = {
        .version = RK_ENTRY_VERSION,
        .header_bytes = RK_ENTRY_HEADER_BYTES,
        .kind = (uint32_t)entry->kind,
        .flags = entry->flags,
        .created_ns = entry->created_ns,
        .compile_ns = entry->compile_ns,
        .key = entry->key,
    };
    uint8_t head_bytes[RK_ENTRY_HEADER_BYTES] = {0};
    rk_buf_add(out, head_bytes, sizeof head_bytes); // a placeholder: the sizes are not known yet
    for (size_t i = 0; i < RK_SECTION_COUNT; i++) {
        // Metadata is not compressed, so that any text tool can show it.
        bool compress = i != RK_SECTION_METADATA;
        RK_TRY(add_section(raw[i], compress, out, &head.sections[i]));
    }
    rk_entry_head_write(&head, head_bytes);
    memcpy(out->data + start, head_bytes, sizeof head_bytes);
    rk_digest digest;
    rk_entry_digest(out->data + start, out->len - start, &digest);
    rk_buf_add(out, digest.bytes, sizeof digest.bytes);
    return rk_buf_status(out);
}

rk_err *rk_entry_encode(const rk_entry *entry, rk_buf *out_data) {
    const rk_span raw[RK_SECTION_COUNT] = {
        [RK_SECTION_COMPONENTS] = entry->components,
        [RK_SECTION_METADATA] = entry->metadata,
        [RK_SECTION_PAYLOAD] = entry->payload,
        [RK_SECTION_OPTIONS] = entry->options,
    };
    size_t most_bytes = 0;
    RK_TRY(check(entry, raw, &most_bytes));
    rk_buf_reserve(out_data,
                   most_bytes + RK_ENTRY_SIGNATURE_BYTES); // signing then moves nothing
    RK_TRY(rk_buf_status(out_data));
    size_t start = out_data->len;
    rk_err *err = encode(entry, raw, out_data);
    if (err)
        out_data->len = start; // removes the incomplete entry
    out_data->data[out_data->len] = 0;
    return err;
}
