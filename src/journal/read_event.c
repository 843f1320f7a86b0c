#include "journal/read_event_internal.h"

#include <jansson.h>
#include <stdio.h>

#include "base/alloc.h"
#include "journal/line_internal.h"

void *rk_run_grow(void *items, size_t count, size_t *capacity, size_t size) {
    enum { FIRST_CAPACITY = 16 };
    if (count == *capacity) {
        size_t larger = *capacity ? 2 * *capacity : FIRST_CAPACITY;
        items = rk_realloc(items, larger * size);
        if (!items)
            return NULL;
        *capacity = larger;
    }
    memset((uint8_t *)items + count * size, 0, size);
    return items;
}

static rk_err *take_text(const json_t *object, const char *key, char **out_text) {
    const char *text = json_string_value(json_object_get(object, key));
    *out_text = rk_strdup(text ? text : "");
    return *out_text ? NULL : rk_err_no_memory();
}

// Like take_text, but keeps a text that is already set, by an earlier process of the run.
static rk_err *take_text_once(const json_t *object, const char *key, char **text) {
    if (*text && **text)
        return NULL;
    rk_free(RK_TAKE(*text));
    return take_text(object, key, text);
}

static uint64_t take_uint(const json_t *object, const char *key) {
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static int take_int(const json_t *object, const char *key) {
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value < INT32_MIN || value > INT32_MAX ? 0 : (int)value;
}

static bool take_bool(const json_t *object, const char *key) {
    return json_is_true(json_object_get(object, key));
}

// Returns seconds as nanoseconds, rounded to a microsecond as they were written.
static uint64_t take_seconds(const json_t *object, const char *key) {
    const double longest_seconds = 1e10;
    double seconds = json_number_value(json_object_get(object, key));
    if (!(seconds > 0))
        return 0;
    if (seconds > longest_seconds)
        seconds = longest_seconds;
    return (uint64_t)(seconds * 1e6 + 0.5) * 1000;
}

// Returns a member of the given type as JSON text; "" if there is none.
static rk_err *take_json(const json_t *object, const char *key, json_type type, char **out_text) {
    const json_t *value = json_object_get(object, key);
    bool matches = value && json_typeof(value) == type;
    char *text = matches ? json_dumps(value, JSON_COMPACT) : NULL;
    if (matches && !text)
        return rk_err_no_memory();
    *out_text = rk_strdup(text ? text : "");
    json_free_t free_text = NULL; // json_dumps allocates with the functions set in jansson
    json_get_alloc_funcs(NULL, &free_text);
    free_text(text);
    return *out_text ? NULL : rk_err_no_memory();
}

static void take_hex(const json_t *object, const char *key, rk_run_hex out_hex) {
    const char *text = json_string_value(json_object_get(object, key));
    rk_digest ignored;
    if (text && rk_digest_from_hex(rk_span_text(text), &ignored))
        memcpy(out_hex, text, sizeof(rk_run_hex));
}

static rk_err *take_arguments(const json_t *list, rk_run_process *process) {
    size_t count = json_array_size(list);
    if (count == 0 || process->argv)
        return NULL;
    process->argv = rk_calloc(count, sizeof *process->argv);
    if (!process->argv)
        return rk_err_no_memory();
    for (; process->argc < count; process->argc++) {
        const char *text = json_string_value(json_array_get(list, process->argc));
        process->argv[process->argc] = rk_strdup(text ? text : "");
        if (!process->argv[process->argc])
            return rk_err_no_memory();
    }
    return NULL;
}

static rk_err *add_start(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_model *model = builder->model;
    rk_run_process *process = &model->processes[builder->process];
    RK_TRY(take_text_once(event, "job", &model->job));
    RK_TRY(take_text_once(event, "mode", &model->mode));
    RK_TRY(take_text_once(event, "version", &model->version));
    RK_TRY(take_text_once(event, "host", &process->host));
    RK_TRY(take_text_once(event, "executable", &process->executable));
    RK_TRY(take_text_once(event, "way_in", &process->way_in));
    process->rank = (uint32_t)take_uint(event, "rank");
    process->pid = (int64_t)take_uint(event, "pid");
    process->start_ns = time_ns;
    const char *run = json_string_value(json_object_get(event, "run"));
    process->names_run = run && strcmp(run, model->run) == 0;
    return take_arguments(json_object_get(event, "argv"), process);
}

static rk_err *add_client(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_model *model = builder->model;
    void *items = rk_run_grow(model->clients, model->client_count, &builder->client_capacity,
                              sizeof *model->clients);
    if (!items)
        return rk_err_no_memory();
    model->clients = items;
    rk_run_client *client = &model->clients[model->client_count++];
    client->process = builder->process;
    client->time_ns = time_ns;
    client->client = take_uint(event, "client");
    client->ahead_of_time = take_bool(event, "ahead_of_time");
    client->api_major = take_int(event, "api_major");
    client->api_minor = take_int(event, "api_minor");
    client->device_count = take_uint(event, "devices");
    client->addressable_device_count = take_uint(event, "addressable_devices");
    take_hex(event, "environment", client->environment);
    RK_TRY(take_text(event, "plugin", &client->plugin));
    RK_TRY(take_text(event, "build_id", &client->build_id));
    RK_TRY(take_text(event, "platform_name", &client->platform_name));
    RK_TRY(take_text(event, "platform_version", &client->platform_version));
    return take_json(event, "components", JSON_ARRAY, &client->components_json);
}

static rk_outcome take_outcome(const json_t *event) {
    const char *text = json_string_value(json_object_get(event, "outcome"));
    if (text && strcmp(text, "hit") == 0)
        return RK_OUTCOME_HIT;
    return text && strcmp(text, "miss") == 0 ? RK_OUTCOME_MISS : RK_OUTCOME_BYPASS;
}

static rk_run_source take_source(const json_t *event) {
    const char *text = json_string_value(json_object_get(event, "source"));
    if (text && strcmp(text, "preload") == 0)
        return RK_RUN_SOURCE_PREFETCH;
    return text && strcmp(text, "remote") == 0 ? RK_RUN_SOURCE_REMOTE : RK_RUN_SOURCE_LOCAL;
}

static rk_err *add_compile(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_model *model = builder->model;
    void *items = rk_run_grow(model->compiles, model->compile_count, &builder->compile_capacity,
                              sizeof *model->compiles);
    if (!items)
        return rk_err_no_memory();
    model->compiles = items;
    rk_run_compile *compile = &model->compiles[model->compile_count++];
    compile->process = builder->process;
    compile->time_ns = time_ns;
    compile->seq = take_uint(event, "seq");
    compile->client = take_uint(event, "client");
    compile->outcome = take_outcome(event);
    compile->source = take_source(event);
    take_hex(event, "key", compile->key);
    take_hex(event, "program", compile->program);
    take_hex(event, "options", compile->options);
    take_hex(event, "environment", compile->environment);
    compile->compiled = take_bool(event, "compiled");
    compile->failed = take_bool(event, "failed");
    compile->deserialize_failed = take_bool(event, "deserialize_failed");
    compile->quarantined = take_bool(event, "quarantined");
    compile->ahead_of_time = take_bool(event, "ahead_of_time");
    compile->found = take_bool(event, "found");
    compile->storing = take_bool(event, "storing");
    model->processes[builder->process].storing += compile->storing;
    compile->late = take_bool(event, "late");
    compile->refused = take_bool(event, "refused");
    compile->request_ns = take_seconds(event, "request_seconds");
    compile->compile_ns = take_seconds(event, "compile_seconds");
    compile->load_ns = take_seconds(event, "load_seconds");
    compile->saved_ns = take_seconds(event, "saved_seconds");
    compile->preload_ns = take_seconds(event, "preload_seconds");
    compile->program_bytes = take_uint(event, "program_bytes");
    compile->executions = take_uint(event, "executions");
    compile->has_executions = json_is_integer(json_object_get(event, "executions"));
    compile->waited_ns = take_seconds(event, "waited_seconds");
    RK_TRY(take_text(event, "reason", &compile->reason));
    RK_TRY(take_text(event, "by_bytes", &compile->by_bytes));
    RK_TRY(take_text(event, "error", &compile->error));
    RK_TRY(take_text(event, "waited_for", &compile->waited_for));
    RK_TRY(take_text(event, "wait_end", &compile->wait_end));
    return take_text(event, "name", &compile->name);
}

static rk_err *add_stored(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_model *model = builder->model;
    void *items = rk_run_grow(model->stored, model->stored_count, &builder->stored_capacity,
                              sizeof *model->stored);
    if (!items)
        return rk_err_no_memory();
    model->stored = items;
    rk_run_stored *stored = &model->stored[model->stored_count++];
    stored->process = builder->process;
    stored->time_ns = time_ns;
    model->processes[builder->process].stored++;
    take_hex(event, "key", stored->key);
    take_hex(event, "program", stored->program);
    stored->stored = take_bool(event, "stored");
    stored->raw_bytes = take_uint(event, "raw_bytes");
    stored->stored_bytes = take_uint(event, "stored_bytes");
    stored->serialize_ns = take_seconds(event, "serialize_seconds");
    stored->store_ns = take_seconds(event, "store_seconds");
    return take_text(event, "reason", &stored->reason);
}

static rk_verified take_verified(const json_t *event) {
    const char *text = json_string_value(json_object_get(event, "outcome"));
    if (text && strcmp(text, "same") == 0)
        return RK_VERIFIED_SAME;
    return text && strcmp(text, "different") == 0 ? RK_VERIFIED_DIFFERENT : RK_VERIFIED_FAILED;
}

static rk_err *add_verified(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_model *model = builder->model;
    void *items = rk_run_grow(model->verified, model->verified_count, &builder->verified_capacity,
                              sizeof *model->verified);
    if (!items)
        return rk_err_no_memory();
    model->verified = items;
    rk_run_verified *verified = &model->verified[model->verified_count++];
    verified->process = builder->process;
    verified->time_ns = time_ns;
    take_hex(event, "key", verified->key);
    take_hex(event, "program", verified->program);
    verified->outcome = take_verified(event);
    verified->quarantined = take_bool(event, "quarantined");
    verified->verify_ns = take_seconds(event, "verify_seconds");
    RK_TRY(take_text(event, "name", &verified->name));
    RK_TRY(take_text(event, "differs", &verified->differs));
    return take_text(event, "reason", &verified->reason);
}

static rk_journal_counts take_counts(const json_t *event) {
    return (rk_journal_counts){
        .executions = take_uint(event, "executions"),
        .host_to_device = take_uint(event, "host_to_device"),
        .host_to_device_bytes = take_uint(event, "host_to_device_bytes"),
        .device_to_host = take_uint(event, "device_to_host"),
        .device_to_host_bytes = take_uint(event, "device_to_host_bytes"),
    };
}

static rk_err *add_counts(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    (void)time_ns;
    builder->model->processes[builder->process].counts = take_counts(event);
    return NULL;
}

static rk_err *add_warm(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    (void)time_ns;
    rk_run_process *process = &builder->model->processes[builder->process];
    process->is_warm = true;
    process->warm_executions = take_uint(event, "executions");
    return NULL;
}

static rk_err *add_steps(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    (void)time_ns;
    rk_run_model *model = builder->model;
    void *items =
        rk_run_grow(model->steps, model->step_count, &builder->step_capacity, sizeof *model->steps);
    if (!items)
        return rk_err_no_memory();
    model->steps = items;
    uint64_t number = take_uint(event, "rhythm");
    model->steps[model->step_count++] = (rk_run_steps){
        .process = builder->process,
        .steps = {.rhythm = number <= UINT32_MAX ? (uint32_t)number : UINT32_MAX,
                  .marked = take_bool(event, "marked"),
                  .first_execution = take_uint(event, "first_execution"),
                  .executions = take_uint(event, "executions"),
                  .steps = take_uint(event, "steps"),
                  .programs = take_uint(event, "programs"),
                  .new_programs = take_uint(event, "new_programs"),
                  .programs_before = take_uint(event, "programs_before"),
                  .work = take_uint(event, "work"),
                  .compiles = take_uint(event, "compiles"),
                  .transfers = take_counts(event)},
    };
    return NULL;
}

static rk_err *add_executed(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    (void)time_ns;
    rk_run_model *model = builder->model;
    const json_t *programs = json_object_get(event, "programs");
    for (size_t i = 0; i < json_array_size(programs); i++) {
        const json_t *one = json_array_get(programs, i);
        void *items = rk_run_grow(model->executed, model->executed_count,
                                  &builder->executed_capacity, sizeof *model->executed);
        if (!items)
            return rk_err_no_memory();
        model->executed = items;
        rk_run_executed *executed = &model->executed[model->executed_count++];
        executed->process = builder->process;
        executed->executions = take_uint(one, "executions");
        executed->rounds = take_uint(one, "rounds");
        take_hex(one, "key", executed->key);
    }
    return NULL;
}

static rk_err *add_memory(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_model *model = builder->model;
    void *items = rk_run_grow(model->memories, model->memory_count, &builder->memory_capacity,
                              sizeof *model->memories);
    if (!items)
        return rk_err_no_memory();
    model->memories = items;
    rk_run_memory *memory = &model->memories[model->memory_count++];
    memory->process = builder->process;
    memory->time_ns = time_ns;
    memory->client = take_uint(event, "client");
    memory->device = json_integer_value(json_object_get(event, "device"));
    for (int i = 0; i < RK_MEMORY_FIGURES; i++) {
        const json_t *value = json_object_get(event, rk_memory_figure_name((rk_memory_figure)i));
        memory->figures[i] = json_is_integer(value) ? json_integer_value(value) : RK_MEMORY_UNKNOWN;
    }
    RK_TRY(take_text(event, "when", &memory->when));
    RK_TRY(take_text(event, "name", &memory->name));
    RK_TRY(take_text(event, "kind", &memory->kind));
    RK_TRY(take_text(event, "problem", &memory->problem));
    return take_json(event, "attributes", JSON_OBJECT, &memory->attributes_json);
}

static rk_err *add_message(rk_run_builder *builder, const json_t *event, const char *key,
                           uint64_t time_ns) {
    rk_run_model *model = builder->model;
    void *items = rk_run_grow(model->warnings, model->warning_count, &builder->warning_capacity,
                              sizeof *model->warnings);
    if (!items)
        return rk_err_no_memory();
    model->warnings = items;
    rk_run_warning *warning = &model->warnings[model->warning_count++];
    warning->process = builder->process;
    warning->time_ns = time_ns;
    return take_text(event, key, &warning->message);
}

static rk_err *add_warning(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    return add_message(builder, event, "message", time_ns);
}

static rk_err *add_unwatched(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_model *model = builder->model;
    void *items = rk_run_grow(model->unwatched, model->unwatched_count,
                              &builder->unwatched_capacity, sizeof *model->unwatched);
    if (!items)
        return rk_err_no_memory();
    model->unwatched = items;
    rk_run_unwatched *unwatched = &model->unwatched[model->unwatched_count++];
    unwatched->process = builder->process;
    unwatched->time_ns = time_ns;
    RK_TRY(take_text(event, "plugin", &unwatched->plugin));
    return take_text(event, "reason", &unwatched->reason);
}

static rk_err *add_prefetch(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_prefetch *sum = &builder->model->preload;
    (void)time_ns;
    sum->listed += take_uint(event, "listed");
    sum->loaded += take_uint(event, "loaded");
    sum->claimed += take_uint(event, "claimed");
    sum->wasted += take_uint(event, "wasted");
    sum->load_ns += take_seconds(event, "load_seconds");
    sum->wasted_load_ns += take_seconds(event, "wasted_seconds");
    return NULL;
}

static rk_err *add_torch(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    rk_run_torch *sum = &builder->model->torch;
    if (json_object_get(event, "warning"))
        RK_TRY(add_message(builder, event, "warning", time_ns));
    if (!json_object_get(event, "restored"))
        return take_text_once(event, "why", &builder->model->torch_why);
    sum->starts++;
    sum->restored += take_uint(event, "restored");
    sum->restored_bytes += take_uint(event, "restored_bytes");
    sum->present += take_uint(event, "present");
    sum->not_restored += take_uint(event, "not_restored");
    uint64_t made = take_uint(event, "made");
    sum->made = made > sum->made ? made : sum->made;
    sum->kept += take_uint(event, "kept");
    sum->kept_bytes += take_uint(event, "kept_bytes");
    sum->not_kept += take_uint(event, "not_kept");
    sum->damaged += take_uint(event, "damaged");
    sum->restore_ns += take_seconds(event, "restore_seconds");
    sum->keep_ns += take_seconds(event, "keep_seconds");
    return NULL;
}

static rk_err *add_end(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    (void)event;
    (void)time_ns;
    builder->model->processes[builder->process].ended = true;
    return NULL;
}

// `rekindle run` wrote this event, not the process that owns the journal.
static rk_err *add_command(rk_run_builder *builder, const json_t *event, uint64_t time_ns) {
    (void)time_ns;
    rk_run_command *command = &builder->model->command;
    const char *host = json_string_value(json_object_get(event, "host"));
    *command = (rk_run_command){
        .known = true,
        .pid = (int64_t)take_uint(event, "pid"),
        .signal_number = take_int(event, "signal"),
        .exit_status = (unsigned)take_int(event, "exit_status"),
    };
    (void)snprintf(command->host, sizeof command->host, "%s", host ? host : "");
    return NULL;
}

static const struct {
    const char *name;
    rk_err *(*add)(rk_run_builder *builder, const json_t *event, uint64_t time_ns);
} kinds[] = {
    {"start", add_start},       {"client", add_client},
    {"compile", add_compile},   {"stored", add_stored},
    {"verified", add_verified}, {"counts", add_counts},
    {"warning", add_warning},   {"end", add_end},
    {"memory", add_memory},     {"warm", add_warm},
    {"steps", add_steps},       {"executed", add_executed},
    {"preload", add_prefetch},  {"unwatched", add_unwatched},
    {"command", add_command},   {"torch", add_torch},
};

static rk_err *add_event(rk_run_builder *builder, const json_t *event) {
    rk_run_model *model = builder->model;
    json_int_t version = json_integer_value(json_object_get(event, "v"));
    const char *name = json_string_value(json_object_get(event, "ev"));
    if (version > RK_LINE_VERSION) {
        model->newer_lines++;
        return NULL;
    }
    if (version != RK_LINE_VERSION || !name) {
        model->bad_lines++;
        return NULL;
    }
    if (builder->events++ == RK_RUN_MAX_EVENTS)
        return rk_error(RK_OUT_OF_RANGE, "run %s has more than %d events", model->run,
                        RK_RUN_MAX_EVENTS);
    uint64_t time_ns = take_seconds(event, "t");
    rk_run_process *process = &model->processes[builder->process];
    if (time_ns > process->last_ns && strcmp(name, "command") != 0 && strcmp(name, "torch") != 0)
        process->last_ns = time_ns;
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++)
        if (strcmp(name, kinds[i].name) == 0)
            return kinds[i].add(builder, event, time_ns);
    model->unknown_events++;
    return NULL;
}

rk_err *rk_run_add_line(rk_run_builder *builder, rk_span line, bool unended) {
    json_error_t error;
    json_t *event = json_loadb((const char *)line.data, line.len, 0, &error);
    if (!event && json_error_code(&error) == json_error_out_of_memory)
        return rk_err_no_memory();
    rk_err *err = NULL;
    if (json_is_object(event))
        err = add_event(builder, event);
    else if (unended)
        builder->model->torn_lines++;
    else
        builder->model->bad_lines++;
    json_decref(event);
    return err;
}
