// A watched plugin: its own table, the copy that the framework gets, and its counters.
//
// A hook gets no pointer to the table through which it was called. So each plugin has its own set
// of hooks, a slot. Slots are never freed; a process has few plugins.
#pragma once

#include <stdatomic.h>

#include "pjrt/bridge.h"

// Expands M(n) for each slot. A function that needs its plugin exists once per slot.
#define RK_FOR_EACH_SLOT(M)                                                                        \
    M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
enum { RK_PLUGIN_SLOTS = 16 };

// The hooks' counters of transfers, on a cache line of their own. (Executions are counted by
// pjrt/steps.h.)
typedef struct rk_plugin_counts {
    _Alignas(64) atomic_uint_fast64_t host_to_device, host_to_device_bytes;
    atomic_uint_fast64_t device_to_host, device_to_host_bytes;
} rk_plugin_counts;

// How the plugin loads executables from bytes, as far as earlier loads have shown.
typedef enum rk_load_way {
    RK_LOAD_WITH_OPTIONS, // also before the first load
    RK_LOAD_WITHOUT_OPTIONS,
    RK_LOAD_NOT,
} rk_load_way;

typedef struct rk_plugin {
    const PJRT_Api *real; // the plugin's own; lives as long as the process
    PJRT_Api *wrapped;    // rekindle's copy, of the same size; lives as long as the process
    size_t bytes;         // of either table; more than an old plugin declares (see wrap.c)
    int slot;
    int first_state; // of the environment, when the plugin was opened (pjrt/changes_internal.h)
    _Atomic(rk_load_way) load_way;
    atomic_bool has_loaded;            // an executable from bytes
    atomic_bool xla_transformed;       // the framework registered its own compiler pass
    atomic_bool executables_uncounted; // a load does not change the devices' memory figures
    atomic_bool has_failed; // the plugin failed to initialize or to create a client; recorded once
    rk_bridge bridge;
    rk_plugin_counts counts;
} rk_plugin;

// The slots, for the hooks. Only the hooks of a slot's own table read it.
extern rk_plugin rk_plugin_slots[RK_PLUGIN_SLOTS];

// Returns the plugin in the slot; NULL while the slot is empty.
rk_plugin *rk_plugin_at(int slot);

// Returns the number of slots in use.
int rk_plugin_count(void);

// Marks the slot as used. Called by pjrt/wrap.h after it has filled the slot. Slots are published
// in order.
void rk_plugin_publish(int slot);
