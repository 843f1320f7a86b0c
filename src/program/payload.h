// Programs inside the program: kernels that a framework compiled half-way and put into a custom
// call. They hold source locations of their own, so that their bytes are no measure of what they
// mean. Internal to this room.
//
// What is read (as JAX 0.10 to 0.12 write it):
// - tpu_custom_call (Pallas on TPUs): `backend_config` is JSON, in it `custom_call_config`, in it
//   `body`: base64 of MLIR bytecode of version 0, whose operations have all their attributes by
//   name and whose dialects' own attributes and types are text. `debug_locations` beside it, from
//   JAX 0.11 on: bytecode of a module that has the locations in a list
//   (jax/_src/tpu_custom_call.py).
// - mosaic_gpu_v2 (Pallas on GPUs): `mhlo.backend_config` is a dictionary, in it `module`: such
//   bytecode as it is; and `kernel_hash`, its SHA-256 (jax/experimental/mosaic/gpu/core.py).
#pragma once

#include "program/model.h"

// Whether an attribute of a custom call with that target may be a payload.
bool rk_payload_may_be(rk_span target, rk_span attr);

// What takes the place of such an attribute: a dictionary with an RK_NODE_PROGRAM in it. What is of
// another form, or not understood to the last bit, stays as it is; where memory is short,
// rk_model_status says so. Programs are kept for people to look at, if they are wanted. `flags`: of
// rk_model_read. All calls for one model take linear time together.
uint32_t rk_payload_read_node(rk_model *model, unsigned flags, bool keeps_programs, rk_span target,
                              uint32_t node);

// The same for an operation of MLIR, stablehlo.custom_call, which has all its attributes. Each
// attribute is read once, however many operations have it: its node must stay as it is.
void rk_payload_read(rk_model *model, unsigned flags, bool keeps_programs, rk_op *op);

// What a JSON text says, as nodes of the model: objects are RK_NODE_DICT, arrays RK_NODE_LIST,
// strings RK_NODE_STRING as they stand between their quotes, all else RK_NODE_ENUM.
typedef struct rk_payload_json {
    uint32_t node; // of the whole; RK_NO_ID: no JSON, or none that is read
    // custom_call_config.body: an RK_NODE_STRING; RK_NO_ID: there is none.
    uint32_t body;
    // custom_call_config.debug_locations, which has no node; empty: there are none.
    rk_span debug_locations;
} rk_payload_json;

// Borrows from `text`. Nothing is left in the model where it fails.
rk_payload_json rk_payload_read_json(rk_model *model, rk_span text);
