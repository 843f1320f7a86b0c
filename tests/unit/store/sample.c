#include "sample.h"

#include <ftw.h>
#include <stdio.h>

#include "base/fs.h"

void sample_ok(rk_err *err) {
    if (err)
        fail_msg("%s (%s:%d)", rk_err_message(err), rk_err_file(err), rk_err_line(err));
}

void sample_fails(rk_err *err, rk_code code) {
    if (rk_err_code(err) != code)
        fail_msg("%s expected, not %s: %s", rk_code_name(code), rk_code_name(rk_err_code(err)),
                 rk_err_message(err));
    rk_err_free(err);
}

static rk_digest digest_of(const char *what, unsigned seed) {
    rk_hasher hasher;
    rk_digest digest;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text(what));
    rk_hasher_add_u64(&hasher, seed);
    rk_hasher_finish(&hasher, &digest);
    return digest;
}

rk_key sample_key(unsigned seed) {
    return (rk_key){
        .digest = digest_of("key", seed),
        .program = digest_of("program", seed),
        .options = digest_of("options", seed),
        .environment = digest_of("environment", seed),
    };
}

rk_entry sample_entry(rk_entry_kind kind, unsigned seed) {
    static _Thread_local char payload[256];
    int len = snprintf(payload, sizeof payload, "seed %u: %0200u: as good as executable code", seed,
                       seed);
    rk_entry entry = {
        .kind = kind,
        .flags = seed % 2 ? RK_ENTRY_FLAG_AOT : 0,
        .key = sample_key(seed),
        .created_ns = 1700000000123456789u + seed,
        .compile_ns = 2500000000u + seed,
        .components = rk_span_text("[{\"kind\":\"flag\",\"name\":\"--xla_a\",\"value\":\"1\"}]"),
        .metadata = rk_span_text("{\"name\":\"jit_step\",\"platform\":\"cpu\"}"),
        .payload = rk_span_of(payload, (size_t)len),
    };
    if (kind == RK_ENTRY_PROGRAM)
        entry.options = rk_span_text("the compile options, as they came from the framework");
    return entry;
}

uint64_t sample_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

uint8_t *sample_noise(size_t len, uint64_t seed) {
    uint8_t *data = malloc(len ? len : 1);
    assert_non_null(data);
    uint64_t state = seed * 2 + 1;
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(sample_random(&state) >> 32);
    return data;
}

static void assert_same_span(rk_span got, rk_span expected) {
    assert_int_equal(got.len, expected.len);
    if (got.len)
        assert_memory_equal(got.data, expected.data, got.len);
}

void sample_assert_same(const rk_entry *got, const rk_entry *expected) {
    assert_int_equal(got->kind, expected->kind);
    assert_int_equal(got->flags, expected->flags);
    assert_true(rk_key_equal(&got->key, &expected->key));
    assert_int_equal(got->created_ns, expected->created_ns);
    assert_int_equal(got->compile_ns, expected->compile_ns);
    assert_same_span(got->components, expected->components);
    assert_same_span(got->metadata, expected->metadata);
    assert_same_span(got->payload, expected->payload);
    assert_same_span(got->options, expected->options);
}

void sample_write_file(const char *path, const void *data, size_t len) {
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    assert_non_null(slash);
    *slash = '\0';
    sample_ok(rk_fs_make_dirs(folder, 0700));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

char *sample_path(const char *directory, rk_entry_kind kind, const rk_key *key) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key->digest, hex);
    bool program = kind == RK_ENTRY_PROGRAM;
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s/%.2s/%s.%s", directory, program ? "programs" : "objects",
                         hex, hex, program ? "rkp" : "rkx") > 0);
    return path;
}

static unsigned counted;

static int count_one(const char *path, const struct stat *info, int type, struct FTW *where) {
    (void)info;
    counted += type != FTW_D && strcmp(path + where->base, "REKINDLE_STORE") != 0;
    return 0;
}

unsigned sample_count_files(const char *directory) {
    counted = 0;
    (void)nftw(directory, count_one, 16, FTW_PHYS);
    return counted;
}
