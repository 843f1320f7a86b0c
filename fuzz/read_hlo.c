// Reads HloModuleProto and HloModuleProtoWithConfig: model, fingerprint and text.
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_program(rk_span_of(data, size), "hlo");
    fuzz_program(rk_span_of(data, size), "hlo_with_config");
    return 0;
}
