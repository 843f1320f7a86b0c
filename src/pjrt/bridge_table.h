// The growth of the PJRT C API's argument structs, version by version.
#pragma once

#include "pjrt/bridge.h"

// A version that made a struct longer.
typedef struct rk_struct_step {
    uint8_t since_minor;
    uint16_t size; // declared by callers of that version
} rk_struct_step;

enum { RK_STRUCT_STEPS = 8 };

typedef struct rk_struct_facts {
    const char *name; // as in a refusal, which may omit "_Args"
    // The first step also holds for all earlier versions. Some of them declared a smaller size than
    // the struct had.
    rk_struct_step steps[RK_STRUCT_STEPS];
    // The struct that this one points to, and the offset of the pointer; 0: no such struct.
    rk_struct_id inner;
    uint16_t inner_at;
    // Offset of a byte that the bridge sets to `default_value` if the plugin has the field and the
    // caller is too old for it.
    uint16_t default_at; // 0: no such byte
    uint8_t default_value;
    // If the pointer at `needs_at` is set, plugins may call a function that a later version added.
    // An older caller does not have it, so the plugin gets `substitute` at `substitute_at`.
    rk_pjrt_any_fn *substitute; // NULL: no such function
    uint16_t needs_at;
    uint16_t substitute_at;
    bool results_only; // the plugin only writes the later fields, and never reads them
} rk_struct_facts;

extern const rk_struct_facts rk_structs[RK_STRUCT_COUNT];

// Returns the size that plugins of that version are certain to demand; 0 for versions before
// RK_BRIDGE_OLDEST_MINOR.
size_t rk_struct_size_demanded(rk_struct_id id, int minor);

// The range of versions whose callers declare this size.
typedef struct rk_minor_range {
    int from, to;
} rk_minor_range;
rk_minor_range rk_struct_minors(rk_struct_id id, size_t size);

// Returns the struct with the name in a refusal; RK_STRUCT_NONE if the bridge does not have it.
rk_struct_id rk_struct_named(const char *name, size_t len);
