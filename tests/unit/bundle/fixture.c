#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"

static const rk_bundle_pair made_with[] = {
    {{(const uint8_t *)"jax", 3}, {(const uint8_t *)"0.10.2", 6}}};

const rk_bundle_head *fixture_head(void) {
    static const rk_bundle_head head = {
        .created_ns = 1700000000123456789u,
        .made_with = {made_with, 1},
    };
    return &head;
}

rk_bundle_new_item fixture_item(const char *name) {
    return (rk_bundle_new_item){.name = rk_span_text(name)};
}

void fixture_key(const char *from, rk_sign_secret *out_secret, rk_sign_public *out_public) {
    rk_digest seed;
    rk_digest_of(rk_span_text(from), &seed);
    rk_sign_from_seed(seed.bytes, out_secret, out_public);
}

char *fixture_path(const char *directory, const char *name) {
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
    return path;
}

void fixture_save(const char *path, rk_span data) {
    rk_expect_ok(rk_fs_publish(path, data.data, data.len, 0600));
}

rk_buf fixture_load(const char *path) {
    rk_buf data = RK_BUF_INIT(0);
    rk_expect_ok(rk_fs_read(path, (size_t)1 << 30, &data));
    return data;
}

void fixture_add_noise(rk_buf *out, size_t len, unsigned seed) {
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (size_t i = 0; i < len; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        rk_buf_add_byte(out, (uint8_t)(state >> 56));
    }
}

rk_buf fixture_content(unsigned which) {
    rk_buf data = RK_BUF_INIT(0);
    switch (which) {
    case 0: // compressed
        for (int i = 0; i < 40; i++)
            rk_buf_add_format(&data, "instruction %d\n", i);
        break;
    case 1: // stored: too short to try
        rk_buf_add_text(&data, "a short text");
        break;
    case 2: // empty
        break;
    case 3: // stored: does not compress
        fixture_add_noise(&data, 200, 3);
        break;
    default:
        fail();
    }
    return data;
}

static void add(rk_bundle_writer *writer, const char *name, unsigned content, bool is_executable,
                const rk_bundle_pairs *attributes) {
    rk_bundle_new_item item = fixture_item(name);
    item.is_executable = is_executable;
    if (attributes)
        item.attributes = *attributes;
    RK_AUTO(rk_buf) data = fixture_content(content);
    rk_expect_ok(rk_bundle_writer_add(writer, &item, rk_buf_span(&data)));
}

void fixture_write(const char *path, const char *signer) {
    static const rk_bundle_pair pairs[] = {
        {{(const uint8_t *)"kind", 4}, {(const uint8_t *)"executable", 10}},
        {{(const uint8_t *)"after", 5}, {NULL, 0}}};
    const rk_bundle_pairs attributes = {pairs, 2};
    rk_autobundle_writer writer = NULL;
    rk_sign_secret secret;
    rk_sign_public public_key;
    rk_expect_ok(rk_bundle_writer_begin(path, 0600, fixture_head(), &writer));
    rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", &attributes));
    add(writer, "objects/ab/one.rkx", 0, false, &attributes);
    add(writer, "two", 1, false, NULL);
    add(writer, "empty", 2, false, NULL);
    rk_expect_ok(rk_bundle_writer_begin_module(writer, "inductor", NULL));
    add(writer, "kernel.so", 3, true, NULL);
    add(writer, "again/one", 0, false, NULL);
    if (signer)
        fixture_key(signer, &secret, &public_key);
    rk_expect_ok(
        rk_bundle_writer_finish(writer, signer ? &secret : NULL, signer ? &public_key : NULL));
}

void put_u32(uint8_t *data, uint32_t value) {
    for (unsigned i = 0; i < 4; i++)
        data[i] = (uint8_t)(value >> (8 * i));
}

void put_u64(uint8_t *data, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        data[i] = (uint8_t)(value >> (8 * i));
}

void maker_cleanup(maker *self) {
    rk_buf_cleanup(&self->file);
    rk_buf_cleanup(&self->rows);
    rk_buf_cleanup(&self->rest);
}

static void pad(rk_buf *out) {
    while (out->len % 64)
        rk_buf_add_byte(out, 0);
}

static const char magic[] = "\x89RKB\r\n\x1a\n";

maker maker_begin(const char *header) {
    maker self = {0};
    rk_buf_add(&self.file, magic, 8);
    rk_buf_add_u32le(&self.file, 1);
    rk_buf_add_u32le(&self.file, (uint32_t)strlen(header));
    rk_buf_add_u64le(&self.file, 1700000000123456789u);
    for (int i = 24; i < PREFACE; i++)
        rk_buf_add_byte(&self.file, 0);
    rk_buf_add_text(&self.file, header);
    pad(&self.file);
    return self;
}

