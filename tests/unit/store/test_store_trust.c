// Key files: they are read as written, other users may not access them, and no secret is ever
// shown. Entries are judged by their signer.
#include "sample.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/faults.h"
#include "support/tempdir.h"

static int set_up(void **state) {
    *state = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    rk_test_tempdir_remove(*state);
    return 0;
}

static void write_text(const char *path, const char *text, mode_t mode) {
    sample_ok(rk_fs_publish(path, text, strlen(text), 0600));
    assert_int_equal(chmod(path, mode), 0);
}

#define HEX    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define CANARY "7365637265742073656564206f6620612063616e6172792c206e6f7420746f6c"

static void a_new_key_is_read_again(void **state) {
    rk_autofree char *path = rk_path_join(*state, "key");
    RK_AUTO(rk_signing_key) made = {0};
    RK_AUTO(rk_signing_key) got = {0};
    sample_ok(rk_signing_key_create(path, "build-farm@ci", &made));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    sample_ok(rk_signing_key_read(path, &got));
    assert_memory_equal(&got.secret, &made.secret, sizeof got.secret);
    assert_true(rk_sign_public_equal(&got.public_key.key, &made.public_key.key));
    assert_string_equal(got.public_key.name, "build-farm@ci");
    // No file is ever replaced, and all keys differ.
    RK_AUTO(rk_signing_key) again = {0};
    sample_fails(rk_signing_key_create(path, "x", &again), RK_ALREADY_EXISTS);
    rk_autofree char *other = rk_path_join(*state, "other");
    sample_fails(rk_signing_key_create(other, "a name", &again), RK_INVALID_ARGUMENT);
    sample_fails(rk_signing_key_create(other, "", &again), RK_INVALID_ARGUMENT);
    sample_ok(rk_signing_key_create(other, "x", &again));
    assert_false(rk_sign_public_equal(&again.public_key.key, &made.public_key.key));
}

static void others_may_not_get_at_keys(void **state) {
    static const struct {
        mode_t mode;
        bool signing, trusted;
    } modes[] = {{0600, true, true},   {0400, true, true},  {0640, false, true},
                 {0604, false, true},  {0644, false, true}, {0620, false, false},
                 {0602, false, false}, {0666, false, false}};
    rk_autofree char *secret = rk_path_join(*state, "secret");
    rk_autofree char *list = rk_path_join(*state, "list");
    for (size_t i = 0; i < RK_ARRAY_LEN(modes); i++) {
        write_text(secret, "ed25519-secret " CANARY " me\n", modes[i].mode);
        write_text(list, "ed25519 " HEX " me\n", modes[i].mode);
        RK_AUTO(rk_signing_key) key = {0};
        RK_AUTO(rk_trusted_keys) keys = {0};
        sample_fails(rk_signing_key_read(secret, &key),
                     modes[i].signing ? RK_OK : RK_PERMISSION_DENIED);
        sample_fails(rk_trusted_keys_read(list, &keys),
                     modes[i].trusted ? RK_OK : RK_PERMISSION_DENIED);
        assert_int_equal(keys.count, modes[i].trusted);
    }
    if (geteuid() != 0)
        return;
    write_text(secret, "ed25519-secret " CANARY " me\n", 0600);
    assert_int_equal(chown(secret, 12345, 12345), 0);
    RK_AUTO(rk_signing_key) key = {0};
    sample_fails(rk_signing_key_read(secret, &key), RK_PERMISSION_DENIED);
}

static void lists_are_read(void **state) {
    rk_autofree char *path = rk_path_join(*state, "list");
    write_text(path,
               "# who we trust\n\n"
               "ed25519 " HEX " first # with a comment\r\n"
               "  ed25519\t" HEX "   again\n" HEX "\n"
               "ed25519 " CANARY "\n",
               0644);
    RK_AUTO(rk_trusted_keys) keys = {0};
    sample_ok(rk_trusted_keys_read(path, &keys));
    assert_int_equal(keys.count, 2);
    assert_string_equal(keys.items[0].name, "first");
    assert_string_equal(keys.items[1].name, "");
    assert_ptr_equal(rk_trusted_keys_find(&keys, &keys.items[1].key), &keys.items[1]);
    rk_sign_public other = {.bytes = {1}};
    assert_null(rk_trusted_keys_find(&keys, &other));
    // Written and read again, the list is the same.
    sample_ok(rk_trusted_keys_write(path, &keys));
    RK_AUTO(rk_trusted_keys) again = {0};
    sample_ok(rk_trusted_keys_read(path, &again));
    assert_int_equal(again.count, 2);
    assert_memory_equal(again.items, keys.items, 2 * sizeof *keys.items);
    // A link, as for secrets that are mounted into containers.
    rk_autofree char *link = rk_path_join(*state, "link");
    assert_int_equal(symlink("list", link), 0);
    RK_AUTO(rk_trusted_keys) linked = {0};
    sample_ok(rk_trusted_keys_read(link, &linked));
    assert_int_equal(linked.count, 2);
}

