#include <stdio.h>
#include <string.h>

#include "cli/component_view.h"
#include "cli/entries.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/show_program.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

typedef struct shown {
    const rk_kept *kept;
    const rk_store_lookup *lookup;
    json_t *metadata, *components; // owned; objects, or JSON null
    rk_kept_about about;           // owned
} shown;

static void hex_of(const rk_digest *digest, char out_hex[RK_DIGEST_HEX_CHARS + 1]) {
    rk_digest_to_hex(digest, out_hex);
}

static json_t *key_json(const rk_key *key) {
    const struct {
        const char *name;
        const rk_digest *digest;
    } parts[] = {{"digest", &key->digest},
                 {"program", &key->program},
                 {"options", &key->options},
                 {"environment", &key->environment}};
    json_t *object = rk_out_object();
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++) {
        char hex[RK_DIGEST_HEX_CHARS + 1];
        hex_of(parts[i].digest, hex);
        rk_out_set(object, parts[i].name, rk_out_string(hex));
    }
    return object;
}

// JSON null if the entry is not signed.
static json_t *signature_json(const shown *s) {
    const rk_entry_view *view = &s->lookup->view;
    char id[RK_KEY_ID_HEX_CHARS + 1];
    if (!view->is_signed)
        return rk_out_string(NULL);
    json_t *object = rk_out_object();
    rk_key_id(&view->signer, id);
    rk_out_set(object, "key", rk_out_string(id));
    rk_out_set(object, "trusted", rk_out_bool(s->lookup->trust == RK_TRUST_TRUSTED));
    return object;
}

static void print_json(const shown *s) {
    const rk_entry_view *view = &s->lookup->view;
    const rk_entry *entry = &view->entry;
    json_t *object = rk_out_object();
    rk_out_set(object, "key", key_json(&entry->key));
    rk_out_set(object, "digest_ok", rk_out_bool(s->lookup->fault == RK_ENTRY_OK));
    rk_out_set(object, "bytes", rk_out_uint(view->stored_bytes));
    rk_out_set(object, "executable_bytes",
               s->kept->has_executable ? rk_out_uint(view->payload_raw_bytes) : json_null());
    rk_out_set(object, "program_bytes",
               s->kept->has_program ? rk_out_uint(s->kept->program_bytes) : rk_out_string(NULL));
    rk_out_set(object, "created", rk_out_string(rk_text_utc(entry->created_ns).text));
    rk_out_set(object, "compile_seconds", rk_out_seconds(entry->compile_ns));
    rk_out_set(object, "failed", rk_out_bool(s->about.failed));
    rk_out_set(object, "ahead_of_time", rk_out_bool(entry->flags & RK_ENTRY_FLAG_AOT));
    rk_out_set(object, "signature", signature_json(s));
    rk_out_set(object, "metadata", json_incref(s->metadata));
    rk_out_set(object, "components", json_incref(s->components));
    rk_out_print(object);
}

static void add_line(rk_table *table, const char *name, const char *value) {
    rk_table_add(table, RK_STYLE_DIM, name);
    rk_table_add(table, RK_STYLE_NONE, value);
}

static void print_title(const char *title) {
    (void)printf("\n%s%s%s\n", rk_style(RK_STYLE_BOLD, stdout), title,
                 rk_style(RK_STYLE_NONE, stdout));
}

// No column is cut: people compare entries.
static const rk_table_column two_columns[] = {{.title = ""},
                                              {.title = "", .least = 16, .wrap = true}};

static void print_table(const rk_table *table) {
    rk_table_print(table, rk_term_columns(stdout), stdout);
}

static void add_signature(rk_table *table, const shown *s) {
    const rk_entry_view *view = &s->lookup->view;
    char id[RK_KEY_ID_HEX_CHARS + 1];
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    bool trusted = s->lookup->trust == RK_TRUST_TRUSTED;
    rk_key_id(&view->signer, id);
    rk_buf_add_format(&line, "by %s, which is %s", id,
                      trusted ? "trusted" : "not among the trusted keys");
    rk_table_add(table, RK_STYLE_DIM, "signature");
    rk_table_add(table, view->is_signed && trusted ? RK_STYLE_GOOD : RK_STYLE_NONE,
                 view->is_signed ? rk_need_text(&line) : "none");
}

static void add_sizes(rk_table *table, const shown *s) {
    const rk_entry_view *view = &s->lookup->view;
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (s->kept->has_executable) {
        rk_buf_add_format(&line, "%s in the store, ", rk_text_bytes(view->stored_bytes).text);
        rk_buf_add_format(&line, "%s unpacked", rk_text_bytes(view->payload_raw_bytes).text);
    } else {
        rk_buf_add_text(&line, s->about.failed ? "none: the compilation failed" : "not stored");
    }
    add_line(table, "executable", rk_need_text(&line));
    rk_buf_clear(&line);
    if (s->kept->has_program)
        rk_buf_add_format(&line, "%s in the store", rk_text_bytes(s->kept->program_bytes).text);
    else
        rk_buf_add_text(&line, "not kept");
    add_line(table, "program", rk_need_text(&line));
}

