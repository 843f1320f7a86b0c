// Compares two requests by what the journals record of them: their options and environments. Needs
// no stored program, so it also works after a program was removed. For the command line only.
#pragma once

#include "diagnose/diff/diff.h"
#include "diagnose/explain/corpus.h"
#include "journal/read.h"
#include "store/removals.h"

// Attributes of a difference of which only the digests of both sides are known.
#define RK_UNNAMED_OPTIONS     "compile options"
#define RK_UNNAMED_ENVIRONMENT "environment"

// A request, and the run that made it. Both are borrowed.
typedef struct rk_recorded {
    const rk_run_model *run;
    const rk_run_compile *request;
} rk_recorded;

// Appends the settings that differ between two requests of one program, and sets the cause. Options
// are named if any program in the store was compiled with them; otherwise the difference holds
// digests. Leaves RK_CAUSE_FIRST if nothing that is recorded differs. Fails only with
// RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_diff_recorded(const rk_corpus *corpus, rk_recorded before,
                                      rk_recorded after, rk_program_diff *diff);

// Returns the components of the request's client, as the journal has them. Owned; NULL if unknown.
json_t *rk_recorded_environment(rk_recorded of);

// What became of an executable: "removed by `rekindle rm`"; static.
const char *rk_removal_text(rk_removal removal);
// The cause of the compilation that follows.
rk_cause rk_removal_cause(rk_removal removal);
