// Per-process state: settings, warnings, and the runtime that holds store, journal and publisher.
// pjrt/lifecycle.h starts and ends the runtime.
#pragma once

#include <stdatomic.h>

#include "cache/flight.h"
#include "cache/prefetcher.h"
#include "cache/publisher.h"
#include "cache/recorder.h"
#include "cache/verifier.h"
#include "journal/journal.h"
#include "settings/settings.h"
#include "store/loads.h"

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
    rk_recorder *recorder;   // NULL: nothing is recorded or prefetched
    rk_loads *loads;         // NULL: loads are not recorded, and earlier crashes are unknown
    void (*at_exit)(void);   // the exit handler of pjrt/lifecycle.h
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

// Sets the started runtime, for pjrt/lifecycle.h. NULL: from now on, every hook only calls the
// plugin.
void rk_runtime_set(rk_runtime *runtime);

// Switches rekindle off in a forked child, for pjrt/lifecycle.h.
void rk_runtime_disable(void);

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
    RK_WARNING_MEMORY,    // memory is short; rk_warn_once uses this for every `err` with ENOMEM
    RK_WARNING_DEADLY,    // loading an entry crashed a process
    RK_WARNING_COUNT,
} rk_warning;
void rk_warn_once(rk_warning warning, rk_err *err);

// Warns, once, if the journal could no longer be written.
void rk_runtime_check_journal(const rk_runtime *runtime);

// Registers the exit handler again, so that it runs before the destructors of everything that the
// plugin has set up so far. Does nothing before the start and after the end.
void rk_runtime_renew_exit_handler(void);
