#include "cli/run_view.h"

#include <string.h>

#include "cli/fail.h"
#include "cli/text.h"

// If the command is not the process itself (a shell, a launcher), its exit status shows only that
// something failed, not what.
static rk_run_state state_of_dead(const rk_run_model *model) {
    if (model->command.known && model->command.signal_number)
        return RK_RUN_CUT_SHORT;
    if (rk_run_count_incomplete(model))
        return RK_RUN_INCOMPLETE;
    if (!model->command.known)
        return RK_RUN_NOT_KNOWN;
    return model->command.exit_status == 0 || rk_run_count_unknown_ends(model) == 0
               ? RK_RUN_ENDED
               : RK_RUN_NOT_KNOWN;
}

rk_run_state rk_run_state_of(const rk_run_model *model) {
    for (size_t i = 0; i < model->process_count; i++)
        if (rk_run_process_is_alive(&model->processes[i]))
            return RK_RUN_RUNNING;
    return model->ended ? RK_RUN_ENDED : state_of_dead(model);
}

const char *rk_run_state_text(rk_run_state state) {
    static const char *const texts[] = {"ended", "running", "cut short", "not known", "incomplete"};
    return texts[state];
}

bool rk_run_has_failed(const rk_run_model *model) {
    return rk_run_state_of(model) == RK_RUN_ENDED && model->command.known &&
           !model->command.signal_number && model->command.exit_status != 0;
}

uint64_t rk_run_duration_ns(const rk_run_model *model) {
    return model->last_ns > model->start_ns ? model->last_ns - model->start_ns : 0;
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

// null: rekindle had nothing to do with torch.compile.
static json_t *torch_json(const rk_run_torch *torch) {
    if (torch->starts == 0)
        return json_null();
    json_t *object = rk_out_object();
    rk_out_set(object, "starts", rk_out_uint(torch->starts));
    rk_out_set(object, "restored", rk_out_uint(torch->restored));
    rk_out_set(object, "restored_bytes", rk_out_uint(torch->restored_bytes));
    rk_out_set(object, "present", rk_out_uint(torch->present));
    rk_out_set(object, "not_restored", rk_out_uint(torch->not_restored));
    rk_out_set(object, "made", rk_out_uint(torch->made));
    rk_out_set(object, "new", rk_out_uint(torch->kept));
    rk_out_set(object, "new_bytes", rk_out_uint(torch->kept_bytes));
    rk_out_set(object, "not_stored", rk_out_uint(torch->not_kept));
    rk_out_set(object, "damaged", rk_out_uint(torch->damaged));
    rk_out_set(object, "restore_seconds", rk_out_seconds(torch->restore_ns));
    rk_out_set(object, "keep_seconds", rk_out_seconds(torch->keep_ns));
    return object;
}

void rk_run_add_totals(json_t *object, const rk_run_totals *totals) {
    const rk_journal_counts *counts = &totals->counts;
    rk_out_set(object, "programs", rk_out_uint(totals->programs));
    rk_out_set(object, "hits", rk_out_uint(totals->hits));
    rk_out_set(object, "misses", rk_out_uint(totals->misses));
    rk_out_set(object, "bypassed", rk_out_uint(totals->bypassed));
    rk_out_set(object, "compiled", rk_out_uint(totals->compiled));
    rk_out_set(object, "failed", rk_out_uint(totals->failed));
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
    rk_out_set(object, "not_stored", rk_out_uint(totals->not_stored));
    rk_out_set(object, "torch_compile", torch_json(&totals->torch));
}

static json_t *unkept_json(const rk_run_summary *summary) {
    json_t *array = rk_out_array();
    for (size_t i = 0; i < summary->unkept_count; i++) {
        const rk_run_unkept *unkept = &summary->unkept[i];
        json_t *one = rk_out_object();
        rk_out_set(one, "name", rk_out_string(unkept->name));
        rk_out_set(one, "program", rk_out_string(unkept->program));
        rk_out_set(one, "reason", rk_out_string(unkept->reason));
        rk_out_set(one, "count", rk_out_uint(unkept->count));
        rk_out_append(array, one);
    }
    return array;
}

static void add_command(json_t *object, const rk_run_command *command) {
    bool exited = command->known && !command->signal_number;
    bool killed = command->known && command->signal_number;
    rk_out_set(object, "exit_status", exited ? rk_out_uint(command->exit_status) : json_null());
    rk_out_set(object, "signal",
               killed ? rk_out_uint((uint64_t)command->signal_number) : json_null());
}

json_t *rk_run_json(const rk_run_summary *summary) {
    const rk_run_model *run = &summary->run;
    json_t *object = rk_out_object();
    rk_out_set(object, "run", rk_out_string(run->run));
    rk_out_set(object, "job", rk_out_string(run->job));
    rk_out_set(object, "mode", rk_out_string(run->mode));
    rk_run_add_totals(object, &summary->totals);
    rk_out_set(object, "lost", rk_out_uint(rk_run_count_lost(run)));
    rk_out_set(object, "bypassed_programs", unkept_json(summary));
    rk_out_set(object, "processes", rk_out_uint(run->process_count));
    rk_out_set(object, "started", rk_out_string(rk_text_utc(run->start_ns).text));
    rk_out_set(object, "seconds", rk_out_seconds(rk_run_duration_ns(run)));
    rk_out_set(object, "state", rk_out_string(rk_run_state_text(rk_run_state_of(run))));
    rk_out_set(object, "ends_not_known", rk_out_uint(rk_run_count_unknown_ends(run)));
    rk_out_set(object, "incomplete_journals", rk_out_uint(rk_run_count_incomplete(run)));
    rk_out_set(object, "torch_compile_why", rk_out_string(run->torch_why));
    add_command(object, &run->command);
    return object;
}
