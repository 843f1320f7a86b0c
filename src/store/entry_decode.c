#include "store/entry_decode_internal.h"
#include "store/entry_signature_internal.h"
#include "store/entry_zstd_internal.h"

const char *rk_entry_fault_text(rk_entry_fault fault) {
    switch (fault) {
    case RK_ENTRY_OK:
        return "sound";
    case RK_ENTRY_TRUNCATED:
        return "truncated";
    case RK_ENTRY_NOT_AN_ENTRY:
        return "not an entry";
    case RK_ENTRY_UNKNOWN_VERSION:
        return "of another format version";
    case RK_ENTRY_DAMAGED:
        return "damaged";
    case RK_ENTRY_OTHER_KEY:
        return "filed under another key";
    }
    return "unknown";
}

void rk_entry_view_cleanup(rk_entry_view *view) {
    rk_buf_cleanup(&view->components);
    rk_buf_cleanup(&view->payload);
    rk_buf_cleanup(&view->options);
    *view = (rk_entry_view){0};
}

rk_entry_fault rk_entry_check_prefix(rk_span data) {
    size_t magic_bytes = data.len < RK_ENTRY_MAGIC_BYTES ? data.len : RK_ENTRY_MAGIC_BYTES;
    if (magic_bytes && memcmp(data.data, rk_entry_magic, magic_bytes) != 0)
        return RK_ENTRY_NOT_AN_ENTRY;
    if (data.len < RK_ENTRY_PREFIX_BYTES)
        return RK_ENTRY_TRUNCATED;
    if (rk_load_u32le(data.data + RK_ENTRY_MAGIC_BYTES) != RK_ENTRY_VERSION)
        return RK_ENTRY_UNKNOWN_VERSION;
    return data.len < RK_ENTRY_HEADER_BYTES ? RK_ENTRY_TRUNCATED : RK_ENTRY_OK;
}

rk_entry_fault rk_entry_check_extent(const rk_entry_head *head, size_t file_bytes,
                                     size_t *out_content_bytes) {
    if (head->header_bytes != RK_ENTRY_HEADER_BYTES || file_bytes > RK_ENTRY_MAX_BYTES)
        return RK_ENTRY_DAMAGED;
    uint64_t content_bytes = RK_ENTRY_HEADER_BYTES;
    for (size_t i = 0; i < RK_SECTION_COUNT; i++)
        if (__builtin_add_overflow(content_bytes, head->sections[i].stored_bytes, &content_bytes) ||
            content_bytes > RK_ENTRY_MAX_BYTES - RK_DIGEST_BYTES)
            return RK_ENTRY_DAMAGED;
    uint64_t whole_bytes = content_bytes + RK_DIGEST_BYTES;
    if (__builtin_add_overflow(whole_bytes, head->signature_bytes, &whole_bytes))
        return RK_ENTRY_DAMAGED;
    if (whole_bytes > file_bytes)
        return RK_ENTRY_TRUNCATED;
    if (whole_bytes < file_bytes)
        return RK_ENTRY_DAMAGED;
    *out_content_bytes = (size_t)content_bytes;
    return RK_ENTRY_OK;
}

// The highest ratio of any zstd frame: a block decompresses to at most 128 KiB and takes at least 4
// bytes. The limit keeps a small entry from causing a large allocation.
enum { MAX_EXPANSION = (128 << 10) / 4 };

static bool section_is_sound(const rk_section *section, bool may_be_compressed) {
    if (section->compression == RK_COMPRESSION_NONE)
        return section->raw_bytes == section->stored_bytes;
    return may_be_compressed && section->compression == RK_COMPRESSION_ZSTD && section->raw_bytes &&
           section->raw_bytes <= RK_ENTRY_MAX_BYTES &&
           section->raw_bytes / MAX_EXPANSION <= section->stored_bytes;
}

bool rk_entry_head_is_sound(const rk_entry_head *head) {
    if (head->kind != RK_ENTRY_EXECUTABLE && head->kind != RK_ENTRY_PROGRAM)
        return false;
    if (head->flags & ~(uint32_t)RK_ENTRY_FLAG_AOT)
        return false;
    if (head->reserved)
        return false;
    return section_is_sound(&head->sections[RK_SECTION_COMPONENTS], true) &&
           section_is_sound(&head->sections[RK_SECTION_METADATA], false) &&
           section_is_sound(&head->sections[RK_SECTION_PAYLOAD], true) &&
           section_is_sound(&head->sections[RK_SECTION_OPTIONS], true);
}

