#include "diagnose/diff/align.h"

#include <string.h>

#include "base/alloc.h"
#include "diagnose/diff/hash.h"

enum {
    CELLS_MAX = 1 << 18, // cells of the table of a longest common subsequence
    WINDOW = 500,        // items on each side, if no item is unique
    LEVELS_MAX = 12,     // nested splits at anchors
    GRAM_LENGTHS = 3,    // number of run lengths that are tried as anchors
};
static const uint32_t gram_lengths[GRAM_LENGTHS] = {1, 4, 16};

typedef struct range {
    uint32_t a, a_end, b, b_end;
    uint32_t level;
} range;

typedef struct slot {
    uint64_t hash;
    uint32_t a, b; // last position in each sequence
    uint8_t a_count, b_count;
    bool used;
} slot;

typedef struct aligner {
    const uint64_t *a, *b;
    uint32_t *match;
    uint8_t *cells; // CELLS_MAX
    slot *slots;    // hash table of anchor candidates; size: a power of two
    uint32_t slot_capacity;
    uint32_t *tails, *previous, *picked, *other; // scratch for anchors, one element per item of a
    range *open;
    size_t open_count, open_capacity;
} aligner;

static void aligner_cleanup(aligner *al) {
    rk_free(al->cells);
    rk_free(al->slots);
    rk_free(al->tails);
    rk_free(al->open);
}

static rk_err *push(aligner *al, range r) {
    if (r.a == r.a_end || r.b == r.b_end)
        return NULL;
    if (al->open_count == al->open_capacity) {
        size_t capacity = al->open_capacity ? 2 * al->open_capacity : 64;
        range *open = rk_realloc(al->open, capacity * sizeof *open);
        if (!open)
            return rk_err_no_memory();
        al->open = open;
        al->open_capacity = capacity;
    }
    al->open[al->open_count++] = r;
    return NULL;
}

// Matches the common prefix and suffix of a range.
static void strip(aligner *al, range *r) {
    while (r->a < r->a_end && r->b < r->b_end && al->a[r->a] == al->b[r->b])
        al->match[r->a++] = r->b++;
    while (r->a < r->a_end && r->b < r->b_end && al->a[r->a_end - 1] == al->b[r->b_end - 1])
        al->match[--r->a_end] = --r->b_end;
}

// Aligns a small range by the whole table of the longest common subsequence. The table keeps only
// directions: 1 matches two items, 2 skips an item of a, 3 skips an item of b. It is filled from
// the end, so that the walk afterwards starts at the beginning.
static rk_err *align_table(aligner *al, const range *r) {
    uint32_t n = r->a_end - r->a, m = r->b_end - r->b;
    if (!al->cells && !(al->cells = rk_malloc(CELLS_MAX)))
        return rk_err_no_memory();
    rk_autofree uint32_t *row = rk_calloc((size_t)m + 1, sizeof *row); // lengths from (i, j) on
    if (!row)
        return rk_err_no_memory();
    for (uint32_t i = n; i-- > 0;) {
        uint32_t diagonal = 0; // length from (i + 1, j + 1) on
        for (uint32_t j = m; j-- > 0;) {
            uint32_t below = row[j], right = row[j + 1];
            uint8_t *cell = &al->cells[(size_t)i * m + j];
            if (al->a[r->a + i] == al->b[r->b + j]) {
                row[j] = diagonal + 1;
                *cell = 1;
            } else {
                *cell = below >= right ? 2 : 3;
                row[j] = below >= right ? below : right;
            }
            diagonal = below;
        }
    }
    for (uint32_t i = 0, j = 0; i < n && j < m;) {
        uint8_t cell = al->cells[(size_t)i * m + j];
        if (cell == 1)
            al->match[r->a + i] = r->b + j;
        i += cell != 3;
        j += cell != 2;
    }
    return NULL;
}

static bool fits_table(const range *r) {
    return (uint64_t)(r->a_end - r->a) * (r->b_end - r->b) <= CELLS_MAX;
}

// Aligns a range without anchors, window after window. The table of a window cannot see the items
// behind it, so its last quarter is dropped and aligned again with the items that follow.
static rk_err *align_windows(aligner *al, range r) {
    while (r.a < r.a_end && r.b < r.b_end) {
        if (fits_table(&r))
            return align_table(al, &r);
        range w = r;
        w.a_end = r.a_end - r.a > WINDOW ? r.a + WINDOW : r.a_end;
        w.b_end = r.b_end - r.b > WINDOW ? r.b + WINDOW : r.b_end;
        RK_TRY(align_table(al, &w));
        uint32_t a_keep = w.a_end == r.a_end ? w.a_end : r.a + WINDOW * 3 / 4;
        uint32_t b_keep = w.b_end == r.b_end ? w.b_end : r.b + WINDOW * 3 / 4;
        uint32_t a_next = r.a, b_next = r.b;
        for (uint32_t i = w.a; i < w.a_end; i++) {
            if (al->match[i] == RK_ALIGN_NONE)
                continue;
            if (i < a_keep && al->match[i] < b_keep) {
                a_next = i + 1;
                b_next = al->match[i] + 1;
            } else {
                al->match[i] = RK_ALIGN_NONE;
            }
        }
        // With few matches the window would hardly move. Then skip unmatched items on both sides,
        // so that the time stays linear.
        bool is_far = a_next - r.a + (b_next - r.b) >= WINDOW / 4;
        r.a = is_far ? a_next : a_keep;
        r.b = is_far ? b_next : b_keep;
        strip(al, &r);
    }
    return NULL;
}

static uint64_t gram(const uint64_t *items, uint32_t at, uint32_t length) {
    uint64_t hash = RK_HASH_SEED;
    for (uint32_t i = 0; i < length; i++)
        hash = rk_hash_mix(hash, items[at + i]);
    return hash;
}

