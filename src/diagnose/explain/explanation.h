// The explanation of a run: its compilations with their causes, the patterns over them, and the
// answers to three questions. rk_explain makes it (explain.h).
#pragma once

#include "diagnose/diff/difference.h"
#include "diagnose/explain/corpus.h"
#include "diagnose/steps/steps.h"
#include "journal/read.h"
#include "store/removals.h"

// A block of operations that a program repeats several times in a row.
typedef struct rk_blocks {
    uint32_t count;     // 0: no block repeats
    uint32_t op_count;  // operations of one block
    double share;       // of all blocks in the operations of the program, from 0 to 1
    bool custom_kernel; // the block contains Pallas or Triton kernels
    bool is_minor;      // too small a part of the program for a finding of its own
    uint64_t body;      // hash of the first line of the user in the block; 0: unknown
    char *file;         // owned
    uint32_t line;
} rk_blocks;

typedef struct rk_explained {
    const rk_run_compile *compile; // borrowed from the run
    const rk_known *program;       // borrowed from the corpus; NULL: not kept
    rk_cause cause;
    bool is_eager; // an operation of the framework, outside of any compiled function
    bool
        was_lost; // an earlier run compiled the program, and ended before the executable was stored
    bool failed_before; // the compiler refused the program in an earlier run, too
    rk_removal removal; // what removed the executable that an earlier run stored
    // The program takes inputs (an optimizer's state) that an earlier program of the process made.
    // The process executed that earlier program once, and compiles this one once.
    bool is_startup;
    // Another line of the source calls the same function, or another function of the same name.
    // Each of the two lines has programs of its own.
    bool is_own_call;
    bool is_part;       // does a part of what the earlier program does, and was executed once
    bool follows_start; // PyTorch/XLA: the earlier graph takes more, and was executed once
    bool takes_lists;   // PyTorch/XLA: the number of inputs of one type differs from graph to graph
    bool takes_other_list; // the same, compared with a graph of an earlier start
    bool has_many_sizes;   // a third program of the same call has another number of rows
    char
        *package; // the package that binds the program to its process; owned; NULL: the user's code
    bool is_loaded;          // not compiled: a repeated request, answered from the store
    const rk_known *nearest; // the most similar earlier program; NULL: none
    // Request of `nearest` in this run; NULL: `nearest` is of an earlier run.
    const rk_run_compile *nearest_of;
    const char *nearest_run; // the run that requested `nearest`; borrowed; NULL: none
    // The request of an earlier run for the same program with other settings, which is the cause;
    // only the journals tell it, and `nearest` is NULL. Borrowed; NULL: none.
    const rk_run_compile *recorded;
    // A program of the same name in an earlier start, which is not in the store: this program may
    // be a changed version of it. Borrowed; NULL: none.
    const rk_run_compile *gone;
    rk_removal unread_removal;  // what removed the program that could not be compared
    const char *gone_run;       // its run; borrowed
    double similarity;          // from 0 to 1
    rk_differences differences; // causes first
    // Versions of libraries that changed since the nearest program was compiled, and whose code is
    // part of the program: a possible reason for its differences, not a cause.
    rk_differences libraries;
    bool accumulates;  // as in rk_program_diff
    bool is_reordered; // the operations are the same, in another order or with other operands
    rk_blocks blocks;
    uint64_t step; // step in which, or for which, the process compiled it; RK_NO_STEP: unknown
    bool is_after_steps; // the process completed no step after it
    char *advice;        // owned; NULL: none
} rk_explained;

// docs/explain.md describes each kind.
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
    RK_PATTERN_TOOLCHAIN_DRIFT,
    RK_PATTERN_EAGER_STARTUP,
    RK_PATTERN_KIND_COUNT,
} rk_pattern_kind;
const char *rk_pattern_kind_name(rk_pattern_kind kind); // "counter"; static