static const char *member(const shown *s, const char *name) {
    const char *value = json_string_value(json_object_get(s->metadata, name));
    return value && value[0] ? value : NULL;
}

static void print_name(const shown *s) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    const char *name = s->about.name, *platform = member(s, "platform");
    rk_buf_add_text(&line, rk_style(RK_STYLE_BOLD, stdout));
    rk_text_add_printable(&line, rk_span_text(name ? name : "a program without a name"));
    rk_buf_add_text(&line, rk_style(RK_STYLE_NONE, stdout));
    if (platform) {
        rk_buf_add_text(&line, " for ");
        rk_text_add_printable(&line, rk_span_text(platform));
    }
    if (s->about.failed)
        rk_buf_add_text(&line, ": its compilation failed, nothing was stored but the program");
    rk_term_line(rk_need_text(&line), 2);
    if (!s->about.failed || !member(s, "error"))
        return;
    rk_buf_clear(&line);
    rk_buf_add_text(&line, "error: ");
    rk_text_add_printable(&line, rk_span_of(member(s, "error"), strcspn(member(s, "error"), "\n")));
    rk_term_line(rk_need_text(&line), 2);
}

static void print_entry(const shown *s) {
    const rk_entry *entry = &s->lookup->view.entry;
    RK_AUTO(rk_table) table = {.columns = two_columns, .column_count = 2};
    RK_AUTO(rk_buf) made = RK_BUF_INIT(0);
    rk_buf_add_text(&made, rk_text_local_time(entry->created_ns).text);
    if (!entry->compile_ns) // only the program: strict mode refused to compile it
        rk_buf_add_text(&made, ", not compiled");
    else
        rk_buf_add_format(&made, ", %s %s", s->about.failed ? "failed after" : "compiled in",
                          rk_text_seconds(entry->compile_ns).text);
    rk_buf_add_text(&made, entry->flags & RK_ENTRY_FLAG_AOT ? ", AOT" : "");
    print_name(s);
    rk_table_add(&table, RK_STYLE_DIM, "key");
    rk_table_add(&table, RK_STYLE_BOLD, s->kept->hex);
    add_line(&table, "made", rk_need_text(&made));
    if (member(s, "run"))
        add_line(&table, "by run", member(s, "run"));
    add_sizes(&table, s);
    rk_table_add(&table, RK_STYLE_DIM, "digest");
    rk_table_add(&table, RK_STYLE_GOOD, "ok: every byte is as it was written");
    add_signature(&table, s);
    print_table(&table);
}

// What a part of the key covers, in numbers.
static void add_options(const shown *s, rk_buf *out) {
    size_t count = json_array_size(json_object_get(s->components, "options"));
    rk_buf_add_format(out, "%zu compile option%s", count, rk_text_plural(count));
}

static void add_environment(const shown *s, rk_buf *out) {
    const json_t *list = json_object_get(s->components, "environment");
    size_t flags = rk_component_view_count(list, "flag");
    size_t variables = rk_component_view_count(list, "variable");
    size_t versions = rk_component_view_count(list, "version");
    rk_buf_add_format(out, "%zu flag%s, %zu variable%s, %zu version%s, and the devices", flags,
                      rk_text_plural(flags), variables, rk_text_plural(variables), versions,
                      rk_text_plural(versions));
}

static void add_program(const shown *s, rk_buf *out) {
    (void)s;
    rk_buf_add_text(out, "the operations and their order");
}

static void print_key(const shown *s, bool all) {
    enum { DIGITS_SHOWN = 16 };
    const rk_key *key = &s->lookup->view.entry.key;
    RK_AUTO(rk_table) table = {.columns = two_columns, .column_count = 2};
    const struct {
        const char *name;
        const rk_digest *digest;
        void (*add)(const shown *s, rk_buf *out);
    } parts[] = {{"  program", &key->program, add_program},
                 {"  options", &key->options, add_options},
                 {"  environment", &key->environment, add_environment}};
    print_title(all ? "key" : "key, made from");
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++) {
        char hex[RK_DIGEST_HEX_CHARS + 1];
        RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
        hex_of(parts[i].digest, hex);
        rk_buf_add_format(&line, "%.*s  ", DIGITS_SHOWN, hex);
        parts[i].add(s, &line);
        add_line(&table, parts[i].name, all ? hex : rk_need_text(&line));
    }
    print_table(&table);
}

