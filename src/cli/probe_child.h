// Probes a plugin in a child process, so that the plugin cannot harm this process.
#pragma once

#include <stdint.h>

#include "base/buf.h"

typedef struct rk_probe_child {
    rk_buf lines;   // format: probe/probe.h
    int signal;     // the signal that ended the process; 0: none
    int status;     // exit status, if no signal ended the process
    bool timed_out; // killed after the timeout
} rk_probe_child;
void rk_probe_child_cleanup(rk_probe_child *child);

// Probes the plugin. Blocks up to `timeout_ms`. The plugin's output goes to stderr. Fails if no
// process can be made; errors of the plugin are in the lines.
RK_NODISCARD rk_err *rk_probe_child_run(const char *plugin, uint64_t timeout_ms,
                                        rk_probe_child *out_child);