void maker_add_blob(maker *self, rk_span stored, rk_span raw) {
    bool is_compressed = raw.data;
    rk_digest digest, stored_digest;
    rk_digest_of(is_compressed ? raw : stored, &digest);
    rk_digest_of(stored, &stored_digest);
    rk_buf_add_u64le(&self->rows, self->file.len);
    rk_buf_add_u64le(&self->rows, stored.len);
    rk_buf_add_u64le(&self->rows, is_compressed ? raw.len : stored.len);
    rk_buf_add_u32le(&self->rows, is_compressed);
    rk_buf_add_u32le(&self->rows, 0);
    rk_buf_add_span(&self->rows, rk_digest_span(&digest));
    rk_buf_add_span(&self->rows, rk_digest_span(&stored_digest));
    rk_buf_add_span(&self->file, stored);
    pad(&self->file);
    self->blobs++;
}

void maker_add_module(maker *self, const char *name, uint32_t items) {
    rk_buf_add_u32le(&self->rest, (uint32_t)strlen(name));
    rk_buf_add_text(&self->rest, name);
    rk_buf_add_u32le(&self->rest, 0);
    rk_buf_add_u32le(&self->rest, items);
    self->modules++;
}

void maker_add_item(maker *self, rk_span name, uint32_t blob) {
    rk_buf_add_u32le(&self->rest, (uint32_t)name.len);
    rk_buf_add_span(&self->rest, name);
    rk_buf_add_u32le(&self->rest, blob);
    rk_buf_add_u32le(&self->rest, 0);
    rk_buf_add_u32le(&self->rest, 0);
    self->items++;
}

void maker_end_with(maker *self, rk_span index) {
    size_t index_offset = self->file.len;
    rk_buf_add_span(&self->file, index);
    size_t footer = self->file.len;
    rk_buf_add(&self->file, magic, 8);
    rk_buf_add_u32le(&self->file, 1);
    rk_buf_add_u32le(&self->file, FOOTER);
    rk_buf_add_u64le(&self->file, index_offset);
    rk_buf_add_u64le(&self->file, index.len);
    while (self->file.len < footer + FOOTER - 8)
        rk_buf_add_byte(&self->file, 0);
    rk_buf_add(&self->file, magic, 8);
    put_u64(self->file.data + footer + AT_FILE_BYTES, self->file.len);
    fixture_seal(&self->file);
}

void maker_end(maker *self) {
    RK_AUTO(rk_buf) index = {0};
    rk_buf_add_u32le(&index, self->blobs);
    rk_buf_add_u32le(&index, self->modules);
    rk_buf_add_u32le(&index, self->items);
    rk_buf_add_u32le(&index, 0);
    rk_buf_add_span(&index, rk_buf_span(&self->rows));
    rk_buf_add_span(&index, rk_buf_span(&self->rest));
    maker_end_with(self, rk_buf_span(&index));
}

static void digest_into(uint8_t *out, const uint8_t *data, size_t len) {
    rk_digest digest;
    rk_digest_of(rk_span_of(data, len), &digest);
    memcpy(out, digest.bytes, sizeof digest.bytes);
}

void fixture_seal(rk_buf *file) {
    uint8_t *footer = file->data + file->len - FOOTER;
    uint64_t index_offset = rk_load_u64le(footer + AT_INDEX_OFFSET);
    uint64_t index_bytes = rk_load_u64le(footer + AT_INDEX_BYTES);
    digest_into(footer + AT_HEAD_DIGEST, file->data, PREFACE + rk_load_u32le(file->data + 12));
    if (index_offset <= file->len && index_bytes <= file->len - index_offset)
        digest_into(footer + AT_INDEX_DIGEST, file->data + index_offset, index_bytes);
    digest_into(footer + AT_CHECK, footer, AT_CHECK);
}

// A file in memory that holds the bytes.
static int memory_file(rk_span data) {
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    assert_true(fd >= 0);
    rk_expect_ok(rk_fd_write_all(fd, data.data, data.len));
    return fd;
}

rk_err *fixture_open(rk_span data, rk_bundle **out_bundle) {
    int fd = memory_file(data);
    char path[64]; // the bundle then owns a descriptor of its own
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rk_err *err = rk_bundle_open(path, out_bundle);
    (void)close(fd);
    return err;
}

rk_err *fixture_check(rk_span data) {
    rk_bundle *bundle = NULL;
    rk_err *err = fixture_open(data, &bundle);
    if (!err)
        err = rk_bundle_check(bundle, NULL, NULL);
    rk_bundle_free(bundle);
    return err;
}

void fixture_expect(rk_err *err, rk_code code, const char *words) {
    if (rk_err_code(err) != code || !strstr(rk_err_message(err), words))
        print_error("expected \"%s\", got: %s\n", words, rk_err_message(err));
    assert_string_equal(rk_code_name(rk_err_code(err)), rk_code_name(code));
    assert_non_null(strstr(rk_err_message(err), words));
    rk_err_free(err);
}
