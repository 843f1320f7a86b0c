// Whether a program may be stored, for programs that real frameworks sent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proto.h"
#include "fixture.h"

// The number in the fixtures *-ffi_text and *ffi_number.
static const uint64_t ADDRESS = 94012345678912;

static void expect(const char *file, const char *reason) {
    rk_program_info info = rk_test_inspect(file);
    if (reason && (!info.uncacheable || strcmp(info.uncacheable, reason) != 0))
        fail_msg("%s: \"%s\" instead of \"%s\"", file, info.uncacheable ? info.uncacheable : "kept",
                 reason);
    if (!reason && info.uncacheable)
        fail_msg("%s: not kept: %s", file, info.uncacheable);
    rk_program_info_cleanup(&info);
}

static void callbacks_are_recognised(void **state) {
    (void)state;
    static const char FFI[] = "host callback (xla_ffi_python_cpu_callback)";
    static const char PARTITIONED[] = "host callback (xla_ffi_partitioned_python_cpu_callback)";
    static const char BUFFER[] = "host callback (xla_buffer_python_cpu_callback)";
    expect("jax-0.10.2-pure_callback.mlir", FFI);
    expect("jax-0.12.0-pure_callback.mlir", FFI);
    expect("jax-0.10.2-io_callback.mlir", FFI);
    expect("jax-0.12.0-io_callback.mlir", FFI);
    expect("jax-0.10.2-debug_print.mlir", FFI);
    expect("jax-0.12.0-debug_print.mlir", FFI);
    expect("jax-0.10.2-partitioned_callback.mlir", PARTITIONED);
    expect("jax-0.12.0-partitioned_callback.mlir", PARTITIONED);
    expect("jax-0.10.2-buffer_callback.mlir", BUFFER);
    expect("jax-0.12.0-buffer_callback.mlir", BUFFER);
    expect("xla_python_gpu_callback.mlir", "host callback (xla_python_gpu_callback)");
    expect("xla_ffi_partitioned_python_gpu_callback.mlir",
           "host callback (xla_ffi_partitioned_python_gpu_callback)");
    expect("callback.hlo", FFI);
}

static void partitioners_and_transfers_are_recognised(void **state) {
    (void)state;
    expect("jax-0.10.2-custom_partitioning.mlir", "custom partitioner (CustomSPMDPartitioning)");
    expect("jax-0.12.0-custom_partitioning.mlir", "custom partitioner (CustomSPMDPartitioning)");
    expect("jax-0.10.2-inspect_sharding.mlir", "callback of the partitioner (InspectSharding)");
    expect("jax-0.12.0-inspect_sharding.mlir", "callback of the partitioner (InspectSharding)");
    expect("host_transfer.mlir",
           "send or receive of a host callback (_xla_host_transfer_handler_name)");
}

static void other_programs_are_kept(void **state) {
    (void)state;
    static const char *const KEPT[] = {
        "jax-0.10.2-cholesky.mlir",
        "jax-0.12.0-cholesky.mlir",
        "jax-0.10.2-top_k.mlir",
        "jax-0.12.0-top_k.mlir",
        "jax-0.10.2-shard_map.mlir",
        "jax-0.12.0-shard_map.mlir",
        "jax-0.10.2-plain.mlir",
        "jax-0.12.0-plain.mlir",
        "jax-0.10.2-pallas_interpret.mlir",
        "jax-0.12.0-pallas_interpret.mlir",
        "jax-0.10.2-names_in_constant.mlir",
        "jax-0.12.0-names_in_constant.mlir",
        "device_transfer.mlir",
        "plain.hlo",
        "cholesky.hlo",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(KEPT); i++)
        expect(KEPT[i], NULL);
}

static void addresses_count_only_when_mapped(void **state) {
    (void)state;
    static const char *const FILES[] = {
        "jax-0.10.2-ffi_text.mlir",   "jax-0.12.0-ffi_text.mlir", "jax-0.10.2-ffi_number.mlir",
        "jax-0.12.0-ffi_number.mlir", "ffi_number.hlo",
    };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *wanted = (void *)(uintptr_t)(ADDRESS / page * page);
    for (size_t i = 0; i < RK_ARRAY_LEN(FILES); i++)
        expect(FILES[i], NULL);
    void *mapped =
        mmap(wanted, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped != wanted)
        skip(); // a sanitizer may reserve that part of the address space
    for (size_t i = 0; i < RK_ARRAY_LEN(FILES); i++)
        expect(FILES[i], "custom call with an address of this process (0x5580f477fc40)");
    assert_int_equal(munmap(mapped, page), 0);
}

// Whether a custom call with this configuration, in an HLO module, may be stored.
static bool is_kept(rk_span config) {
    RK_AUTO(rk_buf) instruction = {0};
    RK_AUTO(rk_buf) computation = {0};
    RK_AUTO(rk_buf) module = {0};
    rk_program_info info;
    rk_proto_add_bytes_field(&instruction, 28, rk_span_text("my_target"));
    rk_proto_add_bytes_field(&instruction, 43, config);
    rk_proto_add_bytes_field(&computation, 2, rk_buf_span(&instruction));
    rk_proto_add_bytes_field(&module, 3, rk_buf_span(&computation));
    assert_null(rk_program_inspect(rk_buf_span(&module), rk_span_text("hlo"), &info));
    bool kept = !info.uncacheable;
    rk_program_info_cleanup(&info);
    return kept;
}

