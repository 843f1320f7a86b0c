// One comparison under way, shared by diff*.c. Inside src/diagnose only.
#pragma once

#include "diagnose/diff/diff.h"

typedef struct rk_differ {
    const rk_program_index *a, *b; // before, after
    uint32_t *match;               // owned: of each item of a, the one of b; RK_NO_ID
    uint32_t *back;                // owned: the other way round
    uint32_t *parameter;           // owned: of each parameter of a, the one of b
    uint32_t *parameter_back;      // owned
    uint32_t *function;            // owned: of each function of a, the one of b
    rk_program_diff *out;          // borrowed
    // What was found that is a cause.
    size_t parameters, shapes, dtypes, shardings, donations, structures, constants;
    size_t accumulated;   // additions of parameters that are new
    size_t converts;      // operations that only change a type came or went
    bool moved;           // lines of one are not those of the other: the source was edited
    rk_source causes[64]; // the lines of operations that differ on their own account
    size_t place_count;
    // Changed sizes of parameters, to tell constants that follow from them.
    struct {
        int64_t before, after;
    } sizes[32];
    size_t size_count;
} rk_differ;

RK_HIDDEN RK_NODISCARD rk_err *rk_differ_match_parameters(rk_differ *d);
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_parameters(rk_differ *d);
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_results(rk_differ *d);
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_ops(rk_differ *d);

// What differs: an operation, a parameter.
typedef struct rk_differ_subject {
    rk_span op;       // "stablehlo.add"
    rk_span function; // as the program calls it, where the user's is not known
    rk_source place;
    uint32_t order; // in the later program
    bool follows;
} rk_differ_subject;

// Adds one difference. Texts are copied; `attribute`, `before` and `after` may be empty.
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_add(rk_differ *d, rk_difference_kind kind,
                                             const rk_differ_subject *subject, rk_span attribute,
                                             rk_span before, rk_span after);

// An operation, with its line; of one whose line is only that of the call, that of what uses it.
RK_HIDDEN rk_differ_subject rk_differ_subject_of(const rk_program_index *view, uint32_t item);

// One line of the source makes many operations, also those of its gradient: the first of them is
// the cause. Remembers the line.
RK_HIDDEN RK_NODISCARD bool rk_differ_is_known_line(rk_differ *d, const rk_source *place);

// Whether the inputs of the program already explain whatever differs inside of it.
RK_HIDDEN RK_NODISCARD bool rk_differ_inputs_differ(const rk_differ *d);

RK_HIDDEN RK_NODISCARD bool rk_differ_is_about_sharding(rk_span name);
RK_HIDDEN RK_NODISCARD bool rk_differ_begins(rk_span text, const char *with);
RK_HIDDEN RK_NODISCARD bool rk_differ_ends(rk_span text, const char *with);

// Two items that are partners.
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_pair(rk_differ *d, uint32_t i, uint32_t j);

// Two types. `*out_kind` is RK_DIFFERENCE_KIND_COUNT where they are the same but for layouts.
RK_HIDDEN rk_difference_kind rk_differ_types(const rk_differ *d, uint32_t before, uint32_t after);

// A node as text, shortened; "none" where there is none.
RK_HIDDEN void rk_differ_write_node(const rk_program_index *view, uint32_t node, rk_buf *out);

// The value of a constant as text: a number, or a list of the first of them.
RK_HIDDEN void rk_differ_write_constant(const rk_program_index *view, uint32_t op, rk_buf *out);
// Whether a constant says the same in both; types apart.
RK_HIDDEN bool rk_differ_same_constant(const rk_differ *d, uint32_t before, uint32_t after);
// The number that a constant of one element is; false if it is none.
RK_HIDDEN RK_NODISCARD bool rk_differ_number(const rk_program_index *view, uint32_t op,
                                             double *out_number);

// Whether a number went from one to the other because sizes of parameters changed.
RK_HIDDEN bool rk_differ_is_explained(const rk_differ *d, double before, double after);
