// The environment: everything that affects the compiler's output, except program and options. It
// consists of the plugin's build, the topology, flags, variables and, for host platforms, the CPU.
#pragma once

#include "identity/components.h"

// Facts that only the plugin provides. src/pjrt collects them. All are borrowed during the call.
typedef struct rk_plugin_facts {
    const void *code_address; // any address inside the plugin's code, to find its file and build-id
    rk_span platform_name;
    rk_span platform_version;
    int api_major;
    int api_minor;
    rk_span attributes;                  // plugin attributes as text lines "name=value", or empty
    rk_span topology_fingerprint;        // as text; empty if the plugin has none
    rk_span topology_devices;            // as text lines
    const rk_components *create_options; // from identity/create_options.h, or NULL
    bool generates_host_code;            // the platform is the host's CPU
    // The directory of a store, or NULL. The store keeps digests of plugin files for later
    // processes: hashing a plugin without a build-id takes a quarter of a second.
    const char *memo_store;
} rk_plugin_facts;

// Appends all components and sorts the list. Reads /proc, the process's environment, and the file
// of a plugin without a build-id. The plugin's file is read only once, because the process and
// `facts->memo_store` keep its digest. `ignore` is REKINDLE_KEY_IGNORE.
RK_NODISCARD rk_err *rk_environment_collect(const rk_plugin_facts *facts, const char *ignore,
                                            rk_components *out_components);

// Appends only the flags and variables from the process's environment, and sorts the list.
RK_NODISCARD rk_err *rk_environment_add_variables(const char *ignore,
                                                  rk_components *out_components);

// Returns a number that changes when a variable read by rk_environment_collect changes, unless
// 64-bit hashes collide. The number does not cover the content of a file that a variable names.
// Takes one pass over the environment, a few hundred nanoseconds. Allocates nothing and takes no
// lock. As thread-safe as getenv.
RK_NODISCARD uint64_t rk_environment_mark(void);

// Finds the loaded object that contains `code_address`. Returns its path as loaded and its GNU
// build-id in hex ("" if it has none). Owned: rk_free both. RK_NOT_FOUND if no object contains the
// address.
RK_NODISCARD rk_err *rk_plugin_identify(const void *code_address, char **out_path,
                                        char **out_build_id);
