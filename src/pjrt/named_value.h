// Lists of PJRT_NamedValue: attributes of plugins, topologies and devices.
#pragma once

#include "base/json.h"
#include "pjrt/abi.h"

// The value after this one. Steps by the plugin's own struct size, which may be more than the
// header's here.
const PJRT_NamedValue *rk_named_value_next(const PJRT_NamedValue *value);

// Writes them as an object. A kind of value that this header does not know becomes null.
void rk_named_values_to_json(rk_json *json, const PJRT_NamedValue *values, size_t count);
