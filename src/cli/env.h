// An environment as a value: a copy of the process's own that can be changed, passed to a child, or
// made the environment of this process. (setenv is banned: it leaks, and reallocates what other
// code may be reading.)
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct rk_env {
    char **items; // owned, "NAME=value" each, NULL-terminated
    size_t count;
} rk_env;

void rk_env_cleanup(rk_env *env);
void rk_env_copy(rk_env *env); // copies the process's environment; `env` must be zeroed
const char *rk_env_get(const rk_env *env, const char *name); // borrowed; NULL if not set
void rk_env_set(rk_env *env, const char *name, const char *value);

// True if a variable of this process is set and not empty.
bool rk_env_is_set(const char *variable);

// Makes `env` the environment of this process. Call again after each change. `env` must live until
// the process ends.
void rk_env_put_in_force(rk_env *env);
