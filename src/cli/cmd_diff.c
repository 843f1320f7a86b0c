#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/diff_runs.h"
#include "cli/diff_view.h"
#include "cli/entries.h"
#include "cli/place.h"
#include "cli/run_names.h"
#include "cli/verbs.h"
#include "diagnose/diff/components.h"
#include "diagnose/diff/diff.h"
#include "program/read.h"

enum { FILE_MAX_BYTES = 1 << 30 };

// One side of the comparison: a program from the store or from a file, and how it was compiled.
typedef struct side {
    rk_store_lookup lookup;
    rk_buf file;
    json_t *metadata, *components; // NULL for a file
    char *reason;                  // why the program cannot be read; owned
    rk_model *model;
    rk_program_index index;
    rk_diff_side shown;
    char hex[RK_DIGEST_HEX_CHARS + 1];
} side;

static void side_cleanup(side *s) {
    rk_program_index_cleanup(&s->index);
    rk_model_free(s->model);
    rk_store_lookup_cleanup(&s->lookup);
    rk_buf_cleanup(&s->file);
    rk_free(s->reason);
    json_decref(s->metadata);
    json_decref(s->components);
}

static rk_err *read_model(side *s, const char *what, rk_span code, const char *format) {
    RK_TRY(rk_model_read(code, rk_span_text(format), RK_READ_LOCATIONS, &s->model, &s->reason));
    if (!s->model)
        return rk_error(RK_UNIMPLEMENTED, "the program of %s cannot be read: %s", what, s->reason);
    return rk_program_index_make(s->model, &s->index);
}

// True if the bytes begin as MLIR bytecode, or as text: a proto has control characters.
static bool is_mlir_program(rk_span code) {
    enum { TEXT_BYTES = 512 };
    static const uint8_t bytecode[] = {'M', 'L', 0xef, 'R'};
    if (code.len >= sizeof bytecode && memcmp(code.data, bytecode, sizeof bytecode) == 0)
        return true;
    for (size_t i = 0; i < code.len && i < TEXT_BYTES; i++)
        if (code.data[i] < ' ' && (!code.data[i] || !strchr("\t\n\r", code.data[i])))
            return false;
    return code.len > 0;
}

static rk_err *read_file(side *s, const char *path) {
    RK_TRY(rk_fs_read(path, FILE_MAX_BYTES, &s->file));
    rk_span code = rk_buf_span(&s->file);
    bool is_mlir = is_mlir_program(code);
    s->shown.what = path;
    return read_model(s, path, code, is_mlir ? "mlir" : "hlo");
}

static rk_err *read_kept(side *s, rk_store *store, const rk_kept *kept) {
    if (kept->has_program)
        RK_TRY(rk_store_read(store, RK_ENTRY_PROGRAM, kept->hex, RK_WANT_PAYLOAD, &s->lookup));
    if (!kept->has_program || (s->lookup.found && !s->lookup.view.entry.payload.len))
        return rk_error(RK_NOT_FOUND,
                        "the program of %.16s was not kept: REKINDLE_KEEP_PROGRAMS=1 keeps those "
                        "compiled from now on",
                        kept->hex);
    if (!s->lookup.found)
        return rk_error(RK_DATA_LOSS, "the program of %.16s cannot be used: %s", kept->hex,
                        rk_entry_fault_text(s->lookup.fault));
    const rk_entry *entry = &s->lookup.view.entry;
    s->metadata = rk_out_parsed(entry->metadata);
    s->components = rk_out_parsed(entry->components);
    memcpy(s->hex, kept->hex, sizeof s->hex);
    s->shown.what = s->hex;
    s->shown.is_key = true;
    s->shown.name = json_string_value(json_object_get(s->metadata, "name"));
    s->shown.run = json_string_value(json_object_get(s->metadata, "run"));
    s->shown.program = &entry->key.program;
    const char *format = json_string_value(json_object_get(s->metadata, "format"));
    return read_model(s, s->hex, entry->payload, format ? format : "");
}

static bool is_file(const char *what) {
    struct stat info;
    return rk_sys()->lstat_fn(what, &info) == 0 && S_ISREG(info.st_mode);
}

static rk_err *read_side(side *s, rk_store *store, const rk_kept_list *list, const char *what) {
    const rk_kept *kept = NULL;
    if (is_file(what))
        return read_file(s, what);
    RK_TRY(rk_kept_find(store, list, what, &kept));
    return read_kept(s, store, kept);
}

