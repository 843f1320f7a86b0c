#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/process.h"
#include "base/sys.h"
#include "cli/fail.h"
#include "cli/key_operand.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "store/trust.h"

// One call of `keys`.
typedef struct request {
    const rk_settings_values *settings;
    const char *file, *name; // NULL if not given
    const char *key;         // operand of trust and distrust
    bool json, dry_run;
} request;

static const char details[] =
    "  generate       make a signing key, which then signs what is compiled\n  trust KEY      "
    "add a public key to those whose signatures count\n  distrust KEY   take it off "
    "the list of trusted keys\n  list           the signing key and the trusted ones\n\nThe "
    "signing key is the "
    "file REKINDLE_SIGNING_KEY, the list of trusted keys the file REKINDLE_TRUSTED_KEYS; --file "
    "names another one. KEY is the line that generate and list print (\"ed25519 …\"), or its 64 "
    "digits. trust also takes a file with such lines; distrust also takes an id or a "
    "name.\n\nIn this version every entry is used, signed or not. Whether its key is trusted "
    "is only shown (rekindle show).\n\n  export "
    "REKINDLE_SIGNING_KEY=~/.config/rekindle/signing.key\n  rekindle keys generate --name "
    "build-farm\n";

static void set_key(json_t *object, const rk_public_key *key) {
    char id[RK_KEY_ID_HEX_CHARS + 1];
    RK_AUTO(rk_buf) hex = RK_BUF_INIT(0);
    rk_key_id(&key->key, id);
    rk_buf_add_hex(&hex, rk_span_of(key->key.bytes, sizeof key->key.bytes));
    rk_out_set(object, "id", rk_out_string(id));
    rk_out_set(object, "name", rk_out_string(key->name));
    rk_out_set(object, "public_key", rk_out_string(rk_need_text(&hex)));
}

static void print_line(const char *before, const rk_public_key *key, const char *after) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_public_key_add_line(key, &line);
    (void)printf("%s%.*s%s", before, (int)line.len - 1, rk_need_text(&line), after);
}

static rk_err *choose_file(const request *r, const char *setting, const char *variable,
                           const char **out_file) {
    *out_file = r->file ? r->file : setting;
    if (!**out_file)
        return rk_error(RK_INVALID_ARGUMENT, "which file? set %s, or give --file FILE", variable);
    return NULL;
}

static rk_err *generate(const request *r) {
    const char *file = NULL;
    rk_process self;
    rk_process_self(&self);
    if (r->dry_run)
        return rk_error(RK_INVALID_ARGUMENT,
                        "generate has no --dry-run: it replaces nothing, and makes one file");
    RK_TRY(choose_file(r, r->settings->signing_key, "REKINDLE_SIGNING_KEY", &file));
    RK_TRY(rk_key_folder_make(file));
    const char *name = r->name ? r->name : self.host[0] ? self.host : "rekindle";
    RK_AUTO(rk_signing_key) made = {0};
    RK_TRY(rk_signing_key_create(file, name, &made));
    if (r->json) {
        json_t *object = rk_out_object();
        rk_out_set(object, "file", rk_out_string(file));
        set_key(object, &made.public_key);
        rk_out_print(object);
        return NULL;
    }
    (void)printf("made the signing key %s: keep it secret\n", file);
    if (strcmp(file, r->settings->signing_key) != 0)
        (void)printf("sign with it: export REKINDLE_SIGNING_KEY=%s\n", file);
    // The key is long: a line of its own that can be pasted.
    print_line("have it trusted elsewhere:\n"
               "  export REKINDLE_TRUSTED_KEYS=~/.config/rekindle/trusted.keys\n"
               "  rekindle keys trust \\\n    '",
               &made.public_key, "'\n");
    return NULL;
}

// Reads the list of trusted keys. Resolves links, so that a write replaces the file behind a link.
static rk_err *read_list(const char *file, char out_real[PATH_MAX], rk_trusted_keys *out_keys) {
    if (!realpath(file, out_real))
        (void)snprintf(out_real, PATH_MAX, "%s", file);
    rk_err *err = rk_trusted_keys_read(out_real, out_keys);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "a list that is not there yet is empty");
    return NULL;
}

static rk_err *rename_one(const request *r, rk_trusted_keys *keys) {
    if (!r->name)
        return NULL;
    if (keys->count != 1 || !rk_key_name_is_valid(r->name))
        return rk_error(RK_INVALID_ARGUMENT,
                        "--name is for one key, and takes at most %d letters, digits, '.', '_', "
                        "'-' and '@'",
                        (int)RK_KEY_NAME_MAX_CHARS);
    (void)snprintf(keys->items[0].name, sizeof keys->items[0].name, "%s", r->name);
    return NULL;
}

