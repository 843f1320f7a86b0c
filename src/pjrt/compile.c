#include "pjrt/compile.h"

#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "identity/options.h"
#include "pjrt/changes_internal.h"
#include "pjrt/compile_internal.h"
#include "pjrt/crashing_entries_internal.h"
#include "pjrt/error.h"
#include "pjrt/executable.h"
#include "pjrt/extensions.h"
#include "pjrt/load.h"
#include "pjrt/memory.h"
#include "pjrt/optimized.h"
#include "pjrt/origin.h"
#include "pjrt/prefetch_internal.h"
#include "pjrt/publish_internal.h"
#include "pjrt/record_internal.h"
#include "pjrt/steps.h"
#include "pjrt/strict.h"
#include "pjrt/subset.h"
#include "pjrt/verify_internal.h"

void rk_request_cleanup(rk_request *r) {
    rk_program_info_cleanup(&r->info);
    rk_components_cleanup(&r->options);
    rk_free(r->name);
    rk_free(r->error);
}

void rk_request_note_error(rk_request *r, const PJRT_Error *error) {
    r->outcome.failed = true;
    if (rk_pjrt_error_is_ours(error)) // the bridge refused the call
        return;
    rk_span text = rk_pjrt_error_text(r->plugin->real, error);
    r->error = text.len ? rk_strndup((const char *)text.data, text.len) : NULL;
}

void rk_request_note_extensions(rk_request *r, const PJRT_Extension_Base *start,
                                const PJRT_Program *program) {
    r->extension = rk_extensions_unknown(start);
    if (!r->extension)
        r->extension = rk_extensions_unknown(program->extension_start);
}

static const char *describe_extension(rk_request *r) {
    (void)snprintf(r->extension_reason, sizeof r->extension_reason,
                   "compiled with an extension that rekindle does not know (type %d)",
                   (int)r->extension->type);
    return r->extension_reason;
}

static rk_err *make_key(rk_request *r) {
    RK_TRY(rk_program_inspect(r->code, r->format, &r->info));
    RK_AUTO(rk_buf) canonical = {0};
    RK_TRY(rk_options_canonicalize_without(r->sent_options, r->runtime->settings->key_ignore,
                                           &canonical, &r->options));
    r->key.program = r->info.fingerprint;
    rk_digest_of(rk_buf_span(&canonical), &r->key.options);
    r->key.environment = r->client->environment;
    rk_changes_mix(r->plugin, r->state, &r->key.environment);
    rk_key_finish(&r->key, r->runtime->settings->name_space);
    r->has_key = true;
    return NULL;
}

// Callbacks of the cache.

static rk_err *load_noted(const rk_request *r, const rk_entry *entry,
                          PJRT_LoadedExecutable **out_loaded) {
    rk_loads *loads = r->runtime->loads;
    int slot = rk_loads_begin(loads, &r->key.digest, entry->created_ns, RK_LOAD_LOADING);
    rk_err *err = rk_load(r->plugin, r->args->client, entry->payload, r->sent_options, out_loaded);
    rk_loads_end(loads, slot);
    return err;
}

static rk_err *load(void *context, const rk_entry *entry, void **out_handle) {
    rk_request *r = context;
    rk_span executable = entry->payload;
    PJRT_LoadedExecutable *loaded = NULL;
    uint64_t before = atomic_load(&rk_prefetch_destroyed);
    rk_err *err = load_noted(r, entry, &loaded);
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED && rk_prefetch_free_memory(before)) {
        rk_err_drop(err, "memory was freed; the load is repeated");
        err = load_noted(r, entry, &loaded);
    }
    RK_TRY(err);
    if (r->doubt == RK_LOAD_TRIAL)
        rk_loads_acquit(r->runtime->loads, &r->key.digest);
    (void)rk_optimized_read(loaded, entry->options, false);
    r->executable_bytes = executable.len;
    *out_handle = loaded;
    return NULL;
}

