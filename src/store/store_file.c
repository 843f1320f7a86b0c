#include "store/store_file.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/tree.h"
#include "store/store_path_internal.h"

rk_err *rk_store_open_file(const rk_store *store, rk_entry_kind kind, const char *hex, int *out_fd,
                           uint64_t *out_bytes) {
    RK_AUTO(rk_buf) path = {0};
    size_t bytes = 0;
    rk_store_add_path(store, kind, hex, &path);
    RK_TRY(rk_buf_status(&path));
    RK_TRY(rk_tree_open_file(store->directory, rk_store_below(store, &path), RK_ENTRY_MAX_BYTES,
                             out_fd, &bytes));
    *out_bytes = bytes;
    return NULL;
}

// Reads at most `len` bytes, less only at the end of the file.
static rk_err *read_at(int fd, uint64_t offset, uint8_t *out, size_t len, size_t *out_got) {
    return rk_fd_read_at(fd, offset, out, len, out_got)
               ? NULL
               : rk_error_errno(errno, "cannot read an entry");
}

rk_err *rk_store_peek_file(int fd, uint64_t bytes, rk_buf *start, rk_entry_view *out_view,
                           rk_entry_fault *out_fault) {
    size_t got = 0, start_bytes = 0;
    rk_buf_reserve(start, RK_ENTRY_HEADER_BYTES);
    RK_TRY(rk_buf_status(start));
    RK_TRY(read_at(fd, 0, start->data, RK_ENTRY_HEADER_BYTES, &got));
    start->len = got;
    *out_fault = rk_entry_start_bytes(rk_buf_span(start), bytes, &start_bytes);
    if (*out_fault)
        return NULL;
    rk_buf_reserve(start, start_bytes - got);
    RK_TRY(rk_buf_status(start));
    RK_TRY(read_at(fd, got, start->data + got, start_bytes - got, &got));
    start->len += got;
    return rk_entry_peek(rk_buf_span(start), bytes, out_view, out_fault);
}

static rk_err *stream(int fd, rk_entry_stream *out_stream) {
    enum { CHUNK_BYTES = 256 << 10 };
    rk_autofree uint8_t *chunk = rk_malloc(CHUNK_BYTES);
    if (!chunk)
        return rk_err_no_memory();
    for (uint64_t offset = 0;;) {
        size_t got = 0;
        RK_TRY(read_at(fd, offset, chunk, CHUNK_BYTES, &got));
        rk_entry_stream_add(out_stream, rk_span_of(chunk, got));
        offset += got;
        if (got < CHUNK_BYTES)
            return NULL;
    }
}

rk_entry_fault rk_store_match(const rk_entry *entry, rk_entry_kind kind, const char *hex) {
    char its[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&entry->key.digest, its);
    return entry->kind == kind && strcmp(its, hex) == 0 ? RK_ENTRY_OK : RK_ENTRY_OTHER_KEY;
}

rk_err *rk_store_has_sound(const rk_store *store, rk_entry_kind kind, const char *hex,
                           bool *out_has, bool *out_there) {
    __attribute__((cleanup(rk_entry_stream_cleanup))) rk_entry_stream entry = {0};
    RK_AUTO(rk_entry_view) view = {0};
    rk_autofd fd = -1;
    uint64_t bytes = 0;
    rk_entry_fault fault = RK_ENTRY_OK;
    *out_has = false;
    rk_err *err = rk_store_open_file(store, kind, hex, &fd, &bytes);
    bool not_a_file = rk_err_code(err) == RK_OUT_OF_RANGE || rk_err_errno(err) == ELOOP ||
                      rk_err_errno(err) == ENXIO;
    if (out_there)
        *out_there = rk_err_code(err) != RK_NOT_FOUND;
    if (not_a_file || rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "there is no entry");
        return NULL;
    }
    RK_TRY(err);
    rk_entry_stream_begin(bytes, false, &entry);
    RK_TRY(stream(fd, &entry));
    RK_TRY(rk_entry_stream_end(&entry, &view, &fault));
    *out_has = !fault && rk_store_match(&view.entry, kind, hex) == RK_ENTRY_OK;
    return NULL;
}
