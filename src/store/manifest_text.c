// Writes and parses the text of a manifest (docs/format.md).
#include <stdlib.h>

#include "base/alloc.h"
#include "store/manifest.h"

static const char first_line[] = "rekindle manifest 1\n";
static const char last_word[] = "digest ";

// Encoding.

static int compare_uses(const void *a, const void *b) {
    const rk_manifest_use *left = a, *right = b;
    if (left->client != right->client)
        return left->client < right->client ? -1 : 1;
    if (left->wanted_ns != right->wanted_ns)
        return left->wanted_ns < right->wanted_ns ? -1 : 1;
    int order = memcmp(left->key.digest.bytes, right->key.digest.bytes, RK_DIGEST_BYTES);
    if (order != 0)
        return order;
    return left->occurrence < right->occurrence ? -1 : left->occurrence > right->occurrence;
}

static void add_digest(rk_buf *out, const rk_digest *digest) {
    rk_buf_add_byte(out, ' ');
    rk_buf_add_hex(out, rk_digest_span(digest));
}

static void add_use(rk_buf *out, const rk_manifest_use *use) {
    rk_buf_add_text(out, "use");
    add_digest(out, &use->key.digest);
    add_digest(out, &use->key.program);
    add_digest(out, &use->key.options);
    add_digest(out, &use->key.environment);
    rk_buf_add_format(out, " %u %u %llu %llu %llu %llu\n", use->client, use->occurrence,
                      (unsigned long long)use->run, (unsigned long long)(use->wanted_ns / 1000000),
                      (unsigned long long)(use->load_ns / 1000), (unsigned long long)use->bytes);
}

rk_err *rk_manifest_encode(rk_manifest *manifest, rk_buf *out_data) {
    size_t start = out_data->len;
    if (manifest->use_count)
        qsort(manifest->uses, manifest->use_count, sizeof *manifest->uses, compare_uses);
    rk_buf_add_text(out_data, first_line);
    for (size_t i = 0; i < manifest->run_count; i++)
        rk_buf_add_format(out_data, "run %llu %s\n", (unsigned long long)manifest->runs[i].number,
                          manifest->runs[i].id);
    for (size_t i = 0; i < manifest->options_count; i++) {
        rk_buf_add_text(out_data, "options");
        add_digest(out_data, &manifest->options[i].digest);
        rk_buf_add_byte(out_data, ' ');
        rk_buf_add_hex(out_data, rk_buf_span(&manifest->options[i].bytes));
        rk_buf_add_byte(out_data, '\n');
    }
    for (size_t i = 0; i < manifest->use_count; i++)
        add_use(out_data, &manifest->uses[i]);
    RK_TRY(rk_buf_status(out_data));
    rk_digest digest;
    rk_digest_of(rk_span_of(out_data->data + start, out_data->len - start), &digest);
    rk_buf_add_text(out_data, last_word);
    rk_buf_add_hex(out_data, rk_digest_span(&digest));
    rk_buf_add_byte(out_data, '\n');
    return rk_buf_status(out_data);
}

// Decoding.

typedef struct reader {
    rk_span rest;
    rk_manifest *manifest;
    bool sound;
} reader;

// Takes the text up to the next `end`, and `end` itself. Not sound if `end` is missing.
static rk_span take(reader *r, char end) {
    const uint8_t *at = r->rest.len ? memchr(r->rest.data, end, r->rest.len) : NULL;
    if (!at) {
        r->sound = false;
        return (rk_span){0};
    }
    rk_span taken = rk_span_of(r->rest.data, (size_t)(at - r->rest.data));
    r->rest = rk_span_of(at + 1, r->rest.len - taken.len - 1);
    return taken;
}

static uint64_t take_number(reader *r, char end, uint64_t most) {
    rk_span text = take(r, end);
    uint64_t value = 0;
    if (text.len == 0 || (text.len > 1 && text.data[0] == '0'))
        r->sound = false;
    for (size_t i = 0; i < text.len && r->sound; i++) {
        unsigned digit = (unsigned)text.data[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value) || value > most)
            r->sound = false;
    }
    return r->sound ? value : 0;
}

static void take_digest(reader *r, char end, rk_digest *out_digest) {
    if (!rk_digest_from_hex(take(r, end), out_digest))
        r->sound = false;
}

