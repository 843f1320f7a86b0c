// What differs between two programs and what they were compiled with, one by one, and the class of
// cause that follows. Words and values are those of `rekindle explain --json` (docs/explain.md).
#pragma once

#include "diagnose/diff/stack.h"

typedef enum rk_difference_kind {
    RK_DIFFERENCE_SHAPE,
    RK_DIFFERENCE_DTYPE,
    RK_DIFFERENCE_CONSTANT,
    RK_DIFFERENCE_OP_ADDED,
    RK_DIFFERENCE_OP_REMOVED,
    RK_DIFFERENCE_ATTRIBUTE,
    RK_DIFFERENCE_PARAMETER_ADDED,
    RK_DIFFERENCE_PARAMETER_REMOVED,
    RK_DIFFERENCE_SHARDING,
    RK_DIFFERENCE_OPTION, // from here on: not of the program
    RK_DIFFERENCE_FLAG,
    RK_DIFFERENCE_VARIABLE,
    RK_DIFFERENCE_VERSION,
    RK_DIFFERENCE_TOPOLOGY,
    RK_DIFFERENCE_KIND_COUNT,
} rk_difference_kind;
const char *rk_difference_kind_name(rk_difference_kind kind); // "op_added"; static

typedef enum rk_cause {
    RK_CAUSE_FIRST,
    RK_CAUSE_SHAPE,
    RK_CAUSE_DTYPE,
    RK_CAUSE_CONSTANT,
    RK_CAUSE_STRUCTURE,
    RK_CAUSE_PARAMETERS,
    RK_CAUSE_SHARDING,
    RK_CAUSE_OPTIONS,
    RK_CAUSE_ENVIRONMENT,
    RK_CAUSE_TOOLCHAIN,
    RK_CAUSE_DEVICE,
    RK_CAUSE_DUPLICATE,
    RK_CAUSE_EVICTED,
    RK_CAUSE_DAMAGED,
    RK_CAUSE_UNCACHEABLE,
    RK_CAUSE_COUNT,
} rk_cause;
const char *rk_cause_name(rk_cause cause); // "first", "shape", …; static

// The attribute of what keeps a program from being stored; `after` says why.
#define RK_WHY_NOT_KEPT "why it is not kept"

// All text is owned and NULL where there is none.
typedef struct rk_difference {
    rk_difference_kind kind;
    bool follows;   // from one that stands before it: no cause of its own
    uint32_t order; // where in the program: causes are sorted by it
    char *function, *op, *attribute, *before, *after;
    char *file; // the user's; of the later program, or of the earlier where it is gone there
    uint32_t line;
    rk_stack stack; // owned; of a cause only; empty where it is not known
} rk_difference;

typedef struct rk_differences {
    rk_difference *items; // owned; causes first
    size_t count, capacity;
    size_t cause_count; // those that follow from nothing
    size_t left_out;    // beyond RK_DIFFERENCES_MAX
} rk_differences;

enum { RK_DIFFERENCES_MAX = 256 };

void rk_differences_cleanup(rk_differences *list);

// Adds one; consumes its text whatever happens. Beyond the maximum it is only counted.
RK_NODISCARD rk_err *rk_differences_add(rk_differences *list, rk_difference *difference);

// Words of a difference; borrowed. An empty one becomes NULL.
typedef struct rk_difference_words {
    rk_span function, op, attribute, before, after;
} rk_difference_words;

// Adds one with copies of these words and of its place; `kind`, `follows` and `order` are of
// `plain`, which has neither. RK_RESOURCE_EXHAUSTED is the only error.
RK_NODISCARD rk_err *rk_differences_note(rk_differences *list, const rk_difference *plain,
                                         const rk_difference_words *words, const rk_source *place);

// Puts causes before what follows from them, each by `order`, otherwise as they were added.
void rk_differences_sort(rk_differences *list);

// A copy of a span; NULL for an empty one. RK_RESOURCE_EXHAUSTED is the only error.
RK_NODISCARD rk_err *rk_difference_text(rk_span text, char **out_text);
