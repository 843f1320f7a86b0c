#include <stdio.h>
#include <string.h>

#include "base/tree.h"
#include "cli/cli.h"
#include "cli/entries.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/text.h"

typedef struct removal {
    rk_store *store;
    bool dry_run, json;
    json_t *list;
    uint64_t count, bytes;
} removal;

static void count_one(removal *r, const char *key, const char *name, uint64_t bytes) {
    json_t *one = rk_out_object();
    rk_out_set(one, key, rk_out_string(name));
    rk_out_set(one, "bytes", rk_out_uint(bytes));
    rk_out_append(r->list, one);
    r->count++;
    r->bytes += bytes;
    if (!r->json)
        (void)printf("%s%s  %s\n", r->dry_run ? "would remove " : "removed ", name,
                     rk_text_bytes(bytes).text);
}

static rk_err *remove_key(removal *r, const rk_kept *kept) {
    uint64_t bytes = kept->executable_bytes + kept->program_bytes;
    if (!r->dry_run) {
        rk_err *err = rk_store_remove(r->store, kept->hex, &bytes);
        if (rk_err_code(err) == RK_NOT_FOUND) {
            rk_err_drop(err, "another process removed it");
            return NULL;
        }
        if (err)
            return err;
    }
    count_one(r, "key", kept->hex, bytes);
    return NULL;
}

// All keys are looked up before the first is removed: a slip in one leaves everything as it was.
static rk_err *remove_some(removal *r, const rk_kept_list *kept, const rk_opt_operands *keys) {
    rk_autofree const rk_kept **chosen = rk_need(rk_calloc(keys->count, sizeof *chosen));
    for (size_t i = 0; i < keys->count; i++)
        RK_TRY(rk_kept_find(kept, keys->items[i], &chosen[i]));
    for (size_t i = 0; i < keys->count; i++) {
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again = again || chosen[j] == chosen[i];
        if (!again)
            RK_TRY(remove_key(r, chosen[i]));
    }
    return NULL;
}

static rk_err *remove_all(removal *r, const rk_kept_list *kept) {
    for (size_t i = 0; i < kept->count; i++)
        RK_TRY(remove_key(r, &kept->items[i]));
    return NULL;
}

static const char quarantine_folder[] = "quarantine";

// Through base/tree.h: a link put in place of the folder must not have other files removed.
static rk_err *remove_file(void *context, const char *name) {
    removal *r = context;
    const char *store = rk_store_directory(r->store);
    rk_autofree char *path = rk_need(rk_path_join(quarantine_folder, name));
    struct stat info;
    rk_err *err = rk_tree_stat(store, path, &info);
    if (!err && !S_ISREG(info.st_mode))
        return NULL; // nothing that was put there by us
    if (!err && !r->dry_run)
        err = rk_tree_remove(store, path);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "another process removed it");
        return NULL;
    }
    RK_TRY(err);
    count_one(r, "file", name, (uint64_t)info.st_size);
    return NULL;
}

static rk_err *remove_quarantine(removal *r) {
    enum { MAX_FILES = 1 << 20 };
    rk_err *err =
        rk_tree_list(rk_store_directory(r->store), quarantine_folder, MAX_FILES, remove_file, r);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "nothing was ever set aside");
    return NULL;
}

static void print_end(removal *r) {
    if (!r->json) {
        if (r->count == 0)
            (void)printf("There is nothing to remove.\n");
        else
            (void)printf("%s %s, %s\n", r->dry_run ? "would free" : "freed",
                         rk_text_bytes(r->bytes).text,
                         r->dry_run ? "but this was a dry run: nothing is removed" : "all done");
        return;
    }
    json_t *object = rk_out_object();
    rk_out_set(object, "removed", RK_TAKE(r->list));
    rk_out_set(object, "bytes", rk_out_uint(r->bytes));
    rk_out_set(object, "dry_run", rk_out_bool(r->dry_run));
    rk_out_print(object);
}

static rk_err *act(removal *r, const rk_settings *settings, bool all, bool quarantine,
                   const rk_opt_operands *keys) {
    RK_AUTO_STORE store = NULL;
    __attribute__((cleanup(rk_kept_list_cleanup))) rk_kept_list kept = {0};
    RK_TRY(rk_place_open_store(settings, r->dry_run, &store));
    if (store && (all || keys->count > 0))
        RK_TRY(rk_kept_collect(store, &kept));
    r->store = store;
    rk_err *err = NULL;
    if (keys->count > 0)
        err = remove_some(r, &kept, keys);
    if (!err && all)
        err = remove_all(r, &kept);
    if (!err && quarantine && store)
        err = remove_quarantine(r);
    if (!err)
        print_end(r);
    return err;
}

static rk_err *check_choice(bool all, bool quarantine, const rk_opt_operands *keys) {
    if (keys->count == 0 && !all && !quarantine)
        return rk_error(RK_INVALID_ARGUMENT,
                        "rm needs to know what: keys as `rekindle ls` shows them, --all, or "
                        "--quarantine");
    if (keys->count > 0 && all)
        return rk_error(RK_INVALID_ARGUMENT,
                        "rm takes keys or --all, not both: '%s' would make no difference",
                        keys->items[0]);
    return NULL;
}

int rk_verb_rm(int argc, char **argv) {
    bool json = false, all = false, quarantine = false, dry_run = false;
    const char *dir = NULL;
    const rk_opt options[] = {
        RK_OPT_FLAG("all", 'a', &all, "every executable and program"),
        RK_OPT_FLAG("quarantine", 'q', &quarantine, "what was set aside as damaged"),
        RK_OPT_FLAG("dry-run", 'n', &dry_run, "only say what would be removed"),
        RK_OPT_JSON(&json),
        RK_OPT_DIR(&dir),
    };
    const rk_opt_usage usage = {
        .verb = "rm",
        .operands = "[KEY…]",
        .summary = "Removes executables, each with its program, by their keys or the beginnings "
                   "of them. What is removed is compiled again when it is needed.",
        .details = "Runs and their counters stay.\n",
        .options = options,
        .option_count = RK_ARRAY_LEN(options),
        .max_operands = SIZE_MAX,
    };
    rk_opt_operands keys;
    int status;
    if (!rk_opt_begin(&usage, argc, argv, &keys, &status))
        return status;
    rk_place_set_variable("REKINDLE_DIR", dir);
    RK_AUTO_SETTINGS settings = NULL;
    removal r = {.dry_run = dry_run, .json = json, .list = rk_out_array()};
    rk_err *err = check_choice(all, quarantine, &keys);
    if (!err)
        err = rk_place_settings(&settings);
    if (!err)
        err = act(&r, settings, all, quarantine, &keys);
    json_decref(r.list);
    return err ? rk_cli_fail(err, json) : RK_EXIT_OK;
}
