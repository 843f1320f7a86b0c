#include <stdio.h>
#include <string.h>

#include "base/redact.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verbs.h"

// What each setting is for; docs/settings.md says more.
static const char *const purposes[RK_SETTING_COUNT] = {
    [RK_SETTING_DIR] = "the folder of the store, on a local disk",
    [RK_SETTING_MODE] =
        ("readwrite; readonly (nothing is stored); refresh (everything is compiled and "
         "stored again); off"),
    [RK_SETTING_PLUGIN] = "the real plugin, if rekindle itself is loaded as a plugin",
    [RK_SETTING_JOB] = "a name: runs with this name are the same job; else from the command line",
    [RK_SETTING_MAX_SIZE] = "how large the store may become, as 20G; 0: no limit",
    [RK_SETTING_MIN_COMPILE_SECONDS] = "programs that compile faster are not stored",
    [RK_SETTING_PRELOAD] =
        "1: load what the job's last runs used before it is requested; 0: do not",
    [RK_SETTING_STRICT] = "a compilation after warm-up: off (nothing), warn, or fail",
    [RK_SETTING_WARMUP] =
        "when warm-up ends: auto, mark, \"N steps\", \"N compiles\", \"N seconds\"",
    [RK_SETTING_REMOTE] =
        "no effect in this version: addresses of remote tiers, separated by blanks",
    [RK_SETTING_SIGNING_KEY] = "the file of the key that signs what is stored",
    [RK_SETTING_TRUSTED_KEYS] = "the file of the keys whose signatures are trusted",
    [RK_SETTING_KEEP_PROGRAMS] =
        "1: keep programs for explain, diff and show; 0: only their outlines",
    [RK_SETTING_NAMESPACE] = "a name that separates teams which share a store",
    [RK_SETTING_KEY_IGNORE] =
        "flags and variables that do not count: a change of them compiles nothing",
    [RK_SETTING_LOG] = "which messages a job prints: error, warn, info or debug",
    [RK_SETTING_DRAIN_SECONDS] = "how long a process waits at its end until all is stored",
    [RK_SETTING_WAIT_SECONDS] = "how long a process waits for another one that compiles the same",
    [RK_SETTING_MEMORY_SECONDS] = "how often the memory of the devices is recorded; 0: never",
    [RK_SETTING_VERIFY] =
        "the share of loaded programs that are compiled again and compared: 0 to 1",
};

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
        rk_out_set(one, "purpose", rk_out_string(purposes[id]));
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
    rk_buf_add_format(&line, "    %s%s%s", rk_style(RK_STYLE_DIM, stdout), purpose ? purpose : "",
                      rk_style(RK_STYLE_NONE, stdout));
    rk_term_line(rk_need_text(&line), INDENT);
}

static void print_text(const rk_settings *settings) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    for (int id = 0; id < RK_SETTING_COUNT; id++) {
        rk_setting setting = rk_settings_describe(settings, (rk_setting_id)id);
        print_setting(&setting, purposes[id]);
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
