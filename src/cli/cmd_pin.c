#include <stdio.h>
#include <string.h>

#include "cli/entries.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "store/pins.h"

// One call of `pin` or `unpin`.
typedef struct request {
    bool unpin, all, json;
    rk_store *store;     // NULL: the store does not exist yet
    rk_kept_list kept;   // what is stored
    rk_kept_list pinned; // what is pinned; an entry without files is no longer stored
    rk_pins pins;
    json_t *changed; // owned
} request;

static void request_cleanup(request *r) {
    rk_kept_list_cleanup(&r->kept);
    rk_kept_list_cleanup(&r->pinned);
    rk_pins_cleanup(&r->pins);
    rk_store_free(r->store);
    json_decref(r->changed);
}

// Prints "pinned jit_step 032924a2e034 (390 kB)".
static void print_change(const request *r, const rk_kept *kept, bool changed) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (changed)
        rk_buf_add_text(&line, r->unpin ? "unpinned " : "pinned ");
    rk_kept_add_label(r->store, kept, &line);
    if (changed)
        rk_buf_add_format(&line, " (%s)",
                          rk_text_bytes(kept->executable_bytes + kept->program_bytes).text);
    else
        rk_buf_add_text(&line, r->unpin ? " was not pinned" : " was pinned already");
    rk_term_line(rk_need_text(&line), 2);
}

static rk_err *change(request *r, const rk_kept *kept) {
    bool was_pinned = false;
    RK_TRY(r->unpin ? rk_store_unpin(r->store, kept->hex, &was_pinned)
                    : rk_store_pin(r->store, kept->hex, &was_pinned));
    bool changed = was_pinned == r->unpin;
    if (changed)
        rk_out_append(r->changed, rk_out_string(kept->hex));
    if (!r->json)
        print_change(r, kept, changed);
    return NULL;
}

// Collects the pins. A pinned key can be unpinned even if its entry is no longer stored.
static void collect_pinned(request *r) {
    rk_kept_list *list = &r->pinned;
    rk_kept_list_cleanup(list);
    list->items = rk_need(rk_calloc(r->pins.count + 1, sizeof *list->items));
    list->capacity = r->pins.count + 1;
    for (size_t i = 0; i < r->pins.count; i++) {
        rk_kept *one = &list->items[list->count++];
        const rk_kept *stored = rk_kept_of_key(&r->kept, r->pins.keys[i]);
        if (stored)
            *one = *stored;
        else
            memcpy(one->hex, r->pins.keys[i], sizeof one->hex);
    }
}

// Finds what `which` names among the pins, for unpin.
static rk_err *find_pinned(const request *r, const char *which, const rk_kept **out_kept) {
    rk_err *err = rk_kept_find(r->store, &r->pinned, which, out_kept);
    if (!err || rk_fail_has_details())
        return err; // found, or several pins have the name
    const rk_kept *stored = NULL;
    rk_err *other = rk_kept_find(r->store, &r->kept, which, &stored);
    if (other || rk_pins_has(&r->pins, stored->hex)) {
        rk_err_drop(other, "the error for the pins is returned");
        return err;
    }
    rk_err_drop(err, "replaced by the message for the user");
    RK_AUTO(rk_buf) label = RK_BUF_INIT(0);
    rk_kept_add_label(r->store, stored, &label);
    return rk_error(RK_NOT_FOUND, "%s is not pinned: `rekindle pin` lists what is",
                    rk_need_text(&label));
}

// Looks up all keys before it changes the first.
static rk_err *change_all(request *r, const rk_opt_operands *keys) {
    rk_autofree const rk_kept **chosen = rk_need(rk_calloc(keys->count + 1, sizeof *chosen));
    for (size_t i = 0; i < keys->count; i++)
        RK_TRY(r->unpin ? find_pinned(r, keys->items[i], &chosen[i])
                        : rk_kept_find(r->store, &r->kept, keys->items[i], &chosen[i]));
    for (size_t i = 0; i < keys->count; i++)
        RK_TRY(change(r, chosen[i]));
    for (size_t i = 0; r->all && i < r->pinned.count; i++)
        RK_TRY(change(r, &r->pinned.items[i]));
    if (r->all && r->pinned.count == 0 && !r->json)
        (void)printf("Nothing is pinned.\n");
    return NULL;
}

