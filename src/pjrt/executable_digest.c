#include "pjrt/executable_digest.h"

#include "base/buf.h"
#include "pjrt/error.h"
#include "pjrt/executable.h"
#include "program/program.h"

// A larger optimized program is not read, because the reading copies it.
#define PROGRAM_MAX_BYTES ((size_t)1 << 30)

const char *rk_executable_digest_name(rk_executable_digest_part part) {
    static const char *const names[] = {
        [RK_EXECUTABLE_DIGEST_PROGRAM] = "optimized program",
        [RK_EXECUTABLE_DIGEST_FINGERPRINT] = "fingerprint",
        [RK_EXECUTABLE_DIGEST_OUTPUTS] = "number of outputs",
        [RK_EXECUTABLE_DIGEST_TYPES] = "output types",
        [RK_EXECUTABLE_DIGEST_DIMENSIONS] = "output dimensions",
        [RK_EXECUTABLE_DIGEST_MEMORY_KINDS] = "output memory kinds",
        [RK_EXECUTABLE_DIGEST_REPLICAS] = "replicas",
        [RK_EXECUTABLE_DIGEST_PARTITIONS] = "partitions",
    };
    return names[part];
}

static void know(rk_executable_digest *digest, rk_executable_digest_part part) {
    digest->known |= 1u << part;
}

static void know_number(rk_executable_digest *digest, rk_executable_digest_part part,
                        uint64_t number) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_u64(&hasher, number);
    rk_hasher_finish(&hasher, &digest->parts[part]);
    know(digest, part);
}

// Calls an entry of the plugin; false if the plugin lacks it or returns an error.
#define ASK(api, entry, args) (RK_PJRT_HAS(api, entry) && succeeded(api, (api)->entry(args)))

static bool succeeded(const PJRT_Api *api, PJRT_Error *error) {
    rk_pjrt_error_drop(api, error);
    return !error;
}

static void take_program(const PJRT_Api *api, PJRT_Executable *executable,
                         rk_executable_digest *digest) {
    PJRT_Program program;
    RK_AUTO(rk_buf) code = RK_BUF_INIT(PROGRAM_MAX_BYTES);
    RK_AUTO(rk_program_info) info = {0};
    rk_err *err = rk_executable_optimized(api, executable, &program);
    if (!err)
        err = rk_executable_optimized_code(api, executable, &program, &code);
    if (!err)
        err = rk_program_inspect(rk_buf_span(&code),
                                 rk_span_of(program.format, program.format_size), &info);
    // A fingerprint of raw bytes covers locations and numbers, which differ between two
    // compilations.
    if (!err && !info.by_bytes) {
        digest->parts[RK_EXECUTABLE_DIGEST_PROGRAM] = info.fingerprint;
        know(digest, RK_EXECUTABLE_DIGEST_PROGRAM);
    }
    rk_err_drop(err, "what cannot be read is not compared");
}

static void take_fingerprint(const PJRT_Api *api, PJRT_Executable *executable,
                             rk_executable_digest *digest) {
    PJRT_Executable_Fingerprint_Args args = {
        .struct_size = PJRT_Executable_Fingerprint_Args_STRUCT_SIZE, .executable = executable};
    if (!ASK(api, PJRT_Executable_Fingerprint, &args) || args.executable_fingerprint_size == 0)
        return;
    rk_digest_of(rk_span_of(args.executable_fingerprint, args.executable_fingerprint_size),
                 &digest->parts[RK_EXECUTABLE_DIGEST_FINGERPRINT]);
    know(digest, RK_EXECUTABLE_DIGEST_FINGERPRINT);
}

