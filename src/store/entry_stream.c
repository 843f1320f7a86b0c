#include "store/entry_stream.h"

#include "store/entry_decode_internal.h"
#include "store/entry_signature_internal.h"

enum { TAIL_MAX_BYTES = RK_DIGEST_BYTES + RK_ENTRY_SIGNATURE_BYTES };

void rk_entry_stream_begin(uint64_t file_bytes, bool is_tapped, rk_entry_stream *out_stream) {
    *out_stream = (rk_entry_stream){
        .file_bytes = file_bytes,
        .is_tapped = is_tapped,
        .kept = RK_BUF_INIT(RK_ENTRY_START_MAX_BYTES + TAIL_MAX_BYTES),
    };
    rk_hasher_init(&out_stream->hasher);
}

void rk_entry_stream_cleanup(rk_entry_stream *stream) {
    rk_buf_cleanup(&stream->kept);
}

// Reads the sizes in a head.
static rk_entry_fault read_extent(rk_span start, uint64_t file_bytes, rk_entry_head *out_head,
                                  uint64_t *out_start_bytes, uint64_t *out_content_bytes) {
    size_t content_bytes = 0;
    rk_entry_fault fault = rk_entry_check_prefix(start);
    if (fault)
        return fault;
    rk_entry_head_read(start.data, out_head);
    fault = file_bytes > RK_ENTRY_MAX_BYTES
                ? RK_ENTRY_DAMAGED
                : rk_entry_check_extent(out_head, (size_t)file_bytes, &content_bytes);
    if (fault)
        return fault;
    *out_content_bytes = content_bytes;
    *out_start_bytes = RK_ENTRY_HEADER_BYTES +
                       out_head->sections[RK_SECTION_COMPONENTS].stored_bytes +
                       out_head->sections[RK_SECTION_METADATA].stored_bytes;
    bool fits = *out_start_bytes <= RK_ENTRY_START_MAX_BYTES &&
                out_head->sections[RK_SECTION_COMPONENTS].raw_bytes <= RK_ENTRY_START_MAX_BYTES;
    return fits ? RK_ENTRY_OK : RK_ENTRY_DAMAGED;
}

// True if the signature's fields are zero, as the digest counts them.
static bool is_unsigned(const rk_entry_head *head) {
    return head->signature_type == RK_SIGNATURE_TYPE_NONE && head->signature_bytes == 0;
}

// Hashes the head, in which the signature's fields count as zero.
static void begin_digest(rk_entry_stream *self) {
    enum { AFTER = RK_ENTRY_AT_SIGNATURE + RK_ENTRY_SIGNATURE_FIELDS_BYTES };
    static const uint8_t zeros[RK_ENTRY_SIGNATURE_FIELDS_BYTES];
    rk_hasher_add(&self->hasher, self->kept.data, RK_ENTRY_AT_SIGNATURE);
    rk_hasher_add(&self->hasher, zeros, sizeof zeros);
    rk_hasher_add(&self->hasher, self->kept.data + AFTER, RK_ENTRY_HEADER_BYTES - AFTER);
}

// Returns at most the bytes up to the offset `end`, and removes them from `rest`.
static rk_span take(rk_entry_stream *self, uint64_t end, rk_span *rest) {
    uint64_t left = end > self->seen_bytes ? end - self->seen_bytes : 0;
    rk_span taken = rk_span_of(rest->data, left < rest->len ? (size_t)left : rest->len);
    *rest = rk_span_of(rest->data + taken.len, rest->len - taken.len);
    self->seen_bytes += taken.len;
    return taken;
}

static void add_head(rk_entry_stream *self, rk_span *rest) {
    rk_entry_head head;
    rk_buf_add_span(&self->kept, take(self, RK_ENTRY_HEADER_BYTES, rest));
    if (self->kept.failed || self->seen_bytes < RK_ENTRY_HEADER_BYTES)
        return;
    self->fault = read_extent(rk_buf_span(&self->kept), self->file_bytes, &head, &self->start_bytes,
                              &self->content_bytes);
    self->is_hashed = !self->fault && !(self->is_tapped && is_unsigned(&head));
    if (self->is_hashed)
        begin_digest(self);
}

static void add_to_digest(rk_entry_stream *self, rk_span part) {
    if (self->is_hashed)
        rk_hasher_add(&self->hasher, part.data, part.len);
}

void rk_entry_stream_add(void *stream, rk_span part) {
    rk_entry_stream *self = stream;
    if (self->seen_bytes < RK_ENTRY_HEADER_BYTES)
        add_head(self, &part);
    if (self->fault || self->kept.failed || part.len == 0)
        return;
    rk_span start = take(self, self->start_bytes, &part);
    rk_buf_add_span(&self->kept, start);
    add_to_digest(self, start);
    add_to_digest(self, take(self, self->content_bytes, &part));
    rk_span tail = take(self, self->file_bytes, &part);
    rk_buf_add_span(&self->kept, tail);
    if (part.len)
        self->fault = RK_ENTRY_DAMAGED; // more bytes than announced
}

