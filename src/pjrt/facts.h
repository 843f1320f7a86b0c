// Reads the properties of a plugin and a client, or of a topology without a client, as text for the
// environment in the key.
#pragma once

#include "identity/environment.h"
#include "pjrt/abi.h"

typedef struct rk_facts {
    rk_plugin_facts facts; // borrows from the buffers below and from the client
    rk_buf attributes;
    rk_buf topology_fingerprint;
    rk_buf topology_devices;
    rk_components create_options;
    size_t device_count;
    size_t addressable_device_count;
} rk_facts;
void rk_facts_cleanup(rk_facts *facts);

// Queries the plugin. If the plugin lacks an entry or the entry fails, its part stays empty.
// Returns an error if the client cannot report its platform. `out_facts` is valid while the client
// lives.
RK_NODISCARD rk_err *rk_facts_gather(const PJRT_Api *api, PJRT_Client *client, rk_facts *out_facts);

// Adds the options with which the client was created, except those that do not affect compilation.
// Returns RK_UNIMPLEMENTED if an option or an extension is of an unknown kind, because its effect
// is not known.
RK_NODISCARD rk_err *rk_facts_gather_options(const PJRT_Client_Create_Args *args,
                                             rk_facts *out_facts);

// Properties of one device; borrowed from the client.
typedef struct rk_device_facts {
    int id;
    rk_span name, kind; // human-readable: "TPU_0(process=0,(0,0,0,0))", "TPU v5 lite"
} rk_device_facts;
enum { RK_FACTS_ATTRIBUTES_MAX_BYTES = 32 << 10 };

// Queries one device. Unavailable properties stay empty; never fails. Appends a JSON object to
// `out_attributes`, or nothing.
void rk_facts_gather_device(const PJRT_Api *api, PJRT_Device *device, rk_device_facts *out_facts,
                            rk_buf *out_attributes);

// Like rk_facts_gather, for a topology without a client. The result equals that of a client with
// the same devices, if the plugin describes both in the same words. Valid while the topology lives.
RK_NODISCARD rk_err *rk_facts_gather_described(const PJRT_Api *api,
                                               const PJRT_TopologyDescription *topology,
                                               rk_facts *out_facts);
