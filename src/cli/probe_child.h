// The process in which a plugin is probed, so that nothing it does can harm ours.
#pragma once

#include <stdint.h>

#include "base/buf.h"

typedef struct rk_probe_child {
    rk_buf lines;   // see probe/probe.h
    int signal;     // that ended the process; 0: none
    int status;     // else with which it left
    bool timed_out; // it was ended by us
} rk_probe_child;
void rk_probe_child_cleanup(rk_probe_child *child);

// Probes the plugin; blocks until that is done, at most `timeout_ms`. What the plugin prints goes
// to stderr. Errors: no process could be made; the plugin's own are in the lines.
RK_NODISCARD rk_err *rk_probe_child_run(const char *plugin, uint64_t timeout_ms,
                                        rk_probe_child *out_child);