// Reports the result for each key.
static void report(const request *r, const char *file, const rk_trusted_keys *keys,
                   const bool *changed, const char *member, const char *yes, const char *no) {
    json_t *list = rk_out_array();
    for (size_t i = 0; i < keys->count; i++) {
        const rk_public_key *key = &keys->items[i];
        char id[RK_KEY_ID_HEX_CHARS + 1];
        rk_key_id(&key->key, id);
        json_t *one = rk_out_object();
        set_key(one, key);
        rk_out_set(one, member, rk_out_bool(changed[i]));
        rk_out_append(list, one);
        if (!r->json)
            (void)printf("%s %s%s%s\n", changed[i] ? yes : no, id, key->name[0] ? " " : "",
                         key->name);
    }
    if (!r->json) {
        json_decref(list);
        return;
    }
    json_t *object = rk_out_object();
    rk_out_set(object, "file", rk_out_string(file));
    rk_out_set(object, "keys", list);
    rk_out_set(object, "dry_run", rk_out_bool(r->dry_run));
    rk_out_print(object);
}

static rk_err *trust(const request *r) {
    const char *file = NULL;
    char real[PATH_MAX];
    RK_AUTO(rk_trusted_keys) keys = {0};
    RK_AUTO(rk_trusted_keys) wanted = {0};
    RK_TRY(choose_file(r, r->settings->trusted_keys, "REKINDLE_TRUSTED_KEYS", &file));
    RK_TRY(rk_key_operand_read(r->key, &wanted));
    RK_TRY(rename_one(r, &wanted));
    RK_TRY(read_list(file, real, &keys));
    size_t before = keys.count;
    rk_autofree bool *added = rk_need(rk_calloc(wanted.count, sizeof *added));
    for (size_t i = 0; i < wanted.count; i++) {
        added[i] = !rk_trusted_keys_find(&keys, &wanted.items[i].key);
        RK_TRY(rk_trusted_keys_add(&keys, &wanted.items[i]));
    }
    if (keys.count > before && !r->dry_run) {
        RK_TRY(rk_key_folder_make(real));
        RK_TRY(rk_trusted_keys_write(real, &keys));
    }
    report(r, file, &wanted, added, "added",
           r->dry_run ? "would trust" : "trusted from now on:", "trusted already:");
    return NULL;
}

static bool is_meant(const request *r, const rk_public_key *key) {
    rk_public_key given;
    char id[RK_KEY_ID_HEX_CHARS + 1];
    rk_key_id(&key->key, id);
    if (rk_public_key_parse(rk_span_text(r->key), &given))
        return rk_sign_public_equal(&given.key, &key->key);
    return strcmp(r->key, id) == 0 || strcmp(r->key, key->name) == 0;
}

static rk_err *distrust(const request *r) {
    const char *file = NULL;
    char real[PATH_MAX];
    RK_AUTO(rk_trusted_keys) keys = {0};
    RK_AUTO(rk_trusted_keys) kept = {0};
    RK_AUTO(rk_trusted_keys) gone = {0};
    RK_TRY(choose_file(r, r->settings->trusted_keys, "REKINDLE_TRUSTED_KEYS", &file));
    RK_TRY(read_list(file, real, &keys));
    for (size_t i = 0; i < keys.count; i++)
        RK_TRY(rk_trusted_keys_add(is_meant(r, &keys.items[i]) ? &gone : &kept, &keys.items[i]));
    if (gone.count == 0)
        return rk_error(RK_NOT_FOUND, "no key in %s is '%s': `rekindle keys list` shows them", file,
                        r->key);
    if (gone.count > 1)
        return rk_error(RK_INVALID_ARGUMENT, "%zu keys in %s have the name '%s': give an id",
                        gone.count, file, r->key);
    if (!r->dry_run)
        RK_TRY(rk_trusted_keys_write(real, &kept));
    const bool removed = true;
    report(r, file, &gone, &removed, "removed",
           r->dry_run ? "would no longer trust" : "no longer trusted:", "");
    return NULL;
}

// `lines`: gets the line that `keys trust` takes. It is not in the table, which would break it.
static void add_row(rk_table *table, rk_buf *lines, const char *what, const rk_public_key *key) {
    char id[RK_KEY_ID_HEX_CHARS + 1];
    RK_AUTO(rk_buf) hex = RK_BUF_INIT(0);
    rk_key_id(&key->key, id);
    rk_public_key_add_line(key, &hex);
    if (hex.len)
        hex.data[--hex.len] = '\0'; // the newline
    rk_table_add(table, RK_STYLE_DIM, what);
    rk_table_add(table, RK_STYLE_NONE, id);
    rk_table_add(table, RK_STYLE_BOLD, key->name);
    rk_buf_add_text(lines, rk_need_text(&hex));
    rk_buf_add_byte(lines, '\n');
}

static void print_list(const rk_table *table, const rk_buf *lines) {
    rk_table_print(table, rk_term_columns(stdout), stdout);
    (void)printf("\nThe public keys, as `rekindle keys trust` takes them in quotes:\n%s",
                 rk_need_text(lines));
}

