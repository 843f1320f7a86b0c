#include "program/program.h"

#include "base/alloc.h"
#include "base/proto.h"
#include "program/mlir/magic.h"
#include "program/read.h"
#include "program/role.h"
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

static void find_role_of_hlo(rk_span code, rk_span format, rk_program_role *role) {
    if (rk_span_is(format, "hlo"))
        rk_role_read_hlo(code, role);
    else if (rk_span_is(format, "hlo_with_config"))
        rk_role_read_hlo(module_of_pair(code), role);
}

static rk_err *find_traits(rk_span code, rk_span format, rk_traits *traits) {
    if (rk_span_is(format, "hlo")) {
        rk_traits_read_hlo(code, traits);
    } else if (rk_span_is(format, "hlo_with_config")) {
        rk_traits_read_hlo(module_of_pair(code), traits);
    } else if (rk_span_is(format, "mlir")) {
        if (rk_mlir_is_bytecode(code))
            return rk_traits_read_bytecode(code, traits);
        rk_traits_see_mlir_text(traits, code);
    }
    return NULL;
}

// `domain` separates fingerprints of meaning from fingerprints of bytes, and versions of the
// canonical form from each other. Raise the version whenever the form changes.
static void finish_fingerprint(const char *domain, rk_span first, rk_span second,
                               rk_digest *out_fingerprint) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text(domain));
    rk_hasher_add_field(&hasher, first);
    rk_hasher_add_field(&hasher, second);
    rk_hasher_finish(&hasher, out_fingerprint);
}

// Takes the facts into `info`. The fingerprint covers the meaning if the program was read
// completely. Else it covers the bytes, and `by_bytes` is the reason.
static rk_err *take_facts(rk_span code, rk_span format, rk_program_facts *facts,
                          rk_program_info *info) {
    rk_err *err = rk_program_facts_read(code, format, facts);
    info->role = facts->role;
    info->by_bytes = RK_TAKE(facts->reason);
    info->name = RK_TAKE(facts->name);
    find_role_of_hlo(code, format, &info->role);
    if (err) { // reading the program would take too much memory
        rk_free(info->by_bytes);
        info->by_bytes = rk_strdup(rk_err_message(err));
        rk_err_drop(err, "the bytes themselves are a safe fingerprint");
        facts->has_traits = false;
        if (!info->by_bytes)
            return rk_err_no_memory();
    }
    if (info->by_bytes)
        finish_fingerprint("bytes", format, code, &info->fingerprint);
    else
        finish_fingerprint("canonical 4", format, rk_digest_span(&facts->fingerprint),
                           &info->fingerprint);
    return NULL;
}

static rk_err *inspect(rk_span code, rk_span format, rk_program_info *info) {
    RK_AUTO(rk_program_facts) facts;
    rk_traits traits = {0};
    RK_TRY(take_facts(code, format, &facts, info));
    if (facts.has_traits)
        traits = facts.traits;
    else
        RK_TRY(find_traits(code, format, &traits));
    return rk_traits_describe(&traits, &info->uncacheable);
}

rk_err *rk_program_inspect(rk_span code, rk_span format, rk_program_info *out_info) {
    *out_info = (rk_program_info){0};
    rk_err *err = inspect(code, format, out_info);
    if (err)
        rk_program_info_cleanup(out_info);
    return err;
}

void rk_program_info_cleanup(rk_program_info *info) {
    rk_free(info->uncacheable);
    rk_free(info->by_bytes);
    rk_free(info->name);
    *info = (rk_program_info){0};
}

bool rk_program_is_process_reference(rk_span name) {
    rk_traits traits = {0};
    rk_traits_see_name(&traits, name);
    return traits.worst != RK_TRAIT_NONE;
}