// In refresh mode, entries from before this run count as absent: only entries that this run has
// stored are loaded. So the run compiles each program once, in one of its processes.
static bool wants(void *context, const rk_entry *entry) {
    rk_request *r = context;
    if (r->runtime->verifier)
        rk_verify_note(r, entry);
    if (!rk_crashing_allows_entry(r, entry))
        return false;
    return r->runtime->settings->mode != RK_MODE_REFRESH || rk_publish_was_ours(r, entry->metadata);
}

// Loading and compiling.

// The stored executable may come from a program of another name (a function that was renamed), so
// the name is that of the request if it is known.
static void name_loaded(rk_request *r) {
    r->name = RK_TAKE(r->info.name);
    if (r->name)
        return;
    PJRT_Executable *executable = rk_executable_of(r->plugin->real, r->args->executable);
    if (!executable)
        return;
    r->name = rk_executable_name(r->plugin->real, executable);
    rk_executable_destroy(r->plugin->real, executable);
}

static void warn_of_problem(const rk_request *r, rk_answer *answer) {
    rk_err *problem = RK_TAKE(answer->problem);
    if (answer->miss == RK_MISS_UNIMPLEMENTED && !rk_load_is_possible(r->plugin)) {
        rk_err_drop(problem, "rk_load has warned already");
    } else if (answer->miss == RK_MISS_READ_FAILED) {
        rk_warn_once(RK_WARNING_WRITE,
                     rk_err_wrap(problem, "the store cannot be read; programs are compiled again"));
    } else if (problem) {
        rk_warn_once(RK_WARNING_LOAD, rk_err_wrap(problem, "a stored executable was not loaded and "
                                                           "is compiled again"));
    }
}

bool rk_request_look_up(rk_request *r) {
    RK_AUTO(rk_answer) answer = {0};
    bool refresh = r->runtime->settings->mode == RK_MODE_REFRESH;
    bool aot = r->kind == RK_REQUEST_AOT;
    rk_loader loader = {r, aot ? NULL : load, wants};
    rk_origin *origin = aot ? NULL : rk_origin_new(&r->key);
    if (!aot && !origin)
        answer = (rk_answer){.miss = RK_MISS_READ_FAILED, .problem = rk_err_no_memory()};
    else if (!rk_crashing_allows_key(r))
        answer = (rk_answer){.miss = RK_MISS_LOAD_KILLED};
    else if (aot || !rk_prefetch_take(r, &answer))
        rk_cache_lookup(r->runtime->store, &r->key, &loader, &answer);
    if (answer.miss == RK_MISS_REFRESH && r->doubt == RK_LOAD_SUSPECT)
        answer.miss = RK_MISS_LOAD_KILLED;
    r->outcome.load_ns += aot ? 0 : answer.load_ns;
    r->outcome.quarantined |= answer.quarantined;
    r->outcome.deserialize_failed |=
        answer.miss == RK_MISS_REFUSED || answer.miss == RK_MISS_UNIMPLEMENTED;
    r->absent =
        answer.miss == RK_MISS_ABSENT || answer.miss == RK_MISS_REFRESH || answer.quarantined;
    if (answer.miss != RK_MISS_NONE) {
        if (refresh)
            r->outcome.reason = rk_miss_name(RK_MISS_REFRESH);
        else if (!r->outcome.reason || answer.miss != RK_MISS_ABSENT)
            r->outcome.reason = rk_miss_name(answer.miss);
        warn_of_problem(r, &answer);
        rk_origin_free(origin);
        return false;
    }
    if (aot)
        return true;
    r->args->executable = answer.handle;
    rk_origin_set(origin, r->args->executable);
    r->outcome.result = RK_REQUEST_HIT;
    r->outcome.reason = NULL;
    r->outcome.saved_ns = answer.saved_ns;
    name_loaded(r);
    rk_verify_hit(r);
    return true;
}

