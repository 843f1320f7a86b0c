#include "cli/stored_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "cli/entries.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "cli/run_command.h"
#include "cli/run_names.h"
#include "cli/text.h"

enum {
    MOST_RUNS = 50,
    MOST_ENTRIES = 100, // listed
    MOST_NAMES = 500,   // read; older entries are listed by key
    KEY_DIGITS = 12,
    COMMAND_COLUMNS = 60,
};

// Where words go.
typedef struct sink {
    const char *prefix;
    rk_stored_word_fn visit;
    void *context;
} sink;

static bool begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Appends when the run started and its command: "3 min ago: train.py --lr 3e-4".
static void describe_run(const char *directory, const rk_run_names *names, size_t index,
                         rk_buf *out) {
    uint64_t start_ns = names->start_ns[index], now_ns = rk_realtime_ns();
    RK_AUTO(rk_buf) command = RK_BUF_INIT(0), shown = RK_BUF_INIT(0);
    rk_run_command_add_from(directory, names->items[index], "0.jsonl", &command);
    rk_text_add_printable(&shown, rk_buf_span(&command));
    rk_buf_add_text(out, rk_text_age(now_ns > start_ns ? now_ns - start_ns : 0).text);
    rk_buf_add_text(out, shown.len ? ": " : "");
    rk_buf_add(out, shown.data, rk_text_fit(rk_need_text(&shown), COMMAND_COLUMNS));
}

static void visit_run(const sink *s, const char *directory, const rk_run_names *names, size_t index,
                      const char *word) {
    RK_AUTO(rk_buf) about = RK_BUF_INIT(0);
    if (!begins(word, s->prefix))
        return;
    describe_run(directory, names, index, &about);
    s->visit(s->context, word, rk_need_text(&about));
}

static rk_err *visit_runs(const sink *s) {
    RK_AUTO_SETTINGS settings = NULL;
    RK_AUTO(rk_run_names) names = {0};
    RK_TRY(rk_place_settings(&settings));
    const char *directory = rk_settings_get(settings)->dir;
    RK_TRY(rk_run_names_collect(directory, &names));
    if (names.count > 0)
        visit_run(s, directory, &names, names.count - 1, "last");
    for (size_t back = 1; back <= names.count && back <= MOST_RUNS; back++) {
        size_t index = names.count - back;
        RK_AUTO(rk_buf) counted = RK_BUF_INIT(0);
        rk_buf_add_format(&counted, "-%zu", back);
        visit_run(s, directory, &names, index,
                  s->prefix[0] == '-' ? rk_need_text(&counted) : names.items[index]);
    }
    return NULL;
}

void rk_stored_runs(const char *prefix, rk_stored_word_fn visit, void *context) {
    const sink s = {prefix, visit, context};
    rk_err_drop(visit_runs(&s), "then there is nothing to choose from");
}

// An entry with what is shown of it.
typedef struct named {
    const rk_kept *kept;
    char *name; // owned; NULL if it has none that can be typed
    uint64_t compile_ns;
} named;

typedef struct named_list {
    named *items; // owned
    size_t count;
} named_list;

static void named_list_cleanup(named_list *list) {
    for (size_t i = 0; i < list->count; i++)
        rk_free(list->items[i].name);
    rk_free(list->items);
}

static int newest_first(const void *a, const void *b) {
    const rk_kept *one = ((const named *)a)->kept, *other = ((const named *)b)->kept;
    if (one->modified_ns != other->modified_ns)
        return one->modified_ns < other->modified_ns ? 1 : -1;
    return strcmp(one->hex, other->hex);
}

// True for a name that needs no quotes in a shell and looks like no option.
static bool is_word(const char *name) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return name[0] && name[0] != '-' && name[strspn(name, plain)] == '\0';
}

static rk_err *read_names(rk_store *store, named_list *list) {
    for (size_t i = 0; i < list->count && i < MOST_NAMES; i++) {
        named *item = &list->items[i];
        RK_AUTO(rk_kept_about) about = {0};
        RK_TRY(rk_kept_read(store, item->kept, &about));
        item->compile_ns = about.compile_ns;
        if (about.name && !about.failed && is_word(about.name))
            item->name = RK_TAKE(about.name);
    }
    return NULL;
}

static bool shares_name(const named_list *list, const named *item) {
    for (size_t i = 0; i < list->count; i++) {
        const named *other = &list->items[i];
        if (other != item && other->name && strcmp(other->name, item->name) == 0)
            return true;
    }
    return false;
}

// Visits an entry by its name or its key. Returns false if neither begins with the prefix.
static bool visit_entry(const sink *s, const named_list *list, const named *item) {
    size_t typed = strlen(s->prefix);
    char key[RK_DIGEST_HEX_CHARS + 1];
    RK_AUTO(rk_buf) about = RK_BUF_INIT(0);
    memcpy(key, item->kept->hex, sizeof key);
    if (typed <= KEY_DIGITS)
        key[KEY_DIGITS] = '\0';
    bool by_name = item->name && begins(item->name, s->prefix) && !shares_name(list, item);
    bool by_key = begins(key, s->prefix) && !(by_name && typed == 0);
    if (!by_name && !by_key)
        return false;
    if (item->name)
        rk_buf_add_format(&about, "compiled in %s", rk_text_seconds(item->compile_ns).text);
    if (by_name)
        s->visit(s->context, item->name, rk_need_text(&about));
    if (by_key && item->name)
        rk_buf_add_format(&about, ": %s", item->name);
    if (by_key)
        s->visit(s->context, key, rk_need_text(&about));
    return true;
}

static rk_err *visit_keys(const sink *s) {
    RK_AUTO_SETTINGS settings = NULL;
    RK_AUTO_STORE store = NULL;
    RK_AUTO(rk_kept_list) kept = {0};
    RK_AUTO(named_list) list = {0};
    RK_TRY(rk_place_settings(&settings));
    RK_TRY(rk_place_open_store(settings, true, &store));
    if (!store)
        return NULL;
    RK_TRY(rk_kept_collect(store, &kept));
    list.items = rk_need(rk_calloc(kept.count + 1, sizeof *list.items));
    for (size_t i = 0; i < kept.count; i++)
        list.items[list.count++].kept = &kept.items[i];
    qsort(list.items, list.count, sizeof *list.items, newest_first);
    RK_TRY(read_names(store, &list));
    for (size_t i = 0, shown = 0; i < list.count && shown < MOST_ENTRIES; i++)
        shown += visit_entry(s, &list, &list.items[i]);
    return NULL;
}

void rk_stored_keys(const char *prefix, rk_stored_word_fn visit, void *context) {
    const sink s = {prefix, visit, context};
    rk_err_drop(visit_keys(&s), "then there is nothing to choose from");
}
