// Compile options for tests, from tests/unit/identity/data, and their canonical form.
#pragma once

#include "identity/options.h"

// The content of the data file. Owned: rk_buf_cleanup. Fails the test if the file cannot be read.
rk_buf rk_test_options(const char *file);

typedef struct rk_test_canonical {
    rk_buf bytes;
    rk_components fields;
} rk_test_canonical;

// Owned: rk_test_canonical_cleanup.
rk_test_canonical rk_test_canonicalize(rk_span options);
rk_test_canonical rk_test_canonicalize_file(const char *file);
void rk_test_canonical_cleanup(rk_test_canonical *canonical);

// The value of the component with this name; NULL if there is none. Borrowed from the list.
const char *rk_test_value(const rk_components *list, const char *name);
// Number of components with this name.
size_t rk_test_count(const rk_components *list, const char *name);
