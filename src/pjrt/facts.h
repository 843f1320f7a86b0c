// What a plugin and a client, or a topology without one, tell about themselves, as text for the
// key's environment.
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

// Asks the plugin. Entries that it does not have, or that fail, leave their part empty; a client
// that cannot even name its platform is an error. Valid while the client lives.
RK_NODISCARD rk_err *rk_facts_gather(const PJRT_Api *api, PJRT_Client *client, rk_facts *out_facts);

// Adds the options with which the client was created, as far as they count. Fails where one of
// them, or an extension, is of an unknown kind: then nobody can say what they change.
RK_NODISCARD rk_err *rk_facts_gather_options(const PJRT_Client_Create_Args *args,
                                             rk_facts *out_facts);

// What the plugin tells of one device; borrowed from the client.
typedef struct rk_device_facts {
    int id;
    rk_span name, kind; // as for people: "TPU_0(process=0,(0,0,0,0))", "TPU v5 lite"
} rk_device_facts;
enum { RK_FACTS_ATTRIBUTES_MAX_BYTES = 32 << 10 };

// What cannot be had stays empty; never fails. `out_attributes` gets a JSON object, or nothing.
void rk_facts_gather_device(const PJRT_Api *api, PJRT_Device *device, rk_device_facts *out_facts,
                            rk_buf *out_attributes);

// The same as rk_facts_gather of a topology that no client stands behind: what a client of the same
// devices would say, as far as the plugin describes both in the same words. Valid while the
// topology lives.
RK_NODISCARD rk_err *rk_facts_gather_described(const PJRT_Api *api,
                                               const PJRT_TopologyDescription *topology,
                                               rk_facts *out_facts);
