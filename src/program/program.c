#include "program/program.h"

#include "base/alloc.h"
#include "base/proto.h"
#include "program/traits.h"

// HloModuleProtoWithConfig: the module is field 1.
static rk_span module_of_pair(rk_span pair) {
    rk_proto_field field;
    rk_span module = {0};
    bool bad;
    while (rk_proto_next(&pair, &field, &bad))
        if (field.number == 1 && field.wire == RK_PROTO_BYTES)
            module = field.bytes;
    return module;
}

static rk_err *find_traits(rk_span code, rk_span format, rk_traits *traits) {
    if (rk_span_is(format, "hlo")) {
        rk_traits_read_hlo(code, traits);
    } else if (rk_span_is(format, "hlo_with_config")) {
        rk_traits_read_hlo(module_of_pair(code), traits);
    } else if (rk_span_is(format, "mlir")) {
        if (rk_traits_is_bytecode(code))
            return rk_traits_read_bytecode(code, traits);
        rk_traits_see_text(traits, code);
    }
    return NULL;
}

rk_err *rk_program_inspect(rk_span code, rk_span format, rk_program_info *out_info) {
    rk_hasher hasher;
    rk_traits traits = {0};
    *out_info = (rk_program_info){0};
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, format);
    rk_hasher_add_field(&hasher, code);
    rk_hasher_finish(&hasher, &out_info->fingerprint);
    RK_TRY(find_traits(code, format, &traits));
    return rk_traits_describe(&traits, &out_info->uncacheable);
}

void rk_program_info_cleanup(rk_program_info *info) {
    rk_free(info->uncacheable);
    *info = (rk_program_info){0};
}
