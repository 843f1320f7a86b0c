// One plugin under watch: its own table, the copy that the framework gets, and what is counted.
//
// Hooks get no pointer to the table they were called through, so each plugin has its own set of
// them: a slot. Slots are never given back; a process has few plugins.
#pragma once

#include <stdatomic.h>

#include "base/status.h"
#include "pjrt/bridge.h"

// M(n) for each slot: functions that must know their plugin exist once a slot.
#define RK_FOR_EACH_SLOT(M)                                                                        \
    M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
enum { RK_PLUGIN_SLOTS = 16 };

// What the hooks count, on a cache line of its own. (Executions: pjrt/steps.h.)
typedef struct rk_plugin_counts {
    _Alignas(64) atomic_uint_fast64_t host_to_device, host_to_device_bytes;
    atomic_uint_fast64_t device_to_host, device_to_host_bytes;
} rk_plugin_counts;

// How the plugin loads executables from bytes, as far as it has shown.
typedef enum rk_load_way {
    RK_LOAD_WITH_OPTIONS, // also: not yet tried
    RK_LOAD_WITHOUT_OPTIONS,
    RK_LOAD_NOT,
} rk_load_way;

typedef struct rk_plugin {
    const PJRT_Api *real; // the plugin's own; lives as long as the process
    PJRT_Api *wrapped;    // ours: as many bytes as the plugin's; lives as long as the process
    size_t bytes;         // of either: more than an old plugin says (see plugin.c)
    int slot;
    int first_state; // of the environment, when the plugin was opened (pjrt/changes_internal.h)
    _Atomic(rk_load_way) load_way;
    atomic_bool has_loaded;      // an executable from bytes
    atomic_bool xla_transformed; // the framework registered a compiler pass of its own
    atomic_bool has_failed;      // to be initialized, or to make a client; noted once
    rk_bridge bridge;
    rk_plugin_counts counts;
} rk_plugin;

// The table to hand to a framework instead of `real`: a copy with the watched entries replaced.
// `real` itself where nothing is to be watched: rekindle is off or inert, the table is wrapped
// already; or cannot be watched, which is told: of an unknown API, or no slot is left. Thread-safe;
// the same table gives the same answer every time. Never NULL unless `real` is.
const PJRT_Api *rk_plugin_wrap(const PJRT_Api *real);

// Says, once, that a plugin goes unwatched because no slot is left. `get_api`: its GetPjrtApi.
void rk_plugin_warn_too_many(const void *get_api);

// As rk_runtime_note_unwatched, for the plugin that has `address` in it.
void rk_plugin_note_unwatched(const void *address, const char *reason);

// The slots themselves, for the hooks: a slot is read only by hooks that its own table handed out.
extern rk_plugin rk_plugin_slots[RK_PLUGIN_SLOTS];

// Slot i, or NULL while it is empty.
rk_plugin *rk_plugin_at(int slot);

// A table for when there is no plugin: every entry gives an error with the text of `problem`, which
// is consumed. Lives as long as the process; the first problem stays.
const PJRT_Api *rk_plugin_absent(rk_err *problem);
