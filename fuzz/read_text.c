// Reads MLIR text: model, fingerprint and text.
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_program(rk_span_of(data, size), "mlir");
    return 0;
}
