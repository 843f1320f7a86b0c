// Programs from tests/unit/diagnose/programs, as diffs see them.
#pragma once

#include "diagnose/diff/program_index.h"

typedef struct rk_test_view {
    rk_buf code;
    rk_model *model;
    rk_program_index view;
} rk_test_view;

// Ends the test if it cannot be read. Owned: rk_test_view_cleanup.
void rk_test_read(const char *file, rk_test_view *out_view);
void rk_test_view_cleanup(rk_test_view *view);
