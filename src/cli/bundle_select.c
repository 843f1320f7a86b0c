#include "cli/bundle_select.h"

#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "cli/bundle_part.h"
#include "cli/fail.h"
#include "cli/pack_about.h"
#include "cli/run_names.h"
#include "journal/summary.h"
#include "pack/stored.h"
#include "store/manifest.h"

enum { JOBS_MAX = 1 << 16, RANKS_MAX = 1 << 16 };

void rk_bundle_selection_cleanup(rk_bundle_selection *selection) {
    rk_kept_list_cleanup(&selection->entries);
    for (size_t i = 0; i < selection->manifest_count; i++)
        rk_free(selection->manifests[i].job);
    rk_free(selection->manifests);
    rk_free(selection->job);
    rk_free(selection->run);
    rk_free(selection->newest_run);
    *selection = (rk_bundle_selection){0};
}

// A selection that is being made. `wanted` is a set of keys: hex digits to true.
typedef struct selector {
    rk_store *store;
    rk_bundle_selection *out;
    json_t *wanted; // owned
    const char *job;
    const rk_bundle_wish *wish;
    const char *pack_job; // whose packs are added; NULL: all
    size_t pack_count;
} selector;

static void want(selector *s, const char *hex) {
    if (hex[0])
        rk_out_set(s->wanted, hex, rk_out_bool(true));
}

// "manifest" is of rank 0, "manifest-3" of rank 3.
static bool parse_rank(const char *name, uint32_t *out_rank) {
    static const char stem[] = "manifest";
    *out_rank = 0;
    if (strcmp(name, stem) == 0)
        return true;
    if (strncmp(name, stem, sizeof stem - 1) != 0 || name[sizeof stem - 1] != '-')
        return false;
    const char *digits = name + sizeof stem;
    size_t len = strspn(digits, "0123456789");
    if (len == 0 || len > 9 || digits[len] || digits[0] == '0')
        return false;
    *out_rank = (uint32_t)strtoul(digits, NULL, 10);
    return true;
}

static rk_err *add_manifest(void *context, const char *name) {
    selector *s = context;
    rk_bundle_selection *out = s->out;
    RK_AUTO(rk_manifest) manifest = {0};
    uint32_t rank;
    if (!parse_rank(name, &rank))
        return NULL;
    RK_TRY(rk_manifest_read(s->store, s->job, rank, &manifest));
    if (manifest.use_count == 0)
        return NULL;
    for (size_t i = 0; i < manifest.use_count; i++) {
        char hex[RK_DIGEST_HEX_CHARS + 1];
        rk_digest_to_hex(&manifest.uses[i].key.digest, hex);
        if (!s->out->run)
            want(s, hex);
    }
    out->manifests =
        rk_need(rk_realloc(out->manifests, (out->manifest_count + 1) * sizeof *out->manifests));
    out->manifests[out->manifest_count++] =
        (rk_bundle_manifest){.job = rk_need(rk_strdup(s->job)), .rank = rank};
    return NULL;
}

// Adds the manifests of a job, and the keys that they name.
static rk_err *add_job(void *context, const char *job) {
    selector *s = context;
    RK_AUTO(rk_buf) folder = RK_BUF_INIT(0);
    rk_buf_add_format(&folder, "jobs/%s", job);
    if (!*job || job[0] == '.' || strchr(job, '/') || rk_pack_list_is_name(job))
        return NULL;
    s->job = job;
    rk_err *err = rk_tree_list(rk_store_directory(s->store), rk_need_text(&folder), RANKS_MAX,
                               add_manifest, s);
    if (rk_err_code(err) != RK_NOT_FOUND && rk_err_errno(err) == 0)
        return err;
    rk_err_drop(err, "the job has no manifest");
    return NULL;
}

static rk_err *add_all_jobs(selector *s) {
    rk_err *err = rk_tree_list(rk_store_directory(s->store), "jobs", JOBS_MAX, add_job, s);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "there are no manifests");
    return NULL;
}

