// State of one comparison, and helpers that all its parts share: for adding differences, finding
// source lines, and comparing types. Inside src/diagnose only.
#pragma once

#include "diagnose/diff/diff.h"

typedef struct rk_differ {
    const rk_program_index *a, *b; // before, after
    uint32_t *match;               // owned: partner in b of each item of a; RK_NO_ID: none
    uint32_t *back;                // reverse of `match`, in the same allocation
    uint32_t *parameter;           // owned: partner in b of each parameter of a
    uint32_t *parameter_back;      // reverse of `parameter`, in the same allocation
    uint32_t *function;            // owned: partner in b of each function of a
    // The types whose inputs were paired by type alone. If the array is full, any type may be one.
    uint64_t guessed[32];
    size_t guessed_count;
    rk_program_diff *out; // borrowed
    // Differences found, by class. They decide the class of cause.
    size_t parameters, shapes, dtypes, shardings, donations, structures, constants;
    size_t accumulated;   // additions of a new parameter whose sum is a result
    size_t consumed;      // the same, but the program uses the sum itself
    size_t converts;      // added or removed conversions, and changed types inside the program
    bool moved;           // most matched operations have another line: the source was edited
    rk_source causes[64]; // lines of the operations that are causes
    size_t place_count;
    // Changed sizes of parameters. A constant that changes with one of them is no cause.
    struct {
        int64_t before, after;
    } sizes[32];
    size_t size_count;
} rk_differ;

// Limit for the operations followed from a result to its users, or back.
enum { RK_DIFFER_STEPS_MAX = 8 };

// The operation or parameter that differs.
typedef struct rk_differ_subject {
    rk_span op;       // "stablehlo.add"
    rk_span function; // the program's name for it, used if the user's name is unknown
    rk_source place;
    uint32_t order; // position in the later program
    bool follows;
    bool cuts_same_input; // a slice of an input that both programs have
} rk_differ_subject;

// Appends one difference. Copies the texts; `attribute`, `before` and `after` may be empty.
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_add(rk_differ *d, rk_difference_kind kind,
                                             const rk_differ_subject *subject, rk_span attribute,
                                             rk_span before, rk_span after);

// Returns the source line of an operation. If the operation has no line, or only the line where the
// program was called, returns the line of the operation that uses its result.
RK_HIDDEN rk_source rk_differ_place(const rk_program_index *index, uint32_t op);

// Returns the operation of an item, with its line (rk_differ_place).
RK_HIDDEN rk_differ_subject rk_differ_subject_of(const rk_program_index *index, uint32_t item);
// Describes a parameter. Its place is the call of the program. If that is unknown, it is the
// operation that uses it first, else the parameter's own operation (HLO): all keys of a batch may
// go to the device on one line, but each has its own use.
RK_HIDDEN rk_differ_subject rk_differ_subject_of_parameter(const rk_program_index *index,
                                                           uint32_t number);

// Returns whether a difference was found on this line before, and records the line. One line of the
// source makes many operations, also those of its gradient; only the first one is a cause. False if
// the line is unknown.
RK_HIDDEN RK_NODISCARD bool rk_differ_is_known_line(rk_differ *d, const rk_source *place);

// Returns whether differences of the inputs already explain the differences inside the program.
RK_HIDDEN RK_NODISCARD bool rk_differ_inputs_differ(const rk_differ *d);

// Returns whether the operation only changes the layout: a reshape or a transpose.
RK_HIDDEN bool rk_differ_is_layout_op(rk_span name);
// Follows a value back through operations that have one operand and pass the test. Returns the
// value before these operations.
typedef bool (*rk_differ_op_test)(const rk_model *model, const rk_op *op);
RK_HIDDEN uint32_t rk_differ_value_before(const rk_program_index *index, uint32_t value,
                                          rk_differ_op_test test);
// Returns the value before reshapes and transposes.
RK_HIDDEN uint32_t rk_differ_laid_out_from(const rk_program_index *index, uint32_t value);

RK_HIDDEN RK_NODISCARD bool rk_differ_is_about_sharding(rk_span name);

// Return whether an attribute says which inputs give their memory to results: one of the module in
// HLO, one of an input in StableHLO ("x tf.aliasing_output" in a difference).
RK_HIDDEN RK_NODISCARD bool rk_differ_is_donation_of_hlo(rk_span name);
RK_HIDDEN RK_NODISCARD bool rk_differ_is_donation_of_jax(rk_span name);

// Hashes the element type of a value, and its dimensions or, without `dims`, their number.
RK_HIDDEN uint64_t rk_differ_hash_type(const rk_program_index *index, uint32_t value, bool dims);

// Compares two types without their layouts. Returns RK_DIFFERENCE_KIND_COUNT if they are equal.
RK_HIDDEN rk_difference_kind rk_differ_types(const rk_differ *d, uint32_t before, uint32_t after);
