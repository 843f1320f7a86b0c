#include "identity/environment.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "identity/flags.h"
#include "identity/host_cpu.h"
#include "identity/plugin_file.h"

enum { MAX_TEXT_BYTES = 1 << 20 };

static const char *const FLAG_VARIABLES[] = {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "TF_XLA_FLAGS"};

// Other variables that change the compiler's output. docs/keys.md gives the reason for each.
static const char *const VARIABLES[] = {
    "CUDNN_ERRATA_JSON_FILE",
    "DISABLE_LLVM_OPT",
    "DISABLE_PTXAS_OPT",
    "HSA_OVERRIDE_GFX_VERSION",
    "MEGASCALE_NUM_SLICES",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NTHREADS",
    "NEURON_CC_FLAGS",
    "NPROC",
    "NVIDIA_TF32_OVERRIDE",
    "PJRT_GPU_SE_DISABLE_TARGET_CONFIG",
    "PJRT_NPROC",
    "TF_CUDNN_DETERMINISTIC",
    "TF_DETERMINISTIC_OPS",
    "TF_ENABLE_WINOGRAD_NONFUSED",
    "TF_FP16_CONV_USE_FP32_COMPUTE",
    "TF_FP16_RNN_USE_FP32_COMPUTE",
    "TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT",
    "TF_USE_ROCM_NHWC",
    "TPU_MEGACORE",
    "TRITON_DEFAULT_FP_FUSION",
    "TRITON_F32_DEFAULT",
    "TRITON_OVERRIDE_ARCH",
};

static rk_err *add(rk_components *out, rk_component_kind kind, const char *name, rk_span value) {
    rk_digest digest;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    if (value.len <= MAX_TEXT_BYTES)
        return rk_components_add(out, kind, name, value);
    rk_digest_of(value, &digest);
    rk_digest_to_hex(&digest, hex);
    return rk_components_add(out, kind, name, rk_span_text(hex));
}

static rk_err *add_plugin_build(const rk_plugin_facts *facts, rk_components *out) {
    rk_autofree char *path = NULL;
    rk_autofree char *build_id = NULL;
    RK_TRY(rk_plugin_identify(facts->code_address, &path, &build_id));
    if (*build_id)
        return add(out, RK_COMPONENT_VERSION, "plugin.build_id", rk_span_text(build_id));
    rk_digest digest;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    RK_TRY(rk_plugin_digest(path, facts->memo_store, &digest));
    rk_digest_to_hex(&digest, hex);
    return add(out, RK_COMPONENT_VERSION, "plugin.digest", rk_span_text(hex));
}

// Adds one component for each line "name=value".
static rk_err *add_attributes(rk_span lines, rk_components *out) {
    while (lines.len) {
        const uint8_t *end = memchr(lines.data, '\n', lines.len);
        size_t len = end ? (size_t)(end - lines.data) : lines.len;
        const uint8_t *equals = len ? memchr(lines.data, '=', len) : NULL;
        size_t name_len = equals ? (size_t)(equals - lines.data) : len;
        rk_span value = equals ? rk_span_of(equals + 1, len - name_len - 1) : (rk_span){0};
        RK_AUTO(rk_buf) name = {0};
        rk_buf_add_text(&name, "plugin.attribute.");
        rk_buf_add(&name, lines.data, name_len);
        RK_TRY(rk_buf_status(&name));
        if (len)
            RK_TRY(add(out, RK_COMPONENT_VERSION, rk_buf_text(&name), value));
        size_t step = end ? len + 1 : len;
        lines = rk_span_of(lines.data + step, lines.len - step);
    }
    return NULL;
}

static rk_err *add_versions(const rk_plugin_facts *facts, rk_components *out) {
    RK_AUTO(rk_buf) api = {0};
    rk_buf_add_format(&api, "%d.%d", facts->api_major, facts->api_minor);
    RK_TRY(rk_buf_status(&api));
    RK_TRY(add_plugin_build(facts, out));
    RK_TRY(add(out, RK_COMPONENT_VERSION, "plugin.platform_name", facts->platform_name));
    RK_TRY(add(out, RK_COMPONENT_VERSION, "plugin.platform_version", facts->platform_version));
    RK_TRY(add(out, RK_COMPONENT_VERSION, "pjrt.api_version", rk_buf_span(&api)));
    return add_attributes(facts->attributes, out);
}

