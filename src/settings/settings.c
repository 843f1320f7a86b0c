#include "settings/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "settings/config_file_internal.h"
#include "settings/directory_internal.h"
#include "settings/spelling.h"
#include "settings/values_internal.h"

enum {
    JOB_MAX_CHARS = 80,
    NAMESPACE_MAX_CHARS = 64,
    VALUE_MAX_CHARS = 64 << 10,
};

struct rk_settings {
    rk_settings_values values;
    char *text[RK_SETTING_COUNT]; // owned
    char *plugin;                 // owned: REKINDLE_PLUGIN with its ~/ expanded
    char *signing_key;            // owned, absolute; so is trusted_keys
    char *trusted_keys;
    rk_setting_source source[RK_SETTING_COUNT];
};

// Checks `text` and sets the parsed value in `settings`, if the setting has one.
typedef rk_err *(*apply_fn)(rk_settings *settings, const char *label, const char *text);

static rk_err *apply_dir(rk_settings *settings, const char *label, const char *text) {
    (void)label; // rk_directory_resolve checked it
    settings->values.dir = text;
    return NULL;
}

// In the order of their enums.
static const char *const mode_names[] = {"readwrite", "readonly", "refresh", "off", NULL};
static const char *const strict_names[] = {"off", "warn", "fail", NULL};
static const char *const log_names[] = {"error", "warn", "info", "debug", NULL};

static rk_err *apply_mode(rk_settings *settings, const char *label, const char *text) {
    size_t index = 0;
    settings->values.mode = RK_MODE_READWRITE; // a wrong mode does not keep the earlier one
    RK_TRY(rk_value_choice(label, text, mode_names, &index));
    settings->values.mode = (rk_mode)index;
    return NULL;
}

static rk_err *apply_plugin(rk_settings *settings, const char *label, const char *text) {
    if (strstr(text, "://"))
        return rk_error(RK_INVALID_ARGUMENT, "%s is an address, but it takes the path of a plugin",
                        label);
    char *expanded = NULL;
    RK_TRY(rk_directory_expand_home(label, text, &expanded));
    rk_free(settings->plugin);
    settings->plugin = expanded;
    settings->values.plugin = expanded;
    return NULL;
}

static rk_err *apply_job(rk_settings *settings, const char *label, const char *text) {
    RK_TRY(rk_value_name(label, text, JOB_MAX_CHARS));
    settings->values.job = text;
    return NULL;
}

static rk_err *apply_max_size(rk_settings *settings, const char *label, const char *text) {
    return rk_value_size(label, text, &settings->values.max_size_bytes);
}

static rk_err *apply_min_compile_seconds(rk_settings *settings, const char *label,
                                         const char *text) {
    return rk_value_seconds(label, text, &settings->values.min_compile_ns);
}

static rk_err *apply_preload(rk_settings *settings, const char *label, const char *text) {
    return rk_value_bool(label, text, &settings->values.preload);
}

static rk_err *apply_strict(rk_settings *settings, const char *label, const char *text) {
    size_t index = 0;
    RK_TRY(rk_value_choice(label, text, strict_names, &index));
    settings->values.strict = (rk_strict)index;
    return NULL;
}

static rk_err *apply_warmup(rk_settings *settings, const char *label, const char *text) {
    return rk_value_warmup(label, text, &settings->values.warmup);
}

static rk_err *apply_remote(rk_settings *settings, const char *label, const char *text) {
    (void)settings;
    return rk_value_remote(label, text);
}

static rk_err *apply_key_file(const char *label, const char *text, char **owned,
                              const char **out_value) {
    if (strstr(text, "://"))
        return rk_error(RK_INVALID_ARGUMENT, "%s is an address, but it takes a local file", label);
    char *absolute = NULL;
    if (*text)
        RK_TRY(rk_directory_absolute(label, text, &absolute));
    rk_free(*owned);
    *owned = absolute;
    *out_value = *owned ? *owned : "";
    return NULL;
}

static rk_err *apply_signing_key(rk_settings *settings, const char *label, const char *text) {
    return apply_key_file(label, text, &settings->signing_key, &settings->values.signing_key);
}

static rk_err *apply_trusted_keys(rk_settings *settings, const char *label, const char *text) {
    return apply_key_file(label, text, &settings->trusted_keys, &settings->values.trusted_keys);
}