static rk_err *compare(side *a, side *b, const rk_diff_how *how, bool json) {
    RK_AUTO(rk_program_diff) diff = {0};
    RK_AUTO(rk_differences) components = {0};
    RK_TRY(rk_diff_programs(&a->index, &b->index, &diff));
    RK_TRY(rk_diff_toolchains(json_object_get(a->metadata, "toolchain"),
                              json_object_get(b->metadata, "toolchain"), &components));
    if (a->components && b->components)
        RK_TRY(rk_diff_components(a->components, b->components, &components));
    RK_TRY(rk_join_components(&diff, &components));
    (json ? rk_diff_view_json : rk_diff_view_print)(&a->shown, &b->shown, &diff, how);
    return NULL;
}

// What is compared, and the store in which it is found.
typedef struct place {
    const rk_settings *settings;
    rk_store *store; // NULL: there is none yet
    const rk_kept_list *list;
} place;

// Decides whether an operand names a run. The name of a program is no run, unless there is one of
// this name.
static rk_err *names_run(const place *p, const char *what, const char *other, bool *out_is_run) {
    rk_autofree char *run = NULL;
    bool has_name = false;
    *out_is_run = !is_file(what) && rk_diff_names_run(what, other);
    if (!*out_is_run)
        return NULL;
    rk_err *err = rk_run_names_find(rk_settings_get(p->settings)->dir, what, &run);
    if (!err)
        return NULL;
    rk_err_drop(err, "it is found again below, if nothing else has the name");
    RK_TRY(rk_kept_has_name(p->store, p->list, what, &has_name));
    *out_is_run = !has_name;
    return NULL;
}

static rk_err *compare_programs(const place *p, char **what, const rk_diff_how *how, bool json) {
    RK_AUTO(side) a = {0};
    RK_AUTO(side) b = {0};
    RK_TRY(read_side(&a, p->store, p->list, what[0]));
    RK_TRY(read_side(&b, p->store, p->list, what[1]));
    return compare(&a, &b, how, json);
}

// An operand that is no key may be a run, or nothing.
static rk_err *check_run(const place *p, const char *what) {
    rk_autofree char *run = NULL;
    rk_err *err = rk_run_names_find(rk_settings_get(p->settings)->dir, what, &run);
    if (!err)
        return NULL;
    rk_err_drop(err, "replaced by the message for the user");
    return rk_error(RK_NOT_FOUND, "'%s' is neither a key, nor a run, nor a file", what);
}

static rk_err *diff(const rk_settings *settings, char **what, const rk_diff_how *how, bool json) {
    RK_AUTO_STORE store = NULL;
    __attribute__((cleanup(rk_kept_list_cleanup))) rk_kept_list list = {0};
    bool first = false, second = false;
    RK_TRY(rk_place_open_store(settings, true, &store));
    if (store)
        RK_TRY(rk_kept_collect(store, &list));
    const place p = {settings, store, &list};
    RK_TRY(names_run(&p, what[0], what[1], &first));
    RK_TRY(names_run(&p, what[1], what[0], &second));
    if (first && second)
        return rk_diff_print_runs(settings, what[0], what[1], how, json);
    if (first || second)
        RK_TRY(check_run(&p, what[first ? 0 : 1]));
    if (first || second)
        return rk_error(
            RK_INVALID_ARGUMENT,
            "'%s' is a run, and '%s' is a program: compare two runs "
            "or two programs (`rekindle runs` shows runs, `rekindle ls` keys of programs)",
            what[first ? 0 : 1], what[first ? 1 : 0]);
    return compare_programs(&p, what, how, json);
}

static rk_diff_how given;

static rk_err *run(rk_verb_call *call) {
    return diff(call->settings, call->operands->items, &given, call->json);
}

static const rk_opt options[] = {
    RK_OPT_FLAG("all", 'a', &given.all, "all differences and programs, also more than two screens"),
    RK_OPT_FLAG("stack", 's', &given.stacks, "the whole call stack of each difference"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "diff",
    .operands = "A B",
    .summary = "Compares two programs and what they were compiled with, and names the cause; "
               "or two runs.",
    .details =
        "A and B are keys as `rekindle ls` shows them (the beginning is enough), files "
        "with MLIR bytecode, MLIR text or an HloModuleProto, or runs as `rekindle runs` shows "
        "them (-1 is the last). For runs, their environments and the programs that they requested "
        "are compared.\n\n"
        "What follows from another difference, such as the shapes of all operations "
        "behind an input whose shape changed, is counted and not listed.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .min_operands = 2,
    .max_operands = 2,
    .words = RK_WORD_RUN | RK_WORD_KEY | RK_WORD_FILE,
};

const rk_verb rk_verb_diff = {
    .brief = "differences between two programs or runs, with source lines",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_RUNS,
    .run = run,
};
