// Writes the events of a run, one line each. docs/journal.md describes their fields.
#include "base/redact.h"
#include "journal/journal.h"
#include "journal/line_internal.h"
#include "journal/turn_internal.h"

static void add_key(rk_json *json, const rk_key *key) {
    if (!key)
        return;
    rk_line_add_digest(json, "key", &key->digest);
    rk_line_add_digest(json, "program", &key->program);
    rk_line_add_digest(json, "options", &key->options);
    rk_line_add_digest(json, "environment", &key->environment);
}

static const char *outcome_name(rk_outcome outcome) {
    static const char *const names[] = {"hit", "miss", "bypass"};
    return names[outcome];
}

void rk_journal_add_compile(rk_journal *journal, const rk_journal_compile *event) {
    rk_turn mine = rk_turn_begin(journal, "compile");
    if (mine.journal) {
        rk_json *json = &mine.json;
        rk_json_member_uint(json, "seq", event->seq);
        rk_json_member_uint(json, "client", event->client);
        rk_json_member_string(json, "outcome", outcome_name(event->outcome));
        if (event->outcome == RK_OUTCOME_HIT)
            rk_json_member_string(json, "source", event->preloaded ? "preload" : "local");
        if (event->reason)
            rk_line_add_name(json, "reason", event->reason);
        rk_line_add_name(json, "name", event->name);
        if (event->by_bytes)
            rk_line_add_name(json, "by_bytes", event->by_bytes);
        add_key(json, event->key);
        rk_json_member_bool(json, "compiled", event->compiled);
        rk_json_member_bool(json, "failed", event->failed);
        if (event->error)
            rk_line_add_text(json, "error", rk_span_text(event->error), RK_LINE_MESSAGE_BYTES);
        rk_json_member_bool(json, "deserialize_failed", event->deserialize_failed);
        rk_json_member_bool(json, "quarantined", event->quarantined);
        if (event->late)
            rk_json_member_bool(json, "late", true);
        if (event->refused)
            rk_json_member_bool(json, "refused", true);
        if (event->ahead_of_time) {
            rk_json_member_bool(json, "ahead_of_time", true);
            rk_json_member_bool(json, "found", event->found);
        }
        if (event->storing)
            rk_json_member_bool(json, "storing", true);
        rk_json_member_seconds(json, "request_seconds", event->request_ns);
        rk_json_member_seconds(json, "compile_seconds", event->compile_ns);
        rk_json_member_seconds(json, "load_seconds", event->load_ns);
        if (event->preloaded)
            rk_json_member_seconds(json, "preload_seconds", event->preload_ns);
        rk_json_member_seconds(json, "saved_seconds", event->saved_ns);
        rk_json_member_uint(json, "program_bytes", event->program_bytes);
        rk_json_member_uint(json, "executions", event->executions);
        if (event->wait_end) {
            rk_json_member_seconds(json, "waited_seconds", event->waited_ns);
            rk_line_add_name(json, "waited_for", event->waited_for);
            rk_line_add_name(json, "wait_end", event->wait_end);
        }
    }
    rk_turn_end(&mine);
}

void rk_journal_add_stored(rk_journal *journal, const rk_journal_stored *event) {
    rk_turn mine = rk_turn_begin(journal, "stored");
    if (mine.journal) {
        rk_json *json = &mine.json;
        add_key(json, event->key);
        rk_json_member_bool(json, "stored", event->stored);
        if (!event->stored && event->reason)
            rk_line_add_name(json, "reason", event->reason);
        rk_json_member_uint(json, "raw_bytes", event->raw_bytes);
        rk_json_member_uint(json, "stored_bytes", event->stored_bytes);
        rk_json_member_seconds(json, "serialize_seconds", event->serialize_ns);
        rk_json_member_seconds(json, "store_seconds", event->store_ns);
    }
    rk_turn_end(&mine);
}

void rk_journal_add_verified(rk_journal *journal, const rk_journal_verified *event) {
    static const char *const outcomes[] = {"same", "different", "failed"};
    rk_turn mine = rk_turn_begin(journal, "verified");
    if (mine.journal) {
        rk_json *json = &mine.json;
        rk_line_add_name(json, "name", event->name);
        add_key(json, event->key);
        rk_json_member_string(json, "outcome", outcomes[event->outcome]);
        if (event->differs[0])
            rk_json_member_string(json, "differs", event->differs);
        if (event->reason)
            rk_line_add_name(json, "reason", event->reason);
        rk_json_member_bool(json, "quarantined", event->quarantined);
        rk_json_member_seconds(json, "verify_seconds", event->verify_ns);
    }
    rk_turn_end(&mine);
}

