// A step-by-step check of a PJRT plugin: loads it, reads its properties, then compiles and runs a
// small program. The plugin may crash or hang in any step, so run the check in a separate process.
#pragma once

// Names of the steps, in order.
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

// Takes all steps that are possible. Writes one JSON object per line to `out_fd`:
//   {"set":{…}}         properties of the plugin: api, extensions, attributes, devices, …
//   {"begin":"client"}  a step begins
//   {"end":{"name","ok","seconds","detail","code","error"}}  the step ends; `code` and `error` only
//                       if it failed, mostly from the plugin or the loader
void rk_probe_take_steps(const char *plugin, int out_fd);

// Returns what the user can do about a failed step. NULL if there is no advice beyond the error.
// Static storage. `error` may be NULL.
const char *rk_probe_remedy(const char *plugin, const char *step, const char *error);
