// The canonical form of CompileOptionsProto (openxla/xla xla/pjrt/proto/compile_options.proto).
// Equal options give equal bytes, even if protobuf wrote its maps in different orders.
#pragma once

#include "identity/components.h"

// Walks the message by its schema:
// - Sorts fields by number and map entries by key. Keeps the order of repeated fields.
// - Drops the fields marked RK_SCHEMA_DROP, such as dump paths, and `device_memory_size`, which
//   jaxlib sets from the currently free memory. docs/keys.md gives the reasons.
// - Drops a field with its default value, unless the schema tracks the field's presence.
// - Keeps unknown fields unchanged.
// Bad bytes stay unchanged, as one component "compile_options". This is safe: requests with such
// options may miss, but never get a wrong executable. Bytes are bad if they are not a protobuf
// message, if messages nest deeper than 32 levels, or if there are more than 64 MiB.
//
// `out_canonical` gets the bytes to hash. `out_fields` gets one component (RK_COMPONENT_OPTION) per
// leaf field, in a fixed order. Its name is the field's path, such as
// "executable_build_options.debug_options.xla_cpu_use_onednn", and its value is text. Fails only
// with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_options_canonicalize(rk_span options, rk_buf *out_canonical,
                                             rk_components *out_fields);

// As rk_options_canonicalize, without the fields that `ignore` (REKINDLE_KEY_IGNORE) names.
// Frameworks copy XLA_FLAGS into debug_options, so an ignored flag must be ignored here too.
RK_NODISCARD rk_err *rk_options_canonicalize_without(rk_span options, const char *ignore,
                                                     rk_buf *out_canonical,
                                                     rk_components *out_fields);
