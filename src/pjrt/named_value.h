// Reads lists of PJRT_NamedValue: the attributes of plugins, topologies and devices.
#pragma once

#include "base/json.h"
#include "pjrt/abi.h"

// Returns the next value. Steps by the plugin's struct size, which may be larger than this
// header's.
const PJRT_NamedValue *rk_named_value_next(const PJRT_NamedValue *value);

// Writes the values as a JSON object. A value of a kind that is not in this header becomes null.
void rk_named_values_to_json(rk_json *json, const PJRT_NamedValue *values, size_t count);
