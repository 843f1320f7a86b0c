// The plugin entry path: librekindle_pjrt.so is itself a PJRT plugin, which loads the real plugin
// from REKINDLE_PLUGIN. For loaders that cannot be preloaded.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "pjrt/absent.h"
#include "pjrt/runtime.h"
#include "pjrt/wrap.h"

typedef const PJRT_Api *get_api_fn(void);

RK_EXPORT const PJRT_Api *GetPjrtApi(void);

static rk_err *load_plugin(const char *path, const PJRT_Api **out_api) {
    if (!path || !*path)
        return rk_error(RK_FAILED_PRECONDITION,
                        "rekindle: REKINDLE_PLUGIN is not set; set it to the path of the real PJRT "
                        "plugin that librekindle_pjrt.so is to load");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return rk_error(RK_NOT_FOUND, "rekindle: REKINDLE_PLUGIN=%s cannot be loaded: %s", path,
                        reason ? reason : "unknown reason");
    }
    void *found = dlsym(library, "GetPjrtApi");
    if (!found)
        return rk_error(
            RK_INVALID_ARGUMENT,
            "rekindle: REKINDLE_PLUGIN=%s is a library but not a PJRT plugin: it has no "
            "GetPjrtApi",
            path);
    get_api_fn *get_api;
    memcpy(&get_api, &found, sizeof get_api);
    if (get_api == GetPjrtApi)
        return rk_error(
            RK_INVALID_ARGUMENT,
            "rekindle: REKINDLE_PLUGIN=%s is rekindle itself; set it to the path of the "
            "real PJRT plugin",
            path);
    *out_api = get_api();
    if (!*out_api)
        return rk_error(RK_INTERNAL, "rekindle: REKINDLE_PLUGIN=%s gave no PJRT table", path);
    return NULL;
}

static const PJRT_Api *the_api;

static void load_once(void) {
    const PJRT_Api *real = NULL;
    // Invalid settings switch rekindle off, but the process still needs the plugin.
    const rk_settings_values *settings = rk_runtime_settings();
    const char *path =
        settings && settings->plugin[0] ? settings->plugin : getenv("REKINDLE_PLUGIN");
    rk_err *err = load_plugin(path, &real);
    the_api = err ? rk_absent_table(err) : rk_wrap_table(real);
}

const PJRT_Api *GetPjrtApi(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_once);
    return the_api;
}
