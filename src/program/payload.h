// Reads programs inside the program (payloads): kernels that a framework has partly compiled and
// put into a custom call. They contain source locations, so equal kernels may have different bytes.
// Internal to this module.
//
// Supported payloads (as written by JAX 0.10 to 0.12):
// - tpu_custom_call (Pallas on TPUs): `backend_config` is JSON. Its `custom_call_config.body` is
//   MLIR bytecode of version 0 in base64. Its operations have all attributes by name; the dialects'
//   own attributes and types are text. From JAX 0.11 on, `custom_call_config.debug_locations` is
//   bytecode of a module with the list of locations (jax/_src/tpu_custom_call.py).
// - mosaic_gpu_v2 (Pallas on GPUs): `mhlo.backend_config` is a dictionary. `module` is bytecode of
//   the same kind; `kernel_hash` is its SHA-256 (jax/experimental/mosaic/gpu/core.py).
#pragma once

#include "program/model.h"

// True if the attribute `attr` of a custom call to `target` may be a payload.
bool rk_payload_may_be(rk_span target, rk_span attr);

// Returns the substitute for `node`, the value of an attribute that may be a payload: a dictionary
// with an RK_NODE_PROGRAM in it. Returns `node` itself if the payload has another form or is not
// understood completely. If memory is short, rk_model_status returns an error. `keeps_programs`:
// store the programs in the model, for people. `flags`: rk_read_flags. All calls for one model
// together take linear time.
uint32_t rk_payload_read_node(rk_model *model, unsigned flags, bool keeps_programs, rk_span target,
                              uint32_t node);

// An rk_payload_fn (mlir/read.h). Replaces the payload of an MLIR operation, stablehlo.custom_call.
// Reads each attribute once, even if many operations share it; so the node of the attribute must
// not change.
void rk_payload_read(rk_model *model, unsigned flags, bool keeps_programs, rk_op *op);

// JSON text as nodes of the model: objects are RK_NODE_DICT, arrays RK_NODE_LIST, strings
// RK_NODE_STRING (the bytes between the quotes), other values RK_NODE_ENUM.
typedef struct rk_payload_json {
    uint32_t node; // the whole text; RK_NO_ID if it is not JSON, or not supported
    // custom_call_config.body, an RK_NODE_STRING; RK_NO_ID if missing.
    uint32_t body;
    // custom_call_config.debug_locations, which has no node; empty if missing.
    rk_span debug_locations;
} rk_payload_json;

// Borrows from `text`. On failure, the model is unchanged.
rk_payload_json rk_payload_read_json(rk_model *model, rk_span text);
