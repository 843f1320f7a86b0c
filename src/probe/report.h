// The steps of a probe, their shared state, and the lines they write. Private to src/probe.
#pragma once

#include "base/json.h"
#include "pjrt/bridge.h"

// The state of a running probe.
typedef struct rk_subject {
    const char *path;
    const PJRT_Api *real; // the plugin's table
    rk_bridge bridge;     // the macro RK_BRIDGE uses `real` and `bridge`
    PJRT_Client *client;
    PJRT_Device *device; // the first addressable one
    PJRT_LoadedExecutable *executable;
    rk_buf serialized;
    int out_fd;
} rk_subject;

// Writes the line {"set":{…}}. `members` holds the members as JSON, without the braces.
void rk_report_set(const rk_subject *s, const rk_buf *members);

// The work of one step. Appends to `detail` the text to show for it.
typedef rk_err *rk_step(rk_subject *s, rk_buf *detail);

// Writes the step's first line, runs the step and writes its last line. True if the step succeeded.
bool rk_report_step(rk_subject *s, const char *name, rk_step *step);

// The steps.
rk_step rk_look_library, rk_look_table, rk_look_initialize, rk_look_attributes;
rk_step rk_live_client, rk_live_compile, rk_live_execute, rk_live_serialize, rk_live_load,
    rk_live_end;
