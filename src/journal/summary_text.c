#include "journal/summary_text.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"
#include "journal/read_event_internal.h"
#include "journal/totals_internal.h"

static const char digest_before[] = "{\"digest\":\"", digest_after[] = "\"}\n";
enum {
    LAST_LINE_BYTES = sizeof digest_before - 1 + RK_DIGEST_HEX_CHARS + sizeof digest_after - 1,
};

static void add_processes(rk_json *json, const rk_run_model *run) {
    rk_json_key(json, "processes");
    rk_json_begin_array(json);
    for (size_t i = 0; i < run->process_count; i++) {
        const rk_run_process *process = &run->processes[i];
        rk_json_begin_object(json);
        rk_json_member_string(json, "file", process->file);
        rk_json_member_uint(json, "bytes", process->file_bytes);
        rk_json_member_uint(json, "modified_ns", process->modified_ns);
        rk_json_member_uint(json, "rank", process->rank);
        rk_json_member_uint(json, "pid", (uint64_t)process->pid);
        rk_json_member_string(json, "host", process->host);
        rk_json_member_uint(json, "start_ns", process->start_ns);
        rk_json_member_uint(json, "last_ns", process->last_ns);
        rk_json_member_bool(json, "ended", process->ended);
        rk_json_member_uint(json, "storing", process->storing);
        rk_json_member_uint(json, "stored", process->stored);
        rk_json_end_object(json);
    }
    rk_json_end_array(json);
}

// If `known` is false, all other members are zero or empty.
static void add_command(rk_json *json, const rk_run_command *command) {
    rk_json_key(json, "command");
    rk_json_begin_object(json);
    rk_json_member_bool(json, "known", command->known);
    rk_json_member_uint(json, "pid", (uint64_t)command->pid);
    rk_json_member_string(json, "host", command->host);
    rk_json_member_uint(json, "signal", (uint32_t)command->signal_number);
    rk_json_member_uint(json, "exit_status", command->exit_status);
    rk_json_end_object(json);
}

static rk_err *add_programs(rk_json *json, const rk_run_totals *totals) {
    rk_autofree rk_digest *programs = NULL;
    size_t count;
    RK_TRY(rk_totals_list_programs(totals, &programs, &count));
    rk_json_key(json, "programs");
    rk_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        rk_run_hex hex;
        rk_digest_to_hex(&programs[i], hex);
        rk_json_string(json, hex);
    }
    rk_json_end_array(json);
    return NULL;
}

static rk_err *add_totals(rk_json *json, const rk_run_totals *totals) {
    rk_json_key(json, "totals");
    rk_json_begin_object(json);
    for (size_t i = 0; i < rk_totals_field_count; i++)
        rk_json_member_uint(json, rk_totals_fields[i].name,
                            rk_totals_get(totals, &rk_totals_fields[i]));
    rk_json_end_object(json);
    RK_TRY(add_programs(json, totals));
    rk_json_key(json, "warnings");
    rk_json_begin_array(json);
    for (size_t i = 0; i < totals->warning_count; i++)
        rk_json_string(json, totals->warnings[i]);
    rk_json_end_array(json);
    return NULL;
}

static void add_unkept(rk_json *json, const rk_run_summary *summary) {
    rk_json_key(json, "bypassed_programs");
    rk_json_begin_array(json);
    for (size_t i = 0; i < summary->unkept_count; i++) {
        const rk_run_unkept *unkept = &summary->unkept[i];
        rk_json_begin_object(json);
        rk_json_member_string(json, "name", unkept->name);
        rk_json_member_string(json, "program", unkept->program);
        rk_json_member_string(json, "reason", unkept->reason);
        rk_json_member_uint(json, "count", unkept->count);
        rk_json_end_object(json);
    }
    rk_json_end_array(json);
}

