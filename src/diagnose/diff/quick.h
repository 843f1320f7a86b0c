// Classifies a program before it is compiled, inside the compiling process. Compares it with
// summaries of the programs that this process compiled or loaded before. For strict mode. Reports
// only the first difference; rk_diff_programs reports all of them, but needs both programs.
#pragma once

#include "diagnose/diff/difference.h"
#include "diagnose/diff/sketch.h"

typedef struct rk_quick_program rk_quick_program;

// Larger programs are not read, so that reading takes well below 50 ms.
#define RK_QUICK_PROGRAM_MAX_BYTES ((size_t)1 << 20)

// Reads a program; `format` as in rk_program_inspect. `*out_program` is NULL if the program is too
// large or not of that format. Takes linear time, the memory of rk_model_read while it reads, and
// keeps 12 bytes per operation and 24 per operand. Owned by the caller: rk_quick_program_free. All
// functions of this header are thread-safe. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_quick_program_make(rk_span code, rk_span format,
                                           rk_quick_program **out_program);
void rk_quick_program_free(rk_quick_program *program); // NULL is fine
// The sketch of the program. Borrowed.
const rk_sketch *rk_quick_program_sketch(const rk_quick_program *program);

typedef struct rk_quick_verdict {
    rk_cause cause;  // RK_CAUSE_FIRST: no similar program. Never a cause that only journals show
    char words[256]; // "input x: tensor<32x8xf32> → tensor<24x8xf32>"; one line of UTF-8
    char file[512];  // the user's; "" if unknown
    uint32_t line;
    bool is_rough;  // the line of the change is unknown; `line` has the most operations of the
                    // program
    size_t nearest; // index in `seen` of the most similar program; SIZE_MAX: none
} rk_quick_verdict;

// True if two programs of one name are certainly two functions. A library gives one name to all
// functions that it wraps, and an evaluation may have the name of the training step. Two functions
// have no outermost function of the user in common. If neither has one, a library contains both;
// then different lines of the user call them, and their operations differ.
bool rk_quick_are_two_functions(const rk_quick_program *a, const rk_quick_program *b);

// Compares a program with earlier programs. `seen` is in order of time, the latest last; NULL
// elements are skipped. Takes some microseconds per element to compare sketches, and one pass over
// all operations of the most similar program. Never fails.
void rk_quick_classify(const rk_quick_program *program, const rk_quick_program *const *seen,
                       size_t seen_count, rk_quick_verdict *out_verdict);
