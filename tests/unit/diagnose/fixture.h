// Programs from tests/unit/diagnose/programs, indexed for diffs.
#pragma once

#include "diagnose/diff/program_index.h"

typedef struct rk_test_indexed {
    rk_buf code;
    rk_model *model;
    rk_program_index index;
} rk_test_indexed;

// Reads and indexes a file. Fails the test if the file cannot be read. Owned:
// rk_test_indexed_cleanup.
void rk_test_read(const char *file, rk_test_indexed *out_indexed);
void rk_test_indexed_cleanup(rk_test_indexed *indexed);