static rk_err *apply_keep_programs(rk_settings *settings, const char *label, const char *text) {
    return rk_value_bool(label, text, &settings->values.keep_programs);
}

static rk_err *apply_namespace(rk_settings *settings, const char *label, const char *text) {
    RK_TRY(rk_value_name(label, text, NAMESPACE_MAX_CHARS));
    settings->values.name_space = text;
    return NULL;
}

static rk_err *apply_key_ignore(rk_settings *settings, const char *label, const char *text) {
    RK_TRY(rk_value_names(label, text));
    settings->values.key_ignore = text;
    return NULL;
}

static rk_err *apply_log(rk_settings *settings, const char *label, const char *text) {
    size_t index = 0;
    RK_TRY(rk_value_choice(label, text, log_names, &index));
    settings->values.log_level = (rk_log_level)index;
    return NULL;
}

static rk_err *apply_drain_seconds(rk_settings *settings, const char *label, const char *text) {
    return rk_value_seconds(label, text, &settings->values.drain_ns);
}

static rk_err *apply_verify(rk_settings *settings, const char *label, const char *text) {
    return rk_value_share(label, text, &settings->values.verify_ppm);
}

static rk_err *apply_wait_seconds(rk_settings *settings, const char *label, const char *text) {
    return rk_value_seconds(label, text, &settings->values.wait_ns);
}

static rk_err *apply_memory_seconds(rk_settings *settings, const char *label, const char *text) {
    return rk_value_seconds(label, text, &settings->values.memory_ns);
}

static rk_err *apply_torch_compile(rk_settings *settings, const char *label, const char *text) {
    settings->values.torch_sizes = strcmp(text, "pgo") == 0;
    settings->values.torch_compile = settings->values.torch_sizes;
    if (settings->values.torch_sizes)
        return NULL;
    rk_err *err = rk_value_bool(label, text, &settings->values.torch_compile);
    rk_err_free(err);
    return err ? rk_error(RK_INVALID_ARGUMENT, "%s is \"%s\"; use 1, 0 or pgo", label, text) : NULL;
}

static const struct definition {
    const char *variable;
    const char *name; // in the config file
    const char *fallback;
    apply_fn apply;
} definitions[RK_SETTING_COUNT] = {
    [RK_SETTING_DIR] = {"REKINDLE_DIR", "dir", "", apply_dir},
    [RK_SETTING_MODE] = {"REKINDLE_MODE", "mode", "readwrite", apply_mode},
    [RK_SETTING_PLUGIN] = {"REKINDLE_PLUGIN", "plugin", "", apply_plugin},
    [RK_SETTING_JOB] = {"REKINDLE_JOB", "job", "", apply_job},
    [RK_SETTING_MAX_SIZE] = {"REKINDLE_MAX_SIZE", "max_size", "20G", apply_max_size},
    [RK_SETTING_MIN_COMPILE_SECONDS] = {"REKINDLE_MIN_COMPILE_SECONDS", "min_compile_seconds", "0",
                                        apply_min_compile_seconds},
    [RK_SETTING_PRELOAD] = {"REKINDLE_PRELOAD", "preload", "1", apply_preload},
    [RK_SETTING_STRICT] = {"REKINDLE_STRICT", "strict", "off", apply_strict},
    [RK_SETTING_WARMUP] = {"REKINDLE_WARMUP", "warmup", "auto", apply_warmup},
    [RK_SETTING_REMOTE] = {"REKINDLE_REMOTE", "remote", "", apply_remote},
    [RK_SETTING_SIGNING_KEY] = {"REKINDLE_SIGNING_KEY", "signing_key", "", apply_signing_key},
    [RK_SETTING_TRUSTED_KEYS] = {"REKINDLE_TRUSTED_KEYS", "trusted_keys", "", apply_trusted_keys},
    [RK_SETTING_KEEP_PROGRAMS] = {"REKINDLE_KEEP_PROGRAMS", "keep_programs", "1",
                                  apply_keep_programs},
    [RK_SETTING_NAMESPACE] = {"REKINDLE_NAMESPACE", "namespace", "", apply_namespace},
    [RK_SETTING_KEY_IGNORE] = {"REKINDLE_KEY_IGNORE", "key_ignore", "", apply_key_ignore},
    [RK_SETTING_LOG] = {"REKINDLE_LOG", "log", "warn", apply_log},
    [RK_SETTING_DRAIN_SECONDS] = {"REKINDLE_DRAIN_SECONDS", "drain_seconds", "10",
                                  apply_drain_seconds},
    [RK_SETTING_VERIFY] = {"REKINDLE_VERIFY", "verify", "0", apply_verify},
    [RK_SETTING_WAIT_SECONDS] = {"REKINDLE_WAIT_SECONDS", "wait_seconds", "1800",
                                 apply_wait_seconds},
    [RK_SETTING_MEMORY_SECONDS] = {"REKINDLE_MEMORY_SECONDS", "memory_seconds", "60",
                                   apply_memory_seconds},
    [RK_SETTING_TORCH_COMPILE] = {"REKINDLE_TORCH_COMPILE", "torch_compile", "0",
                                  apply_torch_compile},
};

