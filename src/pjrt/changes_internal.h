// Changes of the flags and variables that are part of a key, while plugins are in use.
//
// A plugin may read a variable whenever it likes, and most read it once: XLA's CPU plugins read
// XLA_FLAGS when the process creates its first client. So once a variable was changed, its value
// alone no longer says what the compiler goes by. From then on the key also has the states that the
// environment was in since the plugin was opened, and what the plugin did in each of them. The key
// of a process in which nothing changes is as if this did not exist. Inside src/pjrt only.
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "pjrt/plugin.h"

// What a plugin did while the environment was in one state.
typedef enum rk_plugin_use {
    RK_USE_CLIENT = 1,
    RK_USE_LOAD = 2,
    RK_USE_COMPILE = 4,
} rk_plugin_use;

// Too many changes, or no memory: nothing that is compiled now gets a key.
#define RK_CHANGES_UNKNOWN (-1)

// Looks at the environment and returns the number of the state that it is in, from 0. Takes a few
// hundred nanoseconds if nothing has changed. Thread-safe, as far as getenv is.
RK_NODISCARD RK_HIDDEN int rk_changes_look(void);

// The plugin is about to do that, in the state that was seen last. Thread-safe; does not read the
// environment.
RK_HIDDEN void rk_changes_note(const rk_plugin *plugin, rk_plugin_use use);

// Both, for what the framework does itself; nothing in a forked child.
RK_HIDDEN void rk_changes_look_and_note(const rk_plugin *plugin, rk_plugin_use use);

// Replaces the digest of an environment by one that also has the changes up to this state. Does
// nothing if there were none since the plugin was opened. Thread-safe.
RK_HIDDEN void rk_changes_mix(const rk_plugin *plugin, int state, rk_digest *environment);

// Appends the changes as one more component to the JSON list of an environment's components
// (identity/components.h). Does nothing if there were none. Thread-safe.
RK_HIDDEN void rk_changes_write(const rk_plugin *plugin, int state, rk_buf *components_json);
