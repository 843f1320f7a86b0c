#include "settings/spelling.h"

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

size_t rk_spelling_distance(rk_span word, const char *other) {
    enum { LONGEST = 40 };
    size_t other_len = strlen(other);
    size_t row[LONGEST + 1];
    if (word.len > LONGEST || other_len > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= other_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= word.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= other_len; j++) {
            size_t above = row[j];
            // Bit 5 is the case of a letter: MODE equals mode.
            bool same = (word.data[i - 1] | 0x20) == (uint8_t)(other[j - 1] | 0x20);
            row[j] = smallest(row[j - 1] + 1, above + 1, diagonal + !same);
            diagonal = above;
        }
    }
    return row[other_len];
}
