#include "cli/run_view.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/text.h"

// The same host under its full or its short name.
static bool is_this_host(const char *host) {
    char here[256] = "";
    if (gethostname(here, sizeof here - 1) != 0)
        return false;
    size_t short_len = strcspn(here, ".");
    return strcspn(host, ".") == short_len && strncmp(host, here, short_len) == 0;
}

static bool is_alive(const rk_run_process *process) {
    if (process->ended || process->pid <= 0 || process->pid > INT32_MAX)
        return false;
    return is_this_host(process->host) && (kill((pid_t)process->pid, 0) == 0 || errno == EPERM);
}

rk_run_state rk_run_state_of(const rk_run_model *model) {
    for (size_t i = 0; i < model->process_count; i++)
        if (is_alive(&model->processes[i]))
            return RK_RUN_RUNNING;
    return model->ended ? RK_RUN_ENDED : RK_RUN_CUT_SHORT;
}

const char *rk_run_state_text(rk_run_state state) {
    static const char *const texts[] = {"ended", "running", "cut short"};
    return texts[state];
}

uint64_t rk_run_duration_ns(const rk_run_model *model) {
    return model->last_ns > model->start_ns ? model->last_ns - model->start_ns : 0;
}

void rk_unkept_list_cleanup(rk_unkept_list *list) {
    rk_free(list->items);
    *list = (rk_unkept_list){0};
}

static bool same_program(const rk_run_compile *a, const rk_run_compile *b) {
    return strcmp(a->program, b->program) == 0 && strcmp(a->name, b->name) == 0 &&
           strcmp(a->reason, b->reason) == 0;
}

void rk_unkept_collect(const rk_run_model *model, rk_unkept_list *out_list) {
    *out_list = (rk_unkept_list){
        .items = rk_need(rk_calloc(model->compile_count + 1, sizeof *out_list->items))};
    for (size_t i = 0; i < model->compile_count; i++) {
        const rk_run_compile *compile = &model->compiles[i];
        if (compile->outcome != RK_OUTCOME_BYPASS)
            continue;
        size_t at = 0;
        while (at < out_list->count && !same_program(out_list->items[at].compile, compile))
            at++;
        if (at == out_list->count)
            out_list->items[out_list->count++] = (rk_unkept){compile, 0};
        out_list->items[at].count++;
    }
}

uint64_t rk_run_not_stored(const rk_run_model *model) {
    uint64_t count = 0;
    for (size_t i = 0; i < model->stored_count; i++)
        count += !model->stored[i].stored;
    return count;
}

void rk_run_torch_xla_counts(const rk_run_totals *totals,
                             rk_peer_count out_counts[static RK_TORCH_XLA_COUNTS]) {
    uint64_t not_hit = totals->misses + totals->bypassed;
    out_counts[0] = (rk_peer_count){"PersistentCacheHit", totals->hits};
    out_counts[1] = (rk_peer_count){"PersistentCacheMiss", not_hit - totals->unusable};
    out_counts[2] = (rk_peer_count){"PersistentCacheDeserializeFailure", totals->unusable};
}

static json_t *peers_json(const rk_run_totals *totals) {
    rk_peer_count counts[RK_TORCH_XLA_COUNTS];
    rk_run_torch_xla_counts(totals, counts);
    json_t *torch_xla = rk_out_object();
    for (size_t i = 0; i < RK_ARRAY_LEN(counts); i++)
        rk_out_set(torch_xla, counts[i].name, rk_out_uint(counts[i].count));
    json_t *peers = rk_out_object();
    rk_out_set(peers, "torch_xla", torch_xla);
    return peers;
}

static json_t *transfers(uint64_t count, uint64_t bytes) {
    json_t *object = rk_out_object();
    rk_out_set(object, "count", rk_out_uint(count));
    rk_out_set(object, "bytes", rk_out_uint(bytes));
    return object;
}

