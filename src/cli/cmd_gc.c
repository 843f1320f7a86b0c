#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/entries.h"
#include "cli/fail.h"
#include "cli/gc_select.h"
#include "cli/gc_torch.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/run_names.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "store/gc.h"

typedef struct request {
    bool json, dry_run, all;
    const char *max_size, *older_than, *name_space;
    json_t *removed;    // owned
    json_t *namespaces; // owned; those of the entries, if `name_space` is given
    double *worths;     // owned; of the items of `removed`
    size_t worth_count;
    rk_gc_total torch; // directories of torch.compile that were removed
    rk_store *store;   // borrowed; NULL: there is no store yet
    rk_progress progress;
} request;

static bool belongs(void *context, rk_span metadata) {
    const request *r = context;
    return rk_select_namespace(r->name_space, metadata, r->namespaces);
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
    r->worths = rk_need(rk_realloc(r->worths, (r->worth_count + 1) * sizeof *r->worths));
    r->worths[r->worth_count++] = removal->worth;
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
    rk_out_set(object, "torch_compile", total_json(&r->torch));
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

// Appends "3 programs". The first word of the noun gets the plural.
static void add_count(uint64_t count, const char *noun, rk_buf *out) {
    size_t word = strcspn(noun, " ");
    rk_buf_add_format(out, "%s %.*s%s%s", rk_text_count(count).text, (int)word, noun,
                      rk_text_plural(count), noun + word);
}

static void print_kept(const request *r, const rk_gc_total *total, const char *why) {
    if (total->files)
        (void)printf("%s %s that %s.\n", r->dry_run ? "Would keep" : "Kept",
                     rk_text_bytes(total->bytes).text, why);
}

static void print_torch(const request *r) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (r->torch.files == 0)
        return;
    rk_buf_add_format(&line, "%s %s director%s of torch.compile that no job used for 30 days, %s.",
                      r->dry_run ? "Would remove" : "Removed", rk_text_count(r->torch.files).text,
                      r->torch.files == 1 ? "y" : "ies", rk_text_bytes(r->torch.bytes).text);
    rk_term_line(rk_need_text(&line), 0);
}

static void print_kinds(const request *r, const rk_gc_report *report) {
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++) {
        const rk_gc_total *total = total_at(report, i);
        RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
        if (total->files == 0)
            continue;
        rk_buf_add_text(&line, r->dry_run ? "Would remove " : "Removed ");
        add_count(total->files, kinds[i].noun, &line);
        rk_buf_add_format(&line, ", %s", rk_text_bytes(total->bytes).text);
        if (i == 0)
            rk_buf_add_format(&line, ", %s of compilation",
                              rk_text_seconds(report->lost_compile_ns).text);
        (void)printf("%s.\n", rk_need_text(&line));
    }
    print_torch(r);
    print_kept(r, &report->pinned, "are pinned");
    print_kept(r, &report->recent, "were used in the last hour");
}

static uint64_t nanoseconds(const json_t *one, const char *name) {
    double value = json_real_value(json_object_get(one, name));
    return value > 0 ? (uint64_t)(value * 1e9) : 0;
}

// The files of one key, or another file, that a dry run would remove.
typedef struct removal {
    const char *what, *which; // borrowed from `removed`
    bool is_entry;
    rk_kept kept; // of an entry: what is removed
    uint64_t bytes, compile_ns, age_ns;
    double worth;
} removal;

static void read_removal(const json_t *one, double worth, removal *out) {
    *out = (removal){
        .what = json_string_value(json_object_get(one, "what")),
        .which = json_string_value(json_object_get(one, "name")),
        .bytes = (uint64_t)json_integer_value(json_object_get(one, "bytes")),
        .compile_ns = nanoseconds(one, "compile_seconds"),
        .age_ns = nanoseconds(one, "age_seconds"),
        .worth = worth,
    };
    out->which = out->which ? out->which : "";
    out->kept.has_executable = strcmp(out->what, "executable") == 0;
    out->kept.has_program = strcmp(out->what, "program") == 0;
    out->is_entry = out->kept.has_executable || out->kept.has_program;
    (void)snprintf(out->kept.hex, sizeof out->kept.hex, "%s", out->is_entry ? out->which : "");
}

static int by_key(const void *a, const void *b) {
    const removal *one = a, *other = b;
    if (one->is_entry != other->is_entry)
        return one->is_entry ? -1 : 1;
    return strcmp(one->kept.hex, other->kept.hex);
}

// Other files come first: they are removed first.
static int by_worth(const void *a, const void *b) {
    const removal *one = a, *other = b;
    if (one->is_entry != other->is_entry)
        return one->is_entry ? 1 : -1;
    if (one->worth != other->worth)
        return one->worth < other->worth ? -1 : 1;
    return strcmp(one->kept.hex, other->kept.hex);
}

