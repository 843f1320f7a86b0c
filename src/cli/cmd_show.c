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
    rk_out_set(object, "executable_bytes", rk_out_uint(view->payload_raw_bytes));
    rk_out_set(object, "program_bytes",
               s->kept->has_program ? rk_out_uint(s->kept->program_bytes) : rk_out_string(NULL));
    rk_out_set(object, "created", rk_out_string(rk_text_utc(entry->created_ns).text));
    rk_out_set(object, "compile_seconds", rk_out_seconds(entry->compile_ns));
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

// No column may be cut: people compare entries.
static const rk_table_column two_columns[] = {{.title = ""}, {.title = ""}};

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
    rk_buf_add_format(&line, "%s in the store, %s unpacked", rk_text_bytes(view->stored_bytes).text,
                      rk_text_bytes(view->payload_raw_bytes).text);
    add_line(table, "executable", rk_need_text(&line));
    rk_buf_clear(&line);
    if (s->kept->has_program)
        rk_buf_add_format(&line, "%s in the store", rk_text_bytes(s->kept->program_bytes).text);
    else
        rk_buf_add_text(&line, "not kept");
    add_line(table, "program", rk_need_text(&line));
}

static void print_entry(const shown *s) {
    const rk_entry *entry = &s->lookup->view.entry;
    RK_AUTO(rk_table) table = {.columns = two_columns, .column_count = 2};
    RK_AUTO(rk_buf) made = RK_BUF_INIT(0);
    rk_buf_add_format(&made, "%s, compiled in %s%s", rk_text_local_time(entry->created_ns).text,
                      rk_text_seconds(entry->compile_ns).text,
                      entry->flags & RK_ENTRY_FLAG_AOT ? ", AOT" : "");
    rk_table_add(&table, RK_STYLE_DIM, "key");
    rk_table_add(&table, RK_STYLE_BOLD, s->kept->hex);
    add_line(&table, "made", rk_need_text(&made));
    add_sizes(&table, s);
    rk_table_add(&table, RK_STYLE_DIM, "digest");
    rk_table_add(&table, RK_STYLE_GOOD, "ok: every byte is as it was written");
    add_signature(&table, s);
    rk_table_print(&table, 0, stdout);

    print_title("key");
    RK_AUTO(rk_table) key = {.columns = two_columns, .column_count = 2};
    const struct {
        const char *name;
        const rk_digest *digest;
    } parts[] = {{"  program", &entry->key.program},
                 {"  options", &entry->key.options},
                 {"  environment", &entry->key.environment}};
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++) {
        char hex[RK_DIGEST_HEX_CHARS + 1];
        hex_of(parts[i].digest, hex);
        add_line(&key, parts[i].name, hex);
    }
    rk_table_print(&key, 0, stdout);
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
    rk_table_print(&table, 0, stdout);
}

static void print_text(const shown *s) {
    print_entry(s);
    print_metadata(s->metadata);
    static const char *const lists[] = {"environment", "options"};
    for (size_t i = 0; i < RK_ARRAY_LEN(lists); i++) {
        const json_t *list = json_object_get(s->components, lists[i]);
        if (json_array_size(list) == 0)
            continue;
        print_title(lists[i]);
        rk_component_view_print(list, stdout);
    }
}

static rk_err *show_entry(rk_store *store, const rk_kept *kept, bool json) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_entry_kind kind = kept->has_executable ? RK_ENTRY_EXECUTABLE : RK_ENTRY_PROGRAM;
    RK_TRY(rk_store_read(store, kind, kept->hex, RK_WANT_HEAD, &lookup));
    if (!lookup.found)
        return rk_error(RK_DATA_LOSS,
                        "%.16s cannot be used: %s (the next job that needs it compiles it again; "
                        "`rekindle rm %.16s` removes it now)",
                        kept->hex, rk_entry_fault_text(lookup.fault), kept->hex);
    shown s = {
        .kept = kept,
        .lookup = &lookup,
        .metadata = rk_out_parsed(lookup.view.entry.metadata),
        .components = rk_out_parsed(lookup.view.entry.components),
    };
    (json ? print_json : print_text)(&s);
    json_decref(s.metadata);
    json_decref(s.components);
    return NULL;
}

static rk_err *show(const rk_settings *settings, const char *prefix, const rk_show_how *how,
                    bool json) {
    RK_AUTO_STORE store = NULL;
    __attribute__((cleanup(rk_kept_list_cleanup))) rk_kept_list list = {0};
    const rk_kept *kept = NULL;
    RK_TRY(rk_place_open_store(settings, true, &store));
    if (store)
        RK_TRY(rk_store_load_keys(store, "", rk_settings_get(settings)->trusted_keys));
    if (store)
        RK_TRY(rk_kept_collect(store, &list));
    RK_TRY(rk_kept_find(&list, prefix, &kept));
    return how ? rk_show_program(store, kept, how, json) : show_entry(store, kept, json);
}

static struct {
    bool program;
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
                call->json);
}

static const rk_opt options[] = {
    RK_OPT_FLAG("program", 'p', &given.program, "the program that it was compiled from"),
    RK_OPT_FLAG("raw", 'r', &given.how.raw, "with --program: its bytes as they came"),
    RK_OPT_VALUE("output", 'o', &given.how.output, "FILE", "with --program: write it to this file"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "show",
    .operands = "KEY",
    .summary = "Prints one entry with everything that its key was made of: options, flags, "
               "variables, versions and topology. The beginning of the key is enough.",
    .details = "With --program: the program as text, one operation a line, with the lines of "
               "the Python source behind each. With --raw as well: byte by byte as the "
               "framework handed it over.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .min_operands = 1,
    .max_operands = 1,
};

const rk_verb rk_verb_show = {
    .brief = "show one entry with all components of its key, or its program",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS,
    .check = check,
    .run = run,
};
