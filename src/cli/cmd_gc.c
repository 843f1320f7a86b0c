#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/entries.h"
#include "cli/fail.h"
#include "cli/gc_select.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "store/gc.h"

typedef struct request {
    bool json, dry_run;
    const char *max_size, *older_than, *name_space;
    json_t *removed; // owned
    rk_store *store; // borrowed; NULL: there is no store yet
    rk_progress progress;
} request;

static bool belongs(void *context, rk_span metadata) {
    const request *r = context;
    return rk_select_namespace(r->name_space, metadata);
}

static void show_progress(void *context, unsigned done, unsigned all) {
    request *r = context;
    rk_progress_step(&r->progress, done, all);
}

static void note_removal(void *context, const rk_gc_removal *removal) {
    request *r = context;
    json_t *one = rk_out_object();
    rk_out_set(one, "what", rk_out_string(removal->what));
    rk_out_set(one, "name", rk_out_string(removal->name));
    rk_out_set(one, "bytes", rk_out_uint(removal->bytes));
    rk_out_set(one, "age_seconds", rk_out_seconds(removal->age_ns));
    rk_out_set(one, "compile_seconds", rk_out_seconds(removal->compile_ns));
    rk_out_append(r->removed, one);
}

static const struct {
    const char *key, *noun;
    size_t at;
} kinds[] = {
    {"executables", "executable", offsetof(rk_gc_report, executables)},
    {"programs", "program", offsetof(rk_gc_report, programs)},
    {"runs", "file of old runs", offsetof(rk_gc_report, runs)},
    {"quarantine", "file that was set aside", offsetof(rk_gc_report, quarantine)},
    {"plugins", "note on a plugin", offsetof(rk_gc_report, plugins)},
    {"jobs", "manifest of old jobs", offsetof(rk_gc_report, jobs)},
    {"leftovers", "file that a dead writer left", offsetof(rk_gc_report, leftovers)},
};

static const rk_gc_total *total_at(const rk_gc_report *report, size_t i) {
    return (const rk_gc_total *)(const void *)((const char *)report + kinds[i].at);
}

static json_t *total_json(const rk_gc_total *total) {
    json_t *object = rk_out_object();
    rk_out_set(object, "files", rk_out_uint(total->files));
    rk_out_set(object, "bytes", rk_out_uint(total->bytes));
    return object;
}

static void print_json(request *r, const rk_gc_report *report, uint64_t max_bytes) {
    json_t *object = rk_out_object();
    rk_out_set(object, "removed", json_incref(r->removed));
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++)
        rk_out_set(object, kinds[i].key, total_json(total_at(report, i)));
    rk_out_set(object, "lost_compile_seconds", rk_out_seconds(report->lost_compile_ns));
    rk_out_set(object, "pinned", total_json(&report->pinned));
    rk_out_set(object, "recent", total_json(&report->recent));
    rk_out_set(object, "before", total_json(&report->before));
    rk_out_set(object, "after", total_json(&report->after));
    rk_out_set(object, "max_bytes",
               max_bytes == UINT64_MAX ? rk_out_string(NULL) : rk_out_uint(max_bytes));
    rk_out_set(object, "dry_run", rk_out_bool(r->dry_run));
    rk_out_print(object);
}

// Prints "3 programs". The first word of the noun gets the plural.
static void print_count(uint64_t count, const char *noun) {
    size_t word = strcspn(noun, " ");
    (void)printf("%s %.*s%s%s", rk_text_count(count).text, (int)word, noun, rk_text_plural(count),
                 noun + word);
}

static void print_kinds(const request *r, const rk_gc_report *report) {
    const char *verb = r->dry_run ? "would remove" : "removed";
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++) {
        const rk_gc_total *total = total_at(report, i);
        if (total->files == 0)
            continue;
        (void)printf("%s ", verb);
        print_count(total->files, kinds[i].noun);
        (void)printf(", %s", rk_text_bytes(total->bytes).text);
        if (i == 0)
            (void)printf(", %s of compilation", rk_text_seconds(report->lost_compile_ns).text);
        (void)fputc('\n', stdout);
    }
    if (report->pinned.files)
        (void)printf("kept %s that are pinned\n", rk_text_bytes(report->pinned.bytes).text);
    if (report->recent.files)
        (void)printf("kept %s that were used in the last hour\n",
                     rk_text_bytes(report->recent.bytes).text);
}

static uint64_t nanoseconds(const json_t *one, const char *name) {
    double value = json_real_value(json_object_get(one, name));
    return value > 0 ? (uint64_t)(value * 1e9) : 0;
}

// The name of the program of an entry that a dry run would remove; NULL: none. Owned: rk_free.
static char *name_of_program(const request *r, const char *what, const char *key) {
    char *name = NULL;
    uint64_t compile_ns;
    bool is_executable = strcmp(what, "executable") == 0;
    rk_kept kept = {.has_executable = is_executable, .has_program = !is_executable};
    if (!key || strlen(key) >= sizeof kept.hex)
        return NULL;
    memcpy(kept.hex, key, strlen(key) + 1);
    rk_err_drop(rk_kept_read_name(r->store, &kept, &name, &compile_ns), "the key is shown");
    return name;
}

