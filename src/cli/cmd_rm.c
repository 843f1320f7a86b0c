#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/tree.h"
#include "cli/entries.h"
#include "cli/fail.h"
#include "cli/gc_select.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "store/pins.h"

// The options of one call of `rm`.
typedef struct request {
    bool all, quarantine, dry_run;
    const char *older_than, *name_space;
    uint64_t older_than_ns; // from `older_than`; 0: any age
} request;

typedef struct removal {
    rk_store *store;
    rk_pins pins;
    bool dry_run, json;
    const char *name_space; // NULL: any namespace
    uint64_t older_than_ns; // 0: any age
    uint64_t kept_pins;
    json_t *namespaces; // owned; those of the entries, if `name_space` is given
    json_t *list;
    uint64_t count, bytes;
    bool count_keys; // `count` counts entries, not only files in quarantine/
} removal;

// `name`: of the program, for the text; NULL: none.
static void count_one(removal *r, const char *kind, const char *which, const char *name,
                      uint64_t bytes) {
    json_t *one = rk_out_object();
    rk_out_set(one, kind, rk_out_string(which));
    if (!r->json)
        rk_out_set(one, "name", rk_out_string(name));
    rk_out_set(one, "bytes", rk_out_uint(bytes));
    rk_out_append(r->list, one);
    r->count++;
    r->count_keys = r->count_keys || strcmp(kind, "key") == 0;
    r->bytes += bytes;
}

static rk_err *remove_key(removal *r, const rk_kept *kept) {
    uint64_t bytes = kept->executable_bytes + kept->program_bytes;
    rk_autofree char *name = r->json ? NULL : rk_kept_shown_name(r->store, kept);
    if (!r->dry_run) {
        rk_err *err = rk_store_remove(r->store, kept->hex, &bytes);
        if (rk_err_code(err) == RK_NOT_FOUND) {
            rk_err_drop(err, "another process removed it");
            return NULL;
        }
        if (err)
            return err;
    }
    count_one(r, "key", kept->hex, name, bytes);
    return NULL;
}

// Looks up all keys before it removes the first: a mistake in one key changes nothing.
static rk_err *remove_some(removal *r, const rk_kept_list *kept, const rk_opt_operands *keys) {
    rk_autofree const rk_kept **chosen = rk_need(rk_calloc(keys->count, sizeof *chosen));
    for (size_t i = 0; i < keys->count; i++) {
        RK_TRY(rk_kept_find(r->store, kept, keys->items[i], &chosen[i]));
        if (rk_pins_has(&r->pins, chosen[i]->hex))
            return rk_error(RK_FAILED_PRECONDITION, "%s is pinned: `rekindle unpin %.12s` first",
                            keys->items[i], chosen[i]->hex);
    }
    for (size_t i = 0; i < keys->count; i++) {
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again = again || chosen[j] == chosen[i];
        if (!again)
            RK_TRY(remove_key(r, chosen[i]));
    }
    return NULL;
}

// `*out_belongs`: the entry has the selected namespace. An unreadable entry has no namespace.
static rk_err *belongs(removal *r, const rk_kept *kept, bool *out_belongs) {
    *out_belongs = true;
    if (!r->name_space)
        return NULL;
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_err *err =
        rk_store_read(r->store, kept->has_executable ? RK_ENTRY_EXECUTABLE : RK_ENTRY_PROGRAM,
                      kept->hex, RK_WANT_HEAD, &lookup);
    *out_belongs = rk_select_namespace(r->name_space, lookup.view.entry.metadata, r->namespaces);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "another process removed it");
    return NULL;
}

static bool is_old_enough(const removal *r, const rk_kept *kept) {
    uint64_t now_ns = rk_realtime_ns();
    return (now_ns > kept->modified_ns ? now_ns - kept->modified_ns : 0) >= r->older_than_ns;
}

static rk_err *remove_all(removal *r, const rk_kept_list *kept) {
    for (size_t i = 0; i < kept->count; i++) {
        bool meant = false;
        RK_TRY(belongs(r, &kept->items[i], &meant));
        if (!meant || !is_old_enough(r, &kept->items[i]))
            continue;
        if (rk_pins_has(&r->pins, kept->items[i].hex))
            r->kept_pins++;
        else
            RK_TRY(remove_key(r, &kept->items[i]));
    }
    return NULL;
}

