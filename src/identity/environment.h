// Everything that decides what a compiler makes of a program and is neither program nor options:
// the plugin's build, the topology, flags, variables, and for host platforms the CPU.
#pragma once

#include "identity/components.h"

// What only the plugin can tell; gathered by src/pjrt. All borrowed for the call.
typedef struct rk_plugin_facts {
    const void *code_address; // any address inside the plugin's code, to find its file and build-id
    rk_span platform_name;
    rk_span platform_version;
    int api_major;
    int api_minor;
    rk_span attributes;                  // plugin attributes as text lines "name=value", or empty
    rk_span topology_fingerprint;        // as text; empty where the plugin has none
    rk_span topology_devices;            // as text lines
    const rk_components *create_options; // what counts of them (identity/create_options.h), or NULL
    bool generates_host_code;            // the platform is the host's CPU
    // The directory of a store, in which the digests of plugin files are remembered for later
    // processes, or NULL: hashing a plugin without a build-id takes a quarter of a second.
    const char *memo_store;
} rk_plugin_facts;

// Appends all components and sorts the list. Reads /proc, the plugin's file (once: its digest is
// remembered while the process lives, and in `facts->memo_store`) and the environment.
// `ignore` is REKINDLE_KEY_IGNORE.
RK_NODISCARD rk_err *rk_environment_collect(const rk_plugin_facts *facts, const char *ignore,
                                            rk_components *out_components);

// Appends only what comes from the process's environment, the flags and the variables, and sorts
// the list.
RK_NODISCARD rk_err *rk_environment_add_variables(const char *ignore,
                                                  rk_components *out_components);

// A number over the values of all variables that rk_environment_collect reads: another one when one
// of them was changed, unless their 64-bit hashes collide. One pass over the environment, a few
// hundred nanoseconds; no memory, no lock. As thread-safe as getenv. The content of a file that a
// variable names is not in it.
RK_NODISCARD uint64_t rk_environment_mark(void);

// The shared object that holds `code_address`: its path as loaded, and the hex of its GNU build-id
// ("" if it has none). Owned: rk_free both. RK_NOT_FOUND if no object holds it.
RK_NODISCARD rk_err *rk_plugin_identify(const void *code_address, char **out_path,
                                        char **out_build_id);
