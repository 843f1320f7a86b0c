#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/redact.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/purposes.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verbs.h"

// Redacts each word separately: blanks separate the tiers of REKINDLE_REMOTE.
static char *shown_value(const rk_setting *setting) {
    RK_AUTO(rk_buf) shown = RK_BUF_INIT(0);
    const char *rest = setting->value;
    while (*rest) {
        size_t blanks = strspn(rest, " \t");
        size_t word = strcspn(rest + blanks, " \t");
        rk_buf_add(&shown, rest, blanks);
        rk_redact_text(rk_span_of(rest + blanks, word), &shown);
        rest += blanks + word;
    }
    return rk_need(rk_strdup(rk_need_text(&shown)));
}

// What `config` shows: also where a value is wrong.
typedef struct view {
    rk_settings *settings; // owned
    rk_buf errors;         // the wrong values, one a line
    char *first;           // the first error; owned; NULL: there is none
} view;

static void view_cleanup(view *v) {
    rk_settings_free(v->settings);
    rk_buf_cleanup(&v->errors);
    rk_free(v->first);
}

static void note_wrong(void *context, const rk_err *err) {
    view *v = context;
    const char *message = rk_err_message(err);
    if (!v->first)
        v->first = rk_need(rk_strdup(message));
    rk_text_add_printable(&v->errors, rk_span_text(message));
    rk_buf_add_byte(&v->errors, '\n');
}

static void print_json(const view *v) {
    json_t *object = rk_out_object(), *list = rk_out_array();
    for (int id = 0; id < RK_SETTING_COUNT; id++) {
        rk_setting setting = rk_settings_describe(v->settings, (rk_setting_id)id);
        rk_autofree char *value = shown_value(&setting);
        json_t *one = rk_out_object();
        rk_out_set(one, "variable", rk_out_string(setting.variable));
        rk_out_set(one, "value", rk_out_string(value));
        rk_out_set(one, "source", rk_out_string(rk_setting_source_name(setting.source)));
        rk_out_set(one, "purpose", rk_out_string(rk_setting_purpose((rk_setting_id)id)));
        rk_out_append(list, one);
    }
    rk_out_set(object, "settings", list);
    if (v->first)
        rk_out_set(object, "error", rk_out_text(rk_span_text(v->first)));
    rk_out_print(object);
}

// "--dir" if this option set the store; it sets the variable.
static const char *source_of(const rk_setting *setting) {
    bool is_dir = strcmp(setting->variable, "REKINDLE_DIR") == 0;
    return is_dir && rk_verb_shared_options.dir ? "--dir" : rk_setting_source_name(setting->source);
}

// Prints a setting on one line, and below it what it is for.
static void print_setting(const rk_setting *setting, const char *purpose) {
    enum { NAME_COLUMNS = 30, SOURCE_COLUMNS = 13, INDENT = 4 };
    bool chosen = setting->source != RK_SOURCE_DEFAULT;
    rk_autofree char *value = shown_value(setting);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_format(&line, "%s%-*s%s", rk_style(RK_STYLE_BOLD, stdout), NAME_COLUMNS,
                      setting->variable, rk_style(RK_STYLE_NONE, stdout));
    rk_buf_add_format(&line, "%-*s", SOURCE_COLUMNS, source_of(setting));
    rk_buf_add_text(&line, rk_style(chosen ? RK_STYLE_BOLD : RK_STYLE_NONE, stdout));
    rk_text_add_printable(&line, rk_span_text(value[0] ? value : "-"));
    rk_buf_add_text(&line, rk_style(RK_STYLE_NONE, stdout));
    rk_term_line(rk_need_text(&line), INDENT);
    rk_buf_clear(&line);
    rk_buf_add_format(&line, "    %s%s%s", rk_style(RK_STYLE_DIM, stdout), purpose,
                      rk_style(RK_STYLE_NONE, stdout));
    rk_term_line(rk_need_text(&line), INDENT);
}

// Variables with the prefix that this version does not read.
static void print_unknown(void) {
    const rk_env *environment = rk_place_environment();
    for (size_t i = 0; i < environment->count; i++) {
        const char *item = environment->items[i];
        rk_span name = rk_span_of(item, strcspn(item, "="));
        RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
        const char *meant = rk_settings_misspelt(name);
        if (!rk_settings_is_unknown(name))
            continue;
        rk_text_add_printable(&line, name);
        rk_buf_add_text(&line, " is no setting of this version");
        if (meant)
            rk_buf_add_format(&line, "; did you mean %s?", meant);
        else
            rk_buf_add_byte(&line, '.');
        rk_term_line(rk_need_text(&line), 0);
    }
}

static void print_text(const view *v) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    for (int id = 0; id < RK_SETTING_COUNT; id++) {
        rk_setting setting = rk_settings_describe(v->settings, (rk_setting_id)id);
        print_setting(&setting, rk_setting_purpose((rk_setting_id)id));
    }
    rk_autofree char *path = rk_need(rk_path_join(rk_settings_get(v->settings)->dir, "config"));
    struct stat info;
    bool exists = rk_sys()->lstat_fn(path, &info) == 0;
    rk_buf_add_text(&line,
                    exists ? "The config file is " : "There is no config file; it would be ");
    rk_text_add_printable(&line, rk_span_text(path));
    rk_buf_add_byte(&line, '.');
    (void)putchar('\n');
    rk_term_line(rk_need_text(&line), 0);
    print_unknown();
}

// The wrong values come last, on standard error: they have no effect.
static void print_wrong(view *v) {
    char *rest = v->errors.len ? (char *)v->errors.data : NULL;
    (void)fflush(stdout);
    for (char *line = rest ? strtok_r(rest, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        (void)fprintf(stderr, "%srekindle:%s ", rk_style(RK_STYLE_BAD, stderr),
                      rk_style(RK_STYLE_NONE, stderr));
        rk_term_wrap(line, sizeof "rekindle: " - 1, 2, rk_term_columns(stderr), stderr);
    }
}

static rk_err *run(rk_verb_call *call) {
    RK_AUTO(view) v = {.settings = NULL};
    RK_TRY(rk_settings_load_all(rk_store_check_folder, note_wrong, &v, &v.settings));
    (call->json ? print_json : print_text)(&v);
    print_wrong(&v);
    call->status = v.first ? RK_EXIT_USAGE : RK_EXIT_OK;
    return NULL;
}

static const rk_opt options[] = {RK_VERB_JSON, RK_VERB_DIR};

static const rk_opt_usage usage = {
    .verb = "config",
    .summary = "Prints every setting, what it is for, and where its value came from: the "
               "environment, the config file in the store, or the default.",
    .details = "Environment variables win over the config file, whose lines read `name = "
               "value` with the same names in lower case, without REKINDLE_. Passwords and "
               "keys in addresses are shown as ***.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_config = {
    .brief = "every setting: what it is for, and where its value came from",
    .usage = &usage,
    .run = run, // loads the settings itself: a wrong one must not hide the others
};