static void addresses_have_many_spellings(void **state) {
    (void)state;
    static int target; // its address is mapped
    unsigned long long address = (unsigned long long)(uintptr_t)&target;
    if (address < 1ULL << 32)
        skip(); // linked to a fixed address
    rk_buf texts[7] = {0};
    rk_buf_add_format(&texts[0], "%llu", address);
    rk_buf_add_format(&texts[1], "{ptr = %llu : ui64}", address);
    rk_buf_add_format(&texts[2], "0x%llx", address);
    rk_buf_add_format(&texts[3], "at=0X%llX;", address);
    rk_buf_add_format(&texts[4], "{\"callback\":%llu}", address);
    rk_buf_add_format(&texts[5], "fn_%llx", address);
    rk_buf_add(&texts[6], "xy\1", 3); // a packed structure with an unaligned address
    rk_buf_add_u64le(&texts[6], address);
    for (size_t i = 0; i < RK_ARRAY_LEN(texts); i++) {
        if (is_kept(rk_buf_span(&texts[i])))
            fail_msg("%s was not seen as an address", rk_buf_text(&texts[i]));
        rk_buf_cleanup(&texts[i]);
    }
}

static void other_numbers_are_no_addresses(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        "",
        "0",
        "4096",
        "18446744073709551615",
        "0x",
        "0xffffffffffffffff",
        "99999999999999999999",
        "{eps = 1.000000e-05 : f32, n = 1024 : i64}",
        "5f2c0a9d3b1e48c7a6d0f1e2c3b4a5968778695a4b3c2d1e0f1a2b3c4d5e6f70",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(TEXTS); i++)
        if (!is_kept(rk_span_text(TEXTS[i])))
            fail_msg("%s was seen as an address", TEXTS[i]);
}

static void text_and_pairs_are_read_too(void **state) {
    (void)state;
    RK_AUTO(rk_buf) pair = {0};
    rk_program_info info;
    rk_buf module = rk_test_program("callback.hlo");
    rk_proto_add_bytes_field(&pair, 1, rk_buf_span(&module));
    assert_null(rk_program_inspect(rk_buf_span(&pair), rk_span_text("hlo_with_config"), &info));
    assert_string_equal(info.uncacheable, "host callback (xla_ffi_python_cpu_callback)");
    rk_program_info_cleanup(&info);
    rk_buf_cleanup(&module);
    rk_span text = rk_span_text("%0 = stablehlo.custom_call @xla_python_cpu_callback(%arg0)");
    assert_null(rk_program_inspect(text, rk_span_text("mlir"), &info));
    assert_string_equal(info.uncacheable, "host callback (xla_python_cpu_callback)");
    rk_program_info_cleanup(&info);
    // A longer name is another name, and bytes of an unknown format are not interpreted.
    text = rk_span_text("%0 = stablehlo.custom_call @my_xla_python_cpu_callback(%arg0)");
    assert_null(rk_program_inspect(text, rk_span_text("mlir"), &info));
    assert_null(info.uncacheable);
    rk_program_info_cleanup(&info);
    assert_null(
        rk_program_inspect(rk_span_text("xla_python_cpu_callback"), rk_span_text("neff"), &info));
    assert_null(info.uncacheable);
    rk_program_info_cleanup(&info);
}

static void what_cannot_be_read_is_known_by_format_and_bytes(void **state) {
    (void)state;
    static const char *const PROGRAMS[][2] = {
        {"mlir", "abc"}, {"hlo", "abc"}, {"mlir", "abd"}, {"mli", "rabc"}, {"mlir", ""}};
    rk_program_info infos[RK_ARRAY_LEN(PROGRAMS)], again;
    for (size_t i = 0; i < RK_ARRAY_LEN(PROGRAMS); i++) {
        rk_span format = rk_span_text(PROGRAMS[i][0]), code = rk_span_text(PROGRAMS[i][1]);
        assert_null(rk_program_inspect(code, format, &infos[i]));
        assert_null(rk_program_inspect(code, format, &again));
        assert_true(rk_digest_equal(&infos[i].fingerprint, &again.fingerprint));
        assert_non_null(infos[i].by_bytes);
        rk_program_info_cleanup(&again);
        for (size_t k = 0; k < i; k++)
            assert_false(rk_digest_equal(&infos[i].fingerprint, &infos[k].fingerprint));
    }
    for (size_t i = 0; i < RK_ARRAY_LEN(PROGRAMS); i++)
        rk_program_info_cleanup(&infos[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callbacks_are_recognised),
        cmocka_unit_test(partitioners_and_transfers_are_recognised),
        cmocka_unit_test(other_programs_are_kept),
        cmocka_unit_test(addresses_count_only_when_mapped),
        cmocka_unit_test(addresses_have_many_spellings),
        cmocka_unit_test(other_numbers_are_no_addresses),
        cmocka_unit_test(text_and_pairs_are_read_too),
        cmocka_unit_test(what_cannot_be_read_is_known_by_format_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
