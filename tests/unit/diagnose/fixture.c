#include "fixture.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "program/read.h"
#include "support/expect.h"

void rk_test_read(const char *file, rk_test_view *out_view) {
    char path[1024];
    char *reason = NULL;
    *out_view = (rk_test_view){0};
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_DATA, file);
    rk_expect_ok(rk_fs_read(path, 1 << 20, &out_view->code));
    rk_expect_ok(rk_model_read(rk_buf_span(&out_view->code), rk_span_text(strrchr(file, '.') + 1),
                               RK_READ_LOCATIONS, &out_view->model, &reason));
    if (!out_view->model)
        fail_msg("%s: %s", file, reason);
    rk_expect_ok(rk_program_index_make(out_view->model, &out_view->view));
}

void rk_test_view_cleanup(rk_test_view *view) {
    rk_program_index_cleanup(&view->view);
    rk_model_free(view->model);
    rk_buf_cleanup(&view->code);
}
