#include <stdio.h>
#include <string.h>

#include "cli/entries.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "store/pins.h"

// One call of `pin` or `unpin`.
typedef struct request {
    bool unpin, all, json;
    rk_store *store; // NULL: the store does not exist yet
    rk_kept_list kept;
    rk_pins pins;
    json_t *changed; // owned
} request;

static void request_cleanup(request *r) {
    rk_kept_list_cleanup(&r->kept);
    rk_pins_cleanup(&r->pins);
    rk_store_free(r->store);
    json_decref(r->changed);
}

static rk_err *change(request *r, const char *hex) {
    bool was_pinned = false;
    RK_TRY(r->unpin ? rk_store_unpin(r->store, hex, &was_pinned)
                    : rk_store_pin(r->store, hex, &was_pinned));
    bool changed = was_pinned == r->unpin;
    if (changed)
        rk_out_append(r->changed, rk_out_string(hex));
    if (!r->json)
        (void)printf("%s %s\n", hex,
                     changed    ? r->unpin ? "is no longer pinned" : "is pinned"
                     : r->unpin ? "was not pinned"
                                : "was pinned already");
    return NULL;
}

// Replaces the list of keys with the pins: a pinned key can be unpinned even if its entry is no
// longer stored.
static void add_pins(request *r) {
    rk_kept_list list = {.items = rk_need(rk_calloc(r->pins.count + 1, sizeof *list.items)),
                         .count = r->pins.count,
                         .capacity = r->pins.count + 1};
    for (size_t i = 0; i < r->pins.count; i++)
        memcpy(list.items[i].hex, r->pins.keys[i], sizeof list.items[i].hex);
    rk_kept_list_cleanup(&r->kept);
    r->kept = list;
}

// Looks up all keys before it changes the first.
static rk_err *change_all(request *r, const rk_opt_operands *keys) {
    rk_autofree const rk_kept **chosen = rk_need(rk_calloc(keys->count + 1, sizeof *chosen));
    if (r->unpin)
        add_pins(r);
    else
        RK_TRY(rk_kept_collect(r->store, &r->kept));
    for (size_t i = 0; i < keys->count; i++)
        RK_TRY(rk_kept_find(r->store, &r->kept, keys->items[i], &chosen[i]));
    for (size_t i = 0; i < keys->count; i++)
        RK_TRY(change(r, chosen[i]->hex));
    for (size_t i = 0; r->all && i < r->pins.count; i++)
        RK_TRY(change(r, r->pins.keys[i]));
    return NULL;
}

static void print_pins(const request *r) {
    for (size_t i = 0; i < r->pins.count; i++)
        (void)printf("%s\n", r->pins.keys[i]);
    if (r->pins.count == 0)
        (void)printf("Nothing is pinned.\n");
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
    if (!r->store && keys->count > 0)
        return rk_error(RK_NOT_FOUND, "there is nothing in %s yet", rk_settings_get(settings)->dir);
    if (r->store) {
        RK_TRY(rk_pins_load(r->store, &r->pins));
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
    .settings = RK_VERB_SETTINGS,
    .run = pin,
};

static bool unpin_all;

static rk_err *check_unpin(const rk_verb_call *call) {
    if (!unpin_all && call->operands->count == 0)
        return rk_error(RK_INVALID_ARGUMENT,
                        "unpin needs to know what: keys as `rekindle pin` lists them, or --all");
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
    .settings = RK_VERB_SETTINGS,
    .check = check_unpin,
    .run = unpin,
};