static void add_removal(rk_table *table, const request *r, const json_t *one) {
    enum { KEY_DIGITS = 12 };
    const char *what = json_string_value(json_object_get(one, "what"));
    const char *which = json_string_value(json_object_get(one, "name"));
    bool is_entry = strcmp(what, "executable") == 0 || strcmp(what, "program") == 0;
    rk_autofree char *name = is_entry ? name_of_program(r, what, which) : NULL;
    uint64_t compile_ns = nanoseconds(one, "compile_seconds");
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_buf_add_format(&text, "  %s", what);
    rk_table_add(table, RK_STYLE_NONE, rk_need_text(&text));
    rk_buf_clear(&text);
    rk_buf_add_format(&text, "%.*s", is_entry ? KEY_DIGITS : INT_MAX, which ? which : "");
    rk_table_add(table, RK_STYLE_NONE, rk_need_text(&text));
    rk_table_add(table, RK_STYLE_NONE, name ? name : "");
    rk_table_add(table, RK_STYLE_NONE,
                 rk_text_bytes((uint64_t)json_integer_value(json_object_get(one, "bytes"))).text);
    rk_table_add(table, RK_STYLE_NONE, compile_ns ? rk_text_seconds(compile_ns).text : "");
    rk_table_add(table, RK_STYLE_DIM, rk_text_age(nanoseconds(one, "age_seconds")).text);
}

// What a dry run would remove, at most two screens with the lines above.
static void print_removals(const request *r) {
    enum { OTHER_LINES = 12 };
    static const rk_table_column columns[] = {{.title = "  WHAT"},
                                              {.title = "KEY", .least = 12, .middle = true},
                                              {.title = "NAME", .least = 10, .middle = true},
                                              {.title = "SIZE", .right = true},
                                              {.title = "COMPILED IN", .right = true},
                                              {.title = "USED", .right = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    size_t count = json_array_size(r->removed), lines = rk_term_two_screens(stdout);
    size_t most = lines == SIZE_MAX ? lines : lines - OTHER_LINES;
    if (count == 0)
        return;
    for (size_t i = 0; i < count && i < most; i++)
        add_removal(&table, r, json_array_get(r->removed, i));
    (void)putchar('\n');
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    if (count > most)
        (void)printf("  and %zu more: --json lists all\n", count - most);
}

// The sums first, then with --dry-run the list.
static void print_text(const request *r, const rk_gc_report *report, uint64_t max_bytes) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (report->after.bytes == report->before.bytes)
        rk_buf_add_format(&line, "there is nothing to remove: the store has %s",
                          rk_text_bytes(report->after.bytes).text);
    else
        rk_buf_add_format(&line, "the store %s %s, %s before", r->dry_run ? "would have" : "has",
                          rk_text_bytes(report->after.bytes).text,
                          rk_text_bytes(report->before.bytes).text);
    if (max_bytes != UINT64_MAX)
        rk_buf_add_format(&line, "; %s are allowed", rk_text_bytes(max_bytes).text);
    rk_buf_add_text(&line, r->dry_run ? " (a dry run: nothing is removed)" : "");
    rk_term_line(rk_need_text(&line), 2);
    print_kinds(r, report);
    if (r->dry_run)
        print_removals(r);
}

static rk_err *collect(request *r, const rk_settings *settings, int *out_status) {
    RK_AUTO_STORE store = NULL;
    rk_gc_options options = {
        .max_bytes = rk_settings_get(settings)->max_size_bytes,
        .recent_too = r->max_size != NULL,
        .dry_run = r->dry_run,
        .belongs = r->name_space ? belongs : NULL,
        .removed = note_removal,
        .progress = show_progress,
        .context = r,
    };
    RK_TRY(rk_select_age(r->older_than, &options.older_than_ns));
    // REKINDLE_MAX_SIZE limits the whole store, not one namespace.
    if (r->name_space && !r->max_size)
        options.max_bytes = UINT64_MAX;
    rk_gc_report report = {0};
    RK_TRY(rk_place_open_store(settings, r->dry_run, &store));
    r->store = store;
    r->progress = rk_progress_start("visiting folders");
    rk_err *err = store ? rk_store_gc(store, &options, &report) : NULL;
    rk_progress_end(&r->progress);
    RK_TRY(err);
    (r->json ? print_json(r, &report, options.max_bytes)
             : print_text(r, &report, options.max_bytes));
    bool reached = report.pinned.files + report.recent.files == 0 || r->name_space ||
                   report.after.bytes <= options.max_bytes;
    *out_status = r->max_size && !reached ? RK_EXIT_FAILED : RK_EXIT_OK;
    return NULL;
}

static request given;

static rk_err *run(rk_verb_call *call) {
    given.json = call->json;
    given.removed = rk_out_array();
    rk_err *err = collect(&given, call->settings, &call->status);
    json_decref(given.removed);
    return err;
}

static const rk_opt options[] = {
    RK_OPT_SETTING("max-size", 0, &given.max_size, "REKINDLE_MAX_SIZE", "SIZE",
                   "the size limit, instead of REKINDLE_MAX_SIZE: 20G, 500M; entries used in the "
                   "last hour are removed as well, after all others"),
    RK_OPT_OLDER_THAN(&given.older_than),
    RK_OPT_NAMESPACE(&given.name_space),
    RK_OPT_FLAG("dry-run", 'n', &given.dry_run, "only say what would be removed"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "gc",
    .summary =
        "Reduces the store to its size limit: first removes entries that save the fewest "
        "seconds per byte and were not used for a long time. Also removes files that dead writers "
        "left, old runs and old quarantined entries, and recounts the store's size.",
    .details = "Jobs keep the store below REKINDLE_MAX_SIZE by themselves. Use gc to do it now, "
               "or for a smaller size.\n\nPinned entries stay. With --namespace, --max-size "
               "applies to the entries of that namespace.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_gc = {
    .brief = "make the store smaller, least valuable entries first",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS,
    .run = run,
};
