// What may go, and in which order; private to src/store.
//
// The order is by what an entry is worth: the seconds that it saves, for each byte that it takes
// and each hour since it was last used,
//
//     worth = seconds / ((bytes + 4096) * (hours + 1))
//
// Seconds for a byte is the cost-aware value of GreedyDual-Size (Cao and Irani, USENIX ITS 1997). A
// program that is used again at all is the less likely to be used in the next hour the longer it
// has not been: dividing by the age makes it the density of hits over bytes and time that LHD ranks
// by (Beckmann, Chen and Cidon, NSDI 2018), and needs no counter in the entry and no clock of the
// cache's own. A stored program explains compilations but saves none: it counts with a tenth of its
// executable's seconds. So a small one outlives its executable, and a large one goes first.
#pragma once

#include "store/gc.h"
#include "store/last_use_internal.h"
#include "store/pins.h"
#include "store/usage_internal.h"

// What was used since is given up last, and never because of a clock.
#define RK_EVICT_RECENT_NS (UINT64_C(3600) * 1000000000)

RK_HIDDEN double rk_evict_worth(rk_entry_kind kind, uint64_t bytes, uint64_t compile_ns,
                                uint64_t age_ns);

typedef struct rk_evict_candidate {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    uint8_t kind; // rk_entry_kind
    bool pinned, recent;
    bool judged;  // the rest is known
    bool belongs; // to what is collected, as the caller's filter says
    bool marked;  // is to go
    bool gone;
    uint64_t bytes, modified_ns, age_ns;
    uint64_t compile_ns;
    double worth;
} rk_evict_candidate;

// A visit to some or all folders of entries.
typedef struct rk_survey {
    rk_store *store;
    bool dry_run;
    rk_last_use_clock ages;
    rk_pins pins;
    rk_evict_candidate *items; // owned
    size_t count, capacity;
    rk_usage_count leftovers; // of dead writers; removed unless dry_run
} rk_survey;

RK_HIDDEN RK_NODISCARD rk_err *rk_survey_begin(rk_store *store, bool dry_run,
                                               rk_survey *out_survey);
RK_HIDDEN void rk_survey_cleanup(rk_survey *survey);

// Visits the two folders whose keys begin with this byte: counts them into `table`, adds their
// entries, removes leftovers, and mends time stamps of the future.
RK_HIDDEN RK_NODISCARD rk_err *rk_survey_folder(rk_survey *survey, unsigned first_byte,
                                                rk_usage_table *table);

// Reads the heads of the candidates that were not judged yet; of recent ones only if asked for.
RK_HIDDEN RK_NODISCARD rk_err *rk_survey_judge(rk_survey *survey, bool recent_too,
                                               const rk_gc_options *options);

// The least worth first; recent ones behind all others. Keys decide where all else is equal.
RK_HIDDEN void rk_survey_sort(rk_survey *survey);

// Removes what is marked, but for what was used or replaced since it was visited, folder by folder:
// the order of the candidates is another one afterwards. With dry_run it only counts as gone. What
// went is added to `gone`, negative, and `removed` (NULL is fine) is told of each.
RK_HIDDEN RK_NODISCARD rk_err *
rk_survey_remove_marked(rk_survey *survey, rk_usage_table *gone,
                        void (*removed)(void *context, const rk_evict_candidate *one),
                        void *context);