rk_err *rk_summary_text_write(const rk_run_summary *summary, rk_buf *out) {
    const rk_run_model *run = &summary->run;
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_member_uint(&json, "v", RK_RUN_SUMMARY_VERSION);
    rk_json_member_string(&json, "run", run->run);
    rk_json_member_string(&json, "job", run->job);
    rk_json_member_string(&json, "mode", run->mode);
    rk_json_member_string(&json, "version", run->version);
    if (run->torch_why)
        rk_json_member_string(&json, "torch_why", run->torch_why);
    add_command(&json, &run->command);
    add_processes(&json, run);
    RK_TRY(add_totals(&json, &summary->totals));
    add_unkept(&json, summary);
    rk_json_end_object(&json);
    rk_buf_add_byte(out, '\n');
    RK_TRY(rk_buf_status(out));
    rk_digest digest;
    rk_digest_of(rk_buf_span(out), &digest);
    rk_buf_add_text(out, digest_before);
    rk_buf_add_hex(out, rk_digest_span(&digest));
    rk_buf_add_text(out, digest_after);
    return rk_buf_status(out);
}

static bool take_uint(const json_t *object, const char *key, uint64_t *out_value) {
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    *out_value = number > 0 ? (uint64_t)number : 0;
    return json_is_integer(value) && number >= 0;
}

static bool take_uint32(const json_t *object, const char *key, uint32_t *out_value) {
    uint64_t value;
    bool taken = take_uint(object, key, &value) && value <= UINT32_MAX;
    *out_value = taken ? (uint32_t)value : 0;
    return taken;
}

static bool take_bool(const json_t *object, const char *key, bool *out_value) {
    const json_t *value = json_object_get(object, key);
    *out_value = json_is_true(value);
    return json_is_boolean(value);
}

// `*out_text` is owned: rk_free.
static bool take_text(const json_t *object, const char *key, char **out_text) {
    const char *text = json_string_value(json_object_get(object, key));
    *out_text = text ? rk_strdup(text) : NULL;
    return *out_text;
}

static bool take_command(const json_t *object, rk_run_command *out) {
    const json_t *command = json_object_get(object, "command");
    const char *host = json_string_value(json_object_get(command, "host"));
    uint64_t pid = 0;
    uint32_t signal_number = 0, exit_status = 0;
    bool taken = host && strlen(host) < sizeof out->host &&
                 take_bool(command, "known", &out->known) && take_uint(command, "pid", &pid) &&
                 take_uint32(command, "signal", &signal_number) &&
                 take_uint32(command, "exit_status", &exit_status);
    if (!taken)
        return false;
    memcpy(out->host, host, strlen(host) + 1);
    out->pid = (int64_t)pid;
    out->signal_number = (int)signal_number;
    out->exit_status = exit_status;
    return true;
}

static bool take_process(const json_t *object, rk_run_process *out) {
    uint64_t pid = 0;
    bool taken =
        take_text(object, "file", &out->file) && take_uint(object, "bytes", &out->file_bytes) &&
        take_uint(object, "modified_ns", &out->modified_ns) &&
        take_uint32(object, "rank", &out->rank) && take_uint(object, "pid", &pid) &&
        take_text(object, "host", &out->host) && take_uint(object, "start_ns", &out->start_ns) &&
        take_uint(object, "last_ns", &out->last_ns) && take_bool(object, "ended", &out->ended) &&
        take_uint(object, "storing", &out->storing) && take_uint(object, "stored", &out->stored);
    out->pid = (int64_t)pid;
    return taken;
}

// Allocates a zeroed item for each element of a JSON array. `*out_items` is owned; NULL if the
// array is empty. False: not an array, or no memory.
static bool allocate_items(const json_t *array, size_t size, void **out_items) {
    size_t count = json_array_size(array);
    *out_items = count ? rk_calloc(count, size) : NULL;
    return json_is_array(array) && (*out_items || !count);
}

static bool take_processes(const json_t *object, rk_run_model *run) {
    const json_t *array = json_object_get(object, "processes");
    void *items = NULL;
    if (!allocate_items(array, sizeof *run->processes, &items))
        return false;
    run->processes = items;
    run->process_count = json_array_size(array);
    for (size_t i = 0; i < run->process_count; i++)
        if (!take_process(json_array_get(array, i), &run->processes[i]))
            return false;
    return true;
}

static bool is_done(rk_err *err) {
    bool done = !err;
    rk_err_drop(err, "no memory; reading the journals reports it");
    return done;
}

