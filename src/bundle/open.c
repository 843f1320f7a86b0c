#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/sys.h"
#include "bundle/blob_internal.h"
#include "bundle/bundle_internal.h"
#include "bundle/signature_internal.h"

static rk_err *file_size(const rk_bundle *self, uint64_t *out_bytes) {
    struct stat info;
    if (rk_sys()->fstat_fn(self->fd, &info) != 0)
        return rk_error_errno(errno, "cannot stat %s", self->shown);
    if (!S_ISREG(info.st_mode))
        return rk_error(RK_INVALID_ARGUMENT, "%s is not a regular file: save the bundle as a file",
                        self->shown);
    *out_bytes = (uint64_t)info.st_size;
    return NULL;
}

// Reads preface, footer, and the places that they state.
static rk_err *read_frame(rk_bundle *self, rk_bundle_preface *out_preface, rk_hasher *head_hasher) {
    uint64_t file_bytes = 0;
    uint8_t preface[RK_BUNDLE_PREFACE_BYTES], footer[RK_BUNDLE_FOOTER_BYTES];
    RK_TRY(file_size(self, &file_bytes));
    if (file_bytes < sizeof preface + sizeof footer)
        return rk_error(
            RK_DATA_LOSS,
            "%s has %llu bytes, too few for a bundle: copy it again, or export it again",
            self->shown, (unsigned long long)file_bytes);
    RK_TRY(rk_bundle_pread(self->fd, self->shown, preface, sizeof preface, 0));
    RK_TRY(rk_bundle_preface_read(preface, self->shown, out_preface));
    rk_hasher_add(head_hasher, preface, sizeof preface);
    RK_TRY(
        rk_bundle_pread(self->fd, self->shown, footer, sizeof footer, file_bytes - sizeof footer));
    RK_TRY(rk_bundle_footer_read(footer, self->shown, file_bytes, &self->footer));
    uint64_t blobs_begin = rk_bundle_align(RK_BUNDLE_PREFACE_BYTES + out_preface->header_bytes);
    uint64_t index_end = file_bytes - sizeof footer;
    const rk_bundle_footer *parts = &self->footer;
    if (parts->index_offset > index_end || index_end - parts->index_offset != parts->index_bytes ||
        parts->index_offset < blobs_begin ||
        parts->index_offset != rk_bundle_align(parts->index_offset))
        return rk_error(RK_DATA_LOSS, "%s: the footer is damaged: export it again", self->shown);
    if (parts->index_bytes > RK_BUNDLE_INDEX_MAX_BYTES)
        return rk_error(RK_OUT_OF_RANGE,
                        "%s: the index has %llu bytes, more than the %d allowed: do not use this "
                        "bundle",
                        self->shown, (unsigned long long)parts->index_bytes,
                        RK_BUNDLE_INDEX_MAX_BYTES);
    return NULL;
}

static rk_err *read_header(rk_bundle *self, const rk_bundle_preface *preface,
                           rk_hasher *head_hasher) {
    size_t header_bytes = preface->header_bytes;
    size_t padded_bytes =
        (size_t)rk_bundle_align(RK_BUNDLE_PREFACE_BYTES + header_bytes) - RK_BUNDLE_PREFACE_BYTES;
    rk_autofree uint8_t *header = rk_malloc(padded_bytes ? padded_bytes : 1);
    if (!header)
        return rk_err_no_memory();
    RK_TRY(rk_bundle_pread(self->fd, self->shown, header, padded_bytes, RK_BUNDLE_PREFACE_BYTES));
    rk_digest digest;
    rk_hasher_add(head_hasher, header, header_bytes);
    rk_hasher_finish(head_hasher, &digest);
    if (!rk_digest_equal(&digest, &self->footer.head_digest) ||
        !rk_bundle_is_zero(header + header_bytes, padded_bytes - header_bytes))
        return rk_error(RK_DATA_LOSS, "%s: the header is damaged: export it again", self->shown);
    RK_TRY(rk_bundle_head_parse(rk_span_of(header, header_bytes), self->shown, &self->head));
    self->head.head.created_ns = preface->created_ns;
    return NULL;
}

static rk_err *read_index(rk_bundle *self, const rk_bundle_preface *preface) {
    size_t index_bytes = (size_t)self->footer.index_bytes;
    self->index_data = rk_malloc(index_bytes ? index_bytes : 1);
    if (!self->index_data)
        return rk_err_no_memory();
    RK_TRY(rk_bundle_pread(self->fd, self->shown, self->index_data, index_bytes,
                           self->footer.index_offset));
    rk_span data = rk_span_of(self->index_data, index_bytes);
    rk_digest digest;
    rk_digest_of(data, &digest);
    if (!rk_digest_equal(&digest, &self->footer.index_digest))
        return rk_error(RK_DATA_LOSS, "%s: the index is damaged: export it again", self->shown);
    uint64_t blobs_begin = rk_bundle_align(RK_BUNDLE_PREFACE_BYTES + preface->header_bytes);
    return rk_bundle_index_parse(data, self->shown, blobs_begin, self->footer.index_offset,
                                 &self->index);
}

static rk_err *read_parts(rk_bundle *self) {
    rk_bundle_preface preface;
    rk_hasher head_hasher;
    rk_hasher_init(&head_hasher);
    RK_TRY(read_frame(self, &preface, &head_hasher));
    RK_TRY(read_header(self, &preface, &head_hasher));
    return read_index(self, &preface);
}

// Takes over `fd` if `owns_fd`, also on an error.
static rk_err *open_bundle(int fd, bool owns_fd, const char *shown, rk_bundle **out_bundle) {
    rk_autobundle self = rk_calloc(1, sizeof *self);
    if (!self) {
        if (owns_fd)
            rk_autofd_cleanup(&fd);
        return rk_err_no_memory();
    }
    self->fd = fd;
    self->owns_fd = owns_fd;
    self->shown = rk_strdup(shown);
    if (!self->shown)
        return rk_err_no_memory();
    RK_TRY(read_parts(self));
    *out_bundle = RK_TAKE(self);
    return NULL;
}

rk_err *rk_bundle_open(const char *path, rk_bundle **out_bundle) {
    int fd;
    do // O_NONBLOCK: a FIFO in place of the file must not hang.
        fd = rk_sys()->open_fn(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open %s", path);
    return open_bundle(fd, true, path, out_bundle);
}

rk_err *rk_bundle_open_fd(int fd, const char *shown, rk_bundle **out_bundle) {
    return open_bundle(fd, false, shown, out_bundle);
}

void rk_bundle_free(rk_bundle *bundle) {
    if (!bundle)
        return;
    if (bundle->owns_fd)
        rk_autofd_cleanup(&bundle->fd);
    rk_bundle_index_cleanup(&bundle->index);
    rk_bundle_read_head_cleanup(&bundle->head);
    rk_free(bundle->index_data);
    rk_free(bundle->shown);
    rk_free(bundle);
}

void rk_bundle_cleanup(rk_bundle **bundle) {
    rk_bundle_free(*bundle);
}

rk_bundle_signature rk_bundle_signature_of(const rk_bundle *bundle) {
    rk_bundle_signature signature = {0};
    signature.is_present = bundle->footer.signature_type != RK_BUNDLE_SIGNATURE_NONE;
    signature.key = bundle->footer.key;
    signature.is_valid = signature.is_present && rk_bundle_footer_verify(&bundle->footer);
    return signature;
}
