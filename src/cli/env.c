#include "cli/env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fail.h"

void rk_env_cleanup(rk_env *env) {
    for (size_t i = 0; i < env->count; i++)
        rk_free(env->items[i]);
    rk_free(env->items);
    *env = (rk_env){0};
}

void rk_env_copy(rk_env *env) {
    size_t count = 0;
    while (environ && environ[count])
        count++;
    env->items = rk_need(rk_calloc(count + 1, sizeof *env->items));
    for (; env->count < count; env->count++)
        env->items[env->count] = rk_need(rk_strdup(environ[env->count]));
}

static char **find(const rk_env *env, const char *name) {
    size_t len = strlen(name);
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            return &env->items[i];
    return NULL;
}

const char *rk_env_get(const rk_env *env, const char *name) {
    char **item = find(env, name);
    return item ? *item + strlen(name) + 1 : NULL;
}

void rk_env_set(rk_env *env, const char *name, const char *value) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_format(&line, "%s=%s", name, value);
    char *item = rk_need(rk_strdup(rk_need_text(&line)));
    char **place = find(env, name);
    if (!place) {
        env->items = rk_need(rk_realloc(env->items, (env->count + 2) * sizeof *env->items));
        place = &env->items[env->count++];
        *place = NULL;
        env->items[env->count] = NULL;
    }
    rk_free(*place);
    *place = item;
}

void rk_env_put_in_force(rk_env *env) {
    environ = env->items;
}

bool rk_env_is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && value[0];
}