static const char quarantine_folder[] = "quarantine";

// Uses base/tree.h: a link in place of the folder must not lead to other files.
static rk_err *remove_file(void *context, const char *name) {
    removal *r = context;
    const char *store = rk_store_directory(r->store);
    rk_autofree char *path = rk_need(rk_path_join(quarantine_folder, name));
    struct stat info;
    rk_err *err = rk_tree_stat(store, path, &info);
    if (!err && (!S_ISREG(info.st_mode) || !rk_store_is_set_aside(name)))
        return NULL; // not a file that rekindle moved there
    uint64_t bytes = err ? 0 : (uint64_t)info.st_size;
    if (!err && !r->dry_run)
        err = rk_store_remove_quarantined(r->store, name, &bytes);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "another process removed it");
        return NULL;
    }
    RK_TRY(err);
    count_one(r, "file", name, NULL, bytes);
    return NULL;
}

static rk_err *remove_quarantine(removal *r) {
    enum { MAX_FILES = 1 << 20 };
    rk_err *err =
        rk_tree_list(rk_store_directory(r->store), quarantine_folder, MAX_FILES, remove_file, r);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "the quarantine is empty");
    return NULL;
}

static void add_removed(rk_table *table, const json_t *one) {
    enum { KEY_DIGITS = 12 };
    const char *key = json_string_value(json_object_get(one, "key"));
    const char *file = json_string_value(json_object_get(one, "file"));
    const char *name = json_string_value(json_object_get(one, "name"));
    uint64_t bytes = (uint64_t)json_integer_value(json_object_get(one, "bytes"));
    RK_AUTO(rk_buf) which = RK_BUF_INIT(0);
    rk_buf_add_format(&which, "  %.*s", key ? KEY_DIGITS : INT_MAX, key ? key : file);
    rk_table_add(table, RK_STYLE_NONE, rk_need_text(&which));
    rk_table_add(table, RK_STYLE_NONE, name ? name : "");
    rk_table_add(table, RK_STYLE_NONE, rk_text_bytes(bytes).text);
}

