// Why a run compiled what it compiled: each compilation with the earlier program that it nearly
// was, what differs, and the class of cause; then what all of them together say (patterns.h). Reads
// the journals and the store; for the command line only.
#pragma once

#include "diagnose/diff/diff.h"
#include "diagnose/explain/corpus.h"
#include "diagnose/steps/steps.h"
#include "journal/read.h"

// A part of one program that stands in it again and again, in a row.
typedef struct rk_blocks {
    uint32_t count;     // 0: there is no such part
    uint32_t op_count;  // operations of one
    bool custom_kernel; // there are Pallas kernels in it
    char *file;         // owned
    uint32_t line;
} rk_blocks;

typedef struct rk_explained {
    const rk_run_compile *compile; // borrowed from the run
    const rk_known *program;       // borrowed from the library; NULL: not kept
    rk_cause cause;
    bool is_eager;  // an operation of the framework's own, outside of any compiled function
    bool was_lost;  // an earlier run compiled it, and left before it was stored
    bool is_loaded; // not compiled: the same program was asked for again, and loaded
    const rk_known *nearest;          // the earlier program; NULL: there is none
    const rk_run_compile *nearest_of; // its request in this run; NULL: it is of an earlier run
    double similarity;                // from 0 to 1
    rk_differences differences;       // causes first
    bool accumulates;                 // as in rk_program_diff
    rk_blocks blocks;
    uint64_t step; // of its process, in or for which it was compiled; RK_NO_STEP: not known
    char *advice;  // owned; NULL: there is nothing to be done
} rk_explained;

typedef enum rk_pattern_kind {
    RK_PATTERN_COUNTER,
    RK_PATTERN_ALTERNATION,
    RK_PATTERN_SHAPE_FAMILY,
    RK_PATTERN_OPTIONAL_INPUTS,
    RK_PATTERN_FRAGMENTS,
    RK_PATTERN_FLAG_DRIFT,
    RK_PATTERN_RANK_DIVERGENCE,
    RK_PATTERN_REPEATED_BLOCKS,
    RK_PATTERN_DUPLICATE_STORM,
    RK_PATTERN_KIND_COUNT,
} rk_pattern_kind;
const char *rk_pattern_kind_name(rk_pattern_kind kind); // "counter"; static

typedef struct rk_pattern {
    rk_pattern_kind kind;
    const rk_explained **members; // owned; what it is made of
    size_t member_count;
    uint64_t lost_ns;
    char *summary, *advice; // owned
    char *file;             // owned; NULL: not known
    uint32_t line;
} rk_pattern;

typedef struct rk_question {
    bool answer;
    char *evidence; // owned; one sentence
} rk_question;

typedef struct rk_explanation {
    const rk_run_model *run;  // borrowed
    const rk_corpus *library; // borrowed
    rk_explained *items;      // owned; by time
    size_t count;
    rk_pattern *patterns; // owned; what cost most first
    size_t pattern_count;
    rk_question input_shapes, profile_or_sharding, hidden_branch;
    uint64_t lost_ns; // of all that was not there for the first time
} rk_explanation;

// Runs before this one, for what they had stored. May be empty.
typedef struct rk_earlier_runs {
    const rk_run_model *items; // the newest last
    size_t count;
} rk_earlier_runs;

// Everything that is handed in must outlive the explanation. Owned: rk_explanation_cleanup, also
// after an error.
RK_NODISCARD rk_err *rk_explain(const rk_run_model *run, rk_earlier_runs earlier,
                                const rk_corpus *library, rk_explanation *out_explanation);
void rk_explanation_cleanup(rk_explanation *explanation);

// What a compilation cost: in the compiler, or to load what was asked for once more.
uint64_t rk_explained_cost_ns(const rk_explained *explained);

// What the program is called; what failed to compile has no executable that would say so. Borrowed.
const char *rk_explained_name(const rk_explained *explained);

// What the framework that made it is called in advice.
bool rk_explained_is_torch(const rk_explained *explained);
