#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/place.h"
#include "cli/run_names.h"
#include "cli/run_view.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

// One device of one process: a summary of its samples in the run.
typedef struct device {
    const rk_run_memory *first, *last; // borrowed; `last` has figures if any sample has
    int64_t peak, largest; // maximum over all samples; RK_MEMORY_UNKNOWN if never reported
    uint64_t samples;      // samples with figures
} device;

typedef struct devices {
    device *items; // owned
    size_t count;
} devices;

static void devices_cleanup(devices *list) {
    rk_free(list->items);
}

static bool same_device(const rk_run_memory *a, const rk_run_memory *b) {
    return a->process == b->process && a->client == b->client && a->device == b->device;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void add_sample(device *one, const rk_run_memory *memory) {
    if (memory->problem[0] && one->samples > 0)
        return;
    one->last = memory;
    if (memory->problem[0])
        return;
    one->samples++;
    one->peak = larger(one->peak,
                       larger(memory->figures[RK_MEMORY_PEAK], memory->figures[RK_MEMORY_IN_USE]));
    one->largest = larger(one->largest, memory->figures[RK_MEMORY_LARGEST_ALLOCATION]);
}

// Samples are sorted by process, so all samples of a process are neighbours.
static device *find(const devices *list, const rk_run_memory *memory) {
    for (size_t i = list->count; i > 0; i--) {
        device *one = &list->items[i - 1];
        if (one->first->process != memory->process)
            return NULL;
        if (same_device(one->first, memory))
            return one;
    }
    return NULL;
}

static void collect(const rk_run_model *model, devices *out_list) {
    size_t bytes = (model->memory_count + 1) * sizeof *out_list->items;
    *out_list = (devices){.items = rk_need(rk_malloc(bytes))};
    for (size_t i = 0; i < model->memory_count; i++) {
        const rk_run_memory *memory = &model->memories[i];
        device *one = find(out_list, memory);
        if (!one) {
            one = &out_list->items[out_list->count++];
            *one = (device){memory, memory, RK_MEMORY_UNKNOWN, RK_MEMORY_UNKNOWN, 0};
        }
        add_sample(one, memory);
    }
}

static const rk_run_client *client_of(const rk_run_model *model, const rk_run_memory *memory) {
    for (size_t i = 0; i < model->client_count; i++)
        if (model->clients[i].process == memory->process &&
            model->clients[i].client == memory->client)
            return &model->clients[i];
    return NULL;
}

// Appends why a device has no figures. The text is the same for all devices of a plugin.
static void explain(const rk_run_model *model, const device *one, rk_buf *out) {
    const rk_run_client *client = client_of(model, one->first);
    if (client) {
        rk_buf_add_format(out, "The plugin for \"%s\" (%s", client->platform_name, client->plugin);
        rk_buf_add_format(out, ", PJRT API %d.%d, version \"%s\") ", client->api_major,
                          client->api_minor, client->platform_version);
    } else {
        rk_buf_add_text(out, "The plugin ");
    }
    rk_buf_add_format(out, "does not report device memory: %s. ", one->last->problem);
    if (client && strcmp(client->platform_name, "cpu") == 0)
        rk_buf_add_text(out, "Its devices are parts of this host, and their memory is that of the "
                             "process: look at it with ps or top. ");
    else
        rk_buf_add_text(out, "Ask for a version of the plugin that has PJRT_Device_MemoryStats. ");
    rk_buf_add_text(out, "What each program takes is known to the framework, for instance as "
                         "compiled.memory_analysis() in JAX.");
}

typedef void problem_fn(void *context, const char *text);

// Calls `use` for each explanation that differs from the one before it.
static void each_problem(const rk_run_model *model, const devices *list, problem_fn *use,
                         void *context) {
    RK_AUTO(rk_buf) before = RK_BUF_INIT(0);
    for (size_t i = 0; i < list->count; i++) {
        RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
        if (list->items[i].samples > 0)
            continue;
        explain(model, &list->items[i], &text);
        if (strcmp(rk_need_text(&text), rk_need_text(&before)) != 0)
            use(context, rk_need_text(&text));
        rk_buf_clear(&before);
        rk_buf_add_span(&before, rk_buf_span(&text));
    }
}

static void print_problem(void *context, const char *text) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    size_t columns = rk_term_columns(stdout);
    (void)context;
    rk_text_add_printable(&line, rk_span_text(text));
    (void)putchar('\n');
    rk_term_print_wrapped(rk_need_text(&line), 0, columns > 0 ? columns : SIZE_MAX, stdout);
}

static void append_problem(void *context, const char *text) {
    rk_out_append(context, rk_out_text(rk_span_text(text)));
}

static void add_bytes(rk_table *table, rk_style_name style, int64_t bytes) {
    rk_table_add(table, style, bytes < 0 ? "-" : rk_text_bytes((uint64_t)bytes).text);
}

static void add_row(rk_table *table, const rk_run_model *model, const device *one) {
    enum { NEARLY_FULL_PERCENT = 90 };
    const rk_run_process *process = &model->processes[one->first->process];
    int64_t limit = one->last->figures[RK_MEMORY_LIMIT];
    bool nearly_full = limit > 0 && one->peak > 0 &&
                       (double)one->peak * 100 >= (double)limit * (double)NEARLY_FULL_PERCENT;
    RK_AUTO(rk_buf) who = RK_BUF_INIT(0);
    rk_buf_add_format(&who, "%" PRIu32 " (%s/%" PRId64 ")", process->rank, process->host,
                      process->pid);
    rk_table_add(table, RK_STYLE_DIM, rk_need_text(&who));
    rk_table_add(table, RK_STYLE_BOLD, one->first->name);
    rk_table_add(table, RK_STYLE_NONE, one->first->kind);
    add_bytes(table, RK_STYLE_NONE, one->samples ? one->last->figures[RK_MEMORY_IN_USE] : -1);
    add_bytes(table, nearly_full ? RK_STYLE_BAD : RK_STYLE_NONE, one->peak);
    add_bytes(table, RK_STYLE_NONE, limit);
    add_bytes(table, RK_STYLE_NONE, one->largest);
    rk_table_add(table, RK_STYLE_DIM, rk_text_count(one->samples).text);
}

