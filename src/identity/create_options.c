#include "identity/create_options.h"

#include "base/buf.h"

// Options that do not change code; docs/keys.md gives the reason for each. An option with a value
// here is harmless only with that value.
static const struct {
    const char *name, *value;
} HARMLESS[] = {
    {"abort_collectives_on_failure", NULL},
    {"allocator", NULL},
    {"asynchronous", NULL},
    {"collective_memory_size", NULL},
    {"cpu_device_count", NULL},
    {"enable_mock_nccl", "false"},
    {"local_rank", NULL},
    {"max_inflight_computations", NULL},
    {"ml_framework_name", NULL},
    {"ml_framework_version", NULL},
    {"node_id", NULL},
    {"num_nodes", NULL},
    {"partition_index", NULL},
    {"platform_name", NULL},
    {"preallocate", NULL},
    {"process_id", NULL},
    {"process_index", NULL},
    {"rank", NULL},
    {"session_id", NULL},
    {"should_stage_host_to_device_transfers", NULL},
    {"task_id", NULL},
    {"use_async_dispatch", NULL},
    {"verify_topology_fingerprint", NULL},
    {"visible_devices", NULL},
};

// Last words of names: addresses and credentials do not change code.
static const char *const HARMLESS_ENDS[] = {"address",    "addresses",   "port",  "password",
                                            "credential", "credentials", "token", "secret"};

// True if `word` is the last word of `name`: "address" and "coordinator_address", not "airport".
static bool ends_in(rk_span name, const char *word) {
    size_t len = strlen(word);
    if (name.len < len || memcmp(name.data + name.len - len, word, len) != 0)
        return false;
    return name.len == len || name.data[name.len - len - 1] == '_';
}

static bool is_harmless(rk_span name, rk_span value) {
    for (size_t i = 0; i < RK_ARRAY_LEN(HARMLESS); i++)
        if (rk_span_is(name, HARMLESS[i].name))
            return !HARMLESS[i].value || rk_span_is(value, HARMLESS[i].value);
    for (size_t i = 0; i < RK_ARRAY_LEN(HARMLESS_ENDS); i++)
        if (ends_in(name, HARMLESS_ENDS[i]))
            return true;
    return false;
}

rk_err *rk_create_option_add(rk_components *list, rk_span name, rk_span value) {
    if (is_harmless(name, value))
        return NULL;
    RK_AUTO(rk_buf) full = {0};
    rk_buf_add_text(&full, "client.option.");
    rk_buf_add_span(&full, name);
    RK_TRY(rk_buf_status(&full));
    return rk_components_add(list, RK_COMPONENT_OPTION, rk_buf_text(&full), value);
}
