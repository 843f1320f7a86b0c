// Reads and writes the load verdict of a key, after processes died while they loaded its entry:
// one line in the file loads/<key> (docs/format.md); private to src/store.
#pragma once

#include "store/loads.h"
#include "store/store_path_internal.h"

typedef struct rk_load_verdict {
    bool aside;          // true: no entry of this key is loaded; false: the entry is suspected
    uint64_t created_ns; // creation time of the entry that was being loaded
    uint64_t judged_ns;  // realtime clock
    int signal;          // the signal that killed the process; 0: not known
} rk_load_verdict;

#define RK_LOAD_VERDICT_NS (UINT64_C(30) * 86400 * 1000000000) // how long a verdict is valid

RK_HIDDEN void rk_load_verdict_add_text(const rk_load_verdict *verdict, rk_buf *out);
RK_HIDDEN RK_NODISCARD bool rk_load_verdict_parse(rk_span text, rk_load_verdict *out_verdict);

// True if the verdict is RK_LOAD_VERDICT_NS old. Also true if its time is as far in the future,
// because then some clock was wrong.
RK_HIDDEN RK_NODISCARD bool rk_load_verdict_is_over(const rk_load_verdict *verdict);

// Returns false if there is no valid verdict, or if it cannot be read.
RK_HIDDEN RK_NODISCARD bool rk_load_verdict_read(const rk_store *store, const rk_digest *key,
                                                 rk_load_verdict *out_verdict);
RK_HIDDEN RK_NODISCARD rk_err *rk_load_verdict_write(const rk_store *store, const rk_digest *key,
                                                     const rk_load_verdict *verdict);
// No error if there is no verdict.
RK_HIDDEN RK_NODISCARD rk_err *rk_load_verdict_remove(const rk_store *store, const char *hex);