// All values of the settings that take one of a few names.
static const char *const *const choices[RK_SETTING_COUNT] = {
    [RK_SETTING_MODE] = mode_names,
    [RK_SETTING_STRICT] = strict_names,
    [RK_SETTING_LOG] = log_names,
};

// Sets one value. An empty text means the default, even if the config file has a value. A wrong
// value changes nothing, but a wrong mode falls back to the default mode.
static rk_err *set(rk_settings *settings, rk_setting_id id, rk_setting_source source,
                   const char *label, rk_span text) {
    if (text.len == 0)
        text = rk_span_text(definitions[id].fallback);
    if (text.len > VALUE_MAX_CHARS)
        return rk_error(RK_INVALID_ARGUMENT, "%s is longer than %d bytes", label, VALUE_MAX_CHARS);
    char *copy = rk_strndup((const char *)text.data, text.len);
    if (!copy)
        return rk_err_no_memory();
    rk_err *err = definitions[id].apply(settings, label, copy);
    if (err) {
        rk_free(copy);
        return err;
    }
    rk_free(settings->text[id]);
    settings->text[id] = copy;
    settings->source[id] = source;
    return NULL;
}

static const char prefix[] = "REKINDLE_";
enum { PREFIX_CHARS = sizeof prefix - 1 };

static bool has_prefix(rk_span name) {
    return name.len > PREFIX_CHARS && memcmp(name.data, prefix, PREFIX_CHARS) == 0;
}

// Returns the setting, from `first` on, whose name without the prefix is most similar to `name`.
static rk_setting_id nearest_setting(rk_setting_id first, rk_span name, size_t *out_distance) {
    rk_setting_id nearest = first;
    *out_distance = SIZE_MAX;
    for (int id = (int)first; id < RK_SETTING_COUNT; id++) {
        size_t to_this = rk_spelling_distance(name, definitions[id].name);
        if (to_this < *out_distance) {
            *out_distance = to_this;
            nearest = (rk_setting_id)id;
        }
    }
    return nearest;
}

static rk_span without_prefix(rk_span name) {
    return has_prefix(name) ? rk_span_of(name.data + PREFIX_CHARS, name.len - PREFIX_CHARS) : name;
}

static bool is_near(rk_setting_id id, size_t distance) {
    enum { SLIP = 2 }; // wrong, missing or extra letters; two swapped letters count twice
    return distance <= SLIP && distance + 2 <= strlen(definitions[id].name);
}

static rk_err *unknown_name(const rk_config_line *line) {
    size_t distance;
    // The config file cannot set its own directory.
    rk_setting_id nearest =
        nearest_setting(RK_SETTING_DIR + 1, without_prefix(line->name), &distance);
    bool near = is_near(nearest, distance);
    int shown = (int)(line->name.len < 100 ? line->name.len : 100);
    return rk_error(RK_INVALID_ARGUMENT,
                    "%s: there is no setting \"%.*s\"%s%s%s (names are in lower case, without "
                    "REKINDLE_)",
                    line->label, shown, (const char *)line->name.data,
                    near ? "; the closest is \"" : "", near ? definitions[nearest].name : "",
                    near ? "\"" : "");
}

bool rk_settings_is_unknown(rk_span variable) {
    // Not settings, but read elsewhere.
    static const char *const others[] = {"REKINDLE_RUN", "REKINDLE_LIBRARY"};
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        if (rk_span_is(variable, others[i]))
            return false;
    for (size_t i = 0; i < RK_SETTING_COUNT; i++)
        if (rk_span_is(variable, definitions[i].variable))
            return false;
    return has_prefix(variable);
}

