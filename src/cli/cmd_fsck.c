#include <stdio.h>

#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "store/fsck.h"

typedef struct request {
    bool json, repair, dry_run;
    json_t *findings; // owned
    rk_progress progress;
} request;

static void show_progress(void *context, uint64_t done, uint64_t all) {
    request *r = context;
    rk_progress_step(&r->progress, done, all > done ? all : done);
}

static void print_finding(const rk_fsck_finding *finding) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    bool damage = rk_fsck_is_damage(finding->kind);
    rk_buf_add_format(&line, "%s%s%s ", rk_style(damage ? RK_STYLE_BAD : RK_STYLE_NOTICE, stdout),
                      rk_fsck_kind_name(finding->kind), rk_style(RK_STYLE_NONE, stdout));
    rk_text_add_printable(&line, rk_span_text(finding->path));
    rk_buf_add_text(&line, ": ");
    rk_text_add_printable(&line, rk_span_text(finding->detail));
    rk_buf_add_text(&line, finding->repaired ? " (repaired)" : "");
    rk_term_line(rk_need_text(&line), 2);
}

static void note_finding(void *context, const rk_fsck_finding *finding) {
    request *r = context;
    json_t *one = rk_out_object();
    rk_out_set(one, "kind", rk_out_string(rk_fsck_kind_name(finding->kind)));
    rk_out_set(one, "path", rk_out_string(finding->path));
    rk_out_set(one, "detail", rk_out_string(finding->detail));
    rk_out_set(one, "damage", rk_out_bool(rk_fsck_is_damage(finding->kind)));
    rk_out_set(one, "repaired", rk_out_bool(finding->repaired));
    rk_out_append(r->findings, one);
    if (r->json)
        return;
    rk_progress_end(&r->progress);
    print_finding(finding);
    r->progress = rk_progress_start(r->progress.what);
}

static void print_json(request *r, const rk_fsck_report *report, bool damage) {
    json_t *object = rk_out_object();
    rk_out_set(object, "entries", rk_out_uint(report->entries));
    rk_out_set(object, "bytes", rk_out_uint(report->bytes));
    rk_out_set(object, "findings", json_incref(r->findings));
    rk_out_set(object, "damage", rk_out_bool(damage));
    rk_out_set(object, "repair", rk_out_bool(r->repair && !r->dry_run));
    rk_out_print(object);
}

static void print_text(const request *r, const rk_fsck_report *report, bool damage) {
    uint64_t found = 0, repaired = 0;
    for (int kind = 0; kind < RK_FSCK_KINDS; kind++) {
        found += report->found[kind];
        repaired += report->repaired[kind];
    }
    (void)printf("%schecked %s file%s (executables and programs), %s: %s%s",
                 rk_style(RK_STYLE_BOLD, stdout), rk_text_count(report->entries).text,
                 rk_text_plural(report->entries), rk_text_bytes(report->bytes).text,
                 damage  ? "there is damage"
                 : found ? "no damage to entries"
                         : "no damage",
                 rk_style(RK_STYLE_NONE, stdout));
    if (repaired)
        (void)printf("; %s of %s repaired", rk_text_count(repaired).text,
                     rk_text_count(found).text);
    else if (found)
        (void)printf("; `rekindle fsck --repair` repairs what can be repaired");
    (void)fputc('\n', stdout);
    (void)r;
}

static rk_err *check(request *r, const rk_settings *settings, int *out_status) {
    RK_AUTO_STORE store = NULL;
    bool repair = r->repair && !r->dry_run;
    const rk_fsck_options options = {
        .repair = repair, .found = note_finding, .progress = show_progress, .context = r};
    rk_fsck_report report = {0};
    RK_TRY(rk_place_open_store(settings, !repair, &store));
    r->progress = rk_progress_start("checking entries");
    rk_err *err = store ? rk_store_fsck(store, &options, &report) : NULL;
    rk_progress_end(&r->progress);
    RK_TRY(err);
    bool damage = false;
    for (int kind = 0; kind < RK_FSCK_KINDS; kind++)
        damage = damage || (rk_fsck_is_damage((rk_fsck_kind)kind) && report.found[kind]);
    (r->json ? print_json(r, &report, damage) : print_text(r, &report, damage));
    *out_status = damage ? RK_EXIT_FAILED : RK_EXIT_OK;
    return NULL;
}

static request given;

static rk_err *run(rk_verb_call *call) {
    given.json = call->json;
    given.findings = rk_out_array();
    rk_err *err = check(&given, call->settings, &call->status);
    json_decref(given.findings);
    return err;
}

static const rk_opt options[] = {
    RK_OPT_FLAG(
        "repair", 0, &given.repair,
        "quarantine damaged files, remove leftovers, restrict permissions, count the store again"),
    RK_OPT_FLAG("dry-run", 'n', &given.dry_run, "repair nothing, even with --repair"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "fsck",
    .summary = "Reads every entry and checks every byte of it; looks for files in wrong places, "
               "leftovers of dead writers, permissions that are too wide, and a wrong usage "
               "account. Exit status 1 if there is damage.",
    .details = "Damage does no harm to jobs: a damaged executable is never loaded. Its program is "
               "compiled again, and the entry is replaced.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_fsck = {
    .brief = "check every byte of the store, and repair it",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS,
    .run = run,
};
