#include <stdio.h>

#include "base/alloc.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/self.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "store/entry.h"

typedef struct library {
    const char *name; // member name in the JSON
    const char *what;
    char *path; // owned
    bool found;
} library;

static void print_json(const char *executable, const library *libraries, size_t count) {
    json_t *object = rk_out_object(), *list = rk_out_object();
    rk_out_set(object, "version", rk_out_string(REKINDLE_VERSION));
    rk_out_set(object, "executable", rk_out_string(executable));
    for (size_t i = 0; i < count; i++) {
        json_t *one = rk_out_object();
        rk_out_set(one, "path", rk_out_string(libraries[i].path));
        rk_out_set(one, "found", rk_out_bool(libraries[i].found));
        rk_out_set(list, libraries[i].name, one);
    }
    rk_out_set(object, "libraries", list);
    rk_out_set(object, "entry_format", rk_out_uint(RK_ENTRY_VERSION));
    rk_out_set(object, "jansson", rk_out_string(jansson_version_str()));
    rk_out_print(object);
}

static void print_path(const char *what, const char *path, const char *trouble) {
    enum { INDENT = 18 };
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_format(&line, "  %-15s ", what);
    rk_text_add_printable(&line, rk_span_text(path));
    rk_buf_add_format(&line, "%s%s%s", rk_style(RK_STYLE_BAD, stdout), trouble,
                      rk_style(RK_STYLE_NONE, stdout));
    rk_term_line(rk_need_text(&line), INDENT);
}

static void print_text(const char *executable, const library *libraries, size_t count) {
    (void)printf("%srekindle " REKINDLE_VERSION "%s\n\n", rk_style(RK_STYLE_BOLD, stdout),
                 rk_style(RK_STYLE_NONE, stdout));
    print_path("executable", executable, "");
    for (size_t i = 0; i < count; i++)
        print_path(libraries[i].what, libraries[i].path,
                   libraries[i].found ? "" : "  missing: build or install it again");
    (void)printf("  %-15s %d\n", "entry format", RK_ENTRY_VERSION);
    (void)printf("  %-15s %s\n", "jansson", jansson_version_str());
}

static rk_err *run(rk_verb_call *call) {
    library libraries[] = {
        {.name = "preload", .what = "preload library"},
        {.name = "core", .what = "core library"},
        {.name = "plugin", .what = "plugin library"},
    };
    rk_autofree char *executable = NULL;
    rk_err *err = rk_self_executable(&executable);
    if (!err)
        err = rk_self_library(RK_PRELOAD_LIBRARY, &libraries[0].path, &libraries[0].found);
    if (!err)
        err = rk_self_library(RK_CORE_LIBRARY, &libraries[1].path, &libraries[1].found);
    if (!err)
        err = rk_self_library(RK_PLUGIN_LIBRARY, &libraries[2].path, &libraries[2].found);
    if (!err)
        (call->json ? print_json : print_text)(executable, libraries, RK_ARRAY_LEN(libraries));
    for (size_t i = 0; i < RK_ARRAY_LEN(libraries); i++)
        rk_free(libraries[i].path);
    return err;
}

static const rk_opt options[] = {RK_VERB_JSON};

static const rk_opt_usage usage = {
    .verb = "version",
    .summary = "Prints rekindle's version, and the libraries that it loads into jobs: "
               "their paths, and whether they exist.",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_version = {
    .brief = "the version, and the libraries that were found",
    .usage = &usage,
    .settings = RK_VERB_NO_SETTINGS,
    .run = run,
};
