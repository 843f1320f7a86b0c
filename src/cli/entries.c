#include "cli/entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/table.h"
#include "cli/text.h"

enum { MIN_PREFIX_DIGITS = 4 };

void rk_kept_list_cleanup(rk_kept_list *list) {
    rk_free(list->items);
    *list = (rk_kept_list){0};
}

typedef struct collector {
    rk_kept_list *list;
    rk_entry_kind kind;
} collector;

static rk_err *add_file(void *context, const rk_store_item *item) {
    collector *self = context;
    rk_kept_list *list = self->list;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 256;
        list->items = rk_need(rk_realloc(list->items, capacity * sizeof *list->items));
        list->capacity = capacity;
    }
    rk_kept *kept = &list->items[list->count++];
    *kept = (rk_kept){.modified_ns = item->modified_ns};
    memcpy(kept->hex, item->hex, sizeof kept->hex);
    if (self->kind == RK_ENTRY_EXECUTABLE) {
        kept->has_executable = true;
        kept->executable_bytes = item->stored_bytes;
    } else {
        kept->has_program = true;
        kept->program_bytes = item->stored_bytes;
    }
    return NULL;
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const rk_kept *)a)->hex, ((const rk_kept *)b)->hex);
}

// Merges neighbours with the same key; the list is sorted.
static void merge(rk_kept_list *list) {
    size_t used = 0;
    for (size_t i = 0; i < list->count; i++) {
        rk_kept *last = used > 0 ? &list->items[used - 1] : NULL;
        const rk_kept *next = &list->items[i];
        if (!last || strcmp(last->hex, next->hex) != 0) {
            list->items[used++] = *next;
            continue;
        }
        last->has_executable |= next->has_executable;
        last->has_program |= next->has_program;
        last->executable_bytes += next->executable_bytes;
        last->program_bytes += next->program_bytes;
        last->modified_ns =
            last->modified_ns > next->modified_ns ? last->modified_ns : next->modified_ns;
    }
    list->count = used;
}

rk_err *rk_kept_collect(rk_store *store, rk_kept_list *out_list) {
    collector executables = {out_list, RK_ENTRY_EXECUTABLE};
    collector programs = {out_list, RK_ENTRY_PROGRAM};
    RK_TRY(rk_store_each(store, RK_ENTRY_EXECUTABLE, add_file, &executables));
    RK_TRY(rk_store_each(store, RK_ENTRY_PROGRAM, add_file, &programs));
    if (out_list->count > 0)
        qsort(out_list->items, out_list->count, sizeof *out_list->items, by_key);
    merge(out_list);
    return NULL;
}

static bool may_be_key(const char *text) {
    size_t len = strlen(text);
    return len >= MIN_PREFIX_DIGITS && len <= RK_DIGEST_HEX_CHARS &&
           strspn(text, "0123456789abcdef") == len;
}

// `*out_kept` is NULL if no key begins with `prefix`.
static rk_err *find_by_key(const rk_kept_list *list, const char *prefix, const rk_kept **out_kept) {
    *out_kept = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const rk_kept *one = &list->items[i];
        if (strncmp(one->hex, prefix, strlen(prefix)) != 0)
            continue;
        if (*out_kept)
            return rk_error(RK_INVALID_ARGUMENT,
                            "several keys begin with %s, %.16s and %.16s among them: give more "
                            "digits",
                            prefix, (*out_kept)->hex, one->hex);
        *out_kept = one;
    }
    return NULL;
}

// An entry with the name that is searched for.
typedef struct match {
    const rk_kept *kept;
    uint64_t compile_ns;
} match;

typedef struct match_list {
    match *items; // owned
    size_t count;
} match_list;

void rk_kept_about_cleanup(rk_kept_about *about) {
    rk_free(about->name);
    *about = (rk_kept_about){0};
}

// The executable gives a program its name. Without an executable, its sketch has the module's name.
static const char *name_in(const json_t *metadata) {
    const char *name = json_string_value(json_object_get(metadata, "name"));
    const json_t *sketch = json_object_get(metadata, "sketch");
    if (name && name[0])
        return name;
    name = json_string_value(json_object_get(sketch, "module"));
    return name && name[0] ? name : NULL;
}

// An older rekindle did not record a failure. Then the missing name tells it.
static bool has_failed(const rk_kept *kept, const json_t *metadata) {
    const char *name = json_string_value(json_object_get(metadata, "name"));
    return !kept->has_executable &&
           (json_is_true(json_object_get(metadata, "failed")) || (name && !name[0]));
}

rk_err *rk_kept_read(rk_store *store, const rk_kept *kept, rk_kept_about *out_about) {
    *out_about = (rk_kept_about){0};
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    bool only_program = kept->has_program && !kept->has_executable;
    rk_err *err = rk_store_read(store, only_program ? RK_ENTRY_PROGRAM : RK_ENTRY_EXECUTABLE,
                                kept->hex, RK_WANT_HEAD, &lookup);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "another process removed it");
        return NULL;
    }
    RK_TRY(err);
    if (!lookup.found)
        return NULL;
    json_t *metadata = rk_out_parsed(lookup.view.entry.metadata);
    const char *name = name_in(metadata);
    out_about->name = name ? rk_need(rk_strdup(name)) : NULL;
    out_about->compile_ns = lookup.view.entry.compile_ns;
    out_about->failed = has_failed(kept, metadata);
    json_decref(metadata);
    return NULL;
}

