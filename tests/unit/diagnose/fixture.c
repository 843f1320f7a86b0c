#include "fixture.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "program/read.h"
#include "support/expect.h"

void rk_test_read(const char *file, rk_test_indexed *out_indexed) {
    char path[1024];
    char *reason = NULL;
    *out_indexed = (rk_test_indexed){0};
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_DATA, file);
    rk_expect_ok(rk_fs_read(path, 1 << 20, &out_indexed->code));
    rk_expect_ok(rk_model_read(rk_buf_span(&out_indexed->code),
                               rk_span_text(strrchr(file, '.') + 1), RK_READ_LOCATIONS,
                               &out_indexed->model, &reason));
    if (!out_indexed->model)
        fail_msg("%s: %s", file, reason);
    rk_expect_ok(rk_program_index_make(out_indexed->model, &out_indexed->index));
}

void rk_test_indexed_cleanup(rk_test_indexed *indexed) {
    rk_program_index_cleanup(&indexed->index);
    rk_model_free(indexed->model);
    rk_buf_cleanup(&indexed->code);
}
