#include "pjrt/publish.h"

#include "base/alloc.h"
#include "base/sys.h"
#include "pjrt/error.h"
#include "pjrt/load.h"

// Programs waiting to be stored are copies of the framework's; past this, only executables are
// kept.
enum { QUEUE_MAX_BYTES = 512 << 20 };

char *rk_publish_name(const PJRT_Api *api, PJRT_Executable *executable) {
    if (!RK_PJRT_HAS(api, PJRT_Executable_Name))
        return NULL;
    PJRT_Executable_Name_Args args = {.struct_size = PJRT_Executable_Name_Args_STRUCT_SIZE,
                                      .executable = executable};
    PJRT_Error *error = api->PJRT_Executable_Name(&args);
    rk_pjrt_error_drop(api, error);
    return error ? NULL : rk_strndup(args.executable_name, args.executable_name_size);
}

void rk_publish_destroy(const PJRT_Api *api, PJRT_Executable *executable) {
    if (!executable || !RK_PJRT_HAS(api, PJRT_Executable_Destroy))
        return;
    PJRT_Executable_Destroy_Args args = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                         .executable = executable};
    rk_pjrt_error_drop(api, api->PJRT_Executable_Destroy(&args));
}

// What the publisher's callbacks work on.
typedef struct publication {
    const PJRT_Api *api;
    PJRT_Executable *executable; // owned; NULL: it was serialized before
    rk_buf bytes;                // what that gave
    rk_err *problem;             // or why it gave nothing; owned
    uint64_t serialize_ns;       // and how long it took
    rk_key key;
    rk_flights *flights; // borrowed
    rk_flight *flight;   // owned; NULL: nobody waits
} publication;

static rk_err *serialize_with(const PJRT_Api *api, PJRT_Executable *executable, rk_buf *out_bytes) {
    PJRT_Executable_Serialize_Args args = {
        .struct_size = PJRT_Executable_Serialize_Args_STRUCT_SIZE, .executable = executable};
    RK_TRY(rk_pjrt_error_take(api, api->PJRT_Executable_Serialize(&args)));
    rk_buf_add(out_bytes, args.serialized_bytes, args.serialized_bytes_size);
    if (args.serialized_executable_deleter)
        args.serialized_executable_deleter(args.serialized_executable);
    return rk_buf_status(out_bytes);
}

static rk_err *serialize(void *context, rk_buf *out_bytes) {
    publication *p = context;
    if (p->executable)
        return serialize_with(p->api, p->executable, out_bytes);
    rk_buf_cleanup(out_bytes);
    *out_bytes = p->bytes;
    p->bytes = (rk_buf){0};
    return RK_TAKE(p->problem);
}

static void release(void *context) {
    publication *p = context;
    rk_publish_destroy(p->api, RK_TAKE(p->executable));
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
                       settled ? RK_SETTLED_NS : RK_BAD_LUCK_NS);
}

static void published(void *context, const rk_publish_result *result) {
    publication *p = context;
    const rk_runtime *runtime = rk_runtime_get();
    tell_not_stored(result);
    if (runtime)
        rk_journal_add_stored(runtime->journal,
                              &(rk_journal_stored){
                                  .key = &p->key,
                                  .stored = result->stored,
                                  .reason = result->reason,
                                  .raw_bytes = result->raw_bytes,
                                  .stored_bytes = result->stored_bytes,
                                  .serialize_ns = p->serialize_ns + result->serialize_ns,
                                  .store_ns = result->store_ns,
                              });
    land_published(p, result);
    rk_buf_cleanup(&p->bytes);
    rk_err_free(p->problem);
    rk_free(p);
}

