// The lines that a probe's process writes, for rooms inside the probe.
#pragma once

#include "base/json.h"
#include "pjrt/bridge.h"

// All that a probe knows, while it runs.
typedef struct rk_subject {
    const char *path;
    const PJRT_Api *real;
    rk_bridge bridge; // named as in rk_plugin, for RK_BRIDGE
    PJRT_Client *client;
    PJRT_Device *device; // the first addressable one
    PJRT_LoadedExecutable *executable;
    rk_buf serialized;
    int out_fd;
} rk_subject;

// Writes {"set":{…}} around the members that `members` holds, without braces.
void rk_report_set(const rk_subject *s, const rk_buf *members);

// A step: its work, which adds to `detail` what to show of it.
typedef rk_err *rk_step(rk_subject *s, rk_buf *detail);

// Does the step between its two lines. True if it went well.
bool rk_report_step(rk_subject *s, const char *name, rk_step *step);

// The steps.
rk_step rk_look_library, rk_look_table, rk_look_initialize, rk_look_attributes;
rk_step rk_live_client, rk_live_compile, rk_live_execute, rk_live_serialize, rk_live_load,
    rk_live_end;
