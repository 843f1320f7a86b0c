#include "journal/read.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "journal/read_event_internal.h"
#include "journal/read_lines_internal.h"

static void free_process(rk_run_process *process) {
    rk_free(process->file);
    rk_free(process->host);
    rk_free(process->executable);
    rk_free(process->way_in);
    for (size_t i = 0; i < process->argc; i++)
        rk_free(process->argv[i]);
    rk_free(process->argv);
}

static void free_client(rk_run_client *client) {
    rk_free(client->plugin);
    rk_free(client->build_id);
    rk_free(client->platform_name);
    rk_free(client->platform_version);
    rk_free(client->components_json);
}

void rk_run_model_cleanup(rk_run_model *model) {
    for (size_t i = 0; i < model->process_count; i++)
        free_process(&model->processes[i]);
    for (size_t i = 0; i < model->client_count; i++)
        free_client(&model->clients[i]);
    for (size_t i = 0; i < model->compile_count; i++) {
        rk_free(model->compiles[i].reason);
        rk_free(model->compiles[i].name);
        rk_free(model->compiles[i].by_bytes);
        rk_free(model->compiles[i].error);
        rk_free(model->compiles[i].waited_for);
        rk_free(model->compiles[i].wait_end);
    }
    for (size_t i = 0; i < model->stored_count; i++)
        rk_free(model->stored[i].reason);
    for (size_t i = 0; i < model->memory_count; i++) {
        rk_run_memory *memory = &model->memories[i];
        char *texts[] = {memory->when, memory->name, memory->kind, memory->attributes_json,
                         memory->problem};
        for (size_t k = 0; k < RK_ARRAY_LEN(texts); k++)
            rk_free(texts[k]);
    }
    for (size_t i = 0; i < model->verified_count; i++) {
        rk_free(model->verified[i].name);
        rk_free(model->verified[i].differs);
        rk_free(model->verified[i].reason);
    }
    for (size_t i = 0; i < model->warning_count; i++)
        rk_free(model->warnings[i].message);
    for (size_t i = 0; i < model->unwatched_count; i++) {
        rk_free(model->unwatched[i].plugin);
        rk_free(model->unwatched[i].reason);
    }
    rk_free(model->processes);
    rk_free(model->clients);
    rk_free(model->compiles);
    rk_free(model->stored);
    rk_free(model->steps);
    rk_free(model->executed);
    rk_free(model->memories);
    rk_free(model->verified);
    rk_free(model->warnings);
    rk_free(model->unwatched);
    rk_free(model->run);
    rk_free(model->job);
    rk_free(model->mode);
    rk_free(model->version);
    rk_free(model->torch_why);
    *model = (rk_run_model){0};
}

// Sets a text that no event has set, so that it is not NULL.
static rk_err *fill(char **text) {
    if (!*text)
        *text = rk_strdup("");
    return *text ? NULL : rk_err_no_memory();
}

// True for "<rank>.jsonl" and "<rank>.<anything>.jsonl". No other file of the directory is a
// journal.
static bool is_journal(const char *name, uint32_t *out_rank) {
    static const char ending[] = ".jsonl";
    size_t len = strlen(name), digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 9 || name[digits] != '.' || len < digits + sizeof ending - 1 ||
        strcmp(name + len - (sizeof ending - 1), ending) != 0)
        return false;
    *out_rank = (uint32_t)strtoul(name, NULL, 10);
    return true;
}

static rk_err *add_file(void *context, const char *name) {
    rk_run_builder *builder = context;
    rk_run_model *model = builder->model;
    uint32_t rank = 0;
    if (!is_journal(name, &rank))
        return NULL;
    if (model->process_count == RK_RUN_MAX_PROCESSES)
        return rk_error(RK_OUT_OF_RANGE, "run %s has more than %d processes", model->run,
                        RK_RUN_MAX_PROCESSES);
    void *items = rk_run_grow(model->processes, model->process_count, &builder->process_capacity,
                              sizeof *model->processes);
    if (!items)
        return rk_err_no_memory();
    model->processes = items;
    rk_run_process *process = &model->processes[model->process_count++];
    process->rank = rank;
    process->file = rk_strdup(name);
    return process->file ? NULL : rk_err_no_memory();
}

