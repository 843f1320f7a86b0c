#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"

rk_buf rk_test_program(const char *file) {
    char path[1024];
    rk_buf data = {0};
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_DATA, file);
    rk_err *err = rk_fs_read(path, 1 << 20, &data);
    if (err)
        fail_msg("%s", rk_err_message(err));
    return data;
}

rk_program_info rk_test_inspect(const char *file) {
    rk_program_info info;
    rk_buf data = rk_test_program(file);
    rk_err *err =
        rk_program_inspect(rk_buf_span(&data), rk_span_text(strrchr(file, '.') + 1), &info);
    assert_null(err);
    rk_buf_cleanup(&data);
    return info;
}
