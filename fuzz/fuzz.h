// What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput: it hands the bytes
// to a parser and demands what must hold for any bytes at all. libFuzzer drives it (preset fuzz);
// in all other builds standalone.c replays a folder of inputs.
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

// The promise of the parsers: memory of at most 64 times the input, and a constant.
#define FUZZ_PARSER_LIMIT_BYTES(input_bytes) ((input_bytes)*64 + ((size_t)256 << 10))

typedef enum fuzz_limit {
    FUZZ_FAIL_ABOVE,  // the process ends where more memory is taken
    FUZZ_REFUSE_ABOVE // allocation fails there
} fuzz_limit;

// From here on all memory that src/ takes is counted, up to fuzz_memory_end. The limit is of what
// is held at one time.
void fuzz_memory_begin(size_t limit_bytes, fuzz_limit how);
// Demands that everything was freed.
void fuzz_memory_end(void);

// An error must be RK_RESOURCE_EXHAUSTED; it is freed. True if there is none.
bool fuzz_ok(rk_err *err);

// What model.h promises: every index in range, children before parents, operations nested, lists
// sorted, every value defined once and before its block ends.
void fuzz_check_model(const rk_model *model, unsigned read_flags);

// All that the target of a program reader does.
void fuzz_program(rk_span code, const char *format);