const char *rk_settings_misspelt(rk_span variable) {
    size_t distance;
    if (!rk_settings_is_unknown(variable))
        return NULL;
    rk_setting_id nearest = nearest_setting(RK_SETTING_DIR, without_prefix(variable), &distance);
    return is_near(nearest, distance) ? definitions[nearest].variable : NULL;
}

const char *rk_settings_variable(rk_setting_id id) {
    return definitions[id].variable;
}

const char *rk_settings_default(rk_setting_id id) {
    return definitions[id].fallback;
}

const char *const *rk_settings_choices(const char *variable) {
    for (size_t i = 0; i < RK_SETTING_COUNT; i++)
        if (strcmp(definitions[i].variable, variable) == 0)
            return choices[i];
    return NULL;
}

static rk_err *set_from_config(void *context, const rk_config_line *line) {
    rk_settings *settings = context;
    for (size_t i = 0; i < RK_SETTING_COUNT; i++) {
        if (!rk_span_is(line->name, definitions[i].name))
            continue;
        if (i == RK_SETTING_DIR)
            return rk_error(RK_INVALID_ARGUMENT,
                            "%s: dir cannot be set in this file, because it determines where the "
                            "file is; set the variable REKINDLE_DIR",
                            line->label);
        if (settings->source[i] == RK_SOURCE_CONFIG)
            return rk_error(RK_INVALID_ARGUMENT, "%s: %s is set twice", line->label,
                            definitions[i].name);
        RK_AUTO(rk_buf) label = {0};
        rk_buf_add_format(&label, "%s: %s", line->label, definitions[i].name);
        RK_TRY(rk_buf_status(&label));
        return set(settings, (rk_setting_id)i, RK_SOURCE_CONFIG, rk_buf_text(&label), line->value);
    }
    return unknown_name(line);
}

static rk_err *set_directory(rk_settings *settings) {
    const char *written = getenv("REKINDLE_DIR");
    rk_autofree char *directory = NULL;
    RK_TRY(rk_directory_resolve(written, &directory));
    return set(settings, RK_SETTING_DIR,
               written && *written ? RK_SOURCE_ENVIRONMENT : RK_SOURCE_DEFAULT, "REKINDLE_DIR",
               rk_span_text(directory));
}

bool rk_settings_is_wrong(const rk_err *err) {
    // Some errors of system calls have this code too, with an errno.
    return rk_err_code(err) == RK_INVALID_ARGUMENT && rk_err_errno(err) == 0;
}

static rk_err *read_config(rk_settings *settings, rk_settings_check_fn check) {
    if (!settings->values.dir[0])
        return NULL; // set_directory failed, and its error is noted already
    rk_autofree char *path = rk_path_join(settings->values.dir, "config");
    if (!path)
        return rk_err_no_memory();
    rk_err *err = rk_config_read(path, set_from_config, settings);
    rk_err *unusable =
        check && err && rk_err_errno(err) != ENOMEM ? check(settings->values.dir) : NULL;
    if (!unusable || rk_settings_is_wrong(unusable)) {
        rk_err_drop(unusable, "no value is wrong because of the folder");
        return err;
    }
    rk_err_drop(err, "the file is probably not ours");
    return unusable;
}

// Problems while the settings of a job are loaded: the first wrong value, and the first thing that
// could not be read. Owned.
typedef struct troubles {
    rk_err *wrong, *unread;
    rk_settings_wrong_fn each; // NULL: only the first of each kind is kept
    void *context;
} troubles;

static void troubles_cleanup(troubles *self) {
    rk_err_free(RK_TAKE(self->wrong));
    rk_err_free(RK_TAKE(self->unread));
}

// Keeps `err` in `self` and returns NULL, so that loading continues. Returns `err`, which ends the
// loading, if `self` is NULL, or if memory is short: values would be missing. Consumes `err`.
static rk_err *note(troubles *self, rk_err *err) {
    if (!err || !self || rk_err_errno(err) == ENOMEM)
        return err;
    if (self->each) {
        self->each(self->context, err);
        rk_err_drop(err, "`each` reported it");
        return NULL;
    }
    rk_err **kept = rk_settings_is_wrong(err) ? &self->wrong : &self->unread;
    if (*kept)
        rk_err_drop(err, "the first error is reported");
    else
        *kept = err;
    return NULL;
}

