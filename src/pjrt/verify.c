#include "pjrt/verify_internal.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/sys.h"
#include "pjrt/changes_internal.h"
#include "pjrt/error.h"
#include "pjrt/executable.h"
#include "pjrt/executable_digest.h"
#include "pjrt/load.h"
#include "pjrt/prefetch_internal.h"
#include "pjrt/publish_internal.h"

// One hit that is being verified.
typedef struct verification {
    rk_plugin *plugin;
    const PJRT_Api *api; // the plugin's table
    PJRT_Client *client;
    rk_store *store;             // borrowed
    PJRT_Executable *executable; // the loaded executable's; owned until it is described
    rk_key key;
    uint64_t created_ns; // of the entry
    rk_digest made_of;   // digest of the program bytes that the entry was compiled from; zeroes if
                         // not known
    char *name;          // owned
    rk_buf program, format, options;
    rk_executable_digest loaded;
} verification;

static void free_verification(verification *v) {
    rk_executable_destroy(v->api, v->executable);
    rk_buf_cleanup(&v->program);
    rk_buf_cleanup(&v->format);
    rk_buf_cleanup(&v->options);
    rk_free(v->name);
    rk_free(v);
}

static void describe(void *context) {
    verification *v = context;
    rk_executable_digest_take(v->api, v->executable, &v->loaded);
    rk_executable_destroy(v->api, RK_TAKE(v->executable));
}

// Compiling again.

static void destroy_loaded(const PJRT_Api *api, PJRT_LoadedExecutable *loaded) {
    PJRT_LoadedExecutable_Destroy_Args args = {
        .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = loaded};
    rk_pjrt_error_drop(api, api->PJRT_LoadedExecutable_Destroy(&args));
}

static rk_err *compile(const verification *v, PJRT_LoadedExecutable **out_loaded) {
    PJRT_Program program = {
        .struct_size = PJRT_Program_STRUCT_SIZE,
        .code = (char *)v->program.data,
        .code_size = v->program.len,
        .format = (const char *)v->format.data,
        .format_size = v->format.len,
    };
    PJRT_Client_Compile_Args args = {
        .struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE,
        .client = v->client,
        .program = &program,
        .compile_options = (const char *)v->options.data,
        .compile_options_size = v->options.len,
    };
    rk_changes_note(v->plugin, RK_USE_COMPILE);
    RK_TRY(rk_pjrt_error_take(
        v->api, RK_BRIDGE(v->plugin, RK_STRUCT_CLIENT_COMPILE, PJRT_Client_Compile, &args)));
    if (!args.executable)
        return rk_error(RK_INTERNAL, "the plugin gave no executable and no error");
    *out_loaded = args.executable;
    return NULL;
}

// Consumes the loaded executable. Appends its serialized form to `bytes`, if not NULL.
static rk_err *take_digest(const PJRT_Api *api, PJRT_LoadedExecutable *loaded,
                           rk_executable_digest *out_digest, rk_buf *bytes) {
    PJRT_Executable *executable = rk_executable_of(api, loaded);
    rk_err *err = NULL;
    if (!executable)
        err = rk_error(RK_INTERNAL, "the plugin does not describe its executables");
    if (!err)
        rk_executable_digest_take(api, executable, out_digest);
    if (!err && bytes)
        err = rk_executable_serialize(api, executable, bytes);
    rk_executable_destroy(api, executable);
    destroy_loaded(api, loaded);
    return err;
}

static rk_err *compile_afresh(const verification *v, rk_executable_digest *out_digest,
                              rk_buf *bytes) {
    PJRT_LoadedExecutable *loaded = NULL;
    RK_TRY(compile(v, &loaded));
    return take_digest(v->api, loaded, out_digest, bytes);
}

// Confirms a difference. Some properties differ between any two compilations, or between compiling
// and loading, and say nothing about the entry. So a second compilation, which is serialized and
// loaded like an entry, must agree with the first one, and its loaded form must differ from the hit
// as well.
static rk_err *confirm(const verification *v, const rk_executable_digest *first,
                       uint32_t *different) {
    RK_AUTO(rk_buf) bytes = RK_BUF_INIT(RK_ENTRY_MAX_BYTES);
    rk_executable_digest second, reloaded;
    PJRT_LoadedExecutable *loaded = NULL;
    RK_TRY(compile_afresh(v, &second, &bytes));
    RK_TRY(rk_load(v->plugin, v->client, rk_buf_span(&bytes), rk_buf_span(&v->options), &loaded));
    RK_TRY(take_digest(v->api, loaded, &reloaded, NULL));
    *different &= ~rk_executable_digest_compare(first, &second);
    *different &= rk_executable_digest_compare(&v->loaded, &reloaded);
    return NULL;
}

