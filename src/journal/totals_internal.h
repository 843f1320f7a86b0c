// Reads and writes single counters of rk_run_totals, for summaries. Inside src/journal only.
#pragma once

#include "journal/read.h"

// A counter that is summed over runs and is a member of a summary.
typedef struct rk_totals_field {
    const char *name; // in the summary
    size_t at;        // offset of the uint64_t in rk_run_totals
    bool is_later;    // the first summaries of this version lack it
} rk_totals_field;

// All counters except `programs` and `saved_ns`, which are computed from the others.
extern const rk_totals_field rk_totals_fields[];
extern const size_t rk_totals_field_count;

uint64_t rk_totals_get(const rk_run_totals *totals, const rk_totals_field *field);
void rk_totals_set(rk_run_totals *totals, const rk_totals_field *field, uint64_t value);

RK_NODISCARD rk_err *rk_totals_add_program(rk_run_totals *totals, const rk_digest *program);

// Adds a text unless it is already there; keeps at most 1000.
RK_NODISCARD rk_err *rk_totals_add_warning(rk_run_totals *totals, const char *message);

// Returns the distinct programs, sorted. `*out_programs` is owned: rk_free; NULL if there are none.
RK_NODISCARD rk_err *rk_totals_list_programs(const rk_run_totals *totals, rk_digest **out_programs,
                                             size_t *out_count);

// Computes `programs` and `saved_ns`.
void rk_totals_settle(rk_run_totals *totals);