static void print_list(const removal *r) {
    enum { OTHER_LINES = 3 };
    static const rk_table_column columns[] = {{.title = "", .least = 30, .middle = true},
                                              {.title = "", .least = 12, .middle = true},
                                              {.title = "", .right = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    size_t lines = rk_term_two_screens(stdout), count = json_array_size(r->list);
    size_t most = lines == SIZE_MAX ? lines : lines - OTHER_LINES;
    for (size_t i = 0; i < count && i < most; i++)
        add_removed(&table, json_array_get(r->list, i));
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    if (count > most)
        (void)printf("  and %zu more: --json lists all\n", count - most);
}

// Says why nothing was removed.
static void print_nothing(const removal *r) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    bool narrowed = r->name_space || r->older_than_ns;
    if (r->name_space && !json_object_get(r->namespaces, r->name_space))
        rk_select_add_unknown(r->name_space, r->namespaces, &line);
    else if (r->kept_pins == 0)
        rk_buf_add_text(&line, r->older_than_ns
                                   ? "There is nothing to remove: no entry was unused for so long."
                                   : "There is nothing to remove.");
    else if (r->kept_pins == 1)
        rk_buf_add_format(&line, "The only entry%s is pinned: `rekindle unpin --all` first.",
                          narrowed ? " that matches" : "");
    else
        rk_buf_add_format(&line, "All %s entries%s are pinned: `rekindle unpin --all` first.",
                          rk_text_count(r->kept_pins).text, narrowed ? " that match" : "");
    rk_term_line(rk_need_text(&line), 0);
}

// Prints the sum first, then the list.
static void print_text(const removal *r) {
    const char *what = r->count_keys ? "entr" : "file";
    const char *ending = r->count_keys ? r->count == 1 ? "y" : "ies" : rk_text_plural(r->count);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (r->count == 0) {
        print_nothing(r);
        return;
    }
    rk_buf_add_format(&line, "%s %s%s, %s", rk_text_count(r->count).text, what, ending,
                      rk_text_bytes(r->bytes).text);
    (void)printf("%s %s%s\n", r->dry_run ? "Would remove" : "Removed", rk_need_text(&line),
                 r->dry_run ? " (a dry run: nothing is removed)." : ".");
    if (r->kept_pins)
        (void)printf("%s %s that %s pinned.\n", r->dry_run ? "Would keep" : "Kept",
                     rk_text_count(r->kept_pins).text, r->kept_pins == 1 ? "is" : "are");
    print_list(r);
}

static void print_json(removal *r) {
    json_t *object = rk_out_object();
    rk_out_set(object, "removed", RK_TAKE(r->list));
    rk_out_set(object, "bytes", rk_out_uint(r->bytes));
    rk_out_set(object, "kept_pinned", rk_out_uint(r->kept_pins));
    rk_out_set(object, "dry_run", rk_out_bool(r->dry_run));
    rk_out_print(object);
}

static rk_err *act(removal *r, const rk_settings *settings, const request *options,
                   const rk_opt_operands *keys) {
    RK_AUTO_STORE store = NULL;
    __attribute__((cleanup(rk_kept_list_cleanup))) rk_kept_list kept = {0};
    RK_TRY(rk_place_open_store(settings, r->dry_run, &store));
    if (store && (options->all || keys->count > 0))
        RK_TRY(rk_kept_collect(store, &kept));
    if (keys->count > 0)
        RK_TRY(rk_place_need_store(settings, store));
    if (!store && !r->json) {
        rk_place_print_nothing_yet(settings, "entries");
        return NULL;
    }
    r->store = store;
    if (store)
        RK_TRY(rk_pins_load(store, &r->pins));
    rk_err *err = NULL;
    if (keys->count > 0)
        err = remove_some(r, &kept, keys);
    if (!err && options->all)
        err = remove_all(r, &kept);
    if (!err && options->quarantine && store)
        err = remove_quarantine(r);
    // After an error, people still see what was removed before it.
    if (!r->json && (!err || r->count))
        print_text(r);
    else if (!err)
        print_json(r);
    return err;
}

static rk_err *check_choice(const request *r, const rk_opt_operands *keys) {
    if (!r->all && (r->name_space || r->older_than_ns))
        return rk_error(RK_INVALID_ARGUMENT, "--namespace and --older-than go with --all");
    if (keys->count == 0 && !r->all && !r->quarantine)
        return rk_error(RK_INVALID_ARGUMENT,
                        "rm needs to know what: keys or names as `rekindle ls` shows them, --all, "
                        "or --quarantine");
    if (keys->count > 0 && r->quarantine)
        return rk_error(RK_INVALID_ARGUMENT, "rm takes keys or --quarantine, not both");
    if (keys->count > 0 && r->all)
        return rk_error(RK_INVALID_ARGUMENT,
                        "rm takes keys or --all, not both: '%s' would make no difference",
                        keys->items[0]);
    return NULL;
}

static request given;

static rk_err *check(const rk_verb_call *call) {
    if (given.older_than)
        RK_TRY(rk_select_age(given.older_than, &given.older_than_ns));
    return check_choice(&given, call->operands);
}

static rk_err *run(rk_verb_call *call) {
    removal r = {.dry_run = given.dry_run,
                 .json = call->json,
                 .list = rk_out_array(),
                 .namespaces = rk_out_object(),
                 .name_space = given.name_space,
                 .older_than_ns = given.older_than_ns};
    rk_err *err = act(&r, call->settings, &given, call->operands);
    json_decref(r.list);
    json_decref(r.namespaces);
    rk_pins_cleanup(&r.pins);
    return err;
}

static const rk_opt options[] = {
    RK_OPT_FLAG("all", 'a', &given.all, "every executable and program"),
    RK_OPT_FLAG("quarantine", 'q', &given.quarantine, "damaged entries in quarantine/"),
    RK_OPT_OLDER_THAN(&given.older_than),
    RK_OPT_NAMESPACE(&given.name_space),
    RK_OPT_FLAG("dry-run", 'n', &given.dry_run, "only say what would be removed"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "rm",
    .operands = "[KEY…]",
    .summary =
        "Removes executables, each with its program, by their keys, the beginnings of keys, "
        "or names. If several have a name, their keys are listed and nothing is removed. What "
        "is removed is compiled again when it is needed.",
    .details = "--older-than and --namespace narrow --all: only entries that match them are "
               "removed. Runs, their counters and pinned entries stay.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .max_operands = SIZE_MAX,
    .words = RK_WORD_KEY,
};

const rk_verb rk_verb_rm = {
    .brief = "remove entries or quarantined files",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_STORE,
    .check = check,
    .run = run,
};