static void print_no_keys(const request *r) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (r->file) {
        rk_buf_add_text(&line, "There are no keys in ");
        rk_text_add_printable(&line, rk_span_text(r->file));
        rk_buf_add_text(&line, ". `rekindle keys trust` adds one.");
    } else {
        rk_buf_add_text(&line, "There are no keys: REKINDLE_SIGNING_KEY and REKINDLE_TRUSTED_KEYS "
                               "name none. `rekindle keys generate --file "
                               "~/.config/rekindle/signing.key` makes one. (`rekindle bundle "
                               "export` signs with a key of its own, "
                               "~/.config/rekindle/bundle.key.)");
    }
    rk_term_line(rk_need_text(&line), 0);
}

// A list that --file names must exist: the user believes it does.
static rk_err *check_file(const request *r) {
    struct stat info;
    if (r->file && rk_sys()->lstat_fn(r->file, &info) != 0 && errno == ENOENT)
        return rk_error(RK_NOT_FOUND, "%s does not exist", r->file);
    return NULL;
}

static rk_err *list(const request *r) {
    static const rk_table_column columns[] = {
        {.title = "USE"}, {.title = "ID"}, {.title = "NAME", .least = 8}};
    RK_AUTO(rk_signing_key) signing = {0};
    RK_AUTO(rk_trusted_keys) keys = {0};
    char real[PATH_MAX];
    const char *signing_file = r->settings->signing_key;
    const char *trusted_file = r->file ? r->file : r->settings->trusted_keys;
    RK_TRY(check_file(r));
    if (*signing_file)
        RK_TRY(rk_signing_key_read(signing_file, &signing));
    if (*trusted_file)
        RK_TRY(read_list(trusted_file, real, &keys));
    json_t *object = rk_out_object(), *one = *signing_file ? rk_out_object() : NULL;
    json_t *trusted = rk_out_array();
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    RK_AUTO(rk_buf) lines = RK_BUF_INIT(0);
    if (one) {
        rk_out_set(one, "file", rk_out_string(signing_file));
        set_key(one, &signing.public_key);
        add_row(&table, &lines, "sign", &signing.public_key);
    }
    for (size_t i = 0; i < keys.count; i++) {
        json_t *key = rk_out_object();
        set_key(key, &keys.items[i]);
        rk_out_append(trusted, key);
        add_row(&table, &lines, "trust", &keys.items[i]);
    }
    rk_out_set(object, "signing", one ? one : rk_out_string(NULL));
    rk_out_set(object, "trusted_file", rk_out_string(trusted_file));
    rk_out_set(object, "trusted", trusted);
    if (r->json) {
        rk_out_print(object);
        return NULL;
    }
    json_decref(object);
    if (one || keys.count)
        print_list(&table, &lines);
    else
        print_no_keys(r);
    return NULL;
}

static const char *const action_names[] = {"generate", "trust", "distrust", "list", NULL};
static const struct {
    rk_err *(*run)(const request *r);
    bool takes_key;
} actions[RK_ARRAY_LEN(action_names) - 1] = {
    {generate, false}, {trust, true}, {distrust, true}, {list, false}};

static rk_err *act(request *r, const rk_opt_operands *operands) {
    for (size_t i = 0; i < RK_ARRAY_LEN(actions); i++) {
        if (strcmp(operands->items[0], action_names[i]) != 0)
            continue;
        if (operands->count != 1u + actions[i].takes_key)
            return rk_error(RK_INVALID_ARGUMENT, "keys %s takes %s", action_names[i],
                            actions[i].takes_key ? "one KEY; a line with blanks needs quotes"
                                                 : "no further argument");
        r->key = operands->items[1];
        return actions[i].run(r);
    }
    return rk_error(RK_INVALID_ARGUMENT,
                    "keys has no '%s': it is generate, trust, distrust or list",
                    operands->items[0]);
}

static request given;

static rk_err *run(rk_verb_call *call) {
    given.json = call->json;
    given.settings = rk_settings_get(call->settings);
    return act(&given, call->operands);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("file", 'f', &given.file, "FILE", "the signing key to make, or the list to use"),
    RK_OPT_VALUE("name", 0, &given.name, "NAME", "the name of the key; default: the host's name"),
    RK_OPT_FLAG("dry-run", 'n', &given.dry_run, "trust, distrust: only say what would change"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "keys",
    .operands = "generate | trust KEY | distrust KEY | list",
    .summary = "Makes the key that entries are signed with, and keeps the list of keys whose "
               "signatures are trusted.",
    .details = details,
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .min_operands = 1,
    .max_operands = 2,
    .choices = action_names,
};

const rk_verb rk_verb_keys = {
    .brief = "make signing keys, and manage trusted keys",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS,
    .run = run,
};