static void print_metadata(json_t *metadata) {
    if (json_object_size(metadata) == 0)
        return;
    print_title("metadata");
    RK_AUTO(rk_table) table = {.columns = two_columns, .column_count = 2};
    const char *name;
    json_t *value;
    json_object_foreach(metadata, name, value) {
        RK_AUTO(rk_buf) indented = RK_BUF_INIT(0);
        rk_autofree char *text = rk_out_flat(value);
        rk_buf_add_format(&indented, "  %s", name);
        add_line(&table, rk_need_text(&indented), text);
    }
    print_table(&table);
}

static void print_all(const shown *s) {
    print_entry(s);
    print_key(s, true);
    print_metadata(s->metadata);
    static const char *const lists[] = {"environment", "options"};
    for (size_t i = 0; i < RK_ARRAY_LEN(lists); i++) {
        const json_t *list = json_object_get(s->components, lists[i]);
        if (json_array_size(list) == 0)
            continue;
        print_title(lists[i]);
        rk_component_view_print(list, NULL, stdout);
    }
}

// About 20 lines. Flags and variables are shown if they are few: users set them.
static void print_short(const shown *s) {
    enum { FEW = 4 };
    static const char set_by_users[] = "flag variable";
    const json_t *environment = json_object_get(s->components, "environment");
    size_t count = rk_component_view_count(environment, set_by_users);
    print_entry(s);
    print_key(s, false);
    if (count > 0 && count <= FEW)
        rk_component_view_print(environment, set_by_users, stdout);
    (void)putchar('\n');
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_format(&line,
                      "`rekindle show %.12s --all` lists every option, flag, variable and version; "
                      "--program shows the program.",
                      s->kept->hex);
    rk_term_line(rk_need_text(&line), 0);
}

typedef void (*print_fn)(const shown *s);

static rk_err *show_entry(rk_store *store, const rk_kept *kept, print_fn print) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_entry_kind kind = kept->has_executable ? RK_ENTRY_EXECUTABLE : RK_ENTRY_PROGRAM;
    RK_TRY(rk_store_read(store, kind, kept->hex, RK_WANT_HEAD, &lookup));
    if (!lookup.found)
        return rk_error(RK_DATA_LOSS,
                        "%.12s cannot be used: %s (the next job that needs it compiles it again; "
                        "`rekindle rm %.12s` removes it now)",
                        kept->hex, rk_entry_fault_text(lookup.fault), kept->hex);
    shown s = {
        .kept = kept,
        .lookup = &lookup,
        .metadata = rk_out_parsed(lookup.view.entry.metadata),
        .components = rk_out_parsed(lookup.view.entry.components),
    };
    rk_err *err = rk_kept_read(store, kept, &s.about);
    if (!err)
        print(&s);
    rk_kept_about_cleanup(&s.about);
    json_decref(s.metadata);
    json_decref(s.components);
    return err;
}

static rk_err *show(const rk_settings *settings, const char *which, const rk_show_how *how,
                    bool all, bool json) {
    RK_AUTO_STORE store = NULL;
    __attribute__((cleanup(rk_kept_list_cleanup))) rk_kept_list list = {0};
    const rk_kept *kept = NULL;
    RK_TRY(rk_place_open_store(settings, true, &store));
    RK_TRY(rk_place_need_store(settings, store));
    RK_TRY(rk_store_load_keys(store, "", rk_settings_get(settings)->trusted_keys));
    RK_TRY(rk_kept_collect(store, &list));
    RK_TRY(rk_kept_find(store, &list, which, &kept));
    if (how)
        return rk_show_program(store, kept, how, json);
    return show_entry(store, kept, json ? print_json : all ? print_all : print_short);
}

static struct {
    bool program, all;
    rk_show_how how;
} given;

static rk_err *check(const rk_verb_call *call) {
    (void)call;
    if ((given.how.output || given.how.raw) && !given.program)
        return rk_error(RK_INVALID_ARGUMENT, "-o and --raw go with --program");
    return NULL;
}

static rk_err *run(rk_verb_call *call) {
    return show(call->settings, call->operands->items[0], given.program ? &given.how : NULL,
                given.all, call->json);
}

static const rk_opt options[] = {
    RK_OPT_FLAG("all", 'a', &given.all, "every component of the key"),
    RK_OPT_FLAG("program", 'p', &given.program, "the program that it was compiled from"),
    RK_OPT_FLAG("raw", 'r', &given.how.raw, "with --program: its bytes as they came"),
    RK_OPT_VALUE("output", 'o', &given.how.output, "FILE", "with --program: write it to this file"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "show",
    .operands = "KEY",
    .summary = "Prints one entry, and what its key was made of. KEY is a key, the beginning of a "
               "key, or the name of a program.",
    .details = "With --program: the program as text, one operation a line, with the lines of "
               "the Python source behind each. With --raw as well: byte by byte as the "
               "framework handed it over.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .min_operands = 1,
    .max_operands = 1,
    .words = RK_WORD_KEY,
};

const rk_verb rk_verb_show = {
    .brief = "show one entry and what its key is made of, or its program",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_STORE,
    .check = check,
    .run = run,
};