static void write_metadata(const rk_request *r, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "name", r->name ? r->name : "");
    rk_json_member_text(&json, "format", r->format);
    rk_json_member_uint(&json, "program_bytes", r->code.len);
    rk_json_member_seconds(&json, "compile_seconds", r->event.compile_ns);
    if (r->event.ahead_of_time)
        rk_json_member_bool(&json, "ahead_of_time", true);
    rk_json_member_string(&json, "rekindle", REKINDLE_VERSION);
    rk_json_member_string(&json, "run", rk_journal_run(r->runtime->journal));
    rk_json_member_string(&json, "job", r->runtime->job);
    rk_json_member_string(&json, "namespace", r->runtime->settings->name_space);
    rk_json_raw(&json, rk_buf_span(&r->client->metadata_json));
    rk_json_end_object(&json);
}

static void write_components(const rk_request *r, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_key(&json, "options");
    rk_components_write(&r->options, &json);
    rk_json_key(&json, "environment");
    rk_json_raw(&json, rk_buf_span(&r->client->components_json));
    rk_json_end_object(&json);
}

// Consumes `p`.
static void submit(rk_request *r, publication *p, const void *handle, const void *owner) {
    rk_publish_job job = {
        .key = r->key,
        .compile_ns = r->event.compile_ns,
        .flags = r->event.ahead_of_time ? RK_ENTRY_FLAG_AHEAD_OF_TIME : 0,
        .handle = handle,
        .owner = owner,
        .context = p,
        .serialize = serialize,
        .release = release,
        .done = published,
    };
    write_metadata(r, &job.metadata);
    write_components(r, &job.components);
    if (r->runtime->settings->keep_programs &&
        rk_publisher_queued_bytes(r->runtime->publisher) < QUEUE_MAX_BYTES) {
        rk_buf_add_span(&job.program, r->code);
        rk_buf_add_span(&job.options, r->sent_options);
    }
    rk_runtime_renew_exit_handler();
    rk_err *err = rk_publisher_submit(r->runtime->publisher, &job);
    if (err)
        rk_runtime_tell(RK_ONCE_WRITE, rk_err_wrap(err, "an executable was not stored"));
}

static publication *new_publication(rk_request *r) {
    publication *p = rk_calloc(1, sizeof *p);
    if (!p) {
        rk_runtime_tell(RK_ONCE_WRITE,
                        rk_err_wrap(rk_err_no_memory(), "an executable was not stored"));
        return NULL;
    }
    if (r->ticket.flight)
        rk_flight_compiled(r->runtime->flights, r->ticket.flight, r->event.compile_ns);
    p->api = r->plugin->real;
    p->key = r->key;
    p->flights = r->runtime->flights;
    p->flight = RK_TAKE(r->ticket.flight);
    return p;
}

void rk_publish(rk_request *r, PJRT_Executable *executable) {
    publication *p = new_publication(r);
    if (!p) {
        rk_publish_destroy(r->plugin->real, executable);
        return;
    }
    p->executable = executable;
    submit(r, p, r->args->executable, r->args->client);
}

void rk_publish_serialized(rk_request *r, PJRT_Executable *executable) {
    publication *p = new_publication(r);
    if (!p)
        return;
    uint64_t start_ns = rk_monotonic_ns();
    p->bytes = RK_BUF_INIT(RK_ENTRY_MAX_BYTES);
    p->problem = serialize_with(p->api, executable, &p->bytes);
    p->serialize_ns = rk_monotonic_ns() - start_ns;
    submit(r, p, p, NULL);
}

bool rk_publish_is_possible(const rk_request *r) {
    const rk_runtime *runtime = r->runtime;
    return runtime->store && runtime->publisher && rk_store_accepts(runtime->store) &&
           RK_PJRT_HAS(r->plugin->real, PJRT_Executable_Serialize) &&
           rk_load_is_possible(r->plugin);
}

bool rk_publish_is_wanted(const rk_request *r) {
    return r->event.outcome == RK_OUTCOME_MISS && rk_publish_is_possible(r) &&
           r->event.compile_ns >= r->runtime->settings->min_compile_ns;
}
