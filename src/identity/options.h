// CompileOptionsProto (openxla/xla xla/pjrt/proto/compile_options.proto) made canonical: the same
// options give the same bytes, whatever the order in which protobuf wrote its maps.
#pragma once

#include "identity/components.h"

// Walks the message by its schema. Map entries are sorted by key (and only map fields; the order of
// repeated fields is kept); proto3 fields in ascending order; fields for debugging only (dump paths
// and the like) are dropped; `device_memory_size`, which jaxlib fills from the memory that happens
// to be free, is dropped. Unknown fields are kept as they stand. Bytes that are not a protobuf
// message are kept as they are, as one component "compile_options" (safe: they can only miss).
// Messages nest at most 32 deep; deeper ones count as bad bytes.
//
// `out_canonical` gets the bytes to hash; `out_fields` one component (RK_COMPONENT_OPTION) per leaf
// field seen, in a fixed order, named by its path
// ("executable_build_options.debug_options.xla_cpu_use_onednn"), with its value as text. Fails only
// with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_options_canonicalize(rk_span options, rk_buf *out_canonical,
                                             rk_components *out_fields);

// The same, leaving out the fields named in `ignore` (REKINDLE_KEY_IGNORE): frameworks copy
// XLA_FLAGS into debug_options, so a flag that is to be ignored must be ignored here too.
RK_NODISCARD rk_err *rk_options_canonicalize_without(rk_span options, const char *ignore,
                                                     rk_buf *out_canonical,
                                                     rk_components *out_fields);