typedef struct rk_pattern {
    rk_pattern_kind kind;
    const rk_explained **members; // owned array; the elements are borrowed
    size_t member_count;
    uint64_t lost_ns;       // the cost of its members, or of a part of their operations
    uint64_t shared_ns;     // in addition, the cost of programs that other findings count, too
    bool is_after_causes;   // the pattern comes after all causes, also of single compilations
    bool is_of_each_step;   // costs time in each step, whatever its compilations cost
    bool grows;             // its members are graphs of PyTorch/XLA, each of which adds to the last
    char *summary, *advice; // owned
    char *file;             // owned; NULL: unknown
    uint32_t line;
} rk_pattern;

// The kind of a pattern for people, "a changing number". Static.
const char *rk_pattern_words(const rk_pattern *pattern);

// The seconds of a pattern for people, in nanoseconds: also those that other findings count.
uint64_t rk_pattern_cost_ns(const rk_pattern *pattern);

// True if the pattern explains its members, which then need not be listed one by one.
bool rk_pattern_explains(const rk_pattern *pattern);

// A question about a run, answered from the causes of its compilations.
typedef struct rk_question {
    bool known; // false: a program could not be compared, and no other one gives the answer
    bool answer;
    char *evidence; // owned; one sentence
} rk_question;

typedef struct rk_explanation {
    const rk_run_model *run; // borrowed
    const rk_corpus *corpus; // borrowed
    rk_explained *items;     // owned; by time
    size_t count;
    rk_pattern *patterns; // owned; the costliest first, but those with `is_after_causes` last
    size_t pattern_count;
    // Did input shapes change? Did options, environment, versions, devices or shardings change? Did
    // a function have other operations, inputs or results (a branch that was not taken before)?
    rk_question input_shapes, profile_or_sharding, hidden_branch;
    uint64_t lost_ns; // cost of all items, except those with RK_CAUSE_FIRST
} rk_explanation;

void rk_explanation_cleanup(rk_explanation *explanation);

// Returns whether a pattern has the item. With `counts`, only patterns for which it returns true.
bool rk_is_in_pattern(const rk_explanation *x, const rk_explained *item,
                      bool (*counts)(const rk_pattern *));

// Returns the item of a request; NULL if there is none. The items are in the order of the run's
// requests.
const rk_explained *rk_explained_of(const rk_explanation *x, const rk_run_compile *request);

// Cost of an item: the time in the compiler; for a repeated request, the time of the request.
uint64_t rk_explained_cost_ns(const rk_explained *explained);

// Returns the name of the program: the name of its executable, or the name in its sketch if the
// compilation failed. Borrowed.
const char *rk_explained_name(const rk_explained *explained);

// True if both programs were requested under one name, apart from the number that a framework adds.
bool rk_explained_share_name(const rk_explained *a, const rk_explained *b);

// True if the program is from PyTorch/XLA. Advice uses the terms of the framework, so it needs
// this.
bool rk_explained_is_torch(const rk_explained *explained);

// True if nothing is known about the program: it was not kept, or rekindle cannot read it.
bool rk_explained_is_unread(const rk_explained *explained);

// True if the program has no cause, and could not be compared with the program that it may be a
// version of: one of the two cannot be read, or is not in the store.
bool rk_explained_is_uncompared(const rk_explained *explained);

// True if versions of libraries changed that may be the reason for the program's differences.
bool rk_explained_has_libraries(const rk_explained *explained);

// True if the programs differ only in inputs that are constants in the other program.
bool rk_explained_is_constant(const rk_explained *explained);

// True if a healthy job has this cause, too.
bool rk_explained_needs_no_change(const rk_explained *explained);

// The first difference that is a cause; NULL if there is none.
static inline const rk_difference *rk_explained_head(const rk_explained *item) {
    return item->differences.cause_count ? &item->differences.items[0] : NULL;
}

// Resets an item to RK_CAUSE_FIRST, without a nearest program.
void rk_explained_be_first(rk_explained *item);

// Appends a sentence to the advice of an item that has one.
RK_NODISCARD rk_err *rk_explained_add_advice(rk_explained *item, const char *sentence);
