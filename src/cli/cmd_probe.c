#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/out.h"
#include "cli/probe_child.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "pjrt/bridge.h"
#include "probe/probe.h"

// The results to show, read from the lines of the probe's process.
typedef struct view {
    const char *plugin;
    json_t *object;    // the output of --json; owned
    json_t *steps;     // member of `object`; borrowed
    const char *begun; // the step during which the process ended, or NULL; borrowed
    json_t *last_line; // holds the text of `begun`; owned
} view;

// True for steps that must succeed in a plugin that is alive.
static bool is_vital(const char *step) {
    return strcmp(step, RK_PROBE_ATTRIBUTES) != 0 && strcmp(step, RK_PROBE_SERIALIZE) != 0 &&
           strcmp(step, RK_PROBE_LOAD) != 0;
}

static void take_line(view *v, json_t *line) {
    const json_t *set = json_object_get(line, "set");
    json_t *end = json_object_get(line, "end");
    const char *begin = json_string_value(json_object_get(line, "begin"));
    if (set)
        (void)json_object_update(v->object, json_object_get(line, "set"));
    if (end) {
        v->begun = NULL;
        rk_out_append(v->steps, json_incref(end));
    }
    if (begin) {
        json_decref(v->last_line);
        v->last_line = json_incref(line);
        v->begun = begin;
    }
}

static void take_lines(view *v, const rk_buf *lines) {
    const char *at = (const char *)lines->data, *end = at + lines->len;
    while (at && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return; // the process ended while it wrote this line
        json_t *line = json_loadb(at, (size_t)(newline - at), 0, NULL);
        if (line)
            take_line(v, line);
        json_decref(line);
        at = newline + 1;
    }
}

static const json_t *step_named(const view *v, const char *name) {
    for (size_t i = 0; i < json_array_size(v->steps); i++) {
        const json_t *step = json_array_get(v->steps, i);
        const char *step_name = json_string_value(json_object_get(step, "name"));
        if (step_name && strcmp(step_name, name) == 0)
            return step;
    }
    return NULL;
}

static bool went_well(const view *v, const char *name) {
    return json_is_true(json_object_get(step_named(v, name), "ok"));
}

// Adds the step during which the process ended.
static void add_broken_step(view *v, const rk_probe_child *child) {
    RK_AUTO(rk_buf) error = RK_BUF_INIT(0);
    const char *name = v->begun;
    if (child->timed_out)
        rk_buf_add_text(&error, "no answer before the timeout");
    else if (child->signal)
        rk_buf_add_format(&error, "the plugin crashed: signal %d (%s)", child->signal,
                          strsignal(child->signal));
    else
        rk_buf_add_format(&error, "the plugin ended its process, with status %d", child->status);
    json_t *step = rk_out_object();
    rk_out_set(step, "name", rk_out_string(name));
    rk_out_set(step, "ok", rk_out_bool(false));
    rk_out_set(step, "seconds", json_null());
    rk_out_set(step, "detail", json_null());
    rk_out_set(step, "code", json_null());
    rk_out_set(step, "error", rk_out_string(rk_need_text(&error)));
    rk_out_append(v->steps, step);
}

// The first vital step that failed; NULL if none did.
static const json_t *failed_step(const view *v) {
    for (size_t i = 0; i < json_array_size(v->steps); i++) {
        const json_t *step = json_array_get(v->steps, i);
        if (!json_is_true(json_object_get(step, "ok")) &&
            is_vital(json_string_value(json_object_get(step, "name"))))
            return step;
    }
    return NULL;
}

// Decides whether the plugin is alive, and if not, finds a remedy.
static bool judge(view *v, const rk_probe_child *child) {
    if (v->begun)
        add_broken_step(v, child);
    const json_t *failed = failed_step(v);
    const char *remedy = NULL;
    if (!failed && v->begun) // the step is optional, but a job would have ended there, too
        failed = step_named(v, v->begun);
    if (failed)
        remedy = rk_probe_remedy(v->plugin, json_string_value(json_object_get(failed, "name")),
                                 json_string_value(json_object_get(failed, "error")));
    bool alive = !failed && went_well(v, RK_PROBE_EXECUTE);
    rk_out_set(v->object, "alive", rk_out_bool(alive));
    rk_out_set(v->object, "keeps_executables", rk_out_bool(went_well(v, RK_PROBE_LOAD)));
    rk_out_set(v->object, "reason",
               failed ? json_incref(json_object_get(failed, "error")) : json_null());
    rk_out_set(v->object, "remedy", rk_out_string(remedy));
    return alive;
}

