// Selects the entries to evict, in order of their worth; private to src/store.
//
// The worth of an entry is the time that it saves, per byte of its file and per hour since its last
// use:
//
//     worth = seconds / ((bytes + 4096) * (hours + 1))
//
// Seconds per byte is the cost-aware value of GreedyDual-Size (Cao and Irani, USITS 1997). The
// longer an entry has not been used, the less likely is a use in the next hour. Dividing by the
// hours gives a density of hits over bytes and time; LHD ranks by such a density (Beckmann, Chen
// and Cidon, NSDI 2018). This formula needs no counter in the entry, and no inflation value that
// all processes share.
//
// A stored program explains compilations but saves no time. In the formula, its seconds are a tenth
// of the seconds of its executable. So a small program is evicted after its executable, and a large
// program before it.
#pragma once

#include "store/gc.h"
#include "store/last_use_internal.h"
#include "store/pins.h"
#include "store/removals.h"
#include "store/usage_internal.h"

// An entry that was used within this time is recent, and is evicted last. A clock that jumped
// cannot make it look older (store/last_use_internal.h).
#define RK_EVICT_RECENT_NS (UINT64_C(3600) * 1000000000)

RK_HIDDEN double rk_evict_worth(rk_entry_kind kind, uint64_t bytes, uint64_t compile_ns,
                                uint64_t age_ns);

typedef struct rk_evict_candidate {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    uint8_t kind; // rk_entry_kind
    bool pinned, recent;
    bool judged;  // belongs, compile_ns and worth are known
    bool belongs; // the caller's filter accepts it
    bool marked;  // to be removed
    bool gone;    // removed, or counted as removed with dry_run
    uint64_t bytes, modified_ns, age_ns;
    uint64_t compile_ns;
    double worth;
} rk_evict_candidate;

// The entries of some or all folders, as candidates for eviction.
typedef struct rk_survey {
    rk_store *store;
    bool dry_run;
    rk_removal removal; // what the record of removals calls it
    rk_last_use_clock clock;
    rk_pins pins;
    rk_evict_candidate *items; // owned
    size_t count, capacity;
    rk_usage_count leftovers; // temporary files of dead writers; removed unless dry_run
} rk_survey;

RK_HIDDEN RK_NODISCARD rk_err *rk_survey_begin(rk_store *store, bool dry_run,
                                               rk_survey *out_survey);
RK_HIDDEN void rk_survey_cleanup(rk_survey *survey);

// Visits the two folders of the keys that begin with this byte. Counts the folders into `table`,
// adds their entries as candidates, removes leftovers, and sets time stamps in the future to now.
RK_HIDDEN RK_NODISCARD rk_err *rk_survey_folder(rk_survey *survey, unsigned first_byte,
                                                rk_usage_table *table);

// Reads the heads of the candidates that are not judged yet, and computes their worth. Skips recent
// candidates unless `recent_too`. `options` may be NULL: no filter.
RK_HIDDEN RK_NODISCARD rk_err *rk_survey_judge(rk_survey *survey, bool recent_too,
                                               const rk_gc_options *options);

// Sorts candidates by worth, least first. Recent ones come after all others. Among equals the order
// is by key.
RK_HIDDEN void rk_survey_sort(rk_survey *survey);

// Removes the marked candidates, folder by folder, which changes the order of `items`. Skips
// entries that were used or replaced since the visit. With dry_run, removes nothing and only sets
// `gone`. Adds the removed files to the table `gone` as negative numbers, and calls `removed` for
// each (NULL: no callback).
RK_HIDDEN RK_NODISCARD rk_err *
rk_survey_remove_marked(rk_survey *survey, rk_usage_table *gone,
                        void (*removed)(void *context, const rk_evict_candidate *one),
                        void *context);
