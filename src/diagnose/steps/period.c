#include "diagnose/steps/period_internal.h"

// Reads the items backwards from the end. For each length it computes the border, as Knuth, Morris
// and Pratt do: the longest proper prefix that is also a suffix. If `len` items have a border of
// `matched` items, they repeat every `len - matched` items.
uint32_t rk_step_detector_find(const uint32_t *items, uint32_t count, uint32_t max_period,
                               uint32_t times, uint16_t *border, uint32_t *out_period) {
    uint32_t best = 0, matched = 0;
    for (uint32_t len = 1; len <= count; len++) {
        uint32_t item = items[count - len];
        if (len > 1) {
            while (matched > 0 && items[count - 1 - matched] != item)
                matched = border[matched - 1];
            matched += items[count - 1 - matched] == item;
        }
        border[len - 1] = (uint16_t)matched;
        uint32_t period = len - matched;
        if (period <= max_period && len >= times * period) {
            best = len;
            *out_period = period;
        }
    }
    return best;
}
