// What an executable became in the compiler (PJRT_Executable_OptimizedProgram), kept until the
// framework has it: JAX asks every new executable for it twice, each time for the size first, and
// XLA's plugins write all of it anew for each of the four calls, a third of what a warm start still
// takes. Here they do it once for size and once for content, or ahead of time, with the load.
//
// The bytes are the plugin's own for this very executable, are handed out twice, and are gone
// then; whatever comes later is the plugin's to answer.
#pragma once

#include "pjrt/plugin.h"

// PJRT_Executable_OptimizedProgram, watched.
PJRT_Error *rk_optimized_hook(rk_plugin *plugin, PJRT_Executable_OptimizedProgram_Args *args);

// PJRT_LoadedExecutable_GetExecutable, watched: what was read ahead belongs to the new handle.
PJRT_Error *rk_optimized_get_hook(rk_plugin *plugin,
                                  PJRT_LoadedExecutable_GetExecutable_Args *args);

// PJRT_Executable_Destroy, watched.
PJRT_Error *rk_optimized_destroy_hook(rk_plugin *plugin, PJRT_Executable_Destroy_Args *args);

// Reads it for whoever will be handed `loaded`, if there is room for it.
void rk_optimized_read_ahead(const rk_plugin *plugin, PJRT_LoadedExecutable *loaded);

// A handle of either kind is about to be destroyed, or is new. Cheap where nothing is kept.
void rk_optimized_forget(const void *handle);