static void take_numbers(const PJRT_Api *api, PJRT_Executable *executable,
                         rk_executable_digest *digest) {
    PJRT_Executable_NumOutputs_Args outputs = {
        .struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE, .executable = executable};
    PJRT_Executable_NumReplicas_Args replicas = {
        .struct_size = PJRT_Executable_NumReplicas_Args_STRUCT_SIZE, .executable = executable};
    PJRT_Executable_NumPartitions_Args partitions = {
        .struct_size = PJRT_Executable_NumPartitions_Args_STRUCT_SIZE, .executable = executable};
    if (ASK(api, PJRT_Executable_NumOutputs, &outputs))
        know_number(digest, RK_EXECUTABLE_DIGEST_OUTPUTS, outputs.num_outputs);
    if (ASK(api, PJRT_Executable_NumReplicas, &replicas))
        know_number(digest, RK_EXECUTABLE_DIGEST_REPLICAS, replicas.num_replicas);
    if (ASK(api, PJRT_Executable_NumPartitions, &partitions))
        know_number(digest, RK_EXECUTABLE_DIGEST_PARTITIONS, partitions.num_partitions);
}

static void take_types(const PJRT_Api *api, PJRT_Executable *executable,
                       rk_executable_digest *digest) {
    PJRT_Executable_OutputElementTypes_Args args = {
        .struct_size = PJRT_Executable_OutputElementTypes_Args_STRUCT_SIZE,
        .executable = executable};
    if (!ASK(api, PJRT_Executable_OutputElementTypes, &args))
        return;
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    for (size_t i = 0; i < args.num_output_types; i++)
        rk_hasher_add_u64(&hasher, (uint64_t)args.output_types[i]);
    rk_hasher_finish(&hasher, &digest->parts[RK_EXECUTABLE_DIGEST_TYPES]);
    know(digest, RK_EXECUTABLE_DIGEST_TYPES);
}

static void take_dimensions(const PJRT_Api *api, PJRT_Executable *executable,
                            rk_executable_digest *digest) {
    PJRT_Executable_OutputDimensions_Args args = {
        .struct_size = PJRT_Executable_OutputDimensions_Args_STRUCT_SIZE, .executable = executable};
    if (!ASK(api, PJRT_Executable_OutputDimensions, &args))
        return;
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    const int64_t *next = args.dims; // of all outputs, one after another
    for (size_t i = 0; i < args.num_outputs; i++) {
        rk_hasher_add_u64(&hasher, args.dim_sizes[i]);
        for (size_t k = 0; k < args.dim_sizes[i]; k++)
            rk_hasher_add_u64(&hasher, (uint64_t)*next++);
    }
    rk_hasher_finish(&hasher, &digest->parts[RK_EXECUTABLE_DIGEST_DIMENSIONS]);
    know(digest, RK_EXECUTABLE_DIGEST_DIMENSIONS);
}

static void take_memory_kinds(const PJRT_Api *api, PJRT_Executable *executable,
                              rk_executable_digest *digest) {
    PJRT_Executable_OutputMemoryKinds_Args args = {
        .struct_size = PJRT_Executable_OutputMemoryKinds_Args_STRUCT_SIZE,
        .executable = executable};
    if (!ASK(api, PJRT_Executable_OutputMemoryKinds, &args))
        return;
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    for (size_t i = 0; i < args.num_outputs; i++)
        rk_hasher_add_field(&hasher, rk_span_of(args.memory_kinds[i], args.memory_kind_sizes[i]));
    rk_hasher_finish(&hasher, &digest->parts[RK_EXECUTABLE_DIGEST_MEMORY_KINDS]);
    know(digest, RK_EXECUTABLE_DIGEST_MEMORY_KINDS);
}

void rk_executable_digest_take(const PJRT_Api *api, PJRT_Executable *executable,
                               rk_executable_digest *out_digest) {
    *out_digest = (rk_executable_digest){0};
    take_program(api, executable, out_digest);
    take_fingerprint(api, executable, out_digest);
    take_numbers(api, executable, out_digest);
    take_types(api, executable, out_digest);
    take_dimensions(api, executable, out_digest);
    take_memory_kinds(api, executable, out_digest);
}

uint32_t rk_executable_digest_compare(const rk_executable_digest *one,
                                      const rk_executable_digest *other) {
    uint32_t different = 0;
    for (unsigned part = 0; part < RK_EXECUTABLE_DIGEST_COUNT; part++)
        if ((one->known & other->known & 1u << part) &&
            !rk_digest_equal(&one->parts[part], &other->parts[part]))
            different |= 1u << part;
    return different;
}
