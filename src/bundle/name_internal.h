// Rules for names and texts in a bundle; private to src/bundle.
#pragma once

#include "bundle/bundle.h"

// Returns what breaks the rules for an item's name, such as "has an empty part"; NULL if nothing
// does. Static text.
RK_HIDDEN const char *rk_bundle_name_fault(rk_span name);

// True for [a-z][a-z0-9_]{0,31}.
RK_HIDDEN bool rk_bundle_module_name_is_valid(rk_span name);

// As rk_bundle_name_fault, for an attribute.
RK_HIDDEN const char *rk_bundle_attribute_fault(const rk_bundle_pair *attribute);

// As rk_bundle_name_fault, for a pair of the header, which may be longer than an attribute.
RK_HIDDEN const char *rk_bundle_pair_fault(const rk_bundle_pair *pair);

// The order of names, after ASCII case folding. A slash comes before all other bytes, so that a
// name is directly followed by the names below it.
RK_HIDDEN int rk_bundle_name_compare(rk_span a, rk_span b);

// True if `upper` and `lower` differ only in case, or if `upper` is a folder of `lower`.
RK_HIDDEN bool rk_bundle_name_contains(rk_span upper, rk_span lower);

// A name for messages: cut off, and without control characters.
typedef struct rk_bundle_shown {
    char text[128];
} rk_bundle_shown;
RK_HIDDEN rk_bundle_shown rk_bundle_show(rk_span name);