// Adds both. The plugin alone decides what its fingerprint covers. A report of a difference can
// name the kinds and counts of devices.
static rk_err *add_topology(const rk_plugin_facts *facts, rk_components *out) {
    RK_TRY(add(out, RK_COMPONENT_TOPOLOGY, "topology.devices", facts->topology_devices));
    if (!facts->topology_fingerprint.len)
        return NULL;
    return add(out, RK_COMPONENT_TOPOLOGY, "topology.fingerprint", facts->topology_fingerprint);
}

static rk_err *add_environment(rk_components *out) {
    for (size_t i = 0; i < RK_ARRAY_LEN(FLAG_VARIABLES); i++)
        RK_TRY(rk_flags_add_variable(FLAG_VARIABLES[i], getenv(FLAG_VARIABLES[i]), out));
    for (size_t i = 0; i < RK_ARRAY_LEN(VARIABLES); i++) {
        const char *value = getenv(VARIABLES[i]);
        if (value && *value)
            RK_TRY(add(out, RK_COMPONENT_VARIABLE, VARIABLES[i], rk_span_text(value)));
    }
    return NULL;
}

rk_err *rk_environment_add_variables(const char *ignore, rk_components *out_components) {
    RK_TRY(add_environment(out_components));
    rk_components_ignore(out_components, ignore);
    rk_components_sort(out_components);
    return NULL;
}

rk_err *rk_environment_collect(const rk_plugin_facts *facts, const char *ignore,
                               rk_components *out_components) {
    RK_TRY(add_versions(facts, out_components));
    RK_TRY(add_topology(facts, out_components));
    RK_TRY(add_environment(out_components));
    const rk_components *options = facts->create_options;
    for (size_t i = 0; options && i < options->count; i++)
        RK_TRY(add(out_components, options->items[i].kind, options->items[i].name,
                   rk_span_of(options->items[i].value, options->items[i].value_len)));
    if (facts->generates_host_code)
        RK_TRY(rk_host_cpu_add(out_components));
    rk_components_ignore(out_components, ignore);
    rk_components_sort(out_components);
    return NULL;
}

// rk_environment_mark.

static bool is_named(const char *item, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t len = 0;
        while (item[len] == names[i][len] && item[len])
            len++;
        if (item[len] == '=' && !names[i][len])
            return true;
    }
    return false;
}

// Returns the first letters of the names as bits, A in the lowest bit.
static uint32_t letters_of(const char *const *names, size_t count) {
    uint32_t letters = 0;
    for (size_t i = 0; i < count; i++)
        letters |= (uint32_t)1 << (names[i][0] - 'A');
    return letters;
}

// The first letter alone excludes most variables.
static bool is_one_of_ours(const char *item, uint32_t letters) {
    uint32_t letter = (uint32_t)*item - 'A';
    return letter < 26 && (letters >> letter & 1) &&
           (is_named(item, FLAG_VARIABLES, RK_ARRAY_LEN(FLAG_VARIABLES)) ||
            is_named(item, VARIABLES, RK_ARRAY_LEN(VARIABLES)));
}

static uint64_t hash_text(const char *text) {
    const uint64_t multiplier = 0x9E3779B97F4A7C15u; // 2^64 divided by the golden ratio
    size_t len = strlen(text);
    uint64_t hash = len;
    for (size_t at = 0; at < len; at += sizeof hash) {
        uint64_t part = 0;
        memcpy(&part, text + at, len - at < sizeof part ? len - at : sizeof part);
        hash = (hash ^ part) * multiplier;
        hash ^= hash >> 32;
    }
    return hash;
}

uint64_t rk_environment_mark(void) {
    const uint32_t letters = letters_of(FLAG_VARIABLES, RK_ARRAY_LEN(FLAG_VARIABLES)) |
                             letters_of(VARIABLES, RK_ARRAY_LEN(VARIABLES));
    uint64_t mark = 0; // a sum: the order of the variables does not matter
    for (char *const *item = environ; item && *item; item++)
        if (is_one_of_ours(*item, letters))
            mark += hash_text(*item);
    return mark;
}
