#include "cli/bundle_machine.h"

#include "cli/fail.h"
#include "cli/pack_here.h"
#include "cli/run_names.h"
#include "identity/host_cpu.h"
#include "journal/read.h"

enum { RUNS_TRIED = 32, ENTRIES_TRIED = 64 };

void rk_machine_cleanup(rk_machine *machine) {
    rk_free(machine->run);
    rk_free(machine->features);
    json_decref(machine->components);
    json_decref(machine->toolchain);
    for (size_t i = 0; i < RK_PACK_FAMILIES; i++) {
        rk_free(machine->packs[i].python);
        json_decref(machine->packs[i].components);
    }
    *machine = (rk_machine){0};
}

// The last client of the run that recorded its environment; NULL: none.
static const rk_run_client *last_client(const rk_run_model *model) {
    const rk_run_client *found = NULL;
    for (size_t i = 0; i < model->client_count; i++) {
        const rk_run_client *one = &model->clients[i];
        if (!one->ahead_of_time && one->environment[0] && one->components_json[0])
            found = one;
    }
    return found;
}

// The versions of the framework, from an entry that this run compiled. Other entries may be older.
static rk_err *read_toolchain(rk_store *store, const rk_run_model *model, json_t **out_toolchain) {
    size_t tried = 0;
    for (size_t i = 0; i < model->compile_count && tried < ENTRIES_TRIED && !*out_toolchain; i++) {
        __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
        const rk_run_compile *one = &model->compiles[i];
        if (!one->compiled || !one->key[0])
            continue;
        tried++;
        rk_err *err = rk_store_read(store, RK_ENTRY_EXECUTABLE, one->key, RK_WANT_HEAD, &lookup);
        json_t *metadata = rk_out_parsed(lookup.view.entry.metadata);
        const char *run = json_string_value(json_object_get(metadata, "run"));
        if (!err && lookup.found && run && strcmp(run, model->run) == 0)
            *out_toolchain = json_incref(json_object_get(metadata, "toolchain"));
        json_decref(metadata);
        if (rk_err_code(err) != RK_NOT_FOUND)
            RK_TRY(err);
        else
            rk_err_drop(err, "it was removed or not stored");
    }
    return NULL;
}

static rk_err *read_run(rk_store *store, const char *run, rk_machine *out) {
    RK_AUTO(rk_run_model) model = {0};
    RK_TRY(rk_run_load(rk_store_directory(store), run, &model));
    const rk_run_client *client = last_client(&model);
    if (!client)
        return NULL;
    out->run = rk_need(rk_strdup(run));
    memcpy(out->environment, client->environment, sizeof out->environment);
    json_decref(out->components);
    out->components = rk_out_parsed(rk_span_text(client->components_json));
    return read_toolchain(store, &model, &out->toolchain);
}

static rk_err *read_runs(rk_store *store, rk_machine *out) {
    RK_AUTO(rk_run_names) names = {0};
    RK_TRY(rk_run_names_collect(rk_store_directory(store), &names));
    for (size_t i = names.count, tried = 0; i-- > 0 && tried < RUNS_TRIED && !out->run; tried++)
        RK_TRY(read_run(store, names.items[i], out));
    return NULL;
}

static json_t *components_json(const rk_components *list) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_json json = rk_json_on(&text);
    rk_components_write(list, &json);
    (void)rk_need_text(&text);
    return rk_out_parsed(rk_buf_span(&text));
}

static rk_err *read_cpu(rk_machine *out) {
    RK_AUTO(rk_components) cpu = {0};
    RK_TRY(rk_host_cpu_add(&cpu));
    out->components = components_json(&cpu);
    for (size_t i = 0; i < cpu.count; i++)
        if (strcmp(cpu.items[i].name, "host.cpu_features") == 0)
            out->features = rk_need(rk_strdup(cpu.items[i].value));
    return NULL;
}

static rk_err *read_packs(rk_pack_family family, rk_machine *out) {
    RK_AUTO(rk_components) list = {0};
    bool found = false;
    RK_TRY(rk_pack_here_read(family, out->python_asked, out->directory, &list,
                             &out->packs[family].python, &found));
    if (found)
        out->packs[family].components = components_json(&list);
    return NULL;
}

rk_err *rk_machine_read(const rk_settings *settings, rk_store *store, rk_machine *out_machine) {
    out_machine->name_space = rk_settings_get(settings)->name_space;
    RK_TRY(read_cpu(out_machine));
    for (size_t i = 0; i < RK_PACK_FAMILIES; i++)
        RK_TRY(read_packs((rk_pack_family)i, out_machine));
    return store ? read_runs(store, out_machine) : NULL;
}