static void print_devices(const rk_run_model *model, const devices *list) {
    static const rk_table_column columns[] = {
        {.title = "RANK", .optional = true},
        {.title = "DEVICE", .least = 12},
        {.title = "KIND", .least = 8},
        {.title = "IN USE", .right = true},
        {.title = "PEAK", .right = true},
        {.title = "LIMIT", .right = true},
        {.title = "LARGEST ALLOCATION", .right = true},
        {.title = "SAMPLES", .right = true, .optional = true},
    };
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    (void)printf("run %s%s%s\n\n", rk_style(RK_STYLE_BOLD, stdout), model->run,
                 rk_style(RK_STYLE_NONE, stdout));
    for (size_t i = 0; i < list->count; i++)
        add_row(&table, model, &list->items[i]);
    rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static json_t *bytes_json(int64_t bytes) {
    return bytes < 0 ? rk_out_string(NULL) : rk_out_uint((uint64_t)bytes);
}

static json_t *device_json(const rk_run_model *model, const device *one) {
    const rk_run_process *process = &model->processes[one->first->process];
    json_t *object = rk_out_object();
    rk_out_set(object, "rank", rk_out_uint(process->rank));
    rk_out_set(object, "pid", rk_out_uint((uint64_t)process->pid));
    rk_out_set(object, "host", rk_out_string(process->host));
    rk_out_set(object, "client", rk_out_uint(one->first->client));
    rk_out_set(object, "device", json_integer(one->first->device));
    rk_out_set(object, "name", rk_out_text(rk_span_text(one->first->name)));
    rk_out_set(object, "kind", rk_out_text(rk_span_text(one->first->kind)));
    rk_out_set(object, "attributes", rk_out_parsed(rk_span_text(one->first->attributes_json)));
    rk_out_set(object, "samples", rk_out_uint(one->samples));
    rk_out_set(object, "last", rk_out_string(rk_text_utc(one->last->time_ns).text));
    for (int i = 0; i < RK_MEMORY_FIGURES; i++) {
        int64_t bytes = i == RK_MEMORY_PEAK                 ? one->peak
                        : i == RK_MEMORY_LARGEST_ALLOCATION ? one->largest
                                                            : one->last->figures[i];
        rk_out_set(object, rk_memory_figure_name((rk_memory_figure)i), bytes_json(bytes));
    }
    rk_out_set(object, "problem", rk_out_string(one->samples ? NULL : one->last->problem));
    return object;
}

static void print_json(const rk_run_model *model, const devices *list) {
    json_t *object = rk_out_object(), *array = rk_out_array(), *problems = rk_out_array();
    for (size_t i = 0; i < list->count; i++)
        rk_out_append(array, device_json(model, &list->items[i]));
    each_problem(model, list, append_problem, problems);
    rk_out_set(object, "run", rk_out_string(model->run));
    rk_out_set(object, "job", rk_out_string(model->job));
    rk_out_set(object, "devices", array);
    rk_out_set(object, "problems", problems);
    rk_out_print(object);
}

// `*out_complete`: every device has figures.
static rk_err *show(const char *directory, const char *run_prefix, bool json, bool *out_complete) {
    rk_autofree char *run = NULL;
    RK_AUTO(rk_run_model) model = {0};
    __attribute__((cleanup(devices_cleanup))) devices list = {0};
    RK_TRY(rk_run_names_find(directory, run_prefix, &run));
    RK_TRY(rk_run_load(directory, run, &model));
    collect(&model, &list);
    if (list.count == 0)
        return rk_error(RK_UNAVAILABLE,
                        "run %s says nothing of memory: its processes made no PJRT client, or "
                        "REKINDLE_MEMORY_SECONDS was 0",
                        run);
    *out_complete = true;
    for (size_t i = 0; i < list.count; i++)
        *out_complete = *out_complete && list.items[i].samples > 0;
    if (json) {
        print_json(&model, &list);
        return NULL;
    }
    print_devices(&model, &list);
    each_problem(&model, &list, print_problem, NULL);
    return NULL;
}

static const char *run_prefix;

static rk_err *run(rk_verb_call *call) {
    bool complete = false;
    RK_TRY(show(rk_settings_get(call->settings)->dir, run_prefix, call->json, &complete));
    call->status = complete ? RK_EXIT_OK : RK_EXIT_FAILED;
    return NULL;
}

static const rk_opt options[] = {
    RK_OPT_VALUE("run", 'r', &run_prefix, "RUN", RK_RUN_HELP),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "memory",
    .summary = "Prints the memory of every physical device in the last run, or in another, as "
               "the plugin reported it.",
    .details = "The devices are those of the plugin, even if the framework shows one virtual "
               "device instead. For a run that still runs, these are the last values reported. "
               "Exit status 1 if a plugin does not report its memory.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_memory = {
    .brief = "memory of every physical device in a run",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_RUNS,
    .run = run,
};
