// How the argument structs of the PJRT C API grew.
#pragma once

#include "pjrt/bridge.h"

// A version that made a struct longer.
typedef struct rk_struct_step {
    uint8_t since_minor;
    uint16_t size; // that callers of that version declare
} rk_struct_step;

enum { RK_STRUCT_STEPS = 8 };

typedef struct rk_struct_facts {
    const char *name; // as a refusal names it, which may leave out "_Args"
    // The first step holds for all earlier versions too; some of those declared less than they had.
    rk_struct_step steps[RK_STRUCT_STEPS];
    // The struct that it points to, and where its pointer is; 0: there is none.
    rk_struct_id inner;
    uint16_t inner_at;
    // A byte that is not 0 in a struct of an older caller, if the plugin knows the field.
    uint16_t default_at; // 0: there is none
    uint8_t default_value;
    // Where the pointer at `needs_at` is set, plugins may call a function that came later. An older
    // caller has none, so the plugin gets `stand_in` at `stand_in_at`.
    rk_pjrt_any_fn *stand_in; // NULL: there is none
    uint16_t needs_at;
    uint16_t stand_in_at;
    bool results_only; // the fields that came later are written by the plugin, never read
} rk_struct_facts;

extern const rk_struct_facts rk_structs[RK_STRUCT_COUNT];

// The size that plugins of that version demand, as far as that is known for sure.
size_t rk_struct_size_demanded(rk_struct_id id, int minor);

// The versions whose callers declare that size.
typedef struct rk_minor_range {
    int from, to;
} rk_minor_range;
rk_minor_range rk_struct_minors(rk_struct_id id, size_t size);

// The struct that a refusal names; RK_STRUCT_NONE if it is none of these.
rk_struct_id rk_struct_named(const char *name, size_t len);
