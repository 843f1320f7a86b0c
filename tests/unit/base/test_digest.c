#include "base/digest.h"

#include "support/cmocka.h"

static void expect_hex(const rk_digest *digest, const char *expected) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(digest, hex);
    assert_string_equal(hex, expected);
}

// Values of `b2sum -l 256`.
static void known_vectors(void **state) {
    (void)state;
    static const struct {
        const char *text, *hex;
    } vectors[] = {
        {"", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
        {"abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"},
        {"The quick brown fox jumps over the lazy dog",
         "01718cec35cd3d796dd00020e0bfecb473ad23457d063b75eff29c0ffa2e58a9"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        rk_digest digest;
        rk_digest_of(rk_span_text(vectors[i].text), &digest);
        expect_hex(&digest, vectors[i].hex);
    }
}

// 0…255, a thousand times, in pieces of growing size. The size of the pieces must not matter.
static void pieces_do_not_matter(void **state) {
    (void)state;
    static uint8_t data[256 * 1000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    for (size_t at = 0, step = 0; at < sizeof data; at += step, step++) {
        size_t left = sizeof data - at;
        rk_hasher_add(&hasher, data + at, step < left ? step : left);
    }
    rk_digest digest;
    rk_hasher_finish(&hasher, &digest);
    expect_hex(&digest, "5d074c3f889bcba3b3a253496ee73cba18832b6d3c67d2b739dc202c78ed2581");
}

static void fields_carry_their_length(void **state) {
    (void)state;
    rk_hasher hasher;
    rk_digest one, other;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text("ab"));
    rk_hasher_add_field(&hasher, rk_span_text("c"));
    rk_hasher_finish(&hasher, &one);
    expect_hex(&one, "20263e794775e4edf2b306c0f306af9e50175c831c857604b481e847f790bf95");
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text("a"));
    rk_hasher_add_field(&hasher, rk_span_text("bc"));
    rk_hasher_finish(&hasher, &other);
    assert_false(rk_digest_equal(&one, &other));
}

static void hex_both_ways(void **state) {
    (void)state;
    const char *hex = "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319";
    rk_digest digest;
    assert_true(rk_digest_from_hex(rk_span_text(hex), &digest));
    expect_hex(&digest, hex);
}

static void only_lower_case_hex_of_full_length_is_read(void **state) {
    (void)state;
    rk_digest digest;
    static const char *const wrong[] = {
        "",
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d5231",
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d523190",
        "BDDD813C634239723171EF3FEE98579B94964E3BB1CB3E427262C8C068D52319",
        "gddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d5231/",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(rk_digest_from_hex(rk_span_text(wrong[i]), &digest));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_vectors),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(fields_carry_their_length),
        cmocka_unit_test(hex_both_ways),
        cmocka_unit_test(only_lower_case_hex_of_full_length_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
