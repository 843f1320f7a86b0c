#include "store/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/fs.h"

static const char public_word[] = "ed25519";
static const char secret_word[] = "ed25519-secret";

enum { FILE_MAX_BYTES = 1 << 20, SEED_HEX_CHARS = 2 * RK_SIGN_SEED_BYTES };
_Static_assert(RK_SIGN_SEED_BYTES == (int)RK_DIGEST_BYTES &&
                   RK_SIGN_PUBLIC_BYTES == (int)RK_DIGEST_BYTES,
               "written and read as digests are");

void rk_signing_key_cleanup(rk_signing_key *key) {
    rk_sign_wipe(key, sizeof *key);
}

void rk_trusted_keys_cleanup(rk_trusted_keys *keys) {
    rk_free(keys->items);
    *keys = (rk_trusted_keys){0};
}

void rk_key_id(const rk_sign_public *key, char out_id[RK_KEY_ID_HEX_CHARS + 1]) {
    rk_digest digest;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_of(rk_span_of(key->bytes, sizeof key->bytes), &digest);
    rk_digest_to_hex(&digest, hex);
    memcpy(out_id, hex, RK_KEY_ID_HEX_CHARS);
    out_id[RK_KEY_ID_HEX_CHARS] = '\0';
}

bool rk_key_name_is_valid(const char *name) {
    size_t len = strlen(name);
    return len > 0 && len <= RK_KEY_NAME_MAX_CHARS &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@") ==
               len;
}

void rk_public_key_add_line(const rk_public_key *key, rk_buf *out) {
    rk_buf_add_format(out, "%s ", public_word);
    rk_buf_add_hex(out, rk_span_of(key->key.bytes, sizeof key->key.bytes));
    rk_buf_add_format(out, "%s%s\n", key->name[0] ? " " : "", key->name);
}

// The words of one line. Borrowed from the text.
typedef struct line {
    rk_span words[3];
    size_t count; // may exceed the size of `words`
} line;

static bool is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static line split(rk_span text) {
    line found = {0};
    size_t at = 0;
    while (at < text.len) {
        while (at < text.len && is_blank(text.data[at]))
            at++;
        size_t start = at;
        while (at < text.len && !is_blank(text.data[at]))
            at++;
        if (at == start || text.data[start] == '#')
            break;
        if (found.count < RK_ARRAY_LEN(found.words))
            found.words[found.count] = rk_span_of(text.data + start, at - start);
        found.count++;
    }
    return found;
}

static bool take_name(const line *words, char out_name[RK_KEY_NAME_MAX_CHARS + 1]) {
    rk_span name = words->words[2];
    if (words->count > RK_ARRAY_LEN(words->words) || name.len > RK_KEY_NAME_MAX_CHARS)
        return false;
    if (name.len)
        memcpy(out_name, name.data, name.len);
    out_name[name.len] = '\0';
    return name.len == 0 || rk_key_name_is_valid(out_name);
}

static bool take_hex(rk_span hex, uint8_t out[RK_DIGEST_BYTES]) {
    rk_digest bytes;
    bool fits = rk_digest_from_hex(hex, &bytes);
    if (fits)
        memcpy(out, bytes.bytes, sizeof bytes.bytes);
    rk_sign_wipe(&bytes, sizeof bytes);
    return fits;
}

static bool parse_public(line words, rk_public_key *out_key) {
    *out_key = (rk_public_key){0};
    if (words.count == 1)
        return take_hex(words.words[0], out_key->key.bytes);
    return words.count >= 2 && rk_span_is(words.words[0], public_word) &&
           take_hex(words.words[1], out_key->key.bytes) && take_name(&words, out_key->name);
}

bool rk_public_key_parse(rk_span text, rk_public_key *out_key) {
    return parse_public(split(text), out_key);
}

typedef rk_err *(*take_fn)(void *context, const char *path, size_t number, const line *words);

// Calls `take` for each line of a file that has words. An error from `take` ends the reading.
static rk_err *read_lines(const char *path, mode_t refused_mode, take_fn take, void *context) {
    // The buffer does not move, so that a secret is in memory only once and can be overwritten.
    RK_AUTO(rk_buf) text = RK_BUF_INIT(FILE_MAX_BYTES + 1);
    rk_err *err = rk_fs_read_trusted(path, FILE_MAX_BYTES, refused_mode, &text);
    size_t at = 0;
    for (size_t number = 1; !err && at < text.len; number++) {
        const uint8_t *end = memchr(text.data + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.data) - at : text.len - at;
        line words = split(rk_span_of(text.data + at, len));
        if (words.count)
            err = take(context, path, number, &words);
        at += len + 1;
    }
    if (text.data)
        rk_sign_wipe(text.data, text.len);
    return err;
}

typedef struct secret_file {
    rk_signing_key *key;
    bool found;
} secret_file;

static rk_err *take_secret(void *context, const char *path, size_t number, const line *words) {
    secret_file *file = context;
    uint8_t seed[RK_SIGN_SEED_BYTES];
    if (file->found)
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s:%zu: a second signing key: the file may contain only one", path,
                        number);
    file->found = words->count >= 2 && rk_span_is(words->words[0], secret_word) &&
                  take_hex(words->words[1], seed) && take_name(words, file->key->public_key.name);
    if (file->found)
        rk_sign_from_seed(seed, &file->key->secret, &file->key->public_key.key);
    rk_sign_wipe(seed, sizeof seed);
    if (!file->found)
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s:%zu: expected a signing key: \"%s <%d hex digits> <name>\"; `rekindle "
                        "keys generate` makes one",
                        path, number, secret_word, (int)SEED_HEX_CHARS);
    return NULL;
}