static rk_err *set_all(rk_settings *settings, rk_settings_check_fn check, troubles *found) {
    for (size_t i = 0; i < RK_SETTING_COUNT; i++)
        RK_TRY(set(settings, (rk_setting_id)i, RK_SOURCE_DEFAULT, definitions[i].variable,
                   rk_span_text("")));
    RK_TRY(note(found, set_directory(settings)));
    RK_TRY(note(found, read_config(settings, check)));
    for (size_t i = 0; i < RK_SETTING_COUNT; i++) {
        const char *text = i == RK_SETTING_DIR ? NULL : getenv(definitions[i].variable);
        if (text)
            RK_TRY(note(found, set(settings, (rk_setting_id)i, RK_SOURCE_ENVIRONMENT,
                                   definitions[i].variable, rk_span_text(text))));
    }
    return NULL;
}

rk_err *rk_settings_load(rk_settings_check_fn check, rk_settings **out_settings) {
    *out_settings = NULL;
    __attribute__((cleanup(rk_settings_cleanup))) rk_settings *settings =
        rk_calloc(1, sizeof *settings);
    if (!settings)
        return rk_err_no_memory();
    RK_TRY(set_all(settings, check, NULL));
    *out_settings = RK_TAKE(settings);
    return NULL;
}

rk_err *rk_settings_load_all(rk_settings_check_fn check, rk_settings_wrong_fn each, void *context,
                             rk_settings **out_settings) {
    *out_settings = NULL;
    troubles found = {.each = each, .context = context};
    __attribute__((cleanup(rk_settings_cleanup))) rk_settings *settings =
        rk_calloc(1, sizeof *settings);
    if (!settings)
        return rk_err_no_memory();
    RK_TRY(set_all(settings, check, &found));
    *out_settings = RK_TAKE(settings);
    return NULL;
}

// The end of rk_settings_load_for_job, after all values were read: decides about mode and trouble.
static rk_err *settle(rk_settings *settings, troubles *found, rk_err **out_trouble) {
    bool is_default = settings->source[RK_SETTING_DIR] == RK_SOURCE_DEFAULT;
    if (settings->values.mode == RK_MODE_OFF) {
        *out_trouble = RK_TAKE(found->wrong);
        return NULL;
    }
    if (found->wrong)
        return RK_TAKE(found->wrong);
    if (!found->unread && settings->values.mode != RK_MODE_READONLY)
        found->unread = rk_directory_check_place(settings->values.dir, is_default);
    if (found->unread)
        settings->values.mode = RK_MODE_OFF;
    *out_trouble = RK_TAKE(found->unread);
    return NULL;
}

rk_err *rk_settings_load_for_job(rk_settings_check_fn check, rk_settings **out_settings,
                                 rk_err **out_trouble) {
    *out_settings = NULL;
    *out_trouble = NULL;
    __attribute__((cleanup(troubles_cleanup))) troubles found = {0};
    __attribute__((cleanup(rk_settings_cleanup))) rk_settings *settings =
        rk_calloc(1, sizeof *settings);
    if (!settings)
        return rk_err_no_memory();
    RK_TRY(set_all(settings, check, &found));
    RK_TRY(settle(settings, &found, out_trouble));
    *out_settings = RK_TAKE(settings);
    return NULL;
}

void rk_settings_free(rk_settings *settings) {
    if (!settings)
        return;
    for (size_t i = 0; i < RK_SETTING_COUNT; i++)
        rk_free(settings->text[i]);
    rk_free(settings->plugin);
    rk_free(settings->signing_key);
    rk_free(settings->trusted_keys);
    rk_free(settings);
}

void rk_settings_cleanup(rk_settings **settings) {
    rk_settings_free(RK_TAKE(*settings));
}

const rk_settings_values *rk_settings_get(const rk_settings *settings) {
    return &settings->values;
}

rk_setting rk_settings_describe(const rk_settings *settings, rk_setting_id id) {
    return (rk_setting){definitions[id].variable, settings->text[id], settings->source[id]};
}

const char *rk_mode_name(rk_mode mode) {
    return mode_names[mode];
}

const char *rk_setting_source_name(rk_setting_source source) {
    static const char *const names[] = {"default", "config", "environment"};
    return names[source];
}
