// Loads an executable from its bytes, in the best way that the plugin supports. Records the ways
// that the plugin does not support.
//
// There are two ways, both through PJRT_Executable_DeserializeAndLoad: with the framework's current
// compile options (0.71), or with the options that the executable was compiled with. The key covers
// all options that affect the code, so both ways give the same code. The first way is better,
// because the current options may name another folder for dumps. PJRT_Client_Load (0.95) is no
// alternative: it loads an executable that the plugin made in this process, not bytes.
#pragma once

#include "base/span.h"
#include "base/status.h"
#include "pjrt/plugin.h"

// True unless the plugin is known to be unable to load executables. Warns once if the plugin's
// table lacks PJRT_Executable_DeserializeAndLoad.
bool rk_load_is_possible(rk_plugin *plugin);

// Like rk_load_is_possible, but also false if the framework registered its own compiler pass with
// the plugin, because keys do not cover the pass.
bool rk_load_is_wanted(rk_plugin *plugin);

// Loads an executable from its serialized bytes. `options`: the framework's current compile
// options. `*out_loaded` is owned by the caller. Errors: the plugin's. If a plugin that has never
// loaded an executable returns RK_UNIMPLEMENTED, it cannot load any; this is recorded and warned
// once. Thread-safe.
RK_NODISCARD rk_err *rk_load(rk_plugin *plugin, PJRT_Client *client, rk_span executable,
                             rk_span options, PJRT_LoadedExecutable **out_loaded);

// Like rk_load, for a prefetch. RK_UNIMPLEMENTED is not recorded and not warned, because the
// framework may not have registered everything with the plugin yet, for example its custom calls.
RK_NODISCARD rk_err *rk_load_prefetch(rk_plugin *plugin, PJRT_Client *client, rk_span executable,
                                      rk_span options, PJRT_LoadedExecutable **out_loaded);
