// What a PJRT plugin is, and whether it is alive: loaded, asked, and made to compile and run a
// small program, step by step, in a process of its own, so that nothing it does can harm ours.
#pragma once

#include <stdint.h>

#include "base/buf.h"

// What the process left. One JSON object a line:
//   {"set":{…}}         members of the whole: api, table, extensions, attributes, devices, …
//   {"begin":"client"}  a step begins
//   {"end":{"name","ok","seconds","detail","code","error"}}  and ends; `code` and `error` are the
//                       plugin's own, or the loader's
typedef struct rk_probe {
    rk_buf lines;
    int signal;     // that ended the process; 0: none
    int status;     // else with which it left
    bool timed_out; // it was ended by us
} rk_probe;
void rk_probe_cleanup(rk_probe *probe);

// The names of the steps, in order.
#define RK_PROBE_LIBRARY    "library"
#define RK_PROBE_TABLE      "table"
#define RK_PROBE_INITIALIZE "initialize"
#define RK_PROBE_ATTRIBUTES "attributes"
#define RK_PROBE_CLIENT     "client"
#define RK_PROBE_COMPILE    "compile"
#define RK_PROBE_EXECUTE    "execute"
#define RK_PROBE_SERIALIZE  "serialize"
#define RK_PROBE_LOAD       "load"
#define RK_PROBE_END        "end"

// Probes the plugin; blocks until that is done, at most `timeout_ms`. What it prints goes to
// stderr. Errors: no process could be made; the plugin's own are in the lines.
RK_NODISCARD rk_err *rk_probe_run(const char *plugin, uint64_t timeout_ms, rk_probe *out_probe);

// What a person can do about a step that failed; NULL where the error must speak for itself. Static
// storage. `error` may be NULL.
const char *rk_probe_remedy(const char *plugin, const char *step, const char *error);
