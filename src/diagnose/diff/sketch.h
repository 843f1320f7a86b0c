// What is kept of a program so that a later one can be told apart from it, or recognised, without
// reading it again: its name, inputs and results, how many operations of which kind, and the lines
// of the user's source that they come from. A kilobyte or so. It is kept as JSON in the metadata of
// the program's entry (docs/format.md), also where the program itself is not kept.
#pragma once

#include "base/json.h"
#include "diagnose/diff/program_index.h"

// All text is owned; "" where it is not known.
typedef struct rk_sketch_line {
    char *file, *function;
    uint32_t line;
    uint32_t count;  // operations
    uint64_t hash;   // of file and line
    uint64_t caller; // of file and function
} rk_sketch_line;

typedef struct rk_sketch_value {
    char *name; // as the framework calls it; "" for results and where it does not
    char *type; // "tensor<32x8xf32>"
    uint64_t hash;
} rk_sketch_value;

typedef struct rk_sketch_kind {
    uint32_t hash, count;
} rk_sketch_kind;

typedef struct rk_sketch {
    char *module; // "jit_step"
    char *producer;
    bool is_mlir;
    uint32_t op_count;
    uint64_t structure; // equal where only shapes and constants differ
    rk_sketch_value *inputs, *results;
    uint32_t input_count, result_count;
    rk_sketch_kind *kinds; // by hash
    uint32_t kind_count;
    rk_sketch_line *lines; // most operations first
    uint32_t line_count;
    rk_sketch_line call; // where the program was called; line 0: not known
} rk_sketch;

enum {
    RK_SKETCH_VALUES_MAX = 4096, // of inputs, and of results
    RK_SKETCH_LINES_MAX = 64,
    RK_SKETCH_KINDS_MAX = 1024,
};

// Owned: rk_sketch_cleanup, also after an error. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_sketch_make(const rk_program_index *view, rk_sketch *out_sketch);
void rk_sketch_cleanup(rk_sketch *sketch);

// Reads the program and makes its sketch, or none: `*out_made` false, where it is not of its format
// or larger than RK_SKETCH_PROGRAM_MAX_BYTES.
#define RK_SKETCH_PROGRAM_MAX_BYTES ((size_t)64 << 20)
RK_NODISCARD rk_err *rk_sketch_of_program(rk_span code, rk_span format, rk_sketch *out_sketch,
                                          bool *out_made);

void rk_sketch_write(const rk_sketch *sketch, rk_json *json);

// Fills in what is not kept but follows: hashes and the order of kinds. For whoever reads one.
void rk_sketch_finish(rk_sketch *sketch);

// The line that stands for the whole: of its call; else the one with the most operations. NULL if
// there is none.
const rk_sketch_line *rk_sketch_place(const rk_sketch *sketch);

// A line as a place, without a stack; `line` may be NULL. Borrowed.
rk_source rk_sketch_source(const rk_sketch_line *line);

// True if all that is known to be in it comes from the very line that called it: an operation of
// the framework's own, rather than a function of the user's.
bool rk_sketch_is_eager(const rk_sketch *sketch);

// How alike two are, from 0 to 1 (the same kinds of operations, lines and inputs). 0: they are not
// versions of one program, whatever their names. `same_source`: both are of one run, so that a line
// is the same line.
double rk_sketch_similarity(const rk_sketch *earlier, const rk_sketch *later, bool same_source);
