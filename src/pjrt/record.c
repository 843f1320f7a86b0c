#include "pjrt/record_internal.h"

#include "cache/recorder.h"
#include "pjrt/publish_internal.h"

#define GUESS_OF_LOAD 8 // assumed compile time / load time, until the load time is known

// Called only if a request was recorded, so the runtime has a store.
static rk_err *write_seen(void *context, const rk_manifest *seen) {
    const rk_runtime *runtime = context;
    return rk_manifest_update(runtime->store, runtime->job, rk_journal_rank(),
                              rk_journal_run(runtime->journal), seen);
}

void rk_record_start(rk_runtime *runtime) {
    const rk_recorder_options options = {.write = write_seen, .context = runtime};
    rk_err_drop(rk_recorder_new(&options, &runtime->recorder),
                "without a recorder, this run records nothing and prefetches nothing");
}

void rk_record_client(const rk_runtime *runtime, const rk_client *client) {
    if (runtime->recorder && client->keyed)
        rk_recorder_add_client(runtime->recorder, client->number, &client->environment);
}

bool rk_record_find_client(const rk_runtime *runtime, const rk_client *client,
                           uint32_t *out_ordinal) {
    return runtime->recorder &&
           rk_recorder_find_client(runtime->recorder, client->number, out_ordinal);
}

void rk_record_write(const rk_runtime *runtime) {
    if (runtime->recorder)
        rk_recorder_write(runtime->recorder);
}

void rk_record_end(const rk_runtime *runtime) {
    if (runtime->recorder)
        rk_recorder_end(runtime->recorder);
}

// True if the next run may find the executable in the store.
static bool is_kept(const rk_request *r) {
    if (r->outcome.result == RK_REQUEST_HIT)
        return true;
    return r->outcome.result == RK_REQUEST_MISS && !r->outcome.failed &&
           r->outcome.compile_ns >= r->runtime->settings->min_compile_ns && rk_publish_possible(r);
}

static uint64_t load_ns_of(const rk_request *r) {
    if (r->outcome.result == RK_REQUEST_MISS)
        return r->outcome.compile_ns / GUESS_OF_LOAD;
    return r->outcome.preloaded ? r->outcome.preload_ns : r->outcome.load_ns;
}

void rk_record_request(const rk_request *r, uint64_t start_ns) {
    const rk_runtime *runtime = r->runtime;
    // Without a publisher, nothing may be written.
    if (r->kind != RK_REQUEST_CLIENT || !r->has_key || !runtime->publisher || !runtime->recorder)
        return;
    const rk_recorder_request request = {
        .client = r->client->number,
        .key = r->key,
        .options = r->sent_options,
        .start_ns = start_ns,
        .load_ns = load_ns_of(r),
        .bytes = r->executable_bytes,
        .kept = is_kept(r),
        .listed = r->outcome.preloaded,
    };
    rk_recorder_note(runtime->recorder, &request);
}
