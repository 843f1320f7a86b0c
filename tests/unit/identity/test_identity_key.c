// Keys and components. Each part of a key counts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "identity/components.h"
#include "identity/key.h"

static rk_key sample_key(void) {
    rk_key key = {0};
    rk_digest_of(rk_span_text("program"), &key.program);
    rk_digest_of(rk_span_text("options"), &key.options);
    rk_digest_of(rk_span_text("environment"), &key.environment);
    rk_key_finish(&key, "");
    return key;
}

static void every_part_of_a_key_counts(void **state) {
    (void)state;
    rk_key key = sample_key(), other;
    assert_true(rk_key_equal(&key, &key));
    rk_digest *const parts[] = {&other.program, &other.options, &other.environment};
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++) {
        other = key;
        parts[i]->bytes[31] ^= 1;
        assert_false(rk_key_equal(&key, &other)); // the key's own digest is unchanged
        rk_key_finish(&other, "");
        assert_false(rk_digest_equal(&key.digest, &other.digest));
    }
    other = key;
    rk_key_finish(&other, "team");
    assert_false(rk_key_equal(&key, &other));
    other = key;
    other.program = key.options;
    other.options = key.program;
    rk_key_finish(&other, "");
    assert_false(rk_digest_equal(&key.digest, &other.digest));
}

// Keys name entries on disks and in remote stores, so a key may change only together with its
// version.
static void key_is_what_it_was(void **state) {
    (void)state;
    rk_key key = sample_key();
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key.digest, hex);
    assert_string_equal(hex, "d03a49dcb66dcc0a9e823c1a91204a5a39527fdf49f49db9aba19055d02b5acf");
}

static void add(rk_components *list, rk_component_kind kind, const char *name, const char *value) {
    assert_null(rk_components_add(list, kind, name, rk_span_text(value)));
}

static rk_digest digest_of(rk_component_kind kind, const char *name, const char *value) {
    RK_AUTO(rk_components) list = {0};
    rk_digest digest;
    add(&list, kind, name, value);
    rk_components_digest(&list, &digest);
    return digest;
}

static void digest_separates_components(void **state) {
    (void)state;
    rk_digest digests[] = {
        digest_of(RK_COMPONENT_FLAG, "ab", "c"),     digest_of(RK_COMPONENT_FLAG, "a", "bc"),
        digest_of(RK_COMPONENT_VARIABLE, "ab", "c"), digest_of(RK_COMPONENT_FLAG, "ab", "d"),
        digest_of(RK_COMPONENT_FLAG, "ab", ""),
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(digests); i++)
        for (size_t k = 0; k < i; k++)
            assert_false(rk_digest_equal(&digests[i], &digests[k]));
}

static void sorting_makes_order_irrelevant(void **state) {
    (void)state;
    RK_AUTO(rk_components) one = {0};
    RK_AUTO(rk_components) other = {0};
    rk_digest one_digest, other_digest;
    add(&one, RK_COMPONENT_VERSION, "v", "1");
    add(&one, RK_COMPONENT_FLAG, "b", "2");
    add(&one, RK_COMPONENT_FLAG, "b", "1");
    add(&one, RK_COMPONENT_FLAG, "a", "3");
    for (size_t i = one.count; i-- > 0;)
        add(&other, one.items[i].kind, one.items[i].name, one.items[i].value);
    rk_components_sort(&one);
    rk_components_sort(&other);
    rk_components_digest(&one, &one_digest);
    rk_components_digest(&other, &other_digest);
    assert_true(rk_digest_equal(&one_digest, &other_digest));
    assert_string_equal(one.items[0].name, "a");
    assert_string_equal(one.items[1].value, "1");
    assert_string_equal(one.items[3].name, "v");
}

