#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "cli/entries.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/run_names.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

enum { KEY_DIGITS_SHOWN = 12 };

typedef struct row {
    rk_kept kept;
    rk_entry_fault fault;  // if not RK_ENTRY_OK: created_ns is the file's time, the rest is unset
    char *name, *platform; // owned; "" if unknown
    uint64_t created_ns, compile_ns, payload_bytes;
} row;

typedef struct row_list {
    row *items; // owned
    size_t count;
} row_list;

static void row_list_cleanup(row_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        rk_free(list->items[i].name);
        rk_free(list->items[i].platform);
    }
    rk_free(list->items);
}

static char *member(json_t *metadata, const char *key) {
    const char *text = json_string_value(json_object_get(metadata, key));
    return rk_need(rk_strdup(text ? text : ""));
}

static rk_err *read_row(rk_store *store, const rk_kept *kept, row *out_row) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    RK_TRY(rk_store_read(store, RK_ENTRY_EXECUTABLE, kept->hex, RK_WANT_HEAD, &lookup));
    *out_row = (row){.kept = *kept, .fault = lookup.fault, .created_ns = kept->modified_ns};
    json_t *metadata = rk_out_parsed(lookup.view.entry.metadata);
    out_row->name = member(metadata, "name");
    out_row->platform = member(metadata, "platform");
    json_decref(metadata);
    if (lookup.found) {
        out_row->created_ns = lookup.view.entry.created_ns;
        out_row->compile_ns = lookup.view.entry.compile_ns;
        out_row->payload_bytes = lookup.view.payload_raw_bytes;
    }
    return NULL;
}

static rk_err *read_rows(rk_store *store, row_list *out_rows) {
    __attribute__((cleanup(rk_kept_list_cleanup))) rk_kept_list kept = {0};
    RK_TRY(rk_kept_collect(store, &kept));
    out_rows->items = rk_need(rk_calloc(kept.count + 1, sizeof *out_rows->items));
    rk_progress progress = rk_progress_start("reading entries");
    rk_err *err = NULL;
    for (size_t i = 0; i < kept.count && !err; i++) {
        rk_progress_step(&progress, i, kept.count);
        if (!kept.items[i].has_executable)
            continue;
        err = read_row(store, &kept.items[i], &out_rows->items[out_rows->count]);
        if (rk_err_code(err) == RK_NOT_FOUND)
            rk_err_drop(RK_TAKE(err), "removed by another process since it was listed");
        else if (!err)
            out_rows->count++;
    }
    rk_progress_end(&progress);
    return err;
}

static int larger_first(uint64_t a, uint64_t b) {
    return a > b ? -1 : a < b;
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const row *)a)->kept.hex, ((const row *)b)->kept.hex);
}
static int by_name(const void *a, const void *b) {
    int order = strcmp(((const row *)a)->name, ((const row *)b)->name);
    return order ? order : by_key(a, b);
}
static int by_size(const void *a, const void *b) {
    int order = larger_first(((const row *)a)->kept.executable_bytes,
                             ((const row *)b)->kept.executable_bytes);
    return order ? order : by_key(a, b);
}
static int by_seconds(const void *a, const void *b) {
    int order = larger_first(((const row *)a)->compile_ns, ((const row *)b)->compile_ns);
    return order ? order : by_key(a, b);
}
static int by_time(const void *a, const void *b) {
    int order = larger_first(((const row *)a)->created_ns, ((const row *)b)->created_ns);
    return order ? order : by_key(a, b);
}

typedef int (*order_fn)(const void *a, const void *b);

// The first order is the default.
static const char *const order_names[] = {"seconds", "size", "time", "name", "key", NULL};
static const struct order {
    order_fn order;
    const char *first, *reversed; // what the list begins with, in words
} orders[RK_ARRAY_LEN(order_names) - 1] = {{by_seconds, "costliest", "cheapest"},
                                           {by_size, "largest", "smallest"},
                                           {by_time, "newest", "oldest"},
                                           {by_name, "first", "last"},
                                           {by_key, "first", "last"}};

