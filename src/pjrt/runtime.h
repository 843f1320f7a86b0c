// Per-process state: settings, store, journal, publisher, clients. It starts with the first client,
// the first AOT compilation, or the first plugin that cannot be watched, never before.
//
// In a forked child rekindle is inert: every hook only calls the plugin. If the parent had neither
// a client nor a compilation, the child starts anew instead.
#pragma once

#include "cache/flight.h"
#include "cache/prefetcher.h"
#include "cache/publisher.h"
#include "cache/verifier.h"
#include "identity/components.h"
#include "journal/journal.h"
#include "pjrt/plugin.h"
#include "settings/settings.h"
#include "store/loads.h"

// A watched PJRT_Client, created and destroyed with the plugin's own. Or a target: the substitute
// for a client in AOT compilations, which is never destroyed.
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

typedef struct rk_runtime {
    const rk_settings_values *settings;
    const char *job;         // "" if it has no name
    uint64_t started_ns;     // by rk_monotonic_ns
    rk_store *store;         // NULL if it could not be opened
    rk_journal *journal;     // NULL if it could not be opened
    rk_publisher *publisher; // NULL if nothing may be stored
    rk_verifier *verifier;   // NULL if nothing is verified
    rk_flights *flights;     // NULL if no request waits for another
    rk_prefetcher *prefetch; // NULL if there is no prefetch
    rk_loads *loads;         // NULL if loads are not recorded and earlier crashes are not known
} rk_runtime;

// True unless rekindle is off: by REKINDLE_MODE=off, by invalid settings (warned once), or in an
// inert forked child. Cheap after the first call. Thread-safe.
bool rk_runtime_enabled(void);

// Returns the settings; NULL if they are invalid. Borrowed, lives as long as the process.
// Thread-safe.
const rk_settings_values *rk_runtime_settings(void);

// Returns the started runtime. NULL before the start, after the end, and in a forked child. Cheap.
static inline rk_runtime *rk_runtime_get(void) {
    extern _Atomic(rk_runtime *) rk_runtime_started; // NULL before the start, after the end
    return atomic_load_explicit(&rk_runtime_started, memory_order_acquire);
}

// Starts the runtime, if it has not started before. NULL if rekindle is off or inert, or the
// process is ending.
const rk_runtime *rk_runtime_start(void);

// Writes into the journal that a plugin has no watched client, and why. Starts the runtime if
// necessary; such a start does not make a forked child inert. `plugin`: its path, "" if unknown.
void rk_runtime_note_unwatched(const char *plugin, const char *reason);

// Called after the plugin has created a client. Starts the runtime with the first client.
void rk_runtime_add_client(rk_plugin *plugin, const PJRT_Client_Create_Args *args);

// Called before the plugin destroys a client. Waits for background work that needs the client, up
// to REKINDLE_DRAIN_SECONDS for each kind. False if a rekindle thread is still inside the plugin
// with the client, so that it must not be destroyed.
bool rk_runtime_remove_client(rk_plugin *plugin, PJRT_Client *handle);

// A client: the plugin's handle, and its number in this process.
typedef struct rk_client_name {
    PJRT_Client *handle;
    uint64_t number;
} rk_client_name;

// Writes the plugin's clients, without targets, at most `max`. Returns their number.
size_t rk_runtime_list_clients(const rk_plugin *plugin, rk_client_name *out_clients, size_t max);

// Returns the watched client; NULL if it is not watched, for example because it was created before
// rekindle was loaded. Borrowed until the client is destroyed.
const rk_client *rk_runtime_client(const rk_plugin *plugin, const PJRT_Client *handle);

// Returns the target for a topology. Queries the topology each time; equal topologies of a plugin
// have the same target. Starts the runtime if necessary. NULL if rekindle is off or inert, or the
// process has too many targets. Borrowed, lives as long as the process.
const rk_client *rk_runtime_target(rk_plugin *plugin, const PJRT_TopologyDescription *topology);

uint64_t rk_runtime_next_seq(void); // number of the next compile request, from 1

// Warns on stderr and in the journal, once per process for each rk_warning. Consumes `err`.
typedef enum rk_warning {
    RK_WARNING_STORE,  // the store cannot be used
    RK_WARNING_WRITE,  // a file of the store, an entry or the journal, cannot be written or read
    RK_WARNING_LOAD,   // an entry could not be loaded
    RK_WARNING_PLUGIN, // this plugin's executables cannot be stored or loaded
    RK_WARNING_KEY,    // no key could be made
    RK_WARNING_DRAIN,  // the end of a client or of the process did not wait for all background work
    RK_WARNING_UNWATCHED, // a plugin is not watched
    RK_WARNING_TRUST,     // a file of signing keys cannot be used
    RK_WARNING_MEMORY,    // memory is short; rk_warn_once chooses this by itself for ENOMEM
    RK_WARNING_DEADLY,    // loading an entry crashed a process
    RK_WARNING_COUNT,
} rk_warning;
void rk_warn_once(rk_warning once, rk_err *err);

// Warns, once, if the journal could no longer be written.
void rk_runtime_check_journal(const rk_runtime *runtime);

// True if the exit handler gave up waiting for a rekindle thread inside a plugin.
bool rk_runtime_left_inside(void);

// Registers rekindle's exit handler again, so that it runs before the destructors of everything
// that the plugin has set up so far.
void rk_runtime_renew_exit_handler(void);

// Writes the totals into the journal; at most once a second unless `now`.
void rk_runtime_write_counts(bool now);
