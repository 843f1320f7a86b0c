// Recognizes parts of a program that no compiler uses: names for people, and attributes that spell
// out a default. Internal to this module. The list with reasons: docs/keys.md.
#pragma once

#include "program/model.h"

// True if an attribute of a function's argument or result with this name is only for people. In
// other places the compiler may read it.
bool rk_is_debug_name(rk_span name);

// True if an attribute with this name holds the attributes of a function's arguments or results: a
// list of dictionaries.
bool rk_is_of_values(rk_span name);

// True if the compiler gives this function name a meaning; other names only identify a function.
bool rk_is_meaningful_symbol(rk_span name);

// Attributes that newer versions of a dialect write and older versions omit, with the value that
// their absence means. rk_may_be_default checks only the name, rk_is_default_attr also the value.
bool rk_may_be_default(rk_span name);
bool rk_is_default_attr(const rk_model *model, const rk_field *attr);
