#include "pjrt/publish_internal.h"

#include "base/alloc.h"
#include "base/sys.h"
#include "diagnose/diff/sketch.h"
#include "pjrt/changes_internal.h"
#include "pjrt/executable.h"
#include "pjrt/load.h"
#include "pjrt/optimized.h"

typedef struct publication {
    const PJRT_Api *api;
    PJRT_Executable *executable; // owned; NULL: it is serialized already
    rk_buf bytes;                // the serialized executable in that case
    rk_err *problem;             // or the error of the serialization; owned
    uint64_t serialize_ns;       // and its duration
    bool optimized;              // the optimized program is stored too
    rk_key key;
    rk_flights *flights; // borrowed
    rk_flight *flight;   // owned; NULL: no request waits
} publication;

static rk_err *serialize(void *context, rk_buf *out_bytes) {
    publication *p = context;
    if (p->executable)
        return rk_executable_serialize(p->api, p->executable, out_bytes);
    rk_buf_cleanup(out_bytes);
    *out_bytes = p->bytes;
    p->bytes = (rk_buf){0};
    return RK_TAKE(p->problem);
}

static void add_optimized(void *context, rk_buf *out_options) {
    const publication *p = context;
    if (p->optimized)
        rk_optimized_write(p->api, p->executable, out_options);
}

static void release(void *context) {
    publication *p = context;
    rk_executable_destroy(p->api, RK_TAKE(p->executable));
}

static void warn_not_stored(const rk_publish_result *result) {
    rk_err *problem = rk_err_copy(result->problem);
    if (!problem)
        return;
    if (strcmp(result->reason, "serialize_failed") == 0)
        rk_warn_once(RK_WARNING_PLUGIN,
                     rk_err_wrap(problem, "the plugin cannot serialize its executables"));
    else
        rk_warn_once(RK_WARNING_WRITE, rk_err_wrap(problem, "an executable was not stored"));
}

static void finish_flight(publication *p, const rk_publish_result *result) {
    bool settled = result->reason && (strcmp(result->reason, "serialize_failed") == 0 ||
                                      strcmp(result->reason, "empty_executable") == 0);
    if (p->flight)
        rk_flight_finish(p->flights, RK_TAKE(p->flight),
                         result->stored ? RK_FLIGHT_PUBLISHED : RK_FLIGHT_NOT_KEPT,
                         settled ? RK_SETTLED_NS : RK_BAD_LUCK_NS);
}

static void published(void *context, const rk_publish_result *result) {
    publication *p = context;
    const rk_runtime *runtime = rk_runtime_get();
    warn_not_stored(result);
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
    finish_flight(p, result);
    rk_buf_cleanup(&p->bytes);
    rk_err_free(p->problem);
    rk_free(p);
}

// A program whose compilation failed is stored alone, with the compiler's error.
static void write_failure(const rk_request *r, rk_json *json) {
    enum { ERROR_MAX_BYTES = 2048 };
    if (!r->outcome.failed || r->outcome.refused)
        return;
    rk_json_member_bool(json, "failed", true);
    if (r->error)
        rk_json_member_text(json, "error",
                            rk_span_of(r->error, strnlen(r->error, ERROR_MAX_BYTES)));
}

static void write_metadata(const rk_request *r, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "name", r->name ? r->name : "");
    rk_json_member_text(&json, "format", r->format);
    rk_json_member_uint(&json, "program_bytes", r->code.len);
    rk_json_member_seconds(&json, "compile_seconds", r->outcome.compile_ns);
    rk_digest program_bytes;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_of(r->code, &program_bytes);
    rk_digest_to_hex(&program_bytes, hex);
    rk_json_member_string(&json, "program_digest", hex);
    if (r->kind == RK_REQUEST_AOT)
        rk_json_member_bool(&json, "ahead_of_time", true);
    write_failure(r, &json);
    rk_json_member_string(&json, "rekindle", REKINDLE_VERSION);
    rk_json_member_string(&json, "run", rk_journal_run(r->runtime->journal));
    rk_json_member_string(&json, "job", r->runtime->job);
    rk_json_member_string(&json, "namespace", r->runtime->settings->name_space);
    rk_json_raw(&json, rk_buf_span(&r->client->metadata_json));
    rk_json_end_object(&json);
}

// True if the metadata has this run's member, in the form in which write_metadata writes it. No
// string can imitate it: quotes inside strings are escaped, and these values need no escapes.
bool rk_publish_was_ours(const rk_request *r, rk_span metadata) {
    const char *run = rk_journal_run(r->runtime->journal);
    if (!*run)
        return false;
    RK_AUTO(rk_buf) member = {0};
    rk_buf_add_format(&member, ",\"run\":\"%s\",", run);
    return !member.failed && memmem(metadata.data, metadata.len, member.data, member.len);
}

bool rk_publish_made_of(rk_span metadata, rk_digest *out_digest) {
    static const char member[] = ",\"program_digest\":\"";
    const uint8_t *found = memmem(metadata.data, metadata.len, member, sizeof member - 1);
    if (!found)
        return false;
    const uint8_t *hex = found + sizeof member - 1;
    return (size_t)(metadata.data + metadata.len - hex) >= RK_DIGEST_HEX_CHARS &&
           rk_digest_from_hex(rk_span_of(hex, RK_DIGEST_HEX_CHARS), out_digest);
}

static void write_components(const rk_request *r, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_key(&json, "options");
    rk_components_write(&r->options, &json);
    rk_json_key(&json, "environment");
    RK_AUTO(rk_buf) environment = {0};
    rk_buf_add_span(&environment, rk_buf_span(&r->client->components_json));
    rk_changes_write(r->plugin, r->state, &environment);
    rk_json_raw(&json, rk_buf_span(&environment));
    rk_json_end_object(&json);
}

