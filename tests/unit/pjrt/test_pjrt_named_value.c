// Attributes as JSON, also of a plugin whose structs are longer than the header's.
#include "support/cmocka.h"

#include <stdio.h>

#include "pjrt/named_value.h"

static const int64_t coordinates[] = {1, -2, 3};

static PJRT_NamedValue named(const char *name, PJRT_NamedValue_Type type) {
    return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = name,
                             .name_size = strlen(name),
                             .type = type,
                             .value_size = 1};
}

static void assert_json(const PJRT_NamedValue *values, size_t count, const char *expected) {
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    rk_json json = rk_json_on(&out);
    rk_named_values_to_json(&json, values, count);
    assert_string_equal(rk_buf_text(&out), expected);
}

static void every_kind_has_its_json(void **state) {
    (void)state;
    char name[300];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    PJRT_NamedValue values[] = {
        named("string", PJRT_NamedValue_kString),  named("int", PJRT_NamedValue_kInt64),
        named("list", PJRT_NamedValue_kInt64List), named("float", PJRT_NamedValue_kFloat),
        named("bool", PJRT_NamedValue_kBool),      named(name, (PJRT_NamedValue_Type)99),
    };
    values[0].string_value = "a \"b\"";
    values[0].value_size = 5;
    values[1].int64_value = INT64_MIN;
    values[2].int64_array_value = coordinates;
    values[2].value_size = 3;
    values[3].float_value = 0.5F;
    values[4].bool_value = true;
    assert_json(values, 5,
                "{\"string\":\"a \\\"b\\\"\",\"int\":-9223372036854775808,\"list\":[1,-2,3],"
                "\"float\":0.5,\"bool\":true}");
    // A long name is complete. A kind from a newer version appears without its value.
    char expected[400];
    (void)snprintf(expected, sizeof expected, "{\"%s\":null}", name);
    assert_json(&values[5], 1, expected);
    assert_json(NULL, 0, "{}");
}

static void a_longer_struct_is_stepped_over(void **state) {
    (void)state;
    struct {
        PJRT_NamedValue value;
        int64_t later[2];
    } values[2] = {{.value = named("a", PJRT_NamedValue_kInt64)},
                   {.value = named("b", PJRT_NamedValue_kInt64)}};
    for (int i = 0; i < 2; i++) {
        values[i].value.struct_size = sizeof values[i];
        values[i].value.int64_value = i;
        memset(values[i].later, 0xEE, sizeof values[i].later);
    }
    assert_json(&values[0].value, 2, "{\"a\":0,\"b\":1}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_json),
        cmocka_unit_test(a_longer_struct_is_stepped_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