// True for platforms whose compilers run candidates and choose the fastest. Their results differ
// between compilations.
static bool tries_out(const PJRT_Api *api, PJRT_Client *client) {
    static const char *const platforms[] = {"cuda", "rocm", "sycl", "gpu"};
    PJRT_Client_PlatformName_Args args = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE,
                                          .client = client};
    PJRT_Error *error = api->PJRT_Client_PlatformName(&args);
    rk_pjrt_error_drop(api, error);
    bool found = false;
    for (size_t i = 0; !error && i < RK_ARRAY_LEN(platforms); i++)
        found = found ||
                rk_span_is(rk_span_of(args.platform_name, args.platform_name_size), platforms[i]);
    return found;
}

// Reporting.

// True if the difference of this entry was warned about before in this process. Called only on the
// verifier's thread.
static bool was_warned(const rk_digest *key) {
    enum { MOST_KEYS = 256 };
    static rk_digest warned[MOST_KEYS];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (rk_digest_equal(&warned[i], key))
            return true;
    if (count < MOST_KEYS)
        warned[count++] = *key;
    return false;
}

// Quarantines the entry, unless it was replaced after the load.
static bool set_aside(const verification *v) {
    RK_AUTO(rk_store_lookup) lookup = {0};
    rk_err *err = rk_store_get(v->store, &v->key, &lookup);
    bool same = !err && lookup.found && lookup.view.entry.created_ns == v->created_ns;
    rk_err_drop(err, "what cannot be read is not loaded either");
    return same && rk_store_quarantine(v->store, &v->key);
}

static void list_parts(uint32_t parts, rk_buf *out) {
    for (unsigned part = 0; part < RK_EXECUTABLE_DIGEST_COUNT; part++)
        if (parts & 1u << part)
            rk_buf_add_format(out, "%s%s", out->len ? ", " : "",
                              rk_executable_digest_name((rk_executable_digest_part)part));
}

static void warn(const rk_runtime *runtime, const verification *v, const char *parts, bool aside) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&v->key.digest, hex);
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_format(
        &text,
        "the stored executable of %s (key %s) is not what the compiler makes of this program: it "
        "differs in %s. This job continues with the stored executable, so check the results of "
        "this run; %s. If "
        "REKINDLE_KEY_IGNORE is set, one of its names may change the code: remove it. "
        "REKINDLE_MODE=refresh makes all entries of a job again",
        v->name, hex, parts,
        aside ? "the entry was set aside, and the next request compiles"
              : "the entry could not be set aside, or was replaced already");
    if (!rk_buf_status(&text)) {
        rk_log_warn("%s", rk_buf_text(&text));
        rk_journal_add_warning(runtime->journal, rk_buf_text(&text));
    }
}

static void report(const verification *v, rk_journal_verified *event, uint32_t different) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime) // the process is ending without waiting for this verification
        return;
    RK_AUTO(rk_buf) parts = {0};
    list_parts(different, &parts);
    rk_buf_add_byte(&parts, '\0');
    if (rk_buf_status(&parts))
        return;
    event->key = &v->key;
    event->name = v->name;
    event->differs = (const char *)parts.data;
    if (different && !was_warned(&v->key.digest)) {
        event->quarantined = set_aside(v);
        rk_prefetch_discard_key(runtime, &v->key);
        warn(runtime, v, event->differs, event->quarantined);
    }
    rk_journal_add_verified(runtime->journal, event);
    rk_runtime_check_journal(runtime);
}