// An executable and its program become one item. The list is sorted by key.
static size_t merge(removal *items, size_t count) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        removal *last = used > 0 ? &items[used - 1] : NULL;
        if (!last || !items[i].is_entry || strcmp(last->kept.hex, items[i].kept.hex) != 0) {
            items[used++] = items[i];
            continue;
        }
        last->kept.has_executable |= items[i].kept.has_executable;
        last->kept.has_program |= items[i].kept.has_program;
        last->bytes += items[i].bytes;
        last->worth = last->worth > items[i].worth ? last->worth : items[i].worth;
        last->age_ns = last->age_ns < items[i].age_ns ? last->age_ns : items[i].age_ns;
    }
    return used;
}

// Appends the name of the program, and what of the entry is removed.
static void add_name(const request *r, const removal *one, rk_buf *out, const char **out_what) {
    RK_AUTO(rk_kept_about) about = {0};
    *out_what = "";
    if (!one->is_entry) {
        rk_buf_add_text(out, one->which);
        return;
    }
    rk_err_drop(rk_kept_read(r->store, &one->kept, &about), "the key is shown");
    rk_buf_add_text(out, about.name ? about.name : "");
    *out_what = about.failed                                        ? "failed"
                : one->kept.has_executable == one->kept.has_program ? "both"
                : one->kept.has_executable                          ? "executable"
                                                                    : "program";
}

static void add_removal(rk_table *table, const request *r, const removal *one) {
    enum { KEY_DIGITS = 12 };
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    rk_buf_add_format(&text, "  %.*s", one->is_entry ? KEY_DIGITS : INT_MAX,
                      one->is_entry ? one->which : one->what);
    const char *what;
    add_name(r, one, &name, &what);
    rk_table_add(table, RK_STYLE_NONE, rk_need_text(&text));
    rk_table_add(table, RK_STYLE_NONE, rk_need_text(&name));
    rk_table_add(table, RK_STYLE_NONE, what);
    rk_table_add(table, RK_STYLE_NONE, rk_text_bytes(one->bytes).text);
    rk_table_add(table, RK_STYLE_NONE,
                 one->compile_ns ? rk_text_seconds(one->compile_ns).text : "");
    rk_table_add(table, RK_STYLE_DIM, rk_text_age(one->age_ns).text);
}

