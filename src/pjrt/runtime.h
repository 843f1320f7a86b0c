// Per-process state: settings, store, journal, publisher, clients. It starts with the first client,
// the first compilation ahead of time, or a plugin that is not watched, never before. In the child
// of a fork every hook passes through, unless the parent had neither client nor compilation: then
// the child begins anew.
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

// A PJRT_Client under watch. Created and destroyed with the plugin's own. Or a target: what stands
// for the client where something is compiled ahead of time; never destroyed.
typedef struct rk_client {
    PJRT_Client *handle; // compared, never followed here; NULL for a target
    rk_plugin *plugin;
    uint64_t number;      // from 1, in this process
    bool keyed;           // `environment` could be made
    bool has_all_devices; // all of them are addressable by this process
    bool is_cpu, is_tpu;  // its platform is
    size_t device_count;
    rk_digest environment;
    rk_buf components_json; // of the environment
    rk_buf metadata_json; // members of an entry's metadata that all programs share, without braces
    struct rk_client *next;
} rk_client;

typedef struct rk_runtime {
    const rk_settings_values *settings;
    const char *job;         // "" if it has no name
    uint64_t started_ns;     // of rk_monotonic_ns
    rk_store *store;         // NULL if it could not be opened
    rk_journal *journal;     // NULL if it could not be opened
    rk_publisher *publisher; // NULL if nothing may be stored
    rk_verifier *verifier;   // NULL if nothing is verified
    rk_flights *flights;     // NULL if nobody may wait for anybody
    rk_prefetcher *prefetch; // NULL if nothing is loaded ahead
    rk_loads *loads;         // NULL if no load is noted, and nothing known of earlier ones
} rk_runtime;

// True unless rekindle is switched off, by REKINDLE_MODE=off or by settings that make no sense
// (told once). Cheap after the first call; thread-safe.
bool rk_runtime_enabled(void);

// What the user set; NULL if it makes no sense. Borrowed for the process's life. Thread-safe.
const rk_settings_values *rk_runtime_settings(void);

// The started runtime, or NULL: not started, ended, or this is a forked child. Cheap.
static inline rk_runtime *rk_runtime_get(void) {
    extern _Atomic(rk_runtime *) rk_runtime_started; // between the first client and the exit
    return atomic_load_explicit(&rk_runtime_started, memory_order_acquire);
}

// Starts it, if nothing has before. NULL if rekindle is off or inert, or the process is ending.
const rk_runtime *rk_runtime_start(void);

// Writes into the journal that a plugin has no client under watch, and why; starts the runtime if
// nothing has before, which then does not make a forked child inert. `plugin`: its path, "" if
// unknown.
void rk_runtime_note_unwatched(const char *plugin, const char *reason);

// Called after the plugin has made a client: starts the runtime with the first one.
void rk_runtime_add_client(rk_plugin *plugin, const PJRT_Client_Create_Args *args);

// Called before the plugin destroys it: drains what still needs it. False if a thread of ours is
// still inside the plugin with it, so that it must not be destroyed.
bool rk_runtime_remove_client(rk_plugin *plugin, PJRT_Client *handle);

// A client by the plugin's handle, and its number in this process.
typedef struct rk_client_name {
    PJRT_Client *handle;
    uint64_t number;
} rk_client_name;

// The plugin's clients, at most `max`; how many. Without targets.
size_t rk_runtime_list_clients(const rk_plugin *plugin, rk_client_name *out_clients, size_t max);

// Borrowed until the client is destroyed; NULL for one that was made before rekindle was there.
const rk_client *rk_runtime_client(const rk_plugin *plugin, const PJRT_Client *handle);

// What stands for a client of that topology, which is asked to describe itself; starts the runtime
// if nothing has before. Equal topologies of a plugin have the same. Borrowed for the process's
// life; NULL if rekindle is off or inert, or the process has too many of them.
const rk_client *rk_runtime_target(rk_plugin *plugin, const PJRT_TopologyDescription *topology);

uint64_t rk_runtime_next_seq(void); // number of the next compile request, from 1

// Tells something once a process (per `once`), on stderr and in the journal. Consumes `err`.
typedef enum rk_warning {
    RK_WARNING_STORE,     // the store cannot be used
    RK_WARNING_WRITE,     // the store's files: an entry, or the journal, cannot be written or read
    RK_WARNING_LOAD,      // an entry could not be loaded
    RK_WARNING_PLUGIN,    // this plugin's executables cannot be kept
    RK_WARNING_KEY,       // no key could be made
    RK_WARNING_DRAIN,     // an exit did not wait for everything
    RK_WARNING_UNWATCHED, // a plugin
    RK_WARNING_TRUST,     // a file of keys cannot be used
    RK_WARNING_MEMORY, // memory is short, whatever it was wanted for; rk_warn_once knows by itself
    RK_WARNING_DEADLY, // loading an entry killed a process
    RK_WARNING_COUNT,
} rk_warning;
void rk_warn_once(rk_warning once, rk_err *err);

// Tells, once, if the journal could no longer be written.
void rk_runtime_check_journal(const rk_runtime *runtime);

// True once the process has ended for us, while a thread of ours was still inside a plugin.
bool rk_runtime_left_inside(void);

// Makes sure that our exit handler runs before the destructors of what the plugin has set up so
// far.
void rk_runtime_renew_exit_handler(void);

// Writes the totals into the journal; at most once a second unless `now`.
void rk_runtime_write_counts(bool now);