// The frameworks that the bridge was tried with. Source: docs/jax-versions.md.
static const char bridge_tried[] =
    "JAX 0.4.33 to 0.12 on three CPU plugins, with limits before 0.6.2; see docs/jax-versions.md";

static void add_own_versions(view *v) {
    json_t *own = rk_out_object();
    rk_out_set(own, "major", rk_out_uint(PJRT_API_MAJOR));
    rk_out_set(own, "minor", rk_out_uint(PJRT_API_MINOR));
    rk_out_set(v->object, "rekindle_api", own);
    rk_out_set(v->object, "bridges_frameworks_from_minor", rk_out_uint(RK_BRIDGE_OLDEST_MINOR));
    rk_out_set(v->object, "bridge_tried", rk_out_string(bridge_tried));
}

// Text.

static void print_field(const char *name, const char *text) {
    enum { INDENT = 15 };
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_format(&line, "  %-12s ", name);
    rk_text_add_printable(&line, rk_span_text(text));
    rk_term_line(rk_need_text(&line), INDENT);
}

static void print_versions(const view *v) {
    const json_t *api = json_object_get(v->object, "api");
    if (!api)
        return;
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_buf_add_format(&text, "%lld.%lld (%lld entries)",
                      (long long)json_integer_value(json_object_get(api, "major")),
                      (long long)json_integer_value(json_object_get(api, "minor")),
                      (long long)json_integer_value(json_object_get(v->object, "entries")));
    print_field("PJRT API", rk_need_text(&text));
    rk_buf_clear(&text);
    rk_buf_add_format(&text, "%d.%d; bridges the structs of frameworks from %d.%d on",
                      PJRT_API_MAJOR, PJRT_API_MINOR, PJRT_API_MAJOR, RK_BRIDGE_OLDEST_MINOR);
    print_field("rekindle", rk_need_text(&text));
    print_field("tried", bridge_tried);
}

static void print_extensions(const view *v) {
    const json_t *list = json_object_get(v->object, "extensions");
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        rk_buf_add_text(&text, i ? ", " : "");
        if (name)
            rk_buf_add_text(&text, name);
        else
            rk_buf_add_format(&text, "no. %lld",
                              (long long)json_integer_value(json_object_get(one, "type")));
    }
    if (text.len)
        print_field("extensions", rk_need_text(&text));
}

static void print_attributes(const view *v) {
    const char *name, *title = "attributes";
    json_t *value;
    json_object_foreach(json_object_get(v->object, "attributes"), name, value) {
        rk_autofree char *flat = rk_out_flat(value);
        RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
        rk_buf_add_format(&text, "%s = %s", name, flat);
        print_field(title, rk_need_text(&text));
        title = "";
    }
}

// Prints "4 of kind cpu" for each group of neighbouring devices of one kind.
static void print_devices(const view *v) {
    const json_t *list = json_object_get(v->object, "devices");
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    size_t count = json_array_size(list);
    for (size_t i = 0, next; i < count; i = next) {
        const json_t *kind = json_object_get(json_array_get(list, i), "kind");
        for (next = i + 1; next < count; next++)
            if (!json_equal(json_object_get(json_array_get(list, next), "kind"), kind))
                break;
        rk_buf_add_format(&text, "%s%zu of kind %s", i ? ", " : "", next - i,
                          json_string_value(kind));
    }
    if (text.len)
        print_field("devices", rk_need_text(&text));
}

// Appends the detail or error of a step; a size in the units of the other commands.
static void add_said(const char *said, rk_buf *out) {
    char *end = NULL;
    unsigned long long bytes = said ? strtoull(said, &end, 10) : 0;
    if (said && end != said && strcmp(end, " bytes") == 0)
        rk_buf_add_text(out, rk_text_bytes(bytes).text);
    else
        rk_text_add_printable(out, rk_span_text(said ? said : ""));
}

static void print_steps(const view *v) {
    enum { INDENT = 31 };
    (void)putchar('\n');
    for (size_t i = 0; i < json_array_size(v->steps); i++) {
        const json_t *step = json_array_get(v->steps, i);
        bool ok = json_is_true(json_object_get(step, "ok"));
        const json_t *said = json_object_get(step, ok ? "detail" : "error");
        const json_t *seconds = json_object_get(step, "seconds");
        RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
        rk_text took = {""};
        if (json_is_number(seconds))
            took = rk_text_seconds((uint64_t)(json_number_value(seconds) * 1e9));
        rk_buf_add_format(&text, "  %s%-6s%s %-11s %8s%s",
                          rk_style(ok ? RK_STYLE_GOOD : RK_STYLE_BAD, stdout), ok ? "ok" : "failed",
                          rk_style(RK_STYLE_NONE, stdout),
                          json_string_value(json_object_get(step, "name")), took.text,
                          json_string_length(said) ? "  " : "");
        add_said(json_string_value(said), &text);
        rk_term_line(rk_need_text(&text), INDENT);
    }
}