static void add_pin(rk_table *table, const request *r, const rk_kept *kept) {
    enum { KEY_DIGITS = 12 };
    char key[KEY_DIGITS + 1];
    rk_autofree char *name = NULL;
    bool is_stored = kept->has_executable || kept->has_program;
    (void)snprintf(key, sizeof key, "%.*s", KEY_DIGITS, kept->hex);
    if (is_stored)
        name = rk_kept_shown_name(r->store, kept);
    rk_table_add(table, RK_STYLE_BOLD, key);
    rk_table_add(table, is_stored ? RK_STYLE_NONE : RK_STYLE_DIM,
                 is_stored ? name : "no longer stored");
    rk_table_add(table, RK_STYLE_NONE,
                 is_stored ? rk_text_bytes(kept->executable_bytes + kept->program_bytes).text : "");
}

static void print_pins(const request *r) {
    static const rk_table_column columns[] = {
        {.title = "KEY"},
        {.title = "NAME", .least = 12, .middle = true},
        {.title = "SIZE WITH PROGRAM", .right = true},
    };
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    for (size_t i = 0; i < r->pinned.count; i++)
        add_pin(&table, r, &r->pinned.items[i]);
    if (r->pinned.count == 0)
        (void)printf("Nothing is pinned.\n");
    else
        rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static void print_json(request *r) {
    json_t *object = rk_out_object(), *list = rk_out_array();
    for (size_t i = 0; i < r->pins.count; i++)
        rk_out_append(list, rk_out_string(r->pins.keys[i]));
    rk_out_set(object, r->unpin ? "unpinned" : "newly_pinned", json_incref(r->changed));
    rk_out_set(object, "pins", list);
    rk_out_print(object);
}

static rk_err *act(request *r, const rk_settings *settings, const rk_opt_operands *keys) {
    bool changes = keys->count > 0 || r->all;
    RK_TRY(rk_place_open_store(settings, !changes, &r->store));
    if (keys->count > 0)
        RK_TRY(rk_place_need_store(settings, r->store));
    if (r->store) {
        RK_TRY(rk_kept_collect(r->store, &r->kept));
        RK_TRY(rk_pins_load(r->store, &r->pins));
        collect_pinned(r);
        if (changes)
            RK_TRY(change_all(r, keys));
        rk_pins_cleanup(&r->pins);
        RK_TRY(rk_pins_load(r->store, &r->pins));
    }
    if (r->json)
        print_json(r);
    else if (!changes)
        print_pins(r);
    return NULL;
}

static rk_err *pin(rk_verb_call *call) {
    RK_AUTO(request) r = {.json = call->json, .changed = rk_out_array()};
    return act(&r, call->settings, call->operands);
}

static const rk_opt pin_options[] = {RK_VERB_JSON, RK_VERB_DIR};

static const rk_opt_usage pin_usage = {
    .verb = "pin",
    .operands = "[KEY…]",
    .summary = "Keeps executables, each with its program, whatever the size of the store. "
               "Without keys, lists what is pinned.",
    .options = pin_options,
    .option_count = RK_ARRAY_LEN(pin_options),
    .max_operands = SIZE_MAX,
    .words = RK_WORD_KEY,
};

const rk_verb rk_verb_pin = {
    .brief = "protect executables from eviction",
    .usage = &pin_usage,
    .settings = RK_VERB_SETTINGS_OF_STORE,
    .run = pin,
};

static bool unpin_all;

static rk_err *check_unpin(const rk_verb_call *call) {
    if (!unpin_all && call->operands->count == 0)
        return rk_error(RK_INVALID_ARGUMENT,
                        "unpin needs to know what: keys as `rekindle pin` lists them, or --all");
    if (unpin_all && call->operands->count > 0)
        return rk_error(RK_INVALID_ARGUMENT, "unpin takes keys or --all, not both");
    return NULL;
}

static rk_err *unpin(rk_verb_call *call) {
    RK_AUTO(request) r = {.json = call->json, .changed = rk_out_array()};
    r.unpin = true;
    r.all = unpin_all;
    return act(&r, call->settings, call->operands);
}

static const rk_opt unpin_options[] = {
    RK_OPT_FLAG("all", 'a', &unpin_all, "everything that is pinned"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage unpin_usage = {
    .verb = "unpin",
    .operands = "[KEY…]",
    .summary = "Removes pins: the entries may be evicted again.",
    .options = unpin_options,
    .option_count = RK_ARRAY_LEN(unpin_options),
    .max_operands = SIZE_MAX,
    .words = RK_WORD_KEY,
};

const rk_verb rk_verb_unpin = {
    .brief = "allow pinned executables to be evicted",
    .usage = &unpin_usage,
    .settings = RK_VERB_SETTINGS_OF_STORE,
    .check = check_unpin,
    .run = unpin,
};
