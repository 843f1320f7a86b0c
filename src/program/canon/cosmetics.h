// What of a program no compiler looks at: names for people, and attributes that say the default.
// Internal to this room; the list with reasons: docs/keys.md.
#pragma once

#include "program/model.h"

// The name of an attribute that is there for people only.
bool rk_is_debug_name(rk_span name);

// The name of a function that says more than which function it is.
bool rk_is_meaningful_symbol(rk_span name);

// An attribute that a newer version of the dialect writes and an older one leaves out, with the
// value that its absence means.
// `rk_may_be_default` says whether there is such an attribute of that name.
bool rk_may_be_default(rk_span name);
bool rk_is_default_attr(const rk_model *model, const rk_field *attr);