static void print_verdict(const view *v, bool alive) {
    const char *remedy = json_string_value(json_object_get(v->object, "remedy"));
    (void)printf("\n%s%s%s", rk_style(alive ? RK_STYLE_GOOD : RK_STYLE_BAD, stdout),
                 alive ? "alive" : "not alive", rk_style(RK_STYLE_NONE, stdout));
    if (alive)
        (void)printf("%s", went_well(v, RK_PROBE_LOAD) ? ", and what it compiles can be kept"
                                                       : ", but what it compiles cannot be kept");
    (void)putchar('\n');
    if (remedy)
        rk_term_line(remedy, 0);
}

static void print_text(const view *v, bool alive) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    rk_buf_add_text(&name, rk_style(RK_STYLE_BOLD, stdout));
    rk_text_add_printable(&name, rk_span_text(v->plugin));
    const char *version = json_string_value(json_object_get(v->object, "platform_version"));
    rk_buf_add_text(&name, rk_style(RK_STYLE_NONE, stdout));
    rk_term_line(rk_need_text(&name), 2);
    (void)putchar('\n');
    print_versions(v);
    print_extensions(v);
    print_attributes(v);
    if (version)
        print_field("version", version);
    print_devices(v);
    print_steps(v);
    print_verdict(v, alive);
}

// The verb.

static rk_err *parse_timeout(const char *text, uint64_t *out_timeout_ms) {
    enum { DEFAULT_SECONDS = 120, MAX_SECONDS = 86400 };
    *out_timeout_ms = (uint64_t)DEFAULT_SECONDS * 1000;
    if (!text)
        return NULL;
    char *end;
    unsigned long seconds = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || seconds == 0 || seconds > MAX_SECONDS)
        return rk_error(RK_INVALID_ARGUMENT, "--timeout takes seconds from 1 to %d, not '%s'",
                        MAX_SECONDS, text);
    *out_timeout_ms = (uint64_t)seconds * 1000;
    return NULL;
}

static rk_err *probe_and_show(const char *plugin, uint64_t timeout_ms, bool json, bool *out_alive) {
    RK_AUTO(rk_probe_child) child = {0};
    RK_TRY(rk_probe_child_run(plugin, timeout_ms, &child));
    view v = {.plugin = plugin, .object = rk_out_object(), .steps = rk_out_array()};
    rk_out_set(v.object, "plugin", rk_out_string(plugin));
    add_own_versions(&v);
    take_lines(&v, &child.lines);
    *out_alive = judge(&v, &child);
    rk_out_set(v.object, "steps", v.steps);
    if (json)
        rk_out_print(json_incref(v.object));
    else
        print_text(&v, *out_alive);
    json_decref(v.last_line);
    json_decref(v.object);
    return NULL;
}

static struct {
    const char *timeout;
    uint64_t timeout_ms; // from `timeout`
} given;

static rk_err *check(const rk_verb_call *call) {
    (void)call;
    return parse_timeout(given.timeout, &given.timeout_ms);
}

static rk_err *run(rk_verb_call *call) {
    bool alive = false;
    RK_TRY(probe_and_show(call->operands->items[0], given.timeout_ms, call->json, &alive));
    call->status = alive ? RK_EXIT_OK : RK_EXIT_FAILED;
    return NULL;
}

static const rk_opt options[] = {
    RK_OPT_VALUE("timeout", 0, &given.timeout, "SECONDS", "give up after that many seconds (120)"),
    RK_VERB_JSON,
};

static const rk_opt_usage usage = {
    .verb = "probe",
    .operands = "PLUGIN",
    .summary = "Tells whether a PJRT plugin is alive or only installed: loads it, makes a "
               "client, compiles and runs a small program, and keeps and loads it again.",
    .details = "PLUGIN is the shared object, for instance libtpu.so. All of it happens in a "
               "process of its own. Exit status 1 if the plugin is not alive.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .min_operands = 1,
    .max_operands = 1,
    .words = RK_WORD_FILE,
};

const rk_verb rk_verb_probe = {
    .brief = "check whether an installed PJRT plugin works",
    .usage = &usage,
    .settings = RK_VERB_NO_SETTINGS,
    .check = check,
    .run = run,
};
