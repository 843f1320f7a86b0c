#include "pjrt/compile.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "identity/options.h"
#include "pjrt/error.h"
#include "pjrt/load.h"
#include "pjrt/runtime.h"
#include "program/program.h"

// How long other processes need not wait for a program that was not kept: where that was settled,
// and where it may have been bad luck.
static const uint64_t settled_ns = 3600 * (uint64_t)1000000000u;
static const uint64_t bad_luck_ns = 10 * (uint64_t)1000000000u;

// Programs waiting to be stored are copies of the framework's; past this, only executables are
// kept.
enum { QUEUE_MAX_BYTES = 512 << 20 };

// One request, from the framework's call to our answer.
typedef struct request {
    rk_plugin *plugin;
    rk_runtime *runtime;
    const rk_client *client;
    PJRT_Client_Compile_Args *args;
    rk_program_info info;
    rk_components options;
    rk_key key;
    bool has_key;
    char *name; // of the executable; owned
    rk_journal_compile event;
    rk_ticket ticket;
    bool absent;      // the last look found nothing, so that it makes sense to look again
    int cancel_state; // what the thread had set; no thread is cancelled inside our own code
} request;

static void request_cleanup(request *r) {
    rk_program_info_cleanup(&r->info);
    rk_components_cleanup(&r->options);
    rk_free(r->name);
}

// Lets those who wait for this request know how it ended; does nothing where nobody could wait.
static void land(request *r, rk_landing landing, uint64_t not_kept_ns) {
    rk_flight *flight = RK_TAKE(r->ticket.flight);
    if (flight)
        rk_flight_land(r->runtime->flights, flight, landing, not_kept_ns);
}

static rk_span program_code(const request *r) {
    return rk_span_of(r->args->program->code, r->args->program->code_size);
}

static rk_span compile_options(const request *r) {
    return rk_span_of(r->args->compile_options, r->args->compile_options_size);
}

static rk_err *make_key(request *r) {
    const PJRT_Program *program = r->args->program;
    RK_TRY(rk_program_inspect(program_code(r), rk_span_of(program->format, program->format_size),
                              &r->info));
    RK_AUTO(rk_buf) canonical = {0};
    RK_TRY(rk_options_canonicalize_without(compile_options(r), r->runtime->settings->key_ignore,
                                           &canonical, &r->options));
    r->key.program = r->info.fingerprint;
    rk_digest_of(rk_buf_span(&canonical), &r->key.options);
    r->key.environment = r->client->environment;
    rk_key_finish(&r->key, r->runtime->settings->name_space);
    r->has_key = true;
    return NULL;
}

// Loading, as the cache asks for it.

static rk_err *load(void *context, rk_span executable, void **out_handle) {
    const request *r = context;
    PJRT_LoadedExecutable *loaded = NULL;
    RK_TRY(rk_load(r->plugin, r->args->client, executable, compile_options(r), &loaded));
    *out_handle = loaded;
    return NULL;
}

// A PJRT_Executable of our own for the loaded one; NULL if the plugin gives none.
static PJRT_Executable *get_executable(const PJRT_Api *api, PJRT_LoadedExecutable *loaded) {
    if (!RK_PJRT_HAS(api, PJRT_LoadedExecutable_GetExecutable))
        return NULL;
    PJRT_LoadedExecutable_GetExecutable_Args args = {
        .struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
        .loaded_executable = loaded};
    PJRT_Error *error = api->PJRT_LoadedExecutable_GetExecutable(&args);
    rk_pjrt_error_drop(api, error);
    return error ? NULL : args.executable;
}

static void destroy_executable(const PJRT_Api *api, PJRT_Executable *executable) {
    if (!RK_PJRT_HAS(api, PJRT_Executable_Destroy))
        return;
    PJRT_Executable_Destroy_Args args = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                         .executable = executable};
    rk_pjrt_error_drop(api, api->PJRT_Executable_Destroy(&args));
}

static char *name_of(const PJRT_Api *api, PJRT_Executable *executable) {
    if (!RK_PJRT_HAS(api, PJRT_Executable_Name))
        return NULL;
    PJRT_Executable_Name_Args args = {.struct_size = PJRT_Executable_Name_Args_STRUCT_SIZE,
                                      .executable = executable};
    PJRT_Error *error = api->PJRT_Executable_Name(&args);
    rk_pjrt_error_drop(api, error);
    return error ? NULL : rk_strndup(args.executable_name, args.executable_name_size);
}