static rk_entry_fault check(rk_span data, const rk_key *expected, rk_entry_head *out_head,
                            rk_sign_public *out_signer) {
    rk_entry_fault fault = rk_entry_check_prefix(data);
    if (fault)
        return fault;
    rk_entry_head_read(data.data, out_head);
    size_t content_bytes = 0;
    fault = rk_entry_check_extent(out_head, data.len, &content_bytes);
    if (fault)
        return fault;
    rk_digest digest;
    rk_entry_digest(data.data, content_bytes, &digest);
    if (memcmp(digest.bytes, data.data + content_bytes, RK_DIGEST_BYTES) != 0)
        return RK_ENTRY_DAMAGED;
    if (!rk_entry_head_is_sound(out_head) ||
        !rk_entry_signature_check(out_head, data.data, content_bytes, out_signer))
        return RK_ENTRY_DAMAGED;
    if (expected && !rk_key_equal(expected, &out_head->key))
        return RK_ENTRY_OTHER_KEY;
    return RK_ENTRY_OK;
}

// Decompresses a section if necessary. `*out_raw` borrows from `stored` or from `decompressed`.
static rk_err *open_section(const rk_section *section, rk_span stored, rk_buf *decompressed,
                            rk_span *out_raw, rk_entry_fault *out_fault) {
    if (section->compression == RK_COMPRESSION_NONE) {
        *out_raw = stored;
        return NULL;
    }
    bool sound = false;
    RK_TRY(rk_zstd_unpack(stored, (size_t)section->raw_bytes, decompressed, &sound));
    if (!sound)
        *out_fault = RK_ENTRY_DAMAGED;
    *out_raw = rk_buf_span(decompressed);
    return NULL;
}

rk_err *rk_entry_fill_view(rk_span data, const rk_entry_head *head, rk_entry_want want,
                           rk_entry_view *view, rk_entry_fault *out_fault) {
    rk_span stored[RK_SECTION_COUNT] = {0};
    size_t at = RK_ENTRY_HEADER_BYTES;
    size_t wanted = want == RK_WANT_HEAD ? RK_SECTION_METADATA + 1 : RK_SECTION_COUNT;
    for (size_t i = 0; i < wanted; i++) {
        stored[i] = rk_span_of(data.data + at, (size_t)head->sections[i].stored_bytes);
        at += stored[i].len;
    }
    view->entry = (rk_entry){
        .kind = (rk_entry_kind)head->kind,
        .flags = head->flags,
        .key = head->key,
        .created_ns = head->created_ns,
        .compile_ns = head->compile_ns,
        .metadata = stored[RK_SECTION_METADATA],
    };
    view->stored_bytes = data.len;
    view->payload_raw_bytes = head->sections[RK_SECTION_PAYLOAD].raw_bytes;
    RK_TRY(open_section(&head->sections[RK_SECTION_COMPONENTS], stored[RK_SECTION_COMPONENTS],
                        &view->components, &view->entry.components, out_fault));
    if (*out_fault || want == RK_WANT_HEAD)
        return NULL;
    RK_TRY(open_section(&head->sections[RK_SECTION_PAYLOAD], stored[RK_SECTION_PAYLOAD],
                        &view->payload, &view->entry.payload, out_fault));
    if (*out_fault)
        return NULL;
    return open_section(&head->sections[RK_SECTION_OPTIONS], stored[RK_SECTION_OPTIONS],
                        &view->options, &view->entry.options, out_fault);
}

rk_err *rk_entry_decode(rk_span data, const rk_key *expected, rk_entry_want want,
                        rk_entry_view *out_view, rk_entry_fault *out_fault) {
    *out_view = (rk_entry_view){0};
    rk_entry_head head;
    rk_sign_public signer = {0};
    *out_fault = check(data, expected, &head, &signer);
    if (*out_fault)
        return NULL;
    rk_err *err = rk_entry_fill_view(data, &head, want, out_view, out_fault);
    out_view->is_signed = head.signature_type != RK_SIGNATURE_TYPE_NONE;
    out_view->signer = signer;
    if (err || *out_fault)
        rk_entry_view_cleanup(out_view);
    return err;
}