void rk_journal_add_client(rk_journal *journal, const rk_journal_client *event) {
    rk_turn mine = rk_turn_begin(journal, "client");
    if (mine.journal) {
        rk_json *json = &mine.json;
        rk_json_member_uint(json, "client", event->client);
        if (event->ahead_of_time)
            rk_json_member_bool(json, "ahead_of_time", true);
        rk_line_add_name(json, "plugin", event->plugin);
        rk_line_add_name(json, "build_id", event->build_id);
        rk_line_add_text(json, "platform_name", event->platform_name, RK_LINE_NAME_BYTES);
        rk_line_add_text(json, "platform_version", event->platform_version, RK_LINE_MESSAGE_BYTES);
        rk_json_key(json, "api_major");
        rk_json_int(json, event->api_major);
        rk_json_key(json, "api_minor");
        rk_json_int(json, event->api_minor);
        rk_json_member_uint(json, "devices", event->device_count);
        rk_json_member_uint(json, "addressable_devices", event->addressable_device_count);
        rk_line_add_digest(json, "environment", event->environment);
        // JSON cannot be cut in the middle: the whole list is written, or none of it.
        if (event->components_json.len > RK_LINE_LIST_BYTES) {
            rk_json_member_bool(json, "components_cut", true);
        } else if (event->components_json.len) {
            rk_json_key(json, "components");
            rk_json_raw(json, event->components_json);
        }
    }
    rk_turn_end(&mine);
}

static void add_transfers(rk_json *json, const rk_journal_counts *counts) {
    rk_json_member_uint(json, "host_to_device", counts->host_to_device);
    rk_json_member_uint(json, "host_to_device_bytes", counts->host_to_device_bytes);
    rk_json_member_uint(json, "device_to_host", counts->device_to_host);
    rk_json_member_uint(json, "device_to_host_bytes", counts->device_to_host_bytes);
}

void rk_journal_add_counts(rk_journal *journal, const rk_journal_counts *counts) {
    rk_turn mine = rk_turn_begin(journal, "counts");
    if (mine.journal) {
        rk_json *json = &mine.json;
        rk_json_member_uint(json, "executions", counts->executions);
        add_transfers(json, counts);
    }
    rk_turn_end(&mine);
}

void rk_journal_add_steps(rk_journal *journal, const rk_journal_steps *steps) {
    rk_turn mine = rk_turn_begin(journal, "steps");
    if (mine.journal) {
        rk_json *json = &mine.json;
        rk_json_member_uint(json, "rhythm", steps->rhythm);
        if (steps->marked)
            rk_json_member_bool(json, "marked", true);
        rk_json_member_uint(json, "first_execution", steps->first_execution);
        rk_json_member_uint(json, "steps", steps->steps);
        rk_json_member_uint(json, "executions", steps->executions);
        rk_json_member_uint(json, "programs", steps->programs);
        rk_json_member_uint(json, "new_programs", steps->new_programs);
        if (steps->programs_before > 0)
            rk_json_member_uint(json, "programs_before", steps->programs_before);
        rk_json_member_uint(json, "compiles", steps->compiles);
        rk_json_member_uint(json, "work", steps->work);
        add_transfers(json, &steps->transfers);
    }
    rk_turn_end(&mine);
}

void rk_journal_add_warm(rk_journal *journal, const char *because, uint64_t executions) {
    rk_turn mine = rk_turn_begin(journal, "warm");
    if (mine.journal) {
        rk_json_member_string(&mine.json, "because", because);
        rk_json_member_uint(&mine.json, "executions", executions);
    }
    rk_turn_end(&mine);
}

void rk_journal_add_executed(rk_journal *journal, const rk_journal_executed *programs,
                             size_t count) {
    rk_turn mine = rk_turn_begin(journal, "executed");
    if (mine.journal) {
        rk_json *json = &mine.json;
        rk_json_key(json, "programs");
        rk_json_begin_array(json);
        for (size_t i = 0; i < count; i++) {
            rk_json_begin_object(json);
            rk_line_add_digest(json, "key", &programs[i].key);
            rk_json_member_uint(json, "executions", programs[i].executions);
            rk_json_member_uint(json, "rounds", programs[i].rounds);
            rk_json_end_object(json);
        }
        rk_json_end_array(json);
    }
    rk_turn_end(&mine);
}

