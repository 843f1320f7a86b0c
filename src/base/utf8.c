#include "base/utf8.h"

size_t rk_utf8_len(rk_span text) {
    const uint8_t *s = text.data;
    size_t want;
    uint8_t low = 0x80, high = 0xBF; // bounds of the second byte
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF)
        want = 2;
    else if (s[0] >= 0xE0 && s[0] <= 0xEF)
        want = 3;
    else if (s[0] >= 0xF0 && s[0] <= 0xF4)
        want = 4;
    else
        return 0;
    if (s[0] == 0xE0)
        low = 0xA0;
    else if (s[0] == 0xED)
        high = 0x9F;
    else if (s[0] == 0xF0)
        low = 0x90;
    else if (s[0] == 0xF4)
        high = 0x8F;
    if (text.len < want || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < want; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return want;
}
