// Programs from tests/unit/program/data.
#pragma once

#include "base/buf.h"
#include "program/program.h"

// The data file's bytes. Owned: rk_buf_cleanup. Ends the test if it cannot be read.
rk_buf rk_test_program(const char *file);

// What rk_program_inspect makes of a data file, whose format is its suffix. Owned:
// rk_program_info_cleanup.
rk_program_info rk_test_inspect(const char *file);