static bool is_of_environment(const rk_bundle_wish *wish, const rk_digest *environment) {
    for (size_t i = 0; i < wish->environment_count; i++)
        if (rk_digest_equal(&wish->environments[i], environment))
            return true;
    return !wish->environments;
}

// Adds the packs of a list, if they are of the wanted job.
static rk_err *add_pack_list(void *context, const char *name) {
    selector *s = context;
    RK_AUTO(rk_manifest) manifest = {0};
    if (!rk_pack_list_is_name(name))
        return NULL;
    RK_TRY(rk_manifest_read(s->store, name, 0, &manifest));
    for (size_t i = 0; i < manifest.use_count; i++) {
        char hex[RK_DIGEST_HEX_CHARS + 1];
        RK_AUTO(rk_pack_about) about = {0};
        rk_digest_to_hex(&manifest.uses[i].key.digest, hex);
        RK_TRY(rk_pack_about_kept(s->store, hex, &about));
        if (!about.is_pack || strcmp(about.job, s->pack_job) != 0 ||
            !is_of_environment(s->wish, &about.key.environment))
            continue;
        want(s, hex);
        s->pack_count++;
    }
    return NULL;
}

static rk_err *add_packs(selector *s, const char *job) {
    s->pack_job = job;
    rk_err *err = rk_tree_list(rk_store_directory(s->store), "jobs", JOBS_MAX, add_pack_list, s);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "there are no packs");
    return NULL;
}

// Adds the keys that a run requested, and returns its job.
static rk_err *add_run(selector *s, const char *run, char **out_job) {
    RK_AUTO(rk_run_model) model = {0};
    RK_TRY(rk_run_load(rk_store_directory(s->store), run, &model));
    for (size_t i = 0; i < model.compile_count; i++)
        if (model.compiles[i].outcome != RK_OUTCOME_BYPASS && !model.compiles[i].failed)
            want(s, model.compiles[i].key);
    *out_job = rk_need(rk_strdup(model.job ? model.job : ""));
    return NULL;
}

// Finds the newest run of a job. `*out_run` is NULL if there is none.
static rk_err *find_run_of(selector *s, const char *job, char **out_run) {
    const char *directory = rk_store_directory(s->store);
    RK_AUTO(rk_run_names) names = {0};
    *out_run = NULL;
    RK_TRY(rk_run_names_collect(directory, &names));
    for (size_t i = names.count; i-- > 0 && !*out_run;) {
        RK_AUTO(rk_run_summary) summary = {0};
        rk_err *err = rk_run_summary_load(directory, names.items[i], &summary);
        if (!err && summary.run.job && strcmp(summary.run.job, job) == 0)
            *out_run = rk_need(rk_strdup(names.items[i]));
        rk_err_drop(err, "a run that cannot be read is of no job");
    }
    return NULL;
}

static rk_err *select_job(selector *s, const char *job) {
    char *its = NULL;
    s->out->job = rk_need(rk_strdup(job));
    RK_TRY(find_run_of(s, job, &s->out->newest_run));
    if (s->out->newest_run)
        RK_TRY(add_run(s, s->out->newest_run, &its));
    rk_free(its);
    RK_TRY(add_job(s, job));
    RK_TRY(add_packs(s, job));
    if (!s->out->newest_run && s->out->manifest_count == 0 && s->pack_count == 0)
        return rk_error(RK_NOT_FOUND, "there is no job %s: `rekindle runs` lists the runs and jobs",
                        job);
    return NULL;
}

static rk_err *select_run(selector *s, const char *which) {
    RK_TRY(rk_run_names_find(rk_store_directory(s->store), which, &s->out->run));
    s->out->newest_run = rk_need(rk_strdup(s->out->run));
    RK_TRY(add_run(s, s->out->run, &s->out->job));
    RK_TRY(add_job(s, s->out->job));
    return add_packs(s, s->out->job);
}

