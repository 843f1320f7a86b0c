#include "cli/bundle_part.h"

#include <stdio.h>
#include <stdlib.h>

#include "bundle/limits.h"
#include "cli/fail.h"
#include "cli/text.h"
#include "pack/module.h"

static const struct {
    const char *path;
    rk_bundle_part_kind kind;
} folders[] = {
    {"objects/", RK_PART_EXECUTABLE}, {"programs/", RK_PART_PROGRAM}, {"packs/", RK_PART_PACK}};
static const char jobs[] = "jobs/", stem[] = "manifest";

bool rk_bundle_module_is_known(rk_span name) {
    rk_pack_module ignored;
    char text[RK_BUNDLE_MODULE_NAME_MAX_BYTES + 1];
    (void)snprintf(text, sizeof text, "%.*s", (int)name.len, (const char *)name.data);
    return strcmp(text, RK_BUNDLE_PJRT) == 0 || rk_pack_module_parse(text, &ignored);
}

bool rk_bundle_module_is_wanted(const rk_opt_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], name) == 0)
            return true;
    return list->count == 0;
}

const char *rk_bundle_part_noun(rk_bundle_part_kind kind) {
    static const char *const nouns[] = {"executable", "program", "manifest", "pack"};
    return nouns[kind];
}

void rk_bundle_part_add_counts(const size_t counts[RK_PART_KINDS], rk_buf *out) {
    bool has_pjrt =
        counts[RK_PART_EXECUTABLE] + counts[RK_PART_PROGRAM] + counts[RK_PART_MANIFEST] > 0;
    const char *comma = "";
    for (size_t i = 0; i < RK_PART_KINDS; i++) {
        bool is_pack = i == RK_PART_PACK;
        if (is_pack ? counts[i] == 0 : !has_pjrt && counts[RK_PART_PACK] > 0)
            continue;
        rk_buf_add_format(out, "%s %zu %s%s%s", comma, counts[i],
                          rk_bundle_part_noun((rk_bundle_part_kind)i), rk_text_plural(counts[i]),
                          is_pack ? " of cache files" : "");
        comma = ",";
    }
}

rk_entry_kind rk_bundle_part_entry_kind(rk_bundle_part_kind kind) {
    return kind == RK_PART_PROGRAM ? RK_ENTRY_PROGRAM : RK_ENTRY_EXECUTABLE;
}

void rk_bundle_part_add_name(const rk_bundle_part *part, rk_buf *out) {
    if (part->kind != RK_PART_MANIFEST) {
        for (size_t i = 0; i < RK_ARRAY_LEN(folders); i++)
            if (folders[i].kind == part->kind)
                rk_buf_add_format(out, "%s%s", folders[i].path, part->hex);
        return;
    }
    rk_buf_add_format(out, "%s%s/%s", jobs, part->job, stem);
    if (part->rank)
        rk_buf_add_format(out, "-%u", part->rank);
}

static bool starts_with(rk_span text, const char *start, rk_span *out_rest) {
    size_t len = strlen(start);
    if (text.len < len || memcmp(text.data, start, len) != 0)
        return false;
    *out_rest = rk_span_of(text.data + len, text.len - len);
    return true;
}

// Parses "-3" after "manifest"; "" is rank 0.
static bool parse_rank(rk_span text, uint32_t *out_rank) {
    enum { MOST_DIGITS = 9 };
    *out_rank = 0;
    if (text.len == 0)
        return true;
    if (text.len < 2 || text.len > 1 + MOST_DIGITS || text.data[0] != '-' || text.data[1] == '0')
        return false;
    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *out_rank = *out_rank * 10 + (uint32_t)(text.data[i] - '0');
    }
    return true;
}

// A job is one name of a folder, as in REKINDLE_JOB.
static bool is_job(rk_span name) {
    if (name.len == 0 || name.len >= sizeof((rk_bundle_part *)NULL)->job || name.data[0] == '.')
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
                    name.data[i], 65))
            return false;
    return true;
}

static bool parse_manifest(rk_span rest, rk_bundle_part *out_part) {
    const uint8_t *slash = rest.len ? memchr(rest.data, '/', rest.len) : NULL;
    if (!slash)
        return false;
    rk_span job = rk_span_of(rest.data, (size_t)(slash - rest.data));
    rk_span file = rk_span_of(slash + 1, rest.len - job.len - 1), rank;
    if (!is_job(job) || !starts_with(file, stem, &rank) || !parse_rank(rank, &out_part->rank))
        return false;
    memcpy(out_part->job, job.data, job.len);
    out_part->kind = RK_PART_MANIFEST;
    return true;
}

bool rk_bundle_part_parse(rk_span name, rk_bundle_part *out_part) {
    rk_span rest;
    *out_part = (rk_bundle_part){0};
    if (starts_with(name, jobs, &rest))
        return parse_manifest(rest, out_part);
    for (size_t i = 0; i < RK_ARRAY_LEN(folders); i++) {
        rk_digest digest;
        if (!starts_with(name, folders[i].path, &rest))
            continue;
        if (!rk_digest_from_hex(rest, &digest))
            return false;
        out_part->kind = folders[i].kind;
        rk_digest_to_hex(&digest, out_part->hex);
        return true;
    }
    return false;
}