// Collects the head, and reads where the content ends.
static void tap_head(rk_entry_stream *self, rk_span part) {
    rk_entry_tap *tap = &self->tap;
    rk_entry_head head;
    uint64_t start_bytes, content_bytes;
    size_t have = (size_t)tap->seen_bytes, left = sizeof tap->head - have;
    memcpy(tap->head + have, part.data, part.len < left ? part.len : left);
    if (part.len >= left &&
        !read_extent(rk_span_of(tap->head, sizeof tap->head), self->file_bytes, &head, &start_bytes,
                     &content_bytes) &&
        is_unsigned(&head))
        tap->content_bytes = content_bytes;
}

void rk_entry_stream_tap(void *stream, rk_span part, const rk_hasher *before) {
    rk_entry_stream *self = stream;
    rk_entry_tap *tap = &self->tap;
    if (part.len == 0)
        return;
    if (tap->seen_bytes < sizeof tap->head)
        tap_head(self, part);
    if (tap->seen_bytes < tap->content_bytes && tap->content_bytes - tap->seen_bytes <= part.len) {
        rk_hasher hasher = *before;
        rk_hasher_add(&hasher, part.data, (size_t)(tap->content_bytes - tap->seen_bytes));
        rk_hasher_finish(&hasher, &tap->digest);
        tap->has_digest = true;
    }
    tap->seen_bytes += part.len;
}

// Checks digest, head and signature after the last byte.
static rk_entry_fault check_end(rk_entry_stream *self, rk_entry_head *out_head,
                                rk_sign_public *out_signer) {
    rk_digest digest;
    if (self->fault)
        return self->fault;
    if (self->seen_bytes < self->file_bytes || self->seen_bytes < RK_ENTRY_HEADER_BYTES) {
        rk_entry_fault fault = rk_entry_check_prefix(rk_buf_span(&self->kept));
        return fault ? fault : RK_ENTRY_TRUNCATED;
    }
    rk_entry_head_read(self->kept.data, out_head);
    if (self->is_hashed)
        rk_hasher_finish(&self->hasher, &digest);
    else if (self->tap.has_digest)
        digest = self->tap.digest;
    else
        return RK_ENTRY_DAMAGED; // a fault of the caller: the tap has not received the parts
    if (memcmp(digest.bytes, self->kept.data + self->start_bytes, RK_DIGEST_BYTES) != 0 ||
        !rk_entry_head_is_sound(out_head) ||
        !rk_entry_signature_check(out_head, self->kept.data, (size_t)self->start_bytes, out_signer))
        return RK_ENTRY_DAMAGED;
    return RK_ENTRY_OK;
}

rk_err *rk_entry_stream_end(rk_entry_stream *stream, rk_entry_view *out_view,
                            rk_entry_fault *out_fault) {
    rk_entry_head head;
    rk_sign_public signer = {0};
    *out_view = (rk_entry_view){0};
    RK_TRY(rk_buf_status(&stream->kept));
    *out_fault = check_end(stream, &head, &signer);
    if (*out_fault)
        return NULL;
    rk_span start = rk_span_of(stream->kept.data, (size_t)stream->start_bytes);
    rk_err *err = rk_entry_fill_view(start, &head, RK_WANT_HEAD, out_view, out_fault);
    out_view->stored_bytes = stream->file_bytes;
    out_view->is_signed = head.signature_type != RK_SIGNATURE_TYPE_NONE;
    out_view->signer = signer;
    if (err || *out_fault)
        rk_entry_view_cleanup(out_view);
    return err;
}

rk_entry_fault rk_entry_start_bytes(rk_span head, uint64_t file_bytes, size_t *out_bytes) {
    rk_entry_head parsed;
    uint64_t start_bytes = 0, content_bytes;
    rk_entry_fault fault = read_extent(head, file_bytes, &parsed, &start_bytes, &content_bytes);
    *out_bytes = (size_t)start_bytes;
    return fault;
}

rk_err *rk_entry_peek(rk_span start, uint64_t file_bytes, rk_entry_view *out_view,
                      rk_entry_fault *out_fault) {
    rk_entry_head head;
    uint64_t start_bytes, content_bytes;
    *out_view = (rk_entry_view){0};
    *out_fault = read_extent(start, file_bytes, &head, &start_bytes, &content_bytes);
    if (!*out_fault && (start.len < start_bytes || !rk_entry_head_is_sound(&head)))
        *out_fault = start.len < start_bytes ? RK_ENTRY_TRUNCATED : RK_ENTRY_DAMAGED;
    if (*out_fault)
        return NULL;
    rk_err *err = rk_entry_fill_view(start, &head, RK_WANT_HEAD, out_view, out_fault);
    out_view->stored_bytes = file_bytes;
    if (err || *out_fault)
        rk_entry_view_cleanup(out_view);
    return err;
}
