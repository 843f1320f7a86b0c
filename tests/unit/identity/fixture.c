#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"

rk_buf rk_test_options(const char *file) {
    char path[1024];
    rk_buf data = {0};
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_DATA, file);
    rk_err *err = rk_fs_read(path, 1 << 20, &data);
    if (err)
        fail_msg("%s", rk_err_message(err));
    return data;
}

rk_test_canonical rk_test_canonicalize(rk_span options) {
    rk_test_canonical result = {0};
    assert_null(rk_options_canonicalize(options, &result.bytes, &result.fields));
    return result;
}

rk_test_canonical rk_test_canonicalize_file(const char *file) {
    rk_buf data = rk_test_options(file);
    rk_test_canonical result = rk_test_canonicalize(rk_buf_span(&data));
    rk_buf_cleanup(&data);
    return result;
}

void rk_test_canonical_cleanup(rk_test_canonical *canonical) {
    rk_buf_cleanup(&canonical->bytes);
    rk_components_cleanup(&canonical->fields);
}

const char *rk_test_value(const rk_components *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return list->items[i].value;
    return NULL;
}

size_t rk_test_count(const rk_components *list, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += strcmp(list->items[i].name, name) == 0;
    return count;
}
