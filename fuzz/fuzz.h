// Helpers that the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput: it passes
// the bytes to a parser and checks properties that hold for any bytes. libFuzzer drives the target
// (preset fuzz); in all other builds standalone.c replays a folder of inputs.
#pragma once

#include "program/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Ends the process with a message, so that libFuzzer keeps the input.
_Noreturn void fuzz_fail(const char *file, int line, const char *what);
#define FUZZ_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (RK_UNLIKELY(!(condition)))                                                             \
            fuzz_fail(__FILE__, __LINE__, #condition);                                             \
    } while (0)

// The memory limit of the parsers: 64 times the input, and 256 KiB.
#define FUZZ_PARSER_LIMIT_BYTES(input_bytes) ((input_bytes)*64 + ((size_t)256 << 10))

typedef enum fuzz_limit {
    FUZZ_FAIL_ABOVE,  // the process ends if memory exceeds the limit
    FUZZ_REFUSE_ABOVE // allocations above the limit fail
} fuzz_limit;

// Counts all memory that src/ allocates until fuzz_memory_end. The limit is for memory held at one
// time.
void fuzz_memory_begin(size_t limit_bytes, fuzz_limit how);
// Requires that all memory was freed.
void fuzz_memory_end(void);

// Returns true if there is no error. An error must be RK_RESOURCE_EXHAUSTED. Frees the error.
bool fuzz_ok(rk_err *err);

// Checks the rules of model.h: every index is in range, children come before parents, operations
// are nested, lists are sorted, and every value is defined once and before its block ends.
void fuzz_check_model(const rk_model *model, unsigned read_flags);

// Runs all checks of a target that reads programs.
void fuzz_program(rk_span code, const char *format);