// `*out_lacks`: a member is missing that the first rekindle with this version did not write.
static bool take_totals(const json_t *object, rk_run_totals *totals, bool *out_lacks) {
    const json_t *numbers = json_object_get(object, "totals");
    const json_t *programs = json_object_get(object, "programs");
    const json_t *warnings = json_object_get(object, "warnings");
    for (size_t i = 0; i < rk_totals_field_count; i++) {
        uint64_t value = 0;
        const rk_totals_field *field = &rk_totals_fields[i];
        bool lacks = field->is_later && !json_object_get(numbers, field->name);
        *out_lacks = *out_lacks || lacks;
        if (!lacks && !take_uint(numbers, field->name, &value))
            return false;
        rk_totals_set(totals, &rk_totals_fields[i], value);
    }
    for (size_t i = 0; i < json_array_size(programs); i++) {
        const char *hex = json_string_value(json_array_get(programs, i));
        rk_digest digest;
        if (!hex || !rk_digest_from_hex(rk_span_text(hex), &digest) ||
            !is_done(rk_totals_add_program(totals, &digest)))
            return false;
    }
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const char *message = json_string_value(json_array_get(warnings, i));
        if (!message || !is_done(rk_totals_add_warning(totals, message)))
            return false;
    }
    rk_totals_settle(totals);
    return json_is_array(programs) && json_is_array(warnings);
}

static bool take_unkept(const json_t *object, rk_run_summary *out) {
    const json_t *array = json_object_get(object, "bypassed_programs");
    void *items = NULL;
    if (!allocate_items(array, sizeof *out->unkept, &items))
        return false;
    out->unkept = items;
    out->unkept_count = json_array_size(array);
    for (size_t i = 0; i < out->unkept_count; i++) {
        const json_t *one = json_array_get(array, i);
        rk_run_unkept *unkept = &out->unkept[i];
        const char *program = json_string_value(json_object_get(one, "program"));
        if (!program || strlen(program) >= sizeof unkept->program ||
            !take_text(one, "name", &unkept->name) || !take_text(one, "reason", &unkept->reason) ||
            !take_uint(one, "count", &unkept->count))
            return false;
        memcpy(unkept->program, program, strlen(program) + 1);
    }
    return true;
}

static bool take_torch_why(const json_t *object, rk_run_model *model) {
    return !json_object_get(object, "torch_why") ||
           take_text(object, "torch_why", &model->torch_why);
}

static bool take_all(const json_t *object, const char *run, rk_run_summary *out) {
    uint64_t version;
    const char *named = json_string_value(json_object_get(object, "run"));
    if (!take_uint(object, "v", &version) || version != RK_RUN_SUMMARY_VERSION || !named ||
        strcmp(named, run) != 0)
        return false;
    rk_run_model *model = &out->run;
    if (!take_text(object, "run", &model->run) || !take_text(object, "job", &model->job) ||
        !take_text(object, "mode", &model->mode) ||
        !take_text(object, "version", &model->version) || !take_torch_why(object, model) ||
        !take_command(object, &model->command) || !take_processes(object, model) ||
        !take_totals(object, &out->totals, &out->lacks_members) || !take_unkept(object, out) ||
        !is_done(rk_run_fill_texts(model)))
        return false;
    rk_run_sum_processes(model);
    model->counts = out->totals.counts;
    model->preload = out->totals.preload;
    out->was_kept = true;
    return true;
}

// Returns the line before the digest line; empty if the digest does not match it.
static rk_span find_sound(rk_span text) {
    if (text.len <= LAST_LINE_BYTES)
        return rk_span_of(NULL, 0);
    rk_span first = rk_span_of(text.data, text.len - LAST_LINE_BYTES);
    rk_digest digest;
    rk_digest_of(first, &digest);
    RK_AUTO(rk_buf) expected = {0};
    rk_buf_add_text(&expected, digest_before);
    rk_buf_add_hex(&expected, rk_digest_span(&digest));
    rk_buf_add_text(&expected, digest_after);
    bool sound = expected.len == LAST_LINE_BYTES &&
                 memcmp(text.data + first.len, expected.data, LAST_LINE_BYTES) == 0;
    return sound ? first : rk_span_of(NULL, 0);
}

bool rk_summary_text_read(rk_span text, const char *run, rk_run_summary *out_summary) {
    rk_span first = find_sound(text);
    json_t *object = first.len ? json_loadb((const char *)first.data, first.len, 0, NULL) : NULL;
    bool taken = object && take_all(object, run, out_summary);
    json_decref(object);
    return taken;
}