// Orders by rank. The first process of a rank has no pid in its file name, so shorter names come
// first.
static int compare_files(const void *a, const void *b) {
    const rk_run_process *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    size_t left_len = strlen(left->file), right_len = strlen(right->file);
    if (left_len != right_len)
        return left_len < right_len ? -1 : 1;
    return strcmp(left->file, right->file);
}

static int compare_compiles(const void *a, const void *b) {
    const rk_run_compile *left = a, *right = b;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    return left->seq < right->seq ? -1 : left->seq > right->seq;
}

static rk_err *take_line(void *context, rk_span line, rk_line_kind kind) {
    rk_run_builder *builder = context;
    if (kind != RK_LINE_TOO_LONG)
        return rk_run_add_line(builder, line, kind == RK_LINE_UNENDED);
    builder->model->bad_lines++;
    return NULL;
}

void rk_run_sum_processes(rk_run_model *model) {
    model->ended = model->process_count > 0;
    for (size_t i = 0; i < model->process_count; i++) {
        const rk_run_process *process = &model->processes[i];
        if (process->start_ns && (!model->start_ns || process->start_ns < model->start_ns))
            model->start_ns = process->start_ns;
        if (process->last_ns > model->last_ns)
            model->last_ns = process->last_ns;
        model->ended = model->ended && process->ended;
        model->counts.executions += process->counts.executions;
        model->counts.host_to_device += process->counts.host_to_device;
        model->counts.host_to_device_bytes += process->counts.host_to_device_bytes;
        model->counts.device_to_host += process->counts.device_to_host;
        model->counts.device_to_host_bytes += process->counts.device_to_host_bytes;
    }
}

rk_err *rk_run_fill_texts(rk_run_model *model) {
    for (size_t i = 0; i < model->process_count; i++) {
        RK_TRY(fill(&model->processes[i].host));
        RK_TRY(fill(&model->processes[i].executable));
        RK_TRY(fill(&model->processes[i].way_in));
    }
    RK_TRY(fill(&model->job));
    RK_TRY(fill(&model->mode));
    return fill(&model->version);
}

static rk_err *read_files(rk_run_builder *builder, const char *directory) {
    rk_run_model *model = builder->model;
    for (size_t i = 0; i < model->process_count; i++) {
        rk_run_process *process = &model->processes[i];
        rk_autofree char *path = rk_path_join(directory, process->file);
        if (!path)
            return rk_err_no_memory();
        builder->process = i;
        struct stat info;
        RK_TRY(rk_lines_read(path, take_line, builder, &info));
        process->file_bytes = (uint64_t)info.st_size;
        process->modified_ns = rk_lines_modified_ns(&info);
        process->incomplete = info.st_mode & S_ISVTX; // set by journal.c
    }
    return rk_run_fill_texts(model);
}

rk_err *rk_run_list_files(const char *store_directory, const char *run, rk_run_model *out_model,
                          char **out_directory) {
    enum { MOST_NAMES = 2 * RK_RUN_MAX_PROCESSES };
    if (!rk_run_id_valid(run))
        return rk_error(RK_INVALID_ARGUMENT,
                        "\"%.200s\" is not a run id; `rekindle runs` lists them", run);
    rk_autofree char *runs = rk_path_join(store_directory, "runs");
    *out_directory = runs ? rk_path_join(runs, run) : NULL;
    out_model->run = rk_strdup(run);
    if (!*out_directory || !out_model->run)
        return rk_err_no_memory();
    rk_run_builder builder = {.model = out_model};
    rk_err *err = rk_fs_list(*out_directory, MOST_NAMES, add_file, &builder);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "replaced by the message below");
        return rk_error(RK_NOT_FOUND, "there is no run \"%s\" in %s; `rekindle runs` lists them",
                        run, runs);
    }
    RK_TRY(err);
    if (out_model->process_count)
        qsort(out_model->processes, out_model->process_count, sizeof *out_model->processes,
              compare_files);
    return NULL;
}

rk_err *rk_run_load(const char *store_directory, const char *run, rk_run_model *out_model) {
    rk_autofree char *directory = NULL;
    RK_TRY(rk_run_list_files(store_directory, run, out_model, &directory));
    rk_run_builder builder = {.model = out_model};
    RK_TRY(read_files(&builder, directory));
    rk_run_sum_processes(out_model);
    if (out_model->compile_count)
        qsort(out_model->compiles, out_model->compile_count, sizeof *out_model->compiles,
              compare_compiles);
    return NULL;
}