// The job of the last run.
static rk_err *select_last(selector *s) {
    rk_autofree char *run = NULL;
    RK_AUTO(rk_run_summary) summary = {0};
    const char *directory = rk_store_directory(s->store);
    RK_TRY(rk_run_find(directory, NULL, &run));
    RK_TRY(rk_run_summary_load(directory, run, &summary));
    if (summary.run.job && summary.run.job[0])
        return select_job(s, summary.run.job);
    return select_run(s, run);
}

static rk_err *select_keys(selector *s, const rk_bundle_wish *wish) {
    for (size_t i = 0; i < wish->key_count; i++) {
        const rk_kept *kept = NULL;
        RK_TRY(rk_kept_find(s->store, &s->out->entries, wish->keys[i], &kept));
        want(s, kept->hex);
    }
    return NULL;
}

static rk_err *select_all(selector *s) {
    for (size_t i = 0; i < s->out->entries.count; i++)
        want(s, s->out->entries.items[i].hex);
    RK_TRY(add_all_jobs(s));
    return NULL;
}

// Keeps the wanted entries only, and counts the wanted keys that have none.
static void filter(selector *s) {
    rk_kept_list *list = &s->out->entries;
    size_t used = 0, executables = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!json_object_get(s->wanted, list->items[i].hex))
            continue;
        executables += list->items[i].has_executable;
        list->items[used++] = list->items[i];
    }
    list->count = used;
    s->out->absent = json_object_size(s->wanted) - executables;
}

static const char *module_of(const rk_kept *kept) {
    return kept->pack ? rk_pack_module_name((rk_pack_module)(kept->pack - 1)) : RK_BUNDLE_PJRT;
}

// Finds out which entries are packs, and keeps those of the wanted modules.
static rk_err *filter_modules(selector *s, const rk_opt_list *modules) {
    rk_kept_list *list = &s->out->entries;
    size_t used = 0;
    for (size_t i = 0; i < list->count; i++) {
        rk_kept *kept = &list->items[i];
        RK_AUTO(rk_pack_about) about = {0};
        if (kept->has_executable)
            RK_TRY(rk_pack_about_kept(s->store, kept->hex, &about));
        kept->pack = about.is_pack ? (uint8_t)(about.module + 1) : 0;
        kept->family = (uint8_t)about.family;
        if (rk_bundle_module_is_wanted(modules, module_of(kept)))
            list->items[used++] = *kept;
    }
    list->count = used;
    if (!rk_bundle_module_is_wanted(modules, RK_BUNDLE_PJRT)) {
        for (size_t i = 0; i < s->out->manifest_count; i++)
            rk_free(s->out->manifests[i].job);
        s->out->manifest_count = 0;
    }
    return NULL;
}

static rk_err *find_newest_run(selector *s) {
    if (s->out->newest_run)
        return NULL;
    rk_err *err = rk_run_find(rk_store_directory(s->store), NULL, &s->out->newest_run);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "an entry describes the bundle instead");
    return NULL;
}

static rk_err *choose(selector *s, const rk_bundle_wish *wish) {
    RK_TRY(rk_kept_collect(s->store, &s->out->entries));
    if (wish->all)
        RK_TRY(select_all(s));
    else if (wish->key_count)
        RK_TRY(select_keys(s, wish));
    else if (wish->run)
        RK_TRY(select_run(s, wish->run));
    else
        RK_TRY(wish->job ? select_job(s, wish->job) : select_last(s));
    filter(s);
    RK_TRY(filter_modules(s, wish->modules));
    if (s->out->entries.count == 0)
        return rk_error(RK_NOT_FOUND,
                        "there is nothing to export: no entry of the selected programs is in %s",
                        rk_store_directory(s->store));
    return find_newest_run(s);
}

rk_err *rk_bundle_select(rk_store *store, const rk_bundle_wish *wish,
                         rk_bundle_selection *out_selection) {
    selector s = {.store = store, .out = out_selection, .wish = wish, .wanted = rk_out_object()};
    rk_err *err = choose(&s, wish);
    json_decref(s.wanted);
    return err;
}
