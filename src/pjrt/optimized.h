// What an executable became in the compiler (PJRT_Executable_OptimizedProgram), kept until the
// framework has it: JAX asks every new executable for it twice, each time for the size first, and
// XLA's plugins write all of it anew for each of the four calls, a third of what a warm start still
// takes. Here they do it once for size and once for content, or ahead of time; or it comes from the
// store, where it lies with the executable, as it was when that had just been compiled.
//
// The bytes are the plugin's own for this executable, are handed out twice, and are gone then;
// whatever comes later is the plugin's to answer. Who asks for the size gets room on the heap for
// reading the content (base/heap_reserve.h), for as long as that takes.
#pragma once

#include "base/buf.h"
#include "pjrt/plugin.h"

// PJRT_Executable_OptimizedProgram, watched.
PJRT_Error *rk_optimized_hook(rk_plugin *plugin, PJRT_Executable_OptimizedProgram_Args *args);

// PJRT_LoadedExecutable_GetExecutable, watched: what was read ahead belongs to the new handle.
PJRT_Error *rk_optimized_get_hook(rk_plugin *plugin,
                                  PJRT_LoadedExecutable_GetExecutable_Args *args);

// PJRT_Executable_Destroy, watched.
PJRT_Error *rk_optimized_destroy_hook(rk_plugin *plugin, PJRT_Executable_Destroy_Args *args);

// Asks the plugin on behalf of whoever will be handed `loaded`, if there is room for the answer.
void rk_optimized_prefetch(const rk_plugin *plugin, PJRT_LoadedExecutable *loaded);

// Appends what goes into an executable's entry (docs/format.md); nothing where the plugin does not
// tell it, or it is too big to be kept later.
void rk_optimized_write(const PJRT_Api *api, PJRT_Executable *executable, rk_buf *out_stored);

// The way back, for whoever is handed `loaded`. `ahead`: only if there is room for it. False: there
// was nothing, or no room.
bool rk_optimized_read(PJRT_LoadedExecutable *loaded, rk_span stored, bool ahead);

// A handle of either kind is about to be destroyed, or is new. Cheap where nothing is kept.
void rk_optimized_forget(const void *handle);
