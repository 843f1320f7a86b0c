// An environment as a value: copied from the process's own, changed, then given to a child or put
// in force. (setenv is banned: it leaks, and reallocates what other code may be reading.)
#pragma once

#include <stddef.h>

typedef struct rk_env {
    char **items; // owned, "NAME=value" each, NULL-terminated
    size_t count;
} rk_env;

void rk_env_cleanup(rk_env *env);
void rk_env_copy(rk_env *env); // of the process's own environment; `env` starts zeroed
const char *rk_env_get(const rk_env *env, const char *name); // borrowed; NULL if it is not there
void rk_env_set(rk_env *env, const char *name, const char *value);

// Makes this the environment of the process. To be called again after each change; `env` must live
// until the process ends.
void rk_env_put_in_force(rk_env *env);