static void what_is_no_key_is_an_error_with_its_line(void **state) {
    static const char *const lines[] = {
        "ed25519",
        "ed25519 0011",
        "ed25519 " HEX "00",
        "ed25519 " HEX " two names",
        "ed25519 " HEX " n\xC3\xA4me",
        "ssh-ed25519 " HEX,
        "Ed25519 " HEX,
        "ed25519 000102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f",
        "ed25519-secret " CANARY " me",
    };
    rk_autofree char *path = rk_path_join(*state, "file");
    for (size_t i = 0; i < RK_ARRAY_LEN(lines); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, "# comment\n%s\n", lines[i]);
        write_text(path, text, 0600);
        RK_AUTO(rk_trusted_keys) keys = {0};
        rk_err *err = rk_trusted_keys_read(path, &keys);
        assert_non_null(strstr(rk_err_message(err), "file:2:"));
        assert_null(strstr(rk_err_message(err), CANARY));
        sample_fails(err, RK_INVALID_ARGUMENT);
        assert_null(keys.items);
    }
    static const char *const secrets[] = {
        "",
        "# nothing\n",
        "ed25519 " CANARY " me\n",
        "ed25519-secret " CANARY "00\n",
        "ed25519-secret " CANARY " me\ned25519-secret " CANARY " me\n",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n" CANARY "\n",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(secrets); i++) {
        write_text(path, secrets[i], 0600);
        RK_AUTO(rk_signing_key) key = {0};
        rk_err *err = rk_signing_key_read(path, &key);
        assert_non_null(strstr(rk_err_message(err), path));
        assert_null(strstr(rk_err_message(err), CANARY));
        sample_fails(err, RK_INVALID_ARGUMENT);
        static const rk_signing_key wiped;
        assert_memory_equal(&key, &wiped, sizeof key);
    }
    rk_autofree char *missing = rk_path_join(*state, "missing");
    RK_AUTO(rk_signing_key) key = {0};
    RK_AUTO(rk_trusted_keys) keys = {0};
    sample_fails(rk_signing_key_read(missing, &key), RK_NOT_FOUND);
    sample_fails(rk_trusted_keys_read(missing, &keys), RK_NOT_FOUND);
}

static void failing_calls_leave_no_half_key(void **state) {
    static const unsigned kinds[] = {RK_FAULT_EVERY_SYSCALL, RK_FAULT_ALLOC};
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++) {
        for (unsigned nth = 1;; nth++) {
            rk_autofree char *path = rk_path_join(*state, "key");
            RK_AUTO(rk_signing_key) made = {0};
            RK_AUTO(rk_signing_key) got = {0};
            RK_AUTO(rk_trusted_keys) keys = {0};
            rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = kinds[i]});
            rk_err *err = rk_signing_key_create(path, "me", &made);
            bool was_made = !err;
            if (!err)
                err = rk_signing_key_read(path, &got);
            if (!err)
                err = rk_trusted_keys_add(&keys, &got.public_key);
            bool reached = rk_fault_end();
            assert_int_equal(access(path, F_OK) == 0, was_made);
            (void)unlink(path);
            if (!reached) {
                sample_ok(err);
                break;
            }
            rk_err_free(err);
        }
    }
}

static rk_trust trust_of(rk_store *store, unsigned seed) {
    rk_key key = sample_key(seed);
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_get(store, &key, &lookup));
    assert_true(lookup.found);
    return lookup.trust;
}

static void a_store_signs_and_judges(void **state) {
    rk_autofree char *root = rk_path_join(*state, "store");
    rk_autofree char *path = rk_path_join(*state, "key");
    RK_AUTO(rk_signing_key) signing = {0};
    sample_ok(rk_signing_key_create(path, "me", &signing));
    rk_store *store = NULL;
    sample_ok(rk_store_open(root, false, &store));
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    uint64_t plain_bytes = 0, signed_bytes = 0;
    sample_ok(rk_store_put(store, &entry, &plain_bytes));
    rk_store_use_keys(store, &signing, NULL);
    entry = sample_entry(RK_ENTRY_EXECUTABLE, 2);
    sample_ok(rk_store_put(store, &entry, &signed_bytes));
    assert_in_range(signed_bytes, plain_bytes + RK_ENTRY_SIGNATURE_BYTES - 8,
                    plain_bytes + RK_ENTRY_SIGNATURE_BYTES + 8);
    assert_int_equal(trust_of(store, 1), RK_TRUST_UNSIGNED);
    assert_int_equal(trust_of(store, 2), RK_TRUST_UNKNOWN_KEY);
    rk_trusted_keys keys = {0};
    sample_ok(rk_trusted_keys_add(&keys, &signing.public_key));
    rk_store_use_keys(store, NULL, &keys);
    assert_null(keys.items);
    assert_int_equal(trust_of(store, 1), RK_TRUST_UNSIGNED);
    assert_int_equal(trust_of(store, 2), RK_TRUST_TRUSTED);
    sample_ok(rk_store_put(store, &entry, NULL));
    assert_int_equal(trust_of(store, 2), RK_TRUST_UNSIGNED);
    rk_store_free(store);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_key_is_read_again),
        TEST(others_may_not_get_at_keys),
        TEST(lists_are_read),
        TEST(what_is_no_key_is_an_error_with_its_line),
        TEST(failing_calls_leave_no_half_key),
        TEST(a_store_signs_and_judges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
