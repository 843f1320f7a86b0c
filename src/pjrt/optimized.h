// Keeps optimized programs (PJRT_Executable_OptimizedProgram) until the framework has read them.
// JAX requests the optimized program of every new executable twice, each time first the size and
// then the content. XLA's plugins write the whole program for each of these four calls, which take
// a third of the remaining time of a warm start. With this module, a plugin writes the program only
// once for the size and once for the content. After a prefetch, both are ready. After a load from
// the store, the plugin does not write the program at all: the executable's entry contains it, as
// it was right after compilation.
//
// The bytes are the plugin's own bytes for this executable. They are handed out twice and then
// freed; the plugin answers later requests. A request for the size also reserves heap for the
// framework's reading of the content (base/heap_reserve.h). The reservation ends when the framework
// has read the content, or when the thread asks about another executable.
#pragma once

#include "base/buf.h"
#include "pjrt/plugin.h"

// The hook for PJRT_Executable_OptimizedProgram.
PJRT_Error *rk_optimized_hook(rk_plugin *plugin, PJRT_Executable_OptimizedProgram_Args *args);

// The hook for PJRT_LoadedExecutable_GetExecutable. A prefetched program moves to the new handle.
PJRT_Error *rk_optimized_get_hook(rk_plugin *plugin,
                                  PJRT_LoadedExecutable_GetExecutable_Args *args);

// The hook for PJRT_Executable_Destroy.
PJRT_Error *rk_optimized_destroy_hook(rk_plugin *plugin, PJRT_Executable_Destroy_Args *args);

// Reads the optimized program of `loaded` from the plugin during a prefetch, if it fits the memory
// limit.
void rk_optimized_prefetch(const rk_plugin *plugin, PJRT_LoadedExecutable *loaded);

// Appends the optimized program in the form that an executable's entry stores (docs/format.md).
// Appends nothing if the plugin does not report it or it is too large to be kept after a load.
void rk_optimized_write(const PJRT_Api *api, PJRT_Executable *executable, rk_buf *out_stored);

// Keeps the optimized program from an entry's stored form, for `loaded`. `prefetched`: only if it
// fits the memory limit without evicting others. False if `stored` has no program, or the program
// does not fit.
bool rk_optimized_read(PJRT_LoadedExecutable *loaded, rk_span stored, bool prefetched);

// Removes the record of a handle, a PJRT_LoadedExecutable or a PJRT_Executable. Call it before a
// handle is destroyed, and for a new handle, whose address may have a stale record. Cheap if
// nothing is kept.
void rk_optimized_forget(const void *handle);
