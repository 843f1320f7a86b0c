// Why a program is about to be compiled, told at once, inside the process that compiles it: from
// what is remembered of the programs that this process has compiled or loaded before. For strict
// mode. Rougher than rk_diff_programs, which needs both programs: the first thing that differs, not
// all of them.
#pragma once

#include "diagnose/diff/difference.h"
#include "diagnose/diff/sketch.h"

typedef struct rk_quick_program rk_quick_program;

// Larger programs are not read: what reading takes stays well below 50 ms.
#define RK_QUICK_PROGRAM_MAX_BYTES ((size_t)1 << 20)

// Reads a program; `format` as in rk_program_inspect. `*out_program` is NULL where it is too large
// or not of its format. Linear in the program; takes memory of some 16 bytes for an operation,
// while it is read as rk_model_read. Owned: rk_quick_program_free. Thread-safe, as all of this.
// Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_quick_program_make(rk_span code, rk_span format,
                                           rk_quick_program **out_program);
void rk_quick_program_free(rk_quick_program *program); // NULL is fine
// What it is like. Borrowed.
const rk_sketch *rk_quick_program_sketch(const rk_quick_program *program);

typedef struct rk_quick_verdict {
    rk_cause cause;  // RK_CAUSE_FIRST: nothing like it was seen; never what only journals know
    char words[256]; // "input x: tensor<32x8xf32> → tensor<24x8xf32>"; one line of UTF-8
    char file[512];  // the user's; "" if it is not known
    uint32_t line;
    size_t nearest; // which of those seen it nearly was; SIZE_MAX: none
} rk_quick_verdict;

// `seen`: the latest last; NULLs are passed over. The time is that of one comparison of sketches
// for each, some microseconds, and one of all operations with the nearest. Fails never.
void rk_quick_classify(const rk_quick_program *program, const rk_quick_program *const *seen,
                       size_t seen_count, rk_quick_verdict *out_verdict);