void rk_bundle_entry_cleanup(rk_bundle_entry *entry) {
    rk_entry_view_cleanup(&entry->view);
    rk_buf_cleanup(&entry->start);
}

static rk_err *bad(const rk_bundle_item *item, const char *why) {
    return rk_error(RK_DATA_LOSS, "its item %.*s cannot be used: %s", (int)item->name.len,
                    (const char *)item->name.data, why);
}

// The decompressed size of the components, as the head of the entry says (docs/format.md).
static uint64_t components_bytes(const rk_buf *start) {
    enum { OFFSET = 176 };
    return start->len >= RK_ENTRY_HEADER_BYTES ? rk_load_u64le(start->data + OFFSET) : 0;
}

// Checks that an entry is the one that its name and its attributes say.
static rk_err *match(const rk_bundle_item *item, const rk_bundle_part *part,
                     const rk_entry *entry) {
    char hex[RK_DIGEST_HEX_CHARS + 1], environment[RK_DIGEST_HEX_CHARS + 1];
    rk_span claimed;
    rk_digest_to_hex(&entry->key.digest, hex);
    rk_digest_to_hex(&entry->key.environment, environment);
    if (entry->kind != rk_bundle_part_entry_kind(part->kind))
        return bad(item, part->kind == RK_PART_PROGRAM ? "it is an executable, not a program"
                                                       : "it is a program, not an executable");
    if (strcmp(hex, part->hex) != 0)
        return bad(item, "it has another key than its name says");
    if (rk_bundle_attribute_find(item->attributes, "environment", &claimed) &&
        !rk_span_is(claimed, environment))
        return bad(item, "it has another environment than its attributes say");
    return NULL;
}

rk_err *rk_bundle_part_peek_entry(const rk_bundle *bundle, const rk_bundle_item *item,
                                  const rk_bundle_part *part, rk_bundle_entry *out_entry) {
    rk_bundle_blob blob = rk_bundle_blob_of(bundle, item);
    rk_buf *start = &out_entry->start;
    size_t start_bytes = 0;
    if (blob.is_compressed)
        return bad(item, "it is compressed once more, and could fill the memory");
    RK_TRY(rk_bundle_peek(bundle, item, 0, RK_ENTRY_HEADER_BYTES, start));
    if (components_bytes(start) > RK_ENTRY_START_MAX_BYTES)
        return bad(item, "its list of components would fill the memory");
    rk_entry_fault fault =
        rk_entry_start_bytes(rk_buf_span(start), blob.stored_bytes, &start_bytes);
    if (fault)
        return bad(item, rk_entry_fault_text(fault));
    RK_TRY(rk_bundle_peek(bundle, item, start->len, start_bytes - start->len, start));
    RK_TRY(rk_entry_peek(rk_buf_span(start), blob.stored_bytes, &out_entry->view, &fault));
    return fault ? bad(item, rk_entry_fault_text(fault))
                 : match(item, part, &out_entry->view.entry);
}

// Checks an entry after its last byte.
static rk_err *check_end(const rk_bundle_item *item, const rk_bundle_part *part,
                         const rk_digest *start, rk_entry_stream *entry) {
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_OK;
    rk_digest digest;
    RK_TRY(rk_entry_stream_end(entry, &view, &fault));
    if (fault)
        return bad(item, rk_entry_fault_text(fault));
    rk_digest_of(rk_span_of(entry->kept.data, (size_t)entry->start_bytes), &digest);
    if (!rk_digest_equal(&digest, start))
        return bad(item, "it changed while it was read");
    return match(item, part, &view.entry);
}

rk_err *rk_bundle_part_check_entry(const rk_bundle *bundle, const rk_bundle_module *module,
                                   const rk_bundle_item *item, const rk_bundle_part *part,
                                   const rk_digest *start, bool is_threaded, rk_bundle_sink_fn sink,
                                   void *context) {
    rk_entry_stream entry;
    rk_entry_stream_begin(rk_bundle_blob_of(bundle, item).stored_bytes, true, &entry);
    const rk_bundle_watcher watcher = {&entry, rk_entry_stream_add, rk_entry_stream_tap,
                                       is_threaded};
    rk_err *err = rk_bundle_read_watched(bundle, module, item, &watcher, sink, context);
    if (!err)
        err = check_end(item, part, start, &entry);
    rk_entry_stream_cleanup(&entry);
    return err;
}

rk_err *rk_bundle_part_read_manifest(const rk_bundle *bundle, const rk_bundle_module *module,
                                     const rk_bundle_item *item, rk_manifest *out_manifest) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_MANIFEST_MAX_BYTES + 1);
    bool sound = false;
    RK_TRY(rk_bundle_read_whole(bundle, module, item, RK_MANIFEST_MAX_BYTES, &text));
    RK_TRY(rk_manifest_decode(rk_buf_span(&text), out_manifest, &sound));
    return sound ? NULL : bad(item, "it is no manifest of this version");
}