static slot *find_slot(aligner *al, uint32_t mask, uint64_t hash) {
    uint32_t at = (uint32_t)hash & mask;
    while (al->slots[at].used && al->slots[at].hash != hash)
        at = (at + 1) & mask;
    return &al->slots[at];
}

// Counts each run of `length` items on both sides; a count of 2 means more than once.
static void count_grams(aligner *al, const range *r, uint32_t length, uint32_t mask) {
    memset(al->slots, 0, ((size_t)mask + 1) * sizeof *al->slots);
    for (uint32_t i = r->a; i + length <= r->a_end; i++) {
        uint64_t hash = gram(al->a, i, length);
        slot *s = find_slot(al, mask, hash);
        s->used = true;
        s->hash = hash;
        s->a = i;
        s->a_count = s->a_count ? 2 : 1;
    }
    for (uint32_t j = r->b; j + length <= r->b_end; j++) {
        slot *s = find_slot(al, mask, gram(al->b, j, length));
        s->b = j;
        s->b_count = s->b_count ? 2 : 1;
    }
}

// Picks anchors: the largest set of runs that are unique on both sides and in the same order on
// both. This is the longest increasing subsequence, found as in patience sorting. Returns their
// number. `picked` gets their positions in a, `other` those in b.
static uint32_t pick_anchors(aligner *al, const range *r, uint32_t length, uint32_t mask) {
    uint32_t candidates = 0, piles = 0;
    for (uint32_t i = r->a; i + length <= r->a_end; i++) {
        const slot *s = find_slot(al, mask, gram(al->a, i, length));
        if (s->a_count != 1 || s->b_count != 1)
            continue;
        uint32_t low = 0, high = piles;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (al->other[al->tails[middle]] < s->b)
                low = middle + 1;
            else
                high = middle;
        }
        al->picked[candidates] = i;
        al->other[candidates] = s->b;
        al->previous[candidates] = low ? al->tails[low - 1] : RK_ALIGN_NONE;
        al->tails[low] = candidates++;
        piles += low == piles;
    }
    // Move the chain to the front of `picked` and `other`. An element only moves to the front, so
    // that none is overwritten before it is read.
    uint32_t at = piles ? al->tails[piles - 1] : RK_ALIGN_NONE;
    for (uint32_t i = piles; i-- > 0; at = al->previous[at])
        al->tails[i] = at;
    for (uint32_t i = 0; i < piles; i++) {
        uint32_t from = al->tails[i];
        al->picked[i] = al->picked[from];
        al->other[i] = al->other[from];
    }
    return piles;
}

// Splits the range at its anchors. `*out_split` is false if it has none. Single items are tried
// first; longer runs are unique where single items repeat.
static rk_err *split(aligner *al, const range *r, bool *out_split) {
    uint32_t n = r->a_end - r->a, mask = 1;
    while (mask < 2 * n)
        mask = 2 * mask + 1;
    if (!al->tails) { // allocated once: the first range is the largest
        al->slots = rk_malloc(((size_t)mask + 1) * sizeof *al->slots);
        al->tails = rk_malloc(4 * (size_t)n * sizeof *al->tails);
        if (!al->slots || !al->tails)
            return rk_err_no_memory();
        al->previous = al->tails + n;
        al->picked = al->tails + 2 * (size_t)n;
        al->other = al->tails + 3 * (size_t)n;
    }
    uint32_t anchors = 0;
    for (unsigned g = 0; g < GRAM_LENGTHS && !anchors; g++) {
        if (gram_lengths[g] > n || gram_lengths[g] > r->b_end - r->b)
            break;
        count_grams(al, r, gram_lengths[g], mask);
        anchors = pick_anchors(al, r, gram_lengths[g], mask);
    }
    *out_split = anchors > 0;
    range left = {r->a, 0, r->b, 0, r->level + 1};
    for (uint32_t i = 0; i < anchors; i++) {
        uint32_t a = al->picked[i], b = al->other[i];
        if (a < left.a || b < left.b)
            continue; // inside the run of the previous anchor
        left.a_end = a;
        left.b_end = b;
        RK_TRY(push(al, left));
        left.a = a;
        left.b = b;
        while (left.a < r->a_end && left.b < r->b_end && al->a[left.a] == al->b[left.b])
            al->match[left.a++] = left.b++;
    }
    left.a_end = r->a_end;
    left.b_end = r->b_end;
    return anchors ? push(al, left) : NULL;
}

rk_err *rk_align(const uint64_t *a, size_t a_len, const uint64_t *b, size_t b_len,
                 uint32_t *out_match) {
    if (a_len >= RK_ALIGN_NONE / 4 || b_len >= RK_ALIGN_NONE / 4)
        return rk_error(RK_RESOURCE_EXHAUSTED, "too long to be aligned");
    RK_AUTO(aligner) al = {.a = a, .b = b, .match = out_match};
    memset(out_match, 0xFF, a_len * sizeof *out_match);
    RK_TRY(push(&al, (range){0, (uint32_t)a_len, 0, (uint32_t)b_len, 0}));
    while (al.open_count) {
        range r = al.open[--al.open_count];
        strip(&al, &r);
        if (r.a == r.a_end || r.b == r.b_end)
            continue;
        // A small range gets the exact table. A large one is split at anchors, or aligned in
        // windows.
        bool is_split = false;
        if (fits_table(&r)) {
            RK_TRY(align_table(&al, &r));
            continue;
        }
        if (r.level < LEVELS_MAX)
            RK_TRY(split(&al, &r, &is_split));
        if (!is_split)
            RK_TRY(align_windows(&al, r));
    }
    return NULL;
}
