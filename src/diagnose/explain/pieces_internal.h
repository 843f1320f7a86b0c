// The operations outside of jitted functions that steps execute, as patterns_fragments.c finds
// them. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/pattern_internal.h"

// A program that a process executes in every step, or in every other step.
typedef struct rk_piece {
    const rk_known *known;
    const rk_explained *item; // its compilation in this process; NULL: it was loaded
    uint64_t executions;      // with those of the other versions
    uint64_t rounds; // in which it was executed (rk_run_executed); its executions if not known
    uint64_t version_rounds; // of the version with the most rounds
} rk_piece;

// Another version of a piece: the same operation on the same line, for values of another size.
typedef struct rk_piece_version {
    const rk_known *of; // the piece
    const rk_explained *item;
} rk_piece_version;

typedef struct rk_pieces {
    rk_piece *items; // owned
    size_t count;
    rk_piece_version *versions; // owned
    size_t version_count;
    uint64_t repetitions;  // executions of the most executed whole program
    uint64_t whole;        // executions of all whole programs
    size_t usual;          // framework operations that a usual step executes, each counted once
    bool is_all;           // the steps call no jitted function
    bool is_called_before; // the start may have called them, too: their lines may be those of it
    bool is_scattered;     // fewer than EAGER_MIN of them run in nearly each step
    bool is_several_times; // a step executes some of them more than once
} rk_pieces;
void rk_pieces_cleanup(rk_pieces *list);

// Writes the text of a finding, and finds its line. `process`: whose steps these are. `reads`: to
// the host in each step. `*out_line` is borrowed; NULL: not known.
RK_HIDDEN RK_NODISCARD rk_err *rk_pieces_describe(const rk_explainer *e, size_t process,
                                                  const rk_steps *steps, const rk_pieces *list,
                                                  double reads, rk_pattern_text *text,
                                                  const rk_sketch_line **out_line);