char *rk_kept_shown_name(rk_store *store, const rk_kept *kept) {
    RK_AUTO(rk_kept_about) about = {0};
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_err_drop(rk_kept_read(store, kept, &about), "the key is shown");
    if (about.name)
        rk_buf_add_text(&text, about.name);
    if (about.failed)
        rk_buf_add_format(&text, "%s(failed)", about.name ? " " : "");
    return rk_need(rk_strdup(rk_need_text(&text)));
}

void rk_kept_add_label(rk_store *store, const rk_kept *kept, rk_buf *out) {
    enum { KEY_DIGITS = 12 };
    rk_autofree char *name = rk_kept_shown_name(store, kept);
    rk_text_add_printable(out, rk_span_text(name));
    rk_buf_add_format(out, "%s%.*s", name[0] ? " " : "", KEY_DIGITS, kept->hex);
}

const rk_kept *rk_kept_of_key(const rk_kept_list *list, const char *hex) {
    rk_kept wanted = {.has_executable = false};
    (void)snprintf(wanted.hex, sizeof wanted.hex, "%s", hex);
    return list->count ? bsearch(&wanted, list->items, list->count, sizeof wanted, by_key) : NULL;
}

// Adds the entry if it has the name. A failed compilation is no stored executable, and has no name.
static rk_err *add_if_named(rk_store *store, const rk_kept *kept, const char *name,
                            match_list *list) {
    RK_AUTO(rk_kept_about) about = {0};
    RK_TRY(rk_kept_read(store, kept, &about));
    if (about.name && !about.failed && strcmp(about.name, name) == 0)
        list->items[list->count++] = (match){kept, about.compile_ns};
    return NULL;
}

static int costliest_first(const void *a, const void *b) {
    const match *one = a, *other = b;
    return (one->compile_ns < other->compile_ns) - (one->compile_ns > other->compile_ns);
}

// Prints the keys to choose from below the error.
static void list_below(const match_list *list) {
    enum { KEY_DIGITS = 12, MOST = 20 };
    static const rk_table_column columns[] = {{.title = "  KEY"},
                                              {.title = "COMPILED IN", .right = true},
                                              {.title = "SIZE WITH PROGRAM", .right = true},
                                              {.title = "USED"}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    uint64_t now_ns = rk_realtime_ns();
    qsort(list->items, list->count, sizeof *list->items, costliest_first);
    for (size_t i = 0; i < list->count && i < MOST; i++) {
        const rk_kept *kept = list->items[i].kept;
        RK_AUTO(rk_buf) key = RK_BUF_INIT(0);
        rk_buf_add_format(&key, "  %.*s", KEY_DIGITS, kept->hex);
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&key));
        rk_table_add(&table, RK_STYLE_NONE, rk_text_seconds(list->items[i].compile_ns).text);
        rk_table_add(&table, RK_STYLE_NONE,
                     rk_text_bytes(kept->executable_bytes + kept->program_bytes).text);
        rk_table_add(&table, RK_STYLE_NONE,
                     rk_text_age(now_ns > kept->modified_ns ? now_ns - kept->modified_ns : 0).text);
    }
    char *text = NULL;
    size_t len = 0;
    FILE *out = rk_need(open_memstream(&text, &len));
    rk_table_print(&table, 0, out);
    if (list->count > MOST)
        (void)fprintf(out, "  and %zu more: `rekindle ls --sort name` lists them\n",
                      list->count - MOST);
    (void)fclose(out);
    rk_fail_set_details(rk_need(text));
    free(text);
}

// `out_matches->items` has space for all entries of `list`.
static rk_err *collect_named(rk_store *store, const rk_kept_list *list, const char *name,
                             match_list *out_matches) {
    for (size_t i = 0; store && i < list->count; i++)
        RK_TRY(add_if_named(store, &list->items[i], name, out_matches));
    return NULL;
}

// `*out_kept` is NULL if no entry has the name.
static rk_err *find_by_name(rk_store *store, const rk_kept_list *list, const char *name,
                            const rk_kept **out_kept) {
    *out_kept = NULL;
    rk_autofree match *items = rk_need(rk_calloc(list->count + 1, sizeof *items));
    match_list matches = {.items = items};
    RK_TRY(collect_named(store, list, name, &matches));
    if (matches.count > 1) {
        list_below(&matches);
        return rk_error(RK_INVALID_ARGUMENT,
                        "%zu entries have the name %s: which one? Give its key", matches.count,
                        name);
    }
    *out_kept = matches.count ? matches.items[0].kept : NULL;
    return NULL;
}

rk_err *rk_kept_has_name(rk_store *store, const rk_kept_list *list, const char *name,
                         bool *out_has) {
    rk_autofree match *items = rk_need(rk_calloc(list->count + 1, sizeof *items));
    match_list matches = {.items = items};
    RK_TRY(collect_named(store, list, name, &matches));
    *out_has = matches.count > 0;
    return NULL;
}

rk_err *rk_kept_find(rk_store *store, const rk_kept_list *list, const char *which,
                     const rk_kept **out_kept) {
    bool is_key = may_be_key(which);
    *out_kept = NULL;
    if (is_key)
        RK_TRY(find_by_key(list, which, out_kept));
    if (!*out_kept)
        RK_TRY(find_by_name(store, list, which, out_kept));
    if (*out_kept)
        return NULL;
    if (is_key)
        return rk_error(RK_NOT_FOUND, "no key begins with %s: `rekindle ls` lists all keys", which);
    return rk_error(RK_INVALID_ARGUMENT,
                    "'%s' is not a key, and no entry has this name: give a name, or at least %d of "
                    "the digits that `rekindle ls` shows",
                    which, MIN_PREFIX_DIGITS);
}
