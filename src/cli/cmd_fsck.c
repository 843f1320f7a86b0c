#include <stdio.h>
#include <string.h>

#include "cli/entries.h"
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
    rk_store *store;  // borrowed; NULL: there is none yet
    rk_progress progress;
} request;

static void show_progress(void *context, uint64_t done, uint64_t all) {
    request *r = context;
    rk_progress_step(&r->progress, done, all > done ? all : done);
}

// The key in the path of an entry, "objects/03/032924….rkx"; NULL for other files.
static const char *key_in(const char *path) {
    enum { FOLDER_CHARS = 3 }; // "03/"
    const char *folder = strchr(path, '/'), *file = folder ? folder + 1 + FOLDER_CHARS : NULL;
    bool is_entry = strncmp(path, "objects/", 8) == 0 || strncmp(path, "programs/", 9) == 0;
    return is_entry && strlen(folder) > FOLDER_CHARS + RK_DIGEST_HEX_CHARS &&
                   strspn(file, "0123456789abcdef") == RK_DIGEST_HEX_CHARS
               ? file
               : NULL;
}

// Appends "jit_step b10a35fde2e0: executable". The name is in the entry's other file, if any.
static void add_entry(const request *r, const char *path, const char *key, rk_buf *out) {
    bool is_program = path[0] == 'p';
    rk_kept kept = {.has_executable = is_program, .has_program = !is_program};
    (void)snprintf(kept.hex, sizeof kept.hex, "%s", key);
    rk_kept_add_label(r->store, &kept, out);
    rk_buf_add_text(out, is_program ? ": program" : ": executable");
}

static const char *repair_of(const char *kind) {
    static const struct {
        const char *kind, *repair;
    } repairs[] = {
        {"damaged", "moved to quarantine/; it is compiled again when it is needed"},
        {"not_a_file", "moved to quarantine/"},
        {"permissions", "the permission was taken away"},
        {"account", "counted again"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(repairs); i++)
        if (strcmp(repairs[i].kind, kind) == 0)
            return repairs[i].repair;
    return "removed";
}

static void print_finding(const request *r, const json_t *finding) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    const char *kind = json_string_value(json_object_get(finding, "kind"));
    const char *path = json_string_value(json_object_get(finding, "path"));
    const char *detail = json_string_value(json_object_get(finding, "detail"));
    const char *key = path ? key_in(path) : NULL;
    bool damage = json_is_true(json_object_get(finding, "damage"));
    rk_buf_add_text(&line, "  ");
    if (key)
        add_entry(r, path, key, &line);
    else if (strcmp(kind, "account") == 0)
        rk_buf_add_text(&line, "the size that the store believes it has (usage/base)");
    else
        rk_text_add_printable(&line, rk_span_text(path ? path : "?"));
    rk_buf_add_format(&line, "%s %s", key ? "" : ":",
                      rk_style(damage ? RK_STYLE_BAD : RK_STYLE_NOTICE, stdout));
    rk_text_add_printable(&line, rk_span_text(detail && *detail ? detail : kind));
    rk_buf_add_text(&line, rk_style(RK_STYLE_NONE, stdout));
    if (json_is_true(json_object_get(finding, "repaired")))
        rk_buf_add_format(&line, " (%s)", repair_of(kind));
    rk_term_line(rk_need_text(&line), 4);
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

static uint64_t count_damaged(const rk_fsck_report *report) {
    uint64_t count = 0;
    for (int kind = 0; kind < RK_FSCK_KINDS; kind++)
        count += rk_fsck_is_damage((rk_fsck_kind)kind) ? report->found[kind] : 0;
    return count;
}

// The result first, then the findings.
static void print_text(const request *r, const rk_fsck_report *report, bool damage) {
    uint64_t found = 0, repaired = 0, damaged = count_damaged(report);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    for (int kind = 0; kind < RK_FSCK_KINDS; kind++) {
        found += report->found[kind];
        repaired += report->repaired[kind];
    }
    rk_buf_add_text(&line, rk_style(RK_STYLE_BOLD, stdout));
    if (damage)
        rk_buf_add_format(&line, "%s file%s %s damaged", rk_text_count(damaged).text,
                          rk_text_plural(damaged), damaged == 1 ? "is" : "are");
    else
        rk_buf_add_text(&line, found ? "No damage to entries" : "No damage");
    rk_buf_add_format(&line, "%s: checked %s file%s (executables and programs), %s.",
                      rk_style(RK_STYLE_NONE, stdout), rk_text_count(report->entries).text,
                      rk_text_plural(report->entries), rk_text_bytes(report->bytes).text);
    if (repaired)
        rk_buf_add_format(&line, " %s of %s findings repaired.", rk_text_count(repaired).text,
                          rk_text_count(found).text);
    else if (found)
        rk_buf_add_text(&line, " `rekindle fsck --repair` repairs what can be repaired.");
    rk_term_line(rk_need_text(&line), 0);
    for (size_t i = 0; i < json_array_size(r->findings); i++)
        print_finding(r, json_array_get(r->findings, i));
}

static rk_err *check(request *r, const rk_settings *settings, int *out_status) {
    RK_AUTO_STORE store = NULL;
    bool repair = r->repair && !r->dry_run;
    const rk_fsck_options options = {
        .repair = repair, .found = note_finding, .progress = show_progress, .context = r};
    rk_fsck_report report = {0};
    RK_TRY(rk_place_open_store(settings, !repair, &store));
    if (!store && !r->json) {
        rk_place_print_nothing_yet(settings, "entries");
        return NULL;
    }
    r->store = store;
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
    .summary = "Reads every entry and checks every byte of it; looks for leftovers of dead "
               "writers, entries that others may write, pins without an entry, and a wrong usage "
               "account (the size that the store believes it has). Exit status 1 if there is "
               "damage.",
    .details = "Damage does no harm to jobs: a damaged executable is never loaded. Its program is "
               "compiled again, and the entry is replaced.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_fsck = {
    .brief = "check every byte of the store, and repair it",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_STORE,
    .run = run,
};