// What a dry run would remove, in the order of removal: at most two screens with the lines above.
static void print_removals(const request *r) {
    enum { OTHER_LINES = 14 };
    static const rk_table_column columns[] = {{.title = "  KEY"},
                                              {.title = "NAME", .least = 28, .middle = true},
                                              {.title = "WHAT"},
                                              {.title = "SIZE", .right = true},
                                              {.title = "COMPILED IN", .right = true},
                                              {.title = "USED", .right = true, .optional = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    size_t count = json_array_size(r->removed);
    size_t lines = r->all ? SIZE_MAX : rk_term_two_screens(stdout);
    size_t most = lines == SIZE_MAX ? lines : lines - OTHER_LINES;
    if (count == 0)
        return;
    rk_autofree removal *items = rk_need(rk_calloc(count, sizeof *items));
    for (size_t i = 0; i < count; i++)
        read_removal(json_array_get(r->removed, i), r->worths[i], &items[i]);
    qsort(items, count, sizeof *items, by_key);
    count = merge(items, count);
    qsort(items, count, sizeof *items, by_worth);
    for (size_t i = 0; i < count && i < most; i++)
        add_removal(&table, r, &items[i]);
    (void)putchar('\n');
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    if (count > most)
        (void)printf("  and %zu more: --all lists all\n", count - most);
}

// "(limit 20 GB)"; nothing if there is none.
static void add_limit(const request *r, uint64_t max_bytes, rk_buf *out) {
    if (max_bytes == UINT64_MAX)
        return;
    rk_buf_add_format(out, " (limit%s %s)", r->name_space ? " of the namespace" : "",
                      rk_text_bytes(max_bytes).text);
}

static void add_sum(const request *r, const rk_gc_report *report, uint64_t max_bytes, rk_buf *out) {
    const rk_text after = rk_text_bytes(report->after.bytes);
    if (report->after.bytes != report->before.bytes) {
        rk_buf_add_format(out, "The store %s from %s to ", r->dry_run ? "would shrink" : "shrank",
                          rk_text_bytes(report->before.bytes).text);
        rk_buf_add_text(out, after.text);
        add_limit(r, max_bytes, out);
        rk_buf_add_text(out, r->dry_run ? ". This is a dry run: nothing is removed." : ".");
        return;
    }
    bool looked = r->older_than || r->max_size;
    if (r->name_space && looked && !json_object_get(r->namespaces, r->name_space))
        rk_select_add_unknown(r->name_space, r->namespaces, out);
    else if (r->older_than && report->pinned.files == 0)
        rk_buf_add_format(out, "There is nothing to remove: no entry was unused for %s.",
                          r->older_than);
    else
        rk_buf_add_text(out, "There is nothing to remove.");
    rk_buf_add_format(out, " The store has %s", after.text);
    add_limit(r, max_bytes, out);
    rk_buf_add_text(out, ".");
}

// The limit of a namespace counts its entries alone, whose size is not known here.
static bool is_unreached(const request *r, const rk_gc_report *report, uint64_t max_bytes) {
    return r->max_size && !r->name_space && report->after.bytes > max_bytes;
}

// Says what stands in the way of the limit.
static void print_unreached(const rk_gc_report *report, const char *directory) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    RK_AUTO(rk_run_names) runs = {0};
    uint64_t kept = report->pinned.bytes + report->recent.bytes;
    rk_err_drop(rk_run_names_collect(directory, &runs), "they are not counted");
    rk_buf_add_text(&line, "The limit cannot be reached: ");
    if (report->pinned.bytes)
        rk_buf_add_format(&line, "%s are pinned (`rekindle unpin --all` removes the pins); ",
                          rk_text_bytes(report->pinned.bytes).text);
    rk_buf_add_format(
        &line, "%s are the records of %zu run%s and other notes, which gc keeps.",
        rk_text_bytes(report->after.bytes > kept ? report->after.bytes - kept : 0).text, runs.count,
        rk_text_plural(runs.count));
    rk_term_line(rk_need_text(&line), 0);
}

// The sums first, then with --dry-run the list.
static void print_text(const request *r, const rk_gc_report *report, uint64_t max_bytes) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    add_sum(r, report, max_bytes, &line);
    rk_term_line(rk_need_text(&line), 0);
    print_kinds(r, report);
    if (r->store && is_unreached(r, report, max_bytes))
        print_unreached(report, rk_store_directory(r->store));
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
    if (!r->name_space)
        RK_TRY(rk_gc_torch(r->dry_run, note_removal, r, &r->torch));
    if (!store && !r->json) {
        print_torch(r);
        rk_place_print_nothing_yet(settings, "entries");
        return NULL;
    }
    r->store = store;
    r->progress = rk_progress_start("visiting folders");
    rk_err *err = store ? rk_store_gc(store, &options, &report) : NULL;
    rk_progress_end(&r->progress);
    RK_TRY(err);
    (r->json ? print_json(r, &report, options.max_bytes)
             : print_text(r, &report, options.max_bytes));
    // Without pins, everything is removed that can be: a script that empties the store succeeds.
    bool failed = report.pinned.files > 0 && is_unreached(r, &report, options.max_bytes);
    *out_status = failed ? RK_EXIT_FAILED : RK_EXIT_OK;
    return NULL;
}

static request given;

static rk_err *run(rk_verb_call *call) {
    given.json = call->json;
    given.removed = rk_out_array();
    given.namespaces = rk_out_object();
    rk_err *err = collect(&given, call->settings, &call->status);
    json_decref(given.removed);
    json_decref(given.namespaces);
    rk_free(given.worths);
    return err;
}

static const rk_opt options[] = {
    RK_OPT_SETTING("max-size", 0, &given.max_size, "REKINDLE_MAX_SIZE", "SIZE",
                   "the size limit, instead of REKINDLE_MAX_SIZE: 20G, 500M; entries used in the "
                   "last hour are removed as well, after all others"),
    RK_OPT_OLDER_THAN(&given.older_than),
    RK_OPT_NAMESPACE(&given.name_space),
    RK_OPT_FLAG("dry-run", 'n', &given.dry_run, "only say what would be removed"),
    RK_OPT_FLAG("all", 'a', &given.all, "with --dry-run: list all, also more than two screens"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "gc",
    .summary =
        "Reduces the store to its size limit: first removes entries that save the fewest "
        "seconds per byte and were not used for a long time. Also removes files that dead writers "
        "left, old runs and old quarantined entries, and recounts the store's size. Removes "
        "directories of torch.compile that no job used for 30 days.",
    .details = "Jobs keep the store below REKINDLE_MAX_SIZE by themselves. Use gc to do it now, "
               "or for a smaller size.\n\nPinned entries stay. With --namespace, --max-size "
               "applies to the entries of that namespace.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_gc = {
    .brief = "make the store smaller, least valuable entries first",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_STORE,
    .run = run,
};