static bool try_load(rk_request *r) {
    rk_flights *flights = r->runtime->flights;
    bool hit = rk_request_look_up(r);
    if (hit || !flights || !rk_publish_possible(r))
        return hit;
    // If a client's devices are not all in this process, compiling may need all of its processes
    // (XLA shards autotuning over them). Then no process may wait for another.
    r->wait = (rk_flight_wait){.key = &r->key,
                               .between_processes = r->client->has_all_devices,
                               .cancel_state = r->cancel_state};
    while (!hit && r->absent && rk_flights_ask(flights, &r->wait) == RK_FLIGHT_LOOK)
        hit = rk_request_look_up(r);
    if (hit)
        rk_request_finish(r, RK_FLIGHT_PUBLISHED, 0);
    if (r->wait.refusal)
        rk_warn_once(RK_WARNING_WRITE,
                     rk_err_wrap(RK_TAKE(r->wait.refusal), "executables are not stored"));
    return hit;
}

// Each waiting thread or process decides for itself, and may be refused too.
static PJRT_Error *refuse(rk_request *r, PJRT_Error *refusal) {
    rk_publish_program(r);
    rk_request_finish(r, RK_FLIGHT_ABANDONED, 0);
    return refusal;
}

static PJRT_Error *compile(rk_request *r) {
    PJRT_Error *refusal = rk_strict_ask(r);
    if (refusal)
        return refuse(r, refusal);
    rk_changes_note(r->plugin, RK_USE_COMPILE);
    uint64_t start_ns = rk_monotonic_ns();
    (void)pthread_setcancelstate(r->cancel_state, NULL);
    PJRT_Error *error = RK_PREFETCH_CALL(
        r->plugin, RK_BRIDGE(r->plugin, RK_STRUCT_CLIENT_COMPILE, PJRT_Client_Compile, r->args));
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    r->outcome.compile_ns = rk_monotonic_ns() - start_ns;
    r->outcome.compiled = true;
    if (error)
        rk_request_note_error(r, error);
    else
        rk_optimized_forget(r->args->executable);
    if (!error && r->args->executable)
        rk_publish_compiled(r);
    else
        rk_publish_program(r);
    rk_crashing_warn(r);
    rk_request_finish(r, RK_FLIGHT_NOT_KEPT,
                      error ? RK_BAD_LUCK_NS
                            : RK_SETTLED_NS); // has no effect if it is being published
    return error;
}

const char *rk_request_reason_to_bypass(rk_request *r) {
    if (!r->client->keyed)
        return "no_environment";
    if (r->state == RK_CHANGES_UNKNOWN || r->plugin->first_state == RK_CHANGES_UNKNOWN)
        return "the environment changed too often";
    rk_err *err = make_key(r);
    if (err) {
        rk_warn_once(RK_WARNING_KEY,
                     rk_err_wrap(err, "no key could be made for a program; it is not stored"));
        return "no_key";
    }
    if (r->info.uncacheable)
        return r->info.uncacheable;
    if (r->extension)
        return describe_extension(r);
    if (atomic_load(&r->plugin->xla_transformed))
        return "XLA transform registered by the framework";
    if (rk_subset_is_unproved(r->client, &r->options))
        return "TPU devices that do not begin at device 0";
    if (!r->runtime->store)
        return "no_store";
    if (!rk_load_is_possible(r->plugin))
        return "plugin cannot load executables";
    return NULL;
}

// Returns the journal's outcome for a request's result.
static rk_outcome outcome_of(rk_request_result result) {
    switch (result) {
    case RK_REQUEST_HIT:
        return RK_OUTCOME_HIT;
    case RK_REQUEST_BYPASS:
        return RK_OUTCOME_BYPASS;
    case RK_REQUEST_MISS:
        break;
    }
    return RK_OUTCOME_MISS;
}