const char *rk_memory_figure_name(rk_memory_figure figure) {
    static const char *const names[] = {
        [RK_MEMORY_IN_USE] = "bytes_in_use",
        [RK_MEMORY_PEAK] = "peak_bytes_in_use",
        [RK_MEMORY_LIMIT] = "bytes_limit",
        [RK_MEMORY_LARGEST_ALLOCATION] = "largest_allocation_bytes",
        [RK_MEMORY_RESERVED] = "bytes_reserved",
        [RK_MEMORY_LARGEST_FREE_BLOCK] = "largest_free_block_bytes",
    };
    return names[figure];
}

void rk_journal_add_memory(rk_journal *journal, const rk_journal_memory *event) {
    rk_turn mine = rk_turn_begin(journal, "memory");
    if (mine.journal) {
        rk_json *json = &mine.json;
        rk_json_member_uint(json, "client", event->client);
        rk_json_member_string(json, "when", event->when);
        rk_json_key(json, "device");
        rk_json_int(json, event->device);
        rk_line_add_text(json, "name", event->name, RK_LINE_NAME_BYTES);
        rk_line_add_text(json, "kind", event->kind, RK_LINE_NAME_BYTES);
        if (event->attributes_json.len && event->attributes_json.len <= RK_LINE_LIST_BYTES) {
            rk_json_key(json, "attributes");
            rk_json_raw(json, event->attributes_json);
        }
        if (event->problem)
            rk_line_add_text(json, "problem", rk_span_text(event->problem), RK_LINE_MESSAGE_BYTES);
        for (int i = 0; i < RK_MEMORY_FIGURES && !event->problem; i++) {
            if (event->figures[i] < 0)
                continue;
            rk_json_key(json, rk_memory_figure_name((rk_memory_figure)i));
            rk_json_int(json, event->figures[i]);
        }
    }
    rk_turn_end(&mine);
}

void rk_journal_add_prefetch(rk_journal *journal, const rk_journal_prefetch *event) {
    rk_turn mine = rk_turn_begin(journal, "preload");
    if (mine.journal) {
        rk_json *json = &mine.json;
        rk_json_member_uint(json, "client", event->client);
        rk_json_member_uint(json, "listed", event->listed);
        rk_json_member_uint(json, "loaded", event->loaded);
        rk_json_member_uint(json, "claimed", event->claimed);
        rk_json_member_uint(json, "waited", event->waited);
        rk_json_member_uint(json, "taken", event->taken);
        rk_json_member_uint(json, "wasted", event->wasted);
        rk_json_member_uint(json, "failed", event->failed);
        rk_json_member_uint(json, "dropped", event->dropped);
        rk_json_member_seconds(json, "load_seconds", event->load_ns);
        rk_json_member_seconds(json, "wasted_seconds", event->wasted_load_ns);
        if (event->stopped)
            rk_line_add_name(json, "stopped", event->stopped);
    }
    rk_turn_end(&mine);
}

void rk_journal_add_warning(rk_journal *journal, const char *message) {
    rk_turn mine = rk_turn_begin(journal, "warning");
    if (mine.journal) {
        RK_AUTO(rk_buf) shown = RK_BUF_INIT(1 << 20);
        rk_redact_text(rk_span_text(message), &shown);
        rk_line_add_text(&mine.json, "message", rk_buf_span(&shown), RK_LINE_MESSAGE_BYTES);
    }
    rk_turn_end(&mine);
}

void rk_journal_add_unwatched(rk_journal *journal, const char *plugin, const char *reason) {
    rk_turn mine = rk_turn_begin(journal, "unwatched");
    if (mine.journal) {
        RK_AUTO(rk_buf) shown = RK_BUF_INIT(1 << 20);
        rk_redact_text(rk_span_text(reason), &shown);
        rk_line_add_name(&mine.json, "plugin", plugin);
        rk_line_add_text(&mine.json, "reason", rk_buf_span(&shown), RK_LINE_MESSAGE_BYTES);
    }
    rk_turn_end(&mine);
}

void rk_journal_add_end(rk_journal *journal) {
    rk_turn mine = rk_turn_begin(journal, "end");
    rk_turn_end(&mine);
}