// `name` is one of `order_names`, or NULL.
static const struct order *find_order(const char *name) {
    for (size_t i = 0; name && i < RK_ARRAY_LEN(orders); i++)
        if (strcmp(order_names[i], name) == 0)
            return &orders[i];
    return &orders[0];
}

static void sort(row_list *rows, order_fn order, bool reverse) {
    if (rows->count > 0)
        qsort(rows->items, rows->count, sizeof *rows->items, order);
    for (size_t i = 0; reverse && i < rows->count / 2; i++) {
        row swapped = rows->items[i];
        rows->items[i] = rows->items[rows->count - 1 - i];
        rows->items[rows->count - 1 - i] = swapped;
    }
}

static void add_row(rk_table *table, const row *one) {
    char key[KEY_DIGITS_SHOWN + 1];
    (void)snprintf(key, sizeof key, "%.*s", KEY_DIGITS_SHOWN, one->kept.hex);
    uint64_t now = rk_realtime_ns();
    bool sound = one->fault == RK_ENTRY_OK;
    rk_table_add(table, RK_STYLE_BOLD, key);
    rk_table_add(table, sound ? RK_STYLE_NONE : RK_STYLE_BAD,
                 sound ? one->name : rk_entry_fault_text(one->fault));
    rk_table_add(table, RK_STYLE_NONE, sound ? rk_text_seconds(one->compile_ns).text : "?");
    rk_table_add(table, RK_STYLE_NONE, rk_text_bytes(one->kept.executable_bytes).text);
    rk_table_add(table, RK_STYLE_DIM,
                 rk_text_age(now > one->created_ns ? now - one->created_ns : 0).text);
    rk_table_add(table, RK_STYLE_NONE, one->platform);
}

typedef struct request {
    const struct order *order;
    bool reverse, all;
    size_t most; // 0: not given
} request;

// Appends the command that shows all in the same order.
static void add_command(const request *r, rk_buf *out) {
    const char *sort = order_names[r->order - orders];
    bool is_default = r->order == &orders[0];
    rk_buf_add_format(out, "`rekindle ls%s%s%s --all`", is_default ? "" : " --sort ",
                      is_default ? "" : sort, r->reverse ? " --reverse" : "");
}

static void print_sum(const row_list *rows, size_t shown, const request *r) {
    uint64_t bytes = 0, program_bytes = 0, compile_ns = 0;
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    for (size_t i = 0; i < rows->count; i++) {
        bytes += rows->items[i].kept.executable_bytes;
        program_bytes += rows->items[i].kept.program_bytes;
        compile_ns += rows->items[i].compile_ns;
    }
    rk_buf_add_format(&line, "%s%zu executable%s, %s, %s of compilation%s; their programs %s.",
                      rk_style(RK_STYLE_BOLD, stdout), rows->count, rk_text_plural(rows->count),
                      rk_text_bytes(bytes).text, rk_text_seconds(compile_ns).text,
                      rk_style(RK_STYLE_NONE, stdout), rk_text_bytes(program_bytes).text);
    if (shown < rows->count) {
        rk_buf_add_format(
            &line, " The %s %zu %s shown: ", r->reverse ? r->order->reversed : r->order->first,
            shown, shown == 1 ? "is" : "are");
        add_command(r, &line);
        rk_buf_add_text(&line, " shows all.");
    }
    rk_term_line(rk_need_text(&line), 0);
}

static void print_text(const row_list *rows, size_t most, const request *r) {
    static const rk_table_column columns[] = {
        {.title = "KEY"},
        {.title = "NAME", .least = 26, .middle = true},
        {.title = "COMPILED IN", .right = true},
        {.title = "EXECUTABLE SIZE", .right = true},
        {.title = "AGE", .right = true},
        {.title = "PLATFORM", .least = 8, .optional = true},
    };
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    size_t shown = rows->count < most ? rows->count : most;
    for (size_t i = 0; i < shown; i++)
        add_row(&table, &rows->items[i]);
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    (void)putchar('\n');
    print_sum(rows, shown, r);
}

