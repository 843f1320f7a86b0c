// Tracks changes of flags and environment variables while plugins are in use, and adds these
// changes to keys. Used only inside src/pjrt.
//
// A plugin may read a variable at any time, and most plugins read it once: XLA's CPU plugins read
// XLA_FLAGS when the process creates its first client. After a variable has changed, its value
// alone no longer determines the compiler's behaviour. From then on, the key also covers the states
// of the environment since the plugin was opened, and what the plugin did in each state. If nothing
// changes in a process, its keys do not depend on this module.
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "pjrt/plugin.h"

// What a plugin did while the environment was in one state; bits.
typedef enum rk_plugin_use {
    RK_USE_CLIENT = 1,
    RK_USE_LOAD = 2,
    RK_USE_COMPILE = 4,
} rk_plugin_use;

// Too many changes, or out of memory: compilations from now on get no key.
#define RK_CHANGES_UNKNOWN (-1)

// Reads the environment and returns the number of its state, from 0, or RK_CHANGES_UNKNOWN. Takes a
// few hundred nanoseconds if nothing has changed. Thread-safe, as far as getenv is.
RK_NODISCARD RK_HIDDEN int rk_changes_look(void);

// Records that the plugin is about to do `use`, in the state of the last rk_changes_look. Does not
// read the environment. Thread-safe.
RK_HIDDEN void rk_changes_note(const rk_plugin *plugin, rk_plugin_use use);

// Calls rk_changes_look and rk_changes_note, for actions of the framework itself. Does nothing if
// rekindle is off or inert.
RK_HIDDEN void rk_changes_look_and_note(const rk_plugin *plugin, rk_plugin_use use);

// Replaces the digest of an environment by a digest that also covers the changes up to `state`.
// Does nothing if nothing changed since the plugin was opened. Thread-safe.
RK_HIDDEN void rk_changes_mix(const rk_plugin *plugin, int state, rk_digest *environment);

// Appends the changes as further components to the JSON list of an environment's components
// (identity/components.h). Does nothing if nothing changed. Thread-safe.
RK_HIDDEN void rk_changes_write(const rk_plugin *plugin, int state, rk_buf *components_json);
