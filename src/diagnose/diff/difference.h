// Differences between two programs and between their compile settings, and the class of cause.
// Names and values are those of `rekindle explain --json` (docs/explain.md).
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
    RK_DIFFERENCE_OPTION, // this kind and all below: not of the program
    RK_DIFFERENCE_FLAG,
    RK_DIFFERENCE_VARIABLE,
    RK_DIFFERENCE_VERSION,
    RK_DIFFERENCE_TOPOLOGY,
    RK_DIFFERENCE_KIND_COUNT,
} rk_difference_kind;
const char *rk_difference_kind_name(rk_difference_kind kind); // "op_added"; static

// Stands for the sharding of an input that JAX made outside of a mesh.
#define RK_NO_MESH "no mesh"

// Begins a type of JAX that was made from a Python number without a dtype.
#define RK_WEAKLY_TYPED "weakly typed "

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
    RK_CAUSE_REMOVED,
    RK_CAUSE_UNCACHEABLE,
    RK_CAUSE_FAILED,
    RK_CAUSE_COUNT,
} rk_cause;
const char *rk_cause_name(rk_cause cause);  // "first", "shape", …; static
const char *rk_cause_words(rk_cause cause); // the same for people: "another shape"; static

// Attribute of the difference that reports why a program is not stored; `after` holds the reason.
#define RK_WHY_NOT_KEPT "why it is not kept"
// Attribute of the difference that reports the compiler's error in `after`.
#define RK_COMPILER_ERROR "error"

// All text is owned; NULL if there is none.
typedef struct rk_difference {
    rk_difference_kind kind;
    bool follows;    // the difference follows from another one and is no cause
    bool is_moved;   // an operation of a kind that the other program has as often
    bool is_summed;  // an added input to which the later program adds something (a gradient)
    bool has_others; // of a constant: other constants of its line differ, too
    uint32_t order;  // position in the program; the list is sorted by it
    char *function, *op, *attribute, *before, *after;
    char *file; // the user's file: from the later program, else from the earlier one
    uint32_t line;
    rk_stack stack; // owned; only for a cause; empty if unknown
    // Of an added or removed input: the constant that the other program has in its place. NULL if
    // there is none, or if it is not known.
    char *constant;      // its value; owned
    char *constant_file; // the user's file where it is made; owned; NULL: unknown
    uint32_t constant_line;
} rk_difference;

// Returns whether an input of the program differs, or only one of the two programs has it.
bool rk_is_of_input(const rk_difference *difference);

// Returns whether two differences are on the same line of the source, or neither has a line.
bool rk_is_on_same_line(const rk_difference *a, const rk_difference *b);

// Returns whether a difference is on a line of the user's own source.
bool rk_is_on_line_of_user(const rk_difference *difference);

// Like rk_is_of_input, of a result.
bool rk_is_of_result(const rk_difference *difference);

// Returns whether only one of the two programs has the input.
bool rk_is_input_of_one_side(const rk_difference *difference);

// Returns whether the difference is an input that is a constant of zeros in the earlier program.
bool rk_was_zero(const rk_difference *difference);

// Returns whether an operation cuts a value (slice), in HLO or StableHLO.
bool rk_is_slice(rk_span op);

// Returns whether an attribute of a slice differs, such as its start.
bool rk_is_of_slice(const rk_difference *difference);

// Returns whether two texts of differences are equal. NULL equals only NULL.
bool rk_same_text(const char *a, const char *b);

typedef struct rk_differences {
    rk_difference *items; // owned; causes first
    size_t count, capacity;
    size_t cause_count; // differences that are causes
    size_t left_out;    // differences that were not stored because the list was full
} rk_differences;

enum { RK_DIFFERENCES_MAX = 256 };

void rk_differences_cleanup(rk_differences *list);

// Called for a constant that differs on a line that the list has already. Sets `has_others` of the
// constants of this line in the list, unless they have the same two values.
void rk_differences_note_other(rk_differences *list, const rk_source *place, rk_span before,
                               rk_span after);

// Returns whether at least half of the causes, and at least four, are such inputs: values that the
// earlier call creates, such as an optimizer's state.
bool rk_differences_take_what_was_zero(const rk_differences *list);

// The same for inputs that either program has as a constant of zeros.
bool rk_differences_are_of_zeros(const rk_differences *list);

// Moves a difference to an earlier place, and those from there on one place back. `order` stays.
void rk_differences_move(rk_differences *list, size_t from, size_t to);

// Sets `order` to the places in the list.
void rk_differences_number(rk_differences *list);

// Appends one difference. Consumes its text, also after an error. If the list is full, only counts
// the difference in `left_out`. The list takes at most RK_DIFFERENCES_MAX differences, and fewer of
// those that follow from others. RK_RESOURCE_EXHAUSTED is the only error.
RK_NODISCARD rk_err *rk_differences_add(rk_differences *list, rk_difference *difference);

// Texts of a difference; borrowed. An empty one becomes NULL.
typedef struct rk_difference_words {
    rk_span function, op, attribute, before, after;
} rk_difference_words;

// Appends one difference with copies of `words` and `place`. `kind`, `follows` and `order` come
// from `plain`, which has no texts and no place. RK_RESOURCE_EXHAUSTED is the only error.
RK_NODISCARD rk_err *rk_differences_note(rk_differences *list, const rk_difference *plain,
                                         const rk_difference_words *words, const rk_source *place);

// Sorts causes before the other differences, and each group by `order`. Stable.
void rk_differences_sort(rk_differences *list);

// Copies a span as a C string; NULL for an empty span. `*out_text` is owned by the caller: rk_free.
// RK_RESOURCE_EXHAUSTED is the only error.
RK_NODISCARD rk_err *rk_difference_text(rk_span text, char **out_text);
