// How alike two names are, to tell which one was meant.
#pragma once

#include "base/span.h"

// Levenshtein's distance in bytes, a letter being equal to itself in the other case. SIZE_MAX where
// one of the two has more than 40 bytes.
size_t rk_spelling_distance(rk_span word, const char *other);
