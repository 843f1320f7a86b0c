#include "pjrt/load.h"

#include "pjrt/changes_internal.h"
#include "pjrt/error.h"
#include "pjrt/runtime.h"

enum { MINOR_WITH_OVERRIDE = 71 };

// Warns once per process, not once per plugin.
static void warn(const rk_plugin *plugin, rk_err *why) {
    rk_warn_once(RK_WARNING_PLUGIN,
                 rk_err_wrap(why,
                             "this plugin (PJRT API 0.%d) cannot load executables, and PJRT has "
                             "no other way to make one from bytes; so its programs are compiled "
                             "at every start",
                             plugin->bridge.minor));
}

bool rk_load_is_possible(rk_plugin *plugin) {
    if (!RK_PJRT_HAS(plugin->real, PJRT_Executable_DeserializeAndLoad) &&
        atomic_exchange(&plugin->load_way, RK_LOAD_NOT) != RK_LOAD_NOT)
        warn(plugin, rk_error(RK_UNIMPLEMENTED, "it has no PJRT_Executable_DeserializeAndLoad"));
    return atomic_load(&plugin->load_way) != RK_LOAD_NOT;
}

bool rk_load_is_wanted(rk_plugin *plugin) {
    return rk_load_is_possible(plugin) && !atomic_load(&plugin->xla_transformed);
}

static rk_err *deserialize(rk_plugin *plugin, PJRT_Client *client, rk_span executable,
                           const rk_span *options, PJRT_LoadedExecutable **out_loaded) {
    PJRT_Executable_DeserializeAndLoad_Args args = {
        // If nothing is overridden, the size of the struct in versions without the field.
        .struct_size =
            options ? PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE
                    : RK_PJRT_SIZE_TO(PJRT_Executable_DeserializeAndLoad_Args, loaded_executable),
        .client = client,
        .serialized_executable = (const char *)executable.data,
        .serialized_executable_size = executable.len,
        .overridden_serialized_compile_options = options ? (const char *)options->data : NULL,
        .overridden_serialized_compile_options_size = options ? options->len : 0,
    };
    rk_changes_note(plugin, RK_USE_LOAD);
    RK_TRY(rk_pjrt_error_take(plugin->real,
                              RK_BRIDGE(plugin, RK_STRUCT_EXECUTABLE_DESERIALIZE_AND_LOAD,
                                        PJRT_Executable_DeserializeAndLoad, &args)));
    if (!args.loaded_executable)
        return rk_error(RK_INTERNAL, "the plugin gave no executable and no error");
    atomic_store(&plugin->has_loaded, true);
    *out_loaded = args.loaded_executable;
    return NULL;
}

rk_err *rk_load_prefetch(rk_plugin *plugin, PJRT_Client *client, rk_span executable,
                         rk_span options, PJRT_LoadedExecutable **out_loaded) {
    rk_err *err = NULL;
    bool with_options = plugin->bridge.minor >= MINOR_WITH_OVERRIDE &&
                        atomic_load(&plugin->load_way) == RK_LOAD_WITH_OPTIONS;
    if (with_options) {
        err = deserialize(plugin, client, executable, &options, out_loaded);
        if (!err || rk_err_code(err) != RK_UNIMPLEMENTED)
            return err;
        rk_err_drop(err, "the other way says the same, or loads");
    }
    err = deserialize(plugin, client, executable, NULL, out_loaded);
    if (!err && with_options)
        atomic_store(&plugin->load_way, RK_LOAD_WITHOUT_OPTIONS);
    return err;
}

rk_err *rk_load(rk_plugin *plugin, PJRT_Client *client, rk_span executable, rk_span options,
                PJRT_LoadedExecutable **out_loaded) {
    rk_err *err = rk_load_prefetch(plugin, client, executable, options, out_loaded);
    // A plugin that has loaded others can load: something that this executable calls is not
    // registered in this process.
    if (err && rk_err_code(err) == RK_UNIMPLEMENTED && !atomic_load(&plugin->has_loaded) &&
        atomic_exchange(&plugin->load_way, RK_LOAD_NOT) != RK_LOAD_NOT)
        warn(plugin, rk_error(RK_UNIMPLEMENTED, "%s", rk_err_message(err)));
    return err;
}