// Publishing.

typedef struct publication {
    const PJRT_Api *api;
    PJRT_Executable *executable;
    rk_key key;
    rk_flights *flights; // borrowed
    rk_flight *flight;   // owned; NULL: nobody waits
} publication;

static rk_err *serialize(void *context, rk_buf *out_bytes) {
    const publication *p = context;
    PJRT_Executable_Serialize_Args args = {
        .struct_size = PJRT_Executable_Serialize_Args_STRUCT_SIZE, .executable = p->executable};
    RK_TRY(rk_pjrt_error_take(p->api, p->api->PJRT_Executable_Serialize(&args)));
    rk_buf_add(out_bytes, args.serialized_bytes, args.serialized_bytes_size);
    if (args.serialized_executable_deleter)
        args.serialized_executable_deleter(args.serialized_executable);
    return rk_buf_status(out_bytes);
}

static void release(void *context) {
    publication *p = context;
    destroy_executable(p->api, RK_TAKE(p->executable));
}

static void tell_not_stored(const rk_publish_result *result) {
    if (!result->problem)
        return;
    rk_code code = rk_err_code(result->problem);
    const char *message = rk_err_message(result->problem);
    if (strcmp(result->reason, "serialize_failed") == 0)
        rk_runtime_tell(RK_ONCE_PLUGIN,
                        rk_error(code, "the plugin cannot serialize its executables: %s", message));
    else
        rk_runtime_tell(RK_ONCE_WRITE, rk_error(code, "an executable was not stored: %s", message));
}

static void land_published(publication *p, const rk_publish_result *result) {
    bool settled = result->reason && (strcmp(result->reason, "serialize_failed") == 0 ||
                                      strcmp(result->reason, "empty_executable") == 0);
    if (p->flight)
        rk_flight_land(p->flights, RK_TAKE(p->flight),
                       result->stored ? RK_LANDING_PUBLISHED : RK_LANDING_NOT_KEPT,
                       settled ? settled_ns : bad_luck_ns);
}

static void published(void *context, const rk_publish_result *result) {
    publication *p = context;
    const rk_runtime *runtime = rk_runtime_get();
    tell_not_stored(result);
    if (runtime)
        rk_journal_add_stored(runtime->journal, &(rk_journal_stored){
                                                    .key = &p->key,
                                                    .stored = result->stored,
                                                    .reason = result->reason,
                                                    .raw_bytes = result->raw_bytes,
                                                    .stored_bytes = result->stored_bytes,
                                                    .serialize_ns = result->serialize_ns,
                                                    .store_ns = result->store_ns,
                                                });
    land_published(p, result);
    rk_free(p);
}

static void write_metadata(const request *r, rk_buf *out) {
    const PJRT_Program *program = r->args->program;
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "name", r->name ? r->name : "");
    rk_json_member_text(&json, "format", rk_span_of(program->format, program->format_size));
    rk_json_member_uint(&json, "program_bytes", program->code_size);
    rk_json_member_seconds(&json, "compile_seconds", r->event.compile_ns);
    rk_json_member_string(&json, "rekindle", REKINDLE_VERSION);
    rk_json_member_string(&json, "run", rk_journal_run(r->runtime->journal));
    rk_json_member_string(&json, "job", r->runtime->job);
    rk_json_member_string(&json, "namespace", r->runtime->settings->name_space);
    rk_json_raw(&json, rk_buf_span(&r->client->metadata_json));
    rk_json_end_object(&json);
}

static void write_components(const request *r, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_key(&json, "options");
    rk_components_write(&r->options, &json);
    rk_json_key(&json, "environment");
    rk_json_raw(&json, rk_buf_span(&r->client->components_json));
    rk_json_end_object(&json);
}

