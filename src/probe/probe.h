// What a PJRT plugin is, and whether it is alive: loaded, asked, and made to compile and run a
// small program, step by step. What happens on the way is a plugin's affair, so all of it belongs
// into a process of its own.
#pragma once

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

// Takes all steps that can be taken, and writes to `out_fd`, one JSON object a line:
//   {"set":{…}}         members of the whole: api, table, extensions, attributes, devices, …
//   {"begin":"client"}  a step begins
//   {"end":{"name","ok","seconds","detail","code","error"}}  and ends; `code` and `error` are the
//                       plugin's own, or the loader's
void rk_probe_take_steps(const char *plugin, int out_fd);

// What a person can do about a step that failed; NULL where the error must speak for itself. Static
// storage. `error` may be NULL.
const char *rk_probe_remedy(const char *plugin, const char *step, const char *error);