rk_err *rk_signing_key_read(const char *path, rk_signing_key *out_key) {
    *out_key = (rk_signing_key){0};
    secret_file file = {.key = out_key};
    rk_err *err = read_lines(path, S_IRWXG | S_IRWXO, take_secret, &file);
    if (!err && !file.found)
        err = rk_error(RK_INVALID_ARGUMENT, "%s holds no signing key", path);
    if (err)
        rk_signing_key_cleanup(out_key);
    return err;
}

static rk_err *write_new(const char *path, const void *data, size_t len) {
    int fd = rk_sys()->open_fn(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return rk_error_errno(errno,
                              errno == EEXIST ? "%s is there already, and is not replaced"
                                              : "cannot create %s",
                              path);
    rk_err *err = rk_err_wrap(rk_fd_write_all(fd, data, len), "%s", path);
    if (!err && rk_sys()->fsync_fn(fd) != 0)
        err = rk_error_errno(errno, "cannot sync %s", path);
    if (rk_sys()->close_fn(fd) != 0 && !err)
        err = rk_error_errno(errno, "cannot close %s", path);
    if (err)
        (void)rk_sys()->unlink_fn(path); // an incomplete key is useless
    return err;
}

rk_err *rk_signing_key_create(const char *path, const char *name, rk_signing_key *out_key) {
    *out_key = (rk_signing_key){0};
    if (!rk_key_name_is_valid(name))
        return rk_error(RK_INVALID_ARGUMENT,
                        "\"%.100s\" is not a valid key name: use at most %d letters, digits, '.', "
                        "'_', '-' and '@'",
                        name, (int)RK_KEY_NAME_MAX_CHARS);
    uint8_t seed[RK_SIGN_SEED_BYTES];
    RK_TRY(rk_sign_make_seed(seed));
    rk_sign_from_seed(seed, &out_key->secret, &out_key->public_key.key);
    (void)snprintf(out_key->public_key.name, sizeof out_key->public_key.name, "%s", name);
    RK_AUTO(rk_buf) text = {0};
    rk_buf_reserve(&text, 1024); // so that the buffer does not move
    rk_buf_add_text(&text, "# A signing key of rekindle's. Anyone with this key can put code into "
                           "your jobs: keep it secret.\n");
    rk_buf_add_format(&text, "%s ", secret_word);
    rk_buf_add_hex(&text, rk_span_of(seed, sizeof seed));
    rk_buf_add_format(&text, " %s\n", name);
    rk_err *err = rk_buf_status(&text);
    if (!err)
        err = write_new(path, text.data, text.len);
    rk_sign_wipe(seed, sizeof seed);
    if (text.data)
        rk_sign_wipe(text.data, text.len);
    if (err)
        rk_signing_key_cleanup(out_key);
    return err;
}

const rk_public_key *rk_trusted_keys_find(const rk_trusted_keys *keys, const rk_sign_public *key) {
    for (size_t i = 0; i < keys->count; i++)
        if (rk_sign_public_equal(&keys->items[i].key, key))
            return &keys->items[i];
    return NULL;
}

rk_err *rk_trusted_keys_add(rk_trusted_keys *keys, const rk_public_key *key) {
    if (rk_trusted_keys_find(keys, &key->key))
        return NULL;
    rk_public_key *items = rk_realloc(keys->items, (keys->count + 1) * sizeof *items);
    if (!items)
        return rk_err_no_memory();
    keys->items = items;
    items[keys->count++] = *key;
    return NULL;
}

static rk_err *take_trusted(void *context, const char *path, size_t number, const line *words) {
    enum { MOST_KEYS = 10000 };
    rk_trusted_keys *keys = context;
    rk_public_key key;
    if (words->count && rk_span_is(words->words[0], secret_word))
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s:%zu: this is the secret part of a key; the list of trusted keys takes "
                        "the public one, as `rekindle keys list` shows it",
                        path, number);
    if (!parse_public(*words, &key))
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s:%zu: expected a trusted key: \"%s <64 hex digits> <name>\"", path,
                        number, public_word);
    if (keys->count >= MOST_KEYS)
        return rk_error(RK_OUT_OF_RANGE, "%s holds more than %d keys", path, (int)MOST_KEYS);
    return rk_trusted_keys_add(keys, &key);
}

rk_err *rk_trusted_keys_read(const char *path, rk_trusted_keys *out_keys) {
    *out_keys = (rk_trusted_keys){0};
    rk_err *err = read_lines(path, S_IWGRP | S_IWOTH, take_trusted, out_keys);
    if (err)
        rk_trusted_keys_cleanup(out_keys);
    return err;
}

rk_err *rk_trusted_keys_write(const char *path, const rk_trusted_keys *keys) {
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_text(&text, "# Keys whose signatures rekindle trusts: see `rekindle keys`.\n");
    for (size_t i = 0; i < keys->count; i++)
        rk_public_key_add_line(&keys->items[i], &text);
    RK_TRY(rk_buf_status(&text));
    return rk_fs_publish(path, text.data, text.len, 0644);
}
