// Programs from tests/unit/program/data.
#pragma once

#include "base/buf.h"
#include "program/program.h"

// The content of the data file. Owned: rk_buf_cleanup. Fails the test if the file cannot be read.
rk_buf rk_test_program(const char *file);

// The result of rk_program_inspect for a data file, whose suffix is its format. Owned:
// rk_program_info_cleanup.
rk_program_info rk_test_inspect(const char *file);