static rk_err *publish(request *r, PJRT_Executable *executable) {
    publication *p = rk_malloc(sizeof *p);
    if (!p) {
        destroy_executable(r->plugin->real, executable);
        return rk_err_no_memory();
    }
    if (r->ticket.flight)
        rk_flight_compiled(r->runtime->flights, r->ticket.flight, r->event.compile_ns);
    *p = (publication){r->plugin->real, executable, r->key, r->runtime->flights,
                       RK_TAKE(r->ticket.flight)};
    rk_publish_job job = {
        .key = r->key,
        .compile_ns = r->event.compile_ns,
        .handle = r->args->executable,
        .owner = r->args->client,
        .context = p,
        .serialize = serialize,
        .release = release,
        .done = published,
    };
    write_metadata(r, &job.metadata);
    write_components(r, &job.components);
    if (r->runtime->settings->keep_programs &&
        rk_publisher_queued_bytes(r->runtime->publisher) < QUEUE_MAX_BYTES) {
        rk_buf_add_span(&job.program, program_code(r));
        rk_buf_add_span(&job.options, compile_options(r));
    }
    return rk_publisher_submit(r->runtime->publisher, &job);
}

// Whether anything is stored at all, by this process and for this plugin.
static bool storing(const request *r) {
    const rk_runtime *runtime = r->runtime;
    return runtime->store && runtime->publisher && rk_store_accepts(runtime->store) &&
           RK_PJRT_HAS(r->plugin->real, PJRT_Executable_Serialize) &&
           rk_load_is_possible(r->plugin);
}

static void keep(request *r) {
    const PJRT_Api *api = r->plugin->real;
    PJRT_Executable *executable = get_executable(api, r->args->executable);
    if (!executable)
        return;
    r->name = name_of(api, executable);
    bool wanted = r->event.outcome == RK_OUTCOME_MISS && storing(r) &&
                  r->event.compile_ns >= r->runtime->settings->min_compile_ns;
    if (!wanted) {
        destroy_executable(api, executable);
        return;
    }
    rk_runtime_renew_exit_handler();
    rk_err *err = publish(r, executable);
    if (err)
        rk_runtime_tell(RK_ONCE_WRITE, rk_err_wrap(err, "an executable was not stored"));
}

// The two ways to an executable.

static void name_loaded(request *r) {
    PJRT_Executable *executable = get_executable(r->plugin->real, r->args->executable);
    if (!executable)
        return;
    r->name = name_of(r->plugin->real, executable);
    destroy_executable(r->plugin->real, executable);
}

static void tell_problem(rk_answer *answer) {
    rk_err *problem = RK_TAKE(answer->problem);
    if (answer->miss == RK_MISS_UNIMPLEMENTED) {
        rk_err_drop(problem, "rk_load has told it");
    } else if (answer->miss == RK_MISS_READ_FAILED) {
        rk_runtime_tell(RK_ONCE_WRITE, rk_err_wrap(problem, "the store cannot be read; what was to "
                                                            "be loaded is compiled again"));
    } else if (problem) {
        rk_runtime_tell(RK_ONCE_LOAD, rk_err_wrap(problem, "a stored executable was not loaded and "
                                                           "is compiled again"));
    }
}

// One look into the store. Of several, the journal keeps the reason that says most.
static bool look_up(request *r) {
    RK_AUTO(rk_answer) answer = {0};
    rk_loader loader = {r, load};
    rk_cache_lookup(r->runtime->store, &r->key, &loader, &answer);
    r->event.load_ns += answer.load_ns;
    r->event.quarantined |= answer.quarantined;
    r->event.deserialize_failed |=
        answer.miss == RK_MISS_REFUSED || answer.miss == RK_MISS_UNIMPLEMENTED;
    r->absent = answer.miss == RK_MISS_ABSENT || answer.quarantined;
    if (answer.miss != RK_MISS_NONE) {
        if (!r->event.reason || answer.miss != RK_MISS_ABSENT)
            r->event.reason = rk_miss_name(answer.miss);
        tell_problem(&answer);
        return false;
    }
    r->args->executable = answer.handle;
    r->event.outcome = RK_OUTCOME_HIT;
    r->event.reason = NULL;
    r->event.saved_ns = answer.saved_ns;
    name_loaded(r);
    return true;
}