static void print_json(const row_list *rows, size_t most) {
    json_t *object = rk_out_object(), *list = rk_out_array();
    uint64_t bytes = 0, compile_ns = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const row *one = &rows->items[i];
        bool sound = one->fault == RK_ENTRY_OK;
        json_t *entry = rk_out_object();
        rk_out_set(entry, "key", rk_out_string(one->kept.hex));
        rk_out_set(entry, "name", rk_out_string(one->name));
        rk_out_set(entry, "bytes", rk_out_uint(one->kept.executable_bytes));
        rk_out_set(entry, "executable_bytes", rk_out_uint(one->payload_bytes));
        rk_out_set(entry, "program_bytes", rk_out_uint(one->kept.program_bytes));
        rk_out_set(entry, "compile_seconds", rk_out_seconds(one->compile_ns));
        rk_out_set(entry, "created", rk_out_string(rk_text_utc(one->created_ns).text));
        rk_out_set(entry, "platform", rk_out_string(one->platform));
        rk_out_set(entry, "fault", rk_out_string(sound ? NULL : rk_entry_fault_text(one->fault)));
        if (i < most)
            rk_out_append(list, entry);
        else
            json_decref(entry);
        bytes += one->kept.executable_bytes + one->kept.program_bytes;
        compile_ns += one->compile_ns;
    }
    rk_out_set(object, "entries", list);
    rk_out_set(object, "bytes", rk_out_uint(bytes));
    rk_out_set(object, "compile_seconds", rk_out_seconds(compile_ns));
    rk_out_print(object);
}

// Runs may be there although all executables were removed, or none was stored.
static void print_empty(const rk_settings *settings) {
    RK_AUTO(rk_run_names) runs = {0};
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_err_drop(rk_run_names_collect(rk_settings_get(settings)->dir, &runs),
                "they are not counted");
    if (runs.count == 0) {
        rk_place_print_nothing_yet(settings, "executables");
        return;
    }
    rk_buf_add_format(&line,
                      "No executables are stored: they were removed, or none was stored. %zu run%s "
                      "%s recorded (`rekindle runs`).",
                      runs.count, rk_text_plural(runs.count), runs.count == 1 ? "is" : "are");
    rk_term_line(rk_need_text(&line), 0);
}

// How many rows the text shows: as many as given, or two screens.
static size_t rows_shown(const request *r) {
    enum { OTHER_LINES = 4 };
    size_t lines = rk_term_two_screens(stdout);
    if (r->most || r->all)
        return r->most ? r->most : SIZE_MAX;
    return lines == SIZE_MAX ? lines : lines - OTHER_LINES;
}

static rk_err *show(const rk_settings *settings, const request *r, bool json) {
    RK_AUTO_STORE store = NULL;
    __attribute__((cleanup(row_list_cleanup))) row_list rows = {0};
    RK_TRY(rk_place_open_store(settings, true, &store));
    if (store)
        RK_TRY(read_rows(store, &rows));
    sort(&rows, r->order->order, r->reverse);
    if (json)
        print_json(&rows, r->most ? r->most : SIZE_MAX);
    else if (rows.count == 0)
        print_empty(settings);
    else
        print_text(&rows, rows_shown(r), r);
    return NULL;
}

static struct {
    const char *sort, *most;
    request request; // from the others
} given;

static rk_err *check(const rk_verb_call *call) {
    (void)call;
    if (given.most)
        RK_TRY(rk_opt_count("--number (-n)", given.most, &given.request.most));
    given.request.order = find_order(given.sort);
    return NULL;
}

static rk_err *run(rk_verb_call *call) {
    return show(call->settings, &given.request, call->json);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("number", 'n', &given.most, "N", "only the first N"),
    RK_OPT_FLAG("all", 'a', &given.request.all, "all, also more than two screens"),
    RK_OPT_CHOICE("sort", 's', &given.sort, "BY", order_names,
                  "seconds (the default; the costliest first), size (the largest first), time (the "
                  "newest first), name or key"),
    RK_OPT_FLAG("reverse", 'r', &given.request.reverse, "the other way round"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "ls",
    .summary = "Lists the stored executables: the beginning of the key, the program's name, "
               "how long compiling it took, the size in the store, its age and platform.",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_ls = {
    .brief = "list the stored executables",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_STORE,
    .check = check,
    .run = run,
};