// Fills the event of an answered request, except for `executions`. It borrows from the request.
static void fill_event(const rk_request *r, uint64_t start_ns, rk_journal_compile *out_event) {
    const rk_request_outcome *outcome = &r->outcome;
    *out_event = (rk_journal_compile){
        .seq = r->seq,
        .client = r->client->number,
        .outcome = outcome_of(outcome->result),
        .reason = outcome->reason,
        .name = r->name ? r->name : "",
        .by_bytes = r->info.by_bytes,
        .error = r->error,
        .key = r->has_key ? &r->key : NULL,
        .compiled = outcome->compiled,
        .failed = outcome->failed,
        .deserialize_failed = outcome->deserialize_failed,
        .quarantined = outcome->quarantined,
        .ahead_of_time = r->kind == RK_REQUEST_AOT,
        .late = outcome->late,
        .refused = outcome->refused,
        .found = outcome->found,
        .preloaded = outcome->preloaded,
        .storing = outcome->storing,
        .request_ns = rk_monotonic_ns() - start_ns,
        .compile_ns = outcome->compile_ns,
        .load_ns = outcome->load_ns,
        .preload_ns = outcome->preload_ns,
        .saved_ns = outcome->saved_ns,
        .program_bytes = r->code.len,
        .waited_ns = r->wait.waited_ns,
        .waited_for = r->wait.waited_for,
    };
    if (r->wait.wait_end != RK_WAIT_NONE)
        out_event->wait_end = rk_wait_end_name(r->wait.wait_end);
}

void rk_request_report(rk_request *r, uint64_t start_ns) {
    rk_journal_compile event;
    bool for_client = r->kind == RK_REQUEST_CLIENT;
    if (!r->name) // without an executable, as after a failed compilation
        r->name = RK_TAKE(r->info.name);
    fill_event(r, start_ns, &event);
    event.executions =
        rk_steps_add_executable(for_client && !event.failed ? r->args->executable : NULL, event.key,
                                r->code, event.name, &r->info.role, for_client && event.compiled);
    rk_journal_add_compile(r->runtime->journal, &event);
    rk_record_request(r, start_ns);
    rk_prefetch_answered(r);
    rk_memory_look(r->plugin);
    rk_runtime_check_journal(r->runtime);
}

static PJRT_Error *answer_request(rk_request *r) {
    uint64_t start_ns = rk_monotonic_ns();
    PJRT_Error *error = NULL;
    r->outcome.result = RK_REQUEST_MISS;
    r->outcome.reason = rk_request_reason_to_bypass(r);
    if (r->outcome.reason) {
        r->outcome.result = RK_REQUEST_BYPASS;
        error = compile(r);
    } else if (!try_load(r)) {
        error = compile(r);
    }
    rk_strict_note(r);
    rk_request_report(r, start_ns);
    return error;
}

// Cleanup handler: the thread was cancelled while it compiled or waited.
static void abandon(void *context) {
    rk_request *r = context;
    rk_request_finish(r, RK_FLIGHT_ABANDONED, 0);
    rk_request_cleanup(r);
}

PJRT_Error *rk_compile_hook(rk_plugin *plugin, PJRT_Client_Compile_Args *args) {
    rk_runtime *runtime = rk_runtime_get();
    const rk_client *client = runtime ? rk_clients_find(plugin, args->client) : NULL;
    if (!client || args->struct_size < PJRT_Client_Compile_Args_STRUCT_SIZE || !args->program)
        return RK_BRIDGE(plugin, RK_STRUCT_CLIENT_COMPILE, PJRT_Client_Compile, args);
    rk_request r = {
        .kind = RK_REQUEST_CLIENT,
        .seq = rk_runtime_next_seq(),
        .plugin = plugin,
        .runtime = runtime,
        .client = client,
        .code = rk_span_of(args->program->code, args->program->code_size),
        .format = rk_span_of(args->program->format, args->program->format_size),
        .sent_options = rk_span_of(args->compile_options, args->compile_options_size),
        .state = rk_changes_look(),
        .args = args,
    };
    rk_request_note_extensions(&r, args->extension_start, args->program);
    PJRT_Error *error = NULL;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &r.cancel_state);
    pthread_cleanup_push(abandon, &r);
    error = answer_request(&r);
    pthread_cleanup_pop(0);
    (void)pthread_setcancelstate(r.cancel_state, NULL);
    rk_request_cleanup(&r);
    return error;
}