static bool try_load(request *r) {
    rk_flights *flights = r->runtime->flights;
    if (r->runtime->settings->mode == RK_MODE_REFRESH) {
        r->event.reason = rk_miss_name(RK_MISS_REFRESH);
        return false;
    }
    bool hit = look_up(r);
    if (hit || !flights || !storing(r))
        return hit;
    // Compiling may need all processes of a client whose devices are not all in this one (XLA
    // shards autotuning over them): then none may wait for another.
    r->ticket = (rk_ticket){.key = &r->key,
                            .between_processes = r->client->has_all_devices,
                            .cancel_state = r->cancel_state};
    while (!hit && r->absent && rk_flights_ask(flights, &r->ticket) == RK_FLIGHT_LOOK)
        hit = look_up(r);
    if (hit)
        land(r, RK_LANDING_PUBLISHED, 0);
    if (r->ticket.refusal)
        rk_runtime_tell(RK_ONCE_WRITE,
                        rk_err_wrap(RK_TAKE(r->ticket.refusal), "executables are not stored"));
    return hit;
}

static PJRT_Error *compile(request *r) {
    uint64_t start_ns = rk_monotonic_ns();
    (void)pthread_setcancelstate(r->cancel_state, NULL);
    PJRT_Error *error =
        RK_BRIDGE(r->plugin, RK_STRUCT_CLIENT_COMPILE, PJRT_Client_Compile, r->args);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    r->event.compile_ns = rk_monotonic_ns() - start_ns;
    r->event.compiled = true;
    r->event.failed = error != NULL;
    if (!error && r->args->executable)
        keep(r);
    land(r, RK_LANDING_NOT_KEPT, error ? bad_luck_ns : settled_ns); // unless it is being published
    return error;
}

// Why the request is not for the cache at all; NULL if it is. Borrowed from the request.
static const char *reason_to_bypass(request *r) {
    if (!r->client->keyed)
        return "no_environment";
    rk_err *err = make_key(r);
    if (err) {
        rk_runtime_tell(RK_ONCE_KEY, rk_err_wrap(err, "a program got no key and is not kept"));
        return "no_key";
    }
    if (r->info.uncacheable)
        return r->info.uncacheable;
    if (atomic_load(&r->plugin->xla_transformed))
        return "XLA transform registered by the framework";
    if (!r->runtime->store)
        return "no_store";
    if (!rk_load_is_possible(r->plugin))
        return "plugin cannot load executables";
    return NULL;
}

static PJRT_Error *answer_request(request *r) {
    uint64_t start_ns = rk_monotonic_ns();
    PJRT_Error *error = NULL;
    r->event.outcome = RK_OUTCOME_MISS;
    r->event.reason = reason_to_bypass(r);
    if (r->event.reason) {
        r->event.outcome = RK_OUTCOME_BYPASS;
        error = compile(r);
    } else if (!try_load(r)) {
        error = compile(r);
    }
    r->event.request_ns = rk_monotonic_ns() - start_ns;
    r->event.key = r->has_key ? &r->key : NULL;
    r->event.name = r->name ? r->name : "";
    r->event.by_bytes = r->info.by_bytes;
    r->event.waited_ns = r->ticket.waited_ns;
    r->event.waited_for = r->ticket.waited_for;
    if (r->ticket.wait_end != RK_WAIT_NONE)
        r->event.wait_end = rk_wait_end_name(r->ticket.wait_end);
    rk_journal_add_compile(r->runtime->journal, &r->event);
    rk_runtime_check_journal(r->runtime);
    return error;
}

// The thread was cancelled, while it compiled or waited.
static void abandon(void *context) {
    request *r = context;
    land(r, RK_LANDING_ABANDONED, 0);
    request_cleanup(r);
}

PJRT_Error *rk_compile_hook(rk_plugin *plugin, PJRT_Client_Compile_Args *args) {
    rk_runtime *runtime = rk_runtime_get();
    const rk_client *client = runtime ? rk_runtime_client(plugin, args->client) : NULL;
    if (!client || args->struct_size < PJRT_Client_Compile_Args_STRUCT_SIZE || !args->program)
        return RK_BRIDGE(plugin, RK_STRUCT_CLIENT_COMPILE, PJRT_Client_Compile, args);
    request r = {
        .plugin = plugin,
        .runtime = runtime,
        .client = client,
        .args = args,
        .event = {.seq = rk_runtime_next_seq(),
                  .client = client->number,
                  .program_bytes = args->program->code_size},
    };
    PJRT_Error *error = NULL;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &r.cancel_state);
    pthread_cleanup_push(abandon, &r);
    error = answer_request(&r);
    pthread_cleanup_pop(0);
    (void)pthread_setcancelstate(r.cancel_state, NULL);
    request_cleanup(&r);
    return error;
}