// Returns the differing parts that may differ without a fault of the entry.
static uint32_t incomparable(const verification *v, uint32_t different) {
    const uint32_t program = 1u << RK_EXECUTABLE_DIGEST_PROGRAM,
                   fingerprint = 1u << RK_EXECUTABLE_DIGEST_FINGERPRINT;
    if ((different & (program | fingerprint)) == 0)
        return 0;
    if (tries_out(v->api, v->client))
        return program | fingerprint;
    // A plugin's fingerprint covers names and source lines, which may differ between programs of
    // the same meaning.
    rk_digest bytes;
    rk_digest_of(rk_buf_span(&v->program), &bytes);
    return rk_digest_equal(&bytes, &v->made_of) ? 0 : fingerprint;
}

static void verify(void *context, const atomic_bool *cancelled) {
    const verification *v = context;
    rk_journal_verified event = {.outcome = RK_VERIFIED_SAME};
    uint64_t start_ns = rk_monotonic_ns();
    rk_executable_digest fresh;
    uint32_t different = 0;
    rk_err *err = compile_afresh(v, &fresh, NULL);
    if (!err)
        different = rk_executable_digest_compare(&v->loaded, &fresh);
    different &= ~incomparable(v, different);
    if (different && atomic_load(cancelled))
        return; // a suspicion without confirmation is not reported
    if (different)
        err = confirm(v, &fresh, &different);
    event.verify_ns = rk_monotonic_ns() - start_ns;
    if (err)
        event.outcome = RK_VERIFIED_FAILED;
    else if (different)
        event.outcome = RK_VERIFIED_DIFFERENT;
    event.reason = err ? rk_err_message(err) : NULL;
    report(v, &event, err ? 0 : different);
    rk_err_drop(err, "written to the journal; the entry stays");
}

static void done(void *context) {
    free_verification(context);
}

// Choosing hits.

// True if the program fits the budget for programs that wait to be stored or verified.
static bool fits_budget(const rk_runtime *runtime, size_t bytes) {
    size_t waiting = rk_verifier_held_bytes(runtime->verifier);
    if (runtime->publisher)
        waiting += rk_publisher_queued_bytes(runtime->publisher);
    return waiting < RK_WAITING_MAX_BYTES && bytes < RK_WAITING_MAX_BYTES - waiting;
}

static verification *new_verification(const rk_request *r) {
    verification *v = rk_calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->plugin = r->plugin;
    v->api = r->plugin->real;
    v->client = r->args->client;
    v->store = r->runtime->store;
    v->key = r->key;
    v->created_ns = r->created_ns;
    v->made_of = r->made_of;
    v->name = rk_strdup(r->name ? r->name : "");
    rk_buf_add_span(&v->program, r->code);
    rk_buf_add_span(&v->format, r->format);
    rk_buf_add_span(&v->options, r->sent_options);
    v->executable = rk_executable_of(v->api, r->args->executable);
    if (v->name && v->executable && !v->program.failed && !v->format.failed && !v->options.failed)
        return v;
    free_verification(v);
    return NULL;
}

static void submit(const rk_request *r, size_t bytes) {
    verification *v = fits_budget(r->runtime, bytes) ? new_verification(r) : NULL;
    if (!v)
        return;
    rk_runtime_renew_exit_handler();
    const rk_verify_job job = {
        .held_bytes = bytes,
        .expected_ns = r->outcome.saved_ns,
        .handle = r->args->executable,
        .owner = v->client,
        .context = v,
        .describe = describe,
        .verify = verify,
        .done = done,
    };
    if (!rk_verifier_submit(r->runtime->verifier, &job))
        free_verification(v);
}

// An extension may change the result of a compilation, and it is gone after the call. JAX always
// passes the profiler's extension, which only names the trace that the call belongs to.
static bool can_be_repeated(const PJRT_Client_Compile_Args *args) {
    for (const PJRT_Extension_Base *node = args->extension_start; node; node = node->next)
        if (node->type != PJRT_Extension_Type_Profiler)
            return false;
    return true;
}

void rk_verify_note(rk_request *r, const rk_entry *entry) {
    r->created_ns = entry->created_ns;
    if (!rk_publish_made_of(entry->metadata, &r->made_of))
        r->made_of = (rk_digest){0};
}

void rk_verify_hit(rk_request *r) {
    rk_verifier *verifier = r->runtime->verifier;
    // Compiling for devices of other processes may need those processes.
    if (!verifier || !r->client->has_all_devices || !can_be_repeated(r->args) ||
        !rk_verifier_chooses(verifier))
        return;
    submit(r, r->args->program->code_size + r->args->compile_options_size);
}