static void names_can_be_ignored(void **state) {
    (void)state;
    static const char *const IGNORES[] = {"XLA_FLAGS:--xla_foo", "--xla_foo", "xla_foo",
                                          "x,xla_foo y", " xla_foo,"};
    static const char *const OTHERS[] = {"", ",", "xla_fo", "xla_foo2", "XLA_FLAGS", "foo", "_foo"};
    for (size_t i = 0; i < RK_ARRAY_LEN(IGNORES) + RK_ARRAY_LEN(OTHERS); i++) {
        bool other = i >= RK_ARRAY_LEN(IGNORES);
        const char *ignore = other ? OTHERS[i - RK_ARRAY_LEN(IGNORES)] : IGNORES[i];
        RK_AUTO(rk_components) list = {0};
        add(&list, RK_COMPONENT_FLAG, "XLA_FLAGS:--xla_foo", "true");
        add(&list, RK_COMPONENT_VARIABLE, "TPU_MEGACORE", "1");
        rk_components_ignore(&list, ignore);
        assert_int_equal(list.count, other ? 2 : 1);
        assert_string_equal(list.items[list.count - 1].name, "TPU_MEGACORE");
        rk_components_ignore(&list, "TPU_MEGACORE");
        assert_int_equal(list.count, other ? 1 : 0);
        rk_components_ignore(&list, NULL);
    }
}

static void written_as_json(void **state) {
    (void)state;
    RK_AUTO(rk_components) list = {0};
    RK_AUTO(rk_buf) out = {0};
    char text[258] = {0};
    add(&list, RK_COMPONENT_OPTION, "o", "a\"b");
    add(&list, RK_COMPONENT_VARIABLE, "v", "\xFF");
    memset(text, 'x', 256);
    add(&list, RK_COMPONENT_VERSION, "at most", text);
    text[256] = 'x';
    add(&list, RK_COMPONENT_TOPOLOGY, "too long", text);
    rk_json json = rk_json_on(&out);
    rk_components_write(&list, &json);
    text[256] = '\0';
    RK_AUTO(rk_buf) expected = {0};
    rk_buf_add_format(
        &expected,
        "[{\"kind\":\"option\",\"name\":\"o\",\"value\":\"a\\\"b\"},"
        "{\"kind\":\"variable\",\"name\":\"v\",\"value\":{\"digest\":\"%s\",\"bytes\":1}},"
        "{\"kind\":\"version\",\"name\":\"at most\",\"value\":\"%s\"},"
        "{\"kind\":\"topology\",\"name\":\"too "
        "long\",\"value\":{\"digest\":\"%s\",\"bytes\":257}}]",
        "ac4e4076a883937282f1377ef5cacb8edd00e3c79629e43532464eb3be277367", text,
        "99da5101f1f947c80e6ecbf89498bea9946f231eb226e0ded7c80ec4cd723f57");
    assert_string_equal(rk_buf_text(&out), rk_buf_text(&expected));
}

static void limits_hold(void **state) {
    (void)state;
    RK_AUTO(rk_components) list = {0};
    RK_AUTO(rk_buf) large = {0};
    rk_buf_reserve(&large, (1 << 20) + 1);
    memset(large.data, 'x', (1 << 20) + 1);
    large.len = 1 << 20;
    assert_null(rk_components_add(&list, RK_COMPONENT_FLAG, "fits", rk_buf_span(&large)));
    large.len++;
    rk_err *err = rk_components_add(&list, RK_COMPONENT_FLAG, "too long", rk_buf_span(&large));
    assert_int_equal(rk_err_code(err), RK_OUT_OF_RANGE);
    rk_err_free(err);
    while (list.count < 65536)
        add(&list, RK_COMPONENT_FLAG, "f", "");
    err = rk_components_add(&list, RK_COMPONENT_FLAG, "one more", (rk_span){0});
    assert_int_equal(rk_err_code(err), RK_OUT_OF_RANGE);
    rk_err_free(err);
    assert_int_equal(list.count, 65536);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_of_a_key_counts),
        cmocka_unit_test(key_is_what_it_was),
        cmocka_unit_test(digest_separates_components),
        cmocka_unit_test(sorting_makes_order_irrelevant),
        cmocka_unit_test(names_can_be_ignored),
        cmocka_unit_test(written_as_json),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
