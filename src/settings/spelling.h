// Measures how similar two names are, to correct misspelled names.
#pragma once

#include "base/span.h"

// Returns the Levenshtein distance in bytes, ignoring the case of letters. SIZE_MAX if either name
// has more than 40 bytes.
size_t rk_spelling_distance(rk_span word, const char *other);
