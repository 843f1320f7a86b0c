// The parts of a key that are not the program, each with a name, so that a later difference can be
// named: options, flags, variables, versions, topology.
#pragma once

#include "base/digest.h"
#include "base/json.h"

// The kinds are those of a difference in `rekindle explain --json`.
typedef enum rk_component_kind {
    RK_COMPONENT_OPTION,
    RK_COMPONENT_FLAG,
    RK_COMPONENT_VARIABLE,
    RK_COMPONENT_VERSION,
    RK_COMPONENT_TOPOLOGY,
    RK_COMPONENT_KIND_COUNT,
} rk_component_kind;

typedef struct rk_component {
    rk_component_kind kind;
    char *name;  // owned by the list
    char *value; // owned by the list; may hold any bytes
    size_t value_len;
} rk_component;

typedef struct rk_components {
    rk_component *items; // owned
    size_t count;
    size_t capacity;
} rk_components;

void rk_components_cleanup(rk_components *list);

// Adds a copy. At most 65,536 components of at most 1 MiB each (RK_OUT_OF_RANGE).
RK_NODISCARD rk_err *rk_components_add(rk_components *list, rk_component_kind kind,
                                       const char *name, rk_span value);

// Sorts by kind, name, value.
void rk_components_sort(rk_components *list);

// Removes those whose name is in `ignore` (names separated by commas or blanks).
void rk_components_ignore(rk_components *list, const char *ignore);

// The digest of a sorted list: kinds, names and values, each with its length.
void rk_components_digest(const rk_components *list, rk_digest *out_digest);

// As JSON: [{"kind":"flag","name":"--xla_foo","value":"true"},…]. A value longer than 256 bytes, or
// not UTF-8, is written as {"digest":"<64 hex>","bytes":N} instead of text.
void rk_components_write(const rk_components *list, rk_json *json);

const char *rk_component_kind_name(rk_component_kind kind); // "option", "flag", …
