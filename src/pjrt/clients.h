// The watched clients of this process, and the targets: substitutes for a client in AOT
// compilations.
#pragma once

#include "identity/components.h"
#include "pjrt/plugin.h"
#include "pjrt/runtime.h"

// A watched client, which lives as long as the plugin's PJRT_Client. Or a target: the substitute
// for a client in AOT compilations, which lives as long as the process.
typedef struct rk_client {
    PJRT_Client *handle; // compared, never dereferenced here; NULL for a target
    rk_plugin *plugin;
    uint64_t number;      // from 1, in this process
    bool keyed;           // `environment` is set
    bool has_all_devices; // this process can address all devices
    bool is_cpu, is_tpu;  // its platform is "cpu", "tpu"
    size_t device_count;
    rk_digest environment;
    rk_buf components_json; // of the environment
    rk_buf metadata_json;   // members of entry metadata that all programs share; no braces
    struct rk_client *next;
} rk_client;

// Describes a client that the plugin has created, and writes it into the journal. Warns if no keys
// can be made for it. Does not add the client to the list. NULL if memory is short; the client is
// then not watched.
rk_client *rk_clients_new(const rk_runtime *runtime, rk_plugin *plugin,
                          const PJRT_Client_Create_Args *args);

// Puts a client into the list, which owns it from then on. Thread-safe.
void rk_clients_add(rk_client *client);

// Removes a client from the list and frees it. Thread-safe.
void rk_clients_remove(const rk_plugin *plugin, const PJRT_Client *handle);

// A client: the plugin's handle, and its number in this process.
typedef struct rk_client_name {
    PJRT_Client *handle;
    uint64_t number;
} rk_client_name;

// Writes the plugin's clients, without targets, at most `max`. Returns their number.
size_t rk_clients_list(const rk_plugin *plugin, rk_client_name *out_clients, size_t max);

// Returns the watched client; NULL if it is not watched, for example because it was created before
// rekindle was loaded. Borrowed until the client is destroyed.
const rk_client *rk_clients_find(const rk_plugin *plugin, const PJRT_Client *handle);

// Returns the target for a topology. Queries the topology each time; equal topologies of a plugin
// have the same target. NULL if memory is short or the process has too many targets. Borrowed,
// lives as long as the process.
const rk_client *rk_clients_target(const rk_runtime *runtime, rk_plugin *plugin,
                                   const PJRT_TopologyDescription *topology);