void rk_run_add_totals(json_t *object, const rk_run_totals *totals) {
    const rk_journal_counts *counts = &totals->counts;
    rk_out_set(object, "programs", rk_out_uint(totals->programs));
    rk_out_set(object, "hits", rk_out_uint(totals->hits));
    rk_out_set(object, "misses", rk_out_uint(totals->misses));
    rk_out_set(object, "bypassed", rk_out_uint(totals->bypassed));
    rk_out_set(object, "compiled", rk_out_uint(totals->compiled));
    rk_out_set(object, "refused", rk_out_uint(totals->refused));
    rk_out_set(object, "fingerprint_fallbacks", rk_out_uint(totals->fingerprint_fallbacks));
    rk_out_set(object, "deserialize_failures", rk_out_uint(totals->deserialize_failures));
    rk_out_set(object, "preloaded", rk_out_uint(totals->preloaded));
    rk_out_set(object, "preload_wasted", rk_out_uint(totals->preload.wasted));
    rk_out_set(object, "preload_seconds", rk_out_seconds(totals->preload.load_ns));
    rk_out_set(object, "remote_hits", rk_out_uint(totals->remote_hits));
    rk_out_set(object, "stored", rk_out_uint(totals->stored));
    rk_out_set(object, "quarantined", rk_out_uint(totals->quarantined));
    rk_out_set(object, "ahead_of_time", rk_out_uint(totals->ahead_of_time));
    rk_out_set(object, "found", rk_out_uint(totals->found));
    rk_out_set(object, "compile_seconds", rk_out_seconds(totals->compile_ns));
    rk_out_set(object, "load_seconds", rk_out_seconds(totals->load_ns));
    rk_out_set(object, "waited", rk_out_uint(totals->waited));
    rk_out_set(object, "waited_seconds", rk_out_seconds(totals->waited_ns));
    rk_out_set(object, "saved_seconds", rk_out_seconds(totals->saved_ns));
    rk_out_set(object, "verified", rk_out_uint(totals->verified));
    rk_out_set(object, "verify_differences", rk_out_uint(totals->verify_differences));
    rk_out_set(object, "verify_seconds", rk_out_seconds(totals->verify_ns));
    rk_out_set(object, "executions", rk_out_uint(counts->executions));
    rk_out_set(object, "host_to_device",
               transfers(counts->host_to_device, counts->host_to_device_bytes));
    rk_out_set(object, "device_to_host",
               transfers(counts->device_to_host, counts->device_to_host_bytes));
    rk_out_set(object, "peers", peers_json(totals));
    json_t *warnings = rk_out_array();
    for (size_t i = 0; i < totals->warning_count; i++)
        rk_out_append(warnings, rk_out_text(rk_span_text(totals->warnings[i])));
    rk_out_set(object, "warnings", warnings);
}

static json_t *unkept_json(const rk_run_model *model) {
    json_t *array = rk_out_array();
    __attribute__((cleanup(rk_unkept_list_cleanup))) rk_unkept_list list = {0};
    rk_unkept_collect(model, &list);
    for (size_t i = 0; i < list.count; i++) {
        json_t *one = rk_out_object();
        rk_out_set(one, "name", rk_out_string(list.items[i].compile->name));
        rk_out_set(one, "program", rk_out_string(list.items[i].compile->program));
        rk_out_set(one, "reason", rk_out_string(list.items[i].compile->reason));
        rk_out_set(one, "count", rk_out_uint(list.items[i].count));
        rk_out_append(array, one);
    }
    return array;
}

json_t *rk_run_json(const rk_run_model *model, const rk_run_totals *totals) {
    json_t *object = rk_out_object();
    rk_out_set(object, "run", rk_out_string(model->run));
    rk_out_set(object, "job", rk_out_string(model->job));
    rk_out_set(object, "mode", rk_out_string(model->mode));
    rk_run_add_totals(object, totals);
    rk_out_set(object, "not_stored", rk_out_uint(rk_run_not_stored(model)));
    rk_out_set(object, "bypassed_programs", unkept_json(model));
    rk_out_set(object, "processes", rk_out_uint(model->process_count));
    rk_out_set(object, "started", rk_out_string(rk_text_utc(model->start_ns).text));
    rk_out_set(object, "seconds", rk_out_seconds(rk_run_duration_ns(model)));
    rk_out_set(object, "state", rk_out_string(rk_run_state_text(rk_run_state_of(model))));
    return object;
}
