// The named parts of a key, except the program: options, flags, variables, versions, topology. With
// the names, rekindle can later report which part of a key changed.
#pragma once

#include "base/digest.h"
#include "base/json.h"

// Differences in `rekindle explain --json` have the same kinds.
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

// Adds a component with copies of `name` and `value`. RK_OUT_OF_RANGE for more than 65,536
// components or a value of more than 1 MiB.
RK_NODISCARD rk_err *rk_components_add(rk_components *list, rk_component_kind kind,
                                       const char *name, rk_span value);

// Sorts by kind, then name, then value.
void rk_components_sort(rk_components *list);

// Removes the components named in `ignore`. Commas or blanks separate the names
// (identity/ignore.h).
void rk_components_ignore(rk_components *list, const char *ignore);

// Returns the digest of a sorted list, over kinds, names and values, each with its length.
void rk_components_digest(const rk_components *list, rk_digest *out_digest);

// Writes the list as JSON: [{"kind":"flag","name":"--xla_foo","value":"true"},…]. A value that is
// longer than 256 bytes, or not UTF-8, becomes {"digest":"<64 hex>","bytes":N} instead of text.
void rk_components_write(const rk_components *list, rk_json *json);

const char *rk_component_kind_name(rk_component_kind kind); // "option", "flag", …
