// AOT compilation: PJRT_Compile makes an executable for a topology that this machine need not have.
// It is stored under the key of the same compilation by a client. PJRT (up to 0.116) has no entry
// that makes an executable from stored bytes without a client to load it into. So a program whose
// entry is in the store is compiled anyway, but not stored again.
#include <pthread.h>

#include "base/sys.h"
#include "pjrt/changes_internal.h"
#include "pjrt/compile.h"
#include "pjrt/compile_internal.h"
#include "pjrt/lifecycle.h"
#include "pjrt/optimized.h"
#include "pjrt/publish_internal.h"

static PJRT_Error *compile(rk_request *r, PJRT_Compile_Args *args) {
    rk_changes_note(r->plugin, RK_USE_COMPILE);
    uint64_t start_ns = rk_monotonic_ns();
    (void)pthread_setcancelstate(r->cancel_state, NULL);
    PJRT_Error *error = RK_BRIDGE(r->plugin, RK_STRUCT_COMPILE, PJRT_Compile, args);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    r->outcome.compile_ns = rk_monotonic_ns() - start_ns;
    r->outcome.compiled = true;
    if (error)
        rk_request_note_error(r, error);
    else
        rk_optimized_forget(args->executable);
    return error;
}

static void look_up(rk_request *r) {
    r->outcome.found = rk_request_look_up(r);
    if (r->outcome.found)
        r->outcome.reason = "no_client";
}

static PJRT_Error *answer_request(rk_request *r, PJRT_Compile_Args *args) {
    uint64_t start_ns = rk_monotonic_ns();
    r->outcome.result = RK_REQUEST_MISS;
    r->outcome.reason = rk_request_reason_to_bypass(r);
    if (r->outcome.reason)
        r->outcome.result = RK_REQUEST_BYPASS;
    else
        look_up(r);
    PJRT_Error *error = compile(r, args);
    if (!error && args->executable)
        rk_publish_aot(r, args->executable);
    else
        rk_publish_program(r);
    rk_request_report(r, start_ns);
    return error;
}

// Cleanup handler: the thread was cancelled while it compiled.
static void abandon(void *context) {
    rk_request_cleanup(context);
}

static PJRT_Error *watch(rk_plugin *plugin, PJRT_Compile_Args *args, int cancel_state) {
    const rk_runtime *started = rk_lifecycle_start();
    const rk_client *target = started ? rk_clients_target(started, plugin, args->topology) : NULL;
    rk_runtime *runtime = rk_runtime_get();
    rk_request r = {
        .kind = RK_REQUEST_AOT,
        .plugin = plugin,
        .runtime = runtime,
        .client = target,
        .code = rk_span_of(args->program->code, args->program->code_size),
        .format = rk_span_of(args->program->format, args->program->format_size),
        .sent_options = rk_span_of(args->compile_options, args->compile_options_size),
        .state = rk_changes_look(),
        .cancel_state = cancel_state,
    };
    if (!target || !runtime) {
        PJRT_Error *unwatched = compile(&r, args);
        rk_request_cleanup(&r);
        return unwatched;
    }
    rk_request_note_extensions(&r, args->extension_start, args->program);
    r.seq = rk_runtime_next_seq();
    PJRT_Error *error = NULL;
    pthread_cleanup_push(abandon, &r);
    error = answer_request(&r, args);
    pthread_cleanup_pop(0);
    rk_request_cleanup(&r);
    return error;
}

PJRT_Error *rk_compile_aot_hook(rk_plugin *plugin, PJRT_Compile_Args *args) {
    if (!rk_runtime_enabled() || args->struct_size < PJRT_Compile_Args_STRUCT_SIZE ||
        !args->program || !args->topology)
        return RK_BRIDGE(plugin, RK_STRUCT_COMPILE, PJRT_Compile, args);
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    PJRT_Error *error = watch(plugin, args, cancel_state);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return error;
}
