#include <stdio.h>
#include <string.h>

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

static void print_json(const rk_settings *settings) {
    json_t *object = rk_out_object(), *list = rk_out_array();
    for (int id = 0; id < RK_SETTING_COUNT; id++) {
        rk_setting setting = rk_settings_describe(settings, (rk_setting_id)id);
        rk_autofree char *value = shown_value(&setting);
        json_t *one = rk_out_object();
        rk_out_set(one, "variable", rk_out_string(setting.variable));
        rk_out_set(one, "value", rk_out_string(value));
        rk_out_set(one, "source", rk_out_string(rk_setting_source_name(setting.source)));
        rk_out_set(one, "purpose", rk_out_string(rk_setting_purpose((rk_setting_id)id)));
        rk_out_append(list, one);
    }
    rk_out_set(object, "settings", list);
    rk_out_print(object);
}

// Prints a setting on one line, and below it what it is for.
static void print_setting(const rk_setting *setting, const char *purpose) {
    enum { NAME_COLUMNS = 30, SOURCE_COLUMNS = 13, INDENT = 4 };
    bool chosen = setting->source != RK_SOURCE_DEFAULT;
    rk_autofree char *value = shown_value(setting);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_format(&line, "%s%-*s%s", rk_style(RK_STYLE_BOLD, stdout), NAME_COLUMNS,
                      setting->variable, rk_style(RK_STYLE_NONE, stdout));
    rk_buf_add_format(&line, "%-*s", SOURCE_COLUMNS, rk_setting_source_name(setting->source));
    rk_buf_add_text(&line, rk_style(chosen ? RK_STYLE_BOLD : RK_STYLE_NONE, stdout));
    rk_text_add_printable(&line, rk_span_text(value[0] ? value : "-"));
    rk_buf_add_text(&line, rk_style(RK_STYLE_NONE, stdout));
    rk_term_line(rk_need_text(&line), INDENT);
    rk_buf_clear(&line);
    rk_buf_add_format(&line, "    %s%s%s", rk_style(RK_STYLE_DIM, stdout), purpose,
                      rk_style(RK_STYLE_NONE, stdout));
    rk_term_line(rk_need_text(&line), INDENT);
}

static void print_text(const rk_settings *settings) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    for (int id = 0; id < RK_SETTING_COUNT; id++) {
        rk_setting setting = rk_settings_describe(settings, (rk_setting_id)id);
        print_setting(&setting, rk_setting_purpose((rk_setting_id)id));
    }
    rk_buf_add_text(&line, "The config file is ");
    rk_text_add_printable(&line, rk_span_text(rk_settings_get(settings)->dir));
    rk_buf_add_text(&line, "/config.");
    (void)putchar('\n');
    rk_term_line(rk_need_text(&line), 0);
}

static rk_err *run(rk_verb_call *call) {
    (call->json ? print_json : print_text)(call->settings);
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
    .settings = RK_VERB_SETTINGS,
    .run = run,
};