static publication *new_publication(rk_request *r) {
    publication *p = rk_calloc(1, sizeof *p);
    if (!p) {
        rk_warn_once(RK_WARNING_WRITE,
                     rk_err_wrap(rk_err_no_memory(), "an executable was not stored"));
        return NULL;
    }
    if (r->wait.flight)
        rk_flight_compiled(r->runtime->flights, r->wait.flight, r->outcome.compile_ns);
    p->api = r->plugin->real;
    p->key = r->key;
    p->flights = r->runtime->flights;
    p->flight = RK_TAKE(r->wait.flight);
    return p;
}

// On the publisher's thread: appends the program's sketch (diagnose/diff/sketch.h), which
// distinguishes it from others.
static void describe(rk_span program, rk_span format, rk_buf *out_members) {
    RK_AUTO(rk_sketch) sketch = {0};
    bool made = false;
    rk_err_drop(rk_sketch_of_program(program, format, &sketch, &made),
                "a sketch can be made from the stored program");
    if (!made)
        return;
    rk_buf_add_text(out_members, ",\"sketch\":");
    rk_json json = rk_json_on(out_members);
    rk_sketch_write(&sketch, &json);
}

// Adds the program to a job, with the executable or alone.
static void add_program(const rk_request *r, rk_publish_job *job) {
    write_metadata(r, &job->metadata);
    write_components(r, &job->components);
    if (rk_publisher_queued_bytes(r->runtime->publisher) >= RK_WAITING_MAX_BYTES)
        return;
    job->describe = describe;
    job->forget_program = !r->runtime->settings->keep_programs;
    rk_buf_add_span(&job->program, r->code);
    rk_buf_add_span(&job->format, r->format);
    rk_buf_add_span(&job->options, r->sent_options);
}

void rk_publish_program(const rk_request *r) {
    const rk_runtime *runtime = r->runtime;
    if (!r->has_key || !runtime->store || !runtime->publisher || !rk_store_accepts(runtime->store))
        return;
    rk_publish_job job = {.key = r->key, .compile_ns = r->outcome.compile_ns};
    add_program(r, &job);
    rk_runtime_renew_exit_handler();
    rk_err *err = rk_publisher_submit(runtime->publisher, &job);
    if (err)
        rk_warn_once(RK_WARNING_WRITE, rk_err_wrap(err, "a program was not kept"));
}

// Consumes `p`.
static void submit(rk_request *r, publication *p, const void *handle, const void *owner) {
    rk_publish_job job = {
        .key = r->key,
        .compile_ns = r->outcome.compile_ns,
        .flags = r->kind == RK_REQUEST_AOT ? RK_ENTRY_FLAG_AOT : 0,
        .handle = handle,
        .owner = owner,
        .context = p,
        .serialize = serialize,
        .add_options = add_optimized,
        .release = release,
        .done = published,
    };
    add_program(r, &job);
    r->outcome.storing = true; // `done` is called in any case, unless the process leaves first
    rk_runtime_renew_exit_handler();
    rk_err *err = rk_publisher_submit(r->runtime->publisher, &job);
    if (err)
        rk_warn_once(RK_WARNING_WRITE, rk_err_wrap(err, "an executable was not stored"));
}

bool rk_publish_possible(const rk_request *r) {
    const rk_runtime *runtime = r->runtime;
    return r->doubt != RK_LOAD_ASIDE && runtime->store && runtime->publisher &&
           rk_store_accepts(runtime->store) &&
           RK_PJRT_HAS(r->plugin->real, PJRT_Executable_Serialize) &&
           rk_load_is_possible(r->plugin);
}

// True if the executable is to be stored. If a flag changed during the compilation, it is not known
// which value the compiler used.
static bool is_wanted(const rk_request *r) {
    return rk_changes_look() == r->state && r->outcome.result == RK_REQUEST_MISS &&
           rk_publish_possible(r) && r->outcome.compile_ns >= r->runtime->settings->min_compile_ns;
}

void rk_publish_compiled(rk_request *r) {
    const PJRT_Api *api = r->plugin->real;
    PJRT_Executable *executable = rk_executable_of(api, r->args->executable);
    if (!executable)
        return;
    r->name = rk_executable_name(api, executable);
    publication *p = is_wanted(r) ? new_publication(r) : NULL;
    if (!p) {
        rk_executable_destroy(api, executable);
        rk_publish_program(r);
        return;
    }
    p->executable = executable;
    // With REKINDLE_KEY_IGNORE, the optimized program may contain options that the key does not
    // cover.
    p->optimized = r->runtime->settings->keep_programs && !*r->runtime->settings->key_ignore;
    submit(r, p, r->args->executable, r->args->client);
}

void rk_publish_aot(rk_request *r, PJRT_Executable *executable) {
    r->name = rk_executable_name(r->plugin->real, executable);
    publication *p = !r->outcome.found && is_wanted(r) ? new_publication(r) : NULL;
    if (!p) {
        if (!r->outcome.found)
            rk_publish_program(r);
        return;
    }
    uint64_t start_ns = rk_monotonic_ns();
    p->bytes = RK_BUF_INIT(RK_ENTRY_MAX_BYTES);
    p->problem = rk_executable_serialize(p->api, executable, &p->bytes);
    p->serialize_ns = rk_monotonic_ns() - start_ns;
    submit(r, p, p, NULL);
}
