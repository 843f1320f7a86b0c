// Summary of a program, about a kilobyte: its name, inputs and results, the number of operations of
// each kind, and the lines of the user's source that contain the operations. A later program can be
// compared with a sketch without reading the earlier program again. Stored as JSON in the metadata
// of the program's entry (docs/format.md), also if the program itself is not kept.
#pragma once

#include "base/json.h"
#include "diagnose/diff/program_index.h"

// All text is owned; "" if unknown.
typedef struct rk_sketch_line {
    char *file, *function;
    uint32_t line;
    uint32_t count;  // operations
    uint64_t hash;   // of file and line
    uint64_t caller; // of file and function
} rk_sketch_line;

typedef struct rk_sketch_value {
    char *name; // the framework's name; "" for results and for inputs without a name
    char *type; // "tensor<32x8xf32>"
    uint64_t hash;
} rk_sketch_value;

// Returns the element type with its end: "f32>" of "tensor<32x8xf32>" and of "tensor<f32>". Part of
// `type`.
RK_HIDDEN const char *rk_element_of(const char *type);

// Returns how many values have a type.
RK_HIDDEN size_t rk_sketch_count_type(const rk_sketch_value *values, uint32_t count,
                                      const char *type);

typedef struct rk_sketch_kind {
    uint32_t hash, count;
} rk_sketch_kind;

typedef struct rk_sketch_inner {
    uint32_t line;     // hash of file and line; of an installed file, from its package on
    uint32_t function; // hash of file and function
    uint32_t count;    // operations
} rk_sketch_inner;

typedef struct rk_sketch {
    char *module; // "jit_step"
    char *producer;
    bool is_mlir;
    uint32_t op_count;
    uint64_t structure; // hash of the kinds in order; equal if only shapes and constants differ
    rk_sketch_value *inputs, *results;
    uint32_t input_count, result_count;
    rk_sketch_kind *kinds; // sorted by hash
    uint32_t kind_count;
    rk_sketch_line *lines; // most operations first
    uint32_t line_count;
    rk_sketch_line call; // where the program was called; line 0: unknown
    // Only of a program whose only line of the user is that of its call: the innermost positions
    // below the call, of any owner, most operations first. They identify a function of a library.
    rk_sketch_inner *inner;
    uint32_t inner_count;
} rk_sketch;

enum {
    RK_SKETCH_VALUES_MAX = 4096, // of inputs, and of results
    RK_SKETCH_LINES_MAX = 64,
    RK_SKETCH_KINDS_MAX = 1024,
    RK_SKETCH_INNER_MAX = 64,
};

// Makes the sketch of a program. Owned by the caller: rk_sketch_cleanup, also after an error. Fails
// only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_sketch_make(const rk_program_index *index, rk_sketch *out_sketch);
void rk_sketch_cleanup(rk_sketch *sketch);

// Reads a program and makes its sketch. `*out_made` is false if the program is not of that format
// or is larger than RK_SKETCH_PROGRAM_MAX_BYTES.
#define RK_SKETCH_PROGRAM_MAX_BYTES ((size_t)64 << 20)
RK_NODISCARD rk_err *rk_sketch_of_program(rk_span code, rk_span format, rk_sketch *out_sketch,
                                          bool *out_made);

void rk_sketch_write(const rk_sketch *sketch, rk_json *json);

// Computes the members that a stored sketch lacks: the hashes and the order of kinds. Called by the
// code that reads a stored sketch.
void rk_sketch_finish(rk_sketch *sketch);

// Returns the line that represents the program: the line of the call, else the line with the most
// operations. Borrowed; NULL if there is none.
const rk_sketch_line *rk_sketch_place(const rk_sketch *sketch);

// Returns the line with a hash; NULL if the program has no such line. Borrowed.
const rk_sketch_line *rk_sketch_find_line(const rk_sketch *sketch, uint64_t hash);

// A line as a place without a stack; `line` may be NULL. Borrowed.
rk_source rk_sketch_source(const rk_sketch_line *line);

// True if all known operations come from the line of the call, and from one position in the library
// that the line calls. The program is then a single operation of the framework, not a function that
// the user or a library wrote.
bool rk_sketch_is_eager(const rk_sketch *sketch);

// Returns whether a graph of PyTorch/XLA executes only what one number needs, and returns this
// number.
RK_HIDDEN bool rk_sketch_is_read(const rk_sketch *sketch);

// True for the control flow that JAX runs outside of any jitted function under the name of the
// primitive (jit_cond). The name does not identify the function.
bool rk_sketch_is_primitive(const rk_sketch *sketch);

// Returns whether the element types of two values differ.
bool rk_sketch_is_other_element(const rk_sketch_value *a, const rk_sketch_value *b);

// Similarity of two programs, from 0 to 1, by their kinds of operations, lines and inputs. 0: they
// are not versions of one program, even if their names are equal. `same_source`: both are of one
// run, so an unchanged source line has the same number in both.
double rk_sketch_similarity(const rk_sketch *earlier, const rk_sketch *later, bool same_source);

// The same, for two programs that were requested under one name. A program that was stored before
// its function was renamed has the old name in its sketch.
double rk_sketch_similarity_of_one_name(const rk_sketch *earlier, const rk_sketch *later,
                                        bool same_source);