static int hex_value(uint8_t digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static void take_bytes(reader *r, rk_buf *out) {
    rk_span text = take(r, '\n');
    if (text.len % 2 || text.len / 2 > RK_MANIFEST_OPTIONS_MAX_BYTES)
        r->sound = false;
    for (size_t i = 0; i < text.len && r->sound; i += 2) {
        int high = hex_value(text.data[i]), low = hex_value(text.data[i + 1]);
        if (high < 0 || low < 0)
            r->sound = false;
        else
            rk_buf_add_byte(out, (uint8_t)(high << 4 | low));
    }
}

static rk_err *read_run(reader *r) {
    rk_manifest *manifest = r->manifest;
    uint64_t number = take_number(r, ' ', UINT64_MAX / 2);
    rk_span id = take(r, '\n');
    if (!r->sound)
        return NULL;
    if (number <= rk_manifest_latest_run(manifest) || id.len > RK_MANIFEST_RUN_MAX_CHARS ||
        memchr(id.data, '\0', id.len) || manifest->run_count == RK_MANIFEST_MAX_RUNS) {
        r->sound = false;
        return NULL;
    }
    rk_manifest_run *run = &manifest->runs[manifest->run_count++];
    *run = (rk_manifest_run){.number = number};
    memcpy(run->id, id.data, id.len);
    return NULL;
}

static rk_err *read_options(reader *r) {
    rk_manifest *manifest = r->manifest;
    RK_AUTO(rk_buf) bytes = {0};
    rk_digest digest;
    take_digest(r, ' ', &digest);
    take_bytes(r, &bytes);
    RK_TRY(rk_buf_status(&bytes));
    if (manifest->options_count == RK_MANIFEST_MAX_OPTIONS)
        r->sound = false;
    if (!r->sound)
        return NULL;
    size_t count = manifest->options_count + 1;
    rk_manifest_options *items = rk_realloc(manifest->options, count * sizeof *items);
    if (!items)
        return rk_err_no_memory();
    manifest->options = items;
    manifest->options_capacity = count;
    items[manifest->options_count++] = (rk_manifest_options){.digest = digest, .bytes = bytes};
    bytes = (rk_buf){0};
    return NULL;
}

static rk_err *read_use(reader *r) {
    rk_manifest *manifest = r->manifest;
    rk_manifest_use use = {0};
    take_digest(r, ' ', &use.key.digest);
    take_digest(r, ' ', &use.key.program);
    take_digest(r, ' ', &use.key.options);
    take_digest(r, ' ', &use.key.environment);
    use.client = (uint32_t)take_number(r, ' ', UINT32_MAX);
    use.occurrence = (uint32_t)take_number(r, ' ', UINT32_MAX);
    use.run = take_number(r, ' ', UINT64_MAX / 2);
    use.wanted_ns = take_number(r, ' ', UINT64_MAX / 2000000) * 1000000;
    use.load_ns = take_number(r, ' ', UINT64_MAX / 2000) * 1000;
    use.bytes = take_number(r, '\n', RK_ENTRY_MAX_BYTES);
    if (manifest->use_count == RK_MANIFEST_MAX_USES)
        r->sound = false;
    if (!r->sound)
        return NULL;
    if (manifest->use_count == manifest->use_capacity) {
        size_t capacity = manifest->use_capacity ? 2 * manifest->use_capacity : 64;
        rk_manifest_use *uses = rk_realloc(manifest->uses, capacity * sizeof *uses);
        if (!uses)
            return rk_err_no_memory();
        manifest->uses = uses;
        manifest->use_capacity = capacity;
    }
    manifest->uses[manifest->use_count++] = use;
    return NULL;
}

static rk_err *read_line(reader *r) {
    rk_span word = take(r, ' ');
    if (rk_span_is(word, "use"))
        return read_use(r);
    if (rk_span_is(word, "options"))
        return read_options(r);
    if (rk_span_is(word, "run"))
        return read_run(r);
    r->sound = false;
    return NULL;
}

// Checks the first line, and the digest in the last line. `*out_lines` is the lines between them.
static bool check_frame(rk_span data, rk_span *out_lines) {
    size_t first = sizeof first_line - 1, word = sizeof last_word - 1;
    size_t last = word + RK_DIGEST_HEX_CHARS + 1;
    if (data.len < first + last || memcmp(data.data, first_line, first) != 0 ||
        memcmp(data.data + data.len - last, last_word, word) != 0 ||
        data.data[data.len - 1] != '\n' || data.data[data.len - last - 1] != '\n')
        return false;
    rk_digest expected, actual;
    if (!rk_digest_from_hex(rk_span_of(data.data + data.len - last + word, RK_DIGEST_HEX_CHARS),
                            &expected))
        return false;
    rk_digest_of(rk_span_of(data.data, data.len - last), &actual);
    *out_lines = rk_span_of(data.data + first, data.len - first - last);
    return rk_digest_equal(&expected, &actual);
}

rk_err *rk_manifest_decode(rk_span data, rk_manifest *out_manifest, bool *out_sound) {
    reader r = {.manifest = out_manifest};
    r.sound = check_frame(data, &r.rest);
    rk_err *err = NULL;
    while (!err && r.sound && r.rest.len)
        err = read_line(&r);
    if (err || !r.sound)
        rk_manifest_cleanup(out_manifest);
    *out_sound = !err && r.sound;
    return err;
}
