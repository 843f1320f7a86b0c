#include <string.h>

#include "cli/bundle_export.h"
#include "cli/bundle_import.h"
#include "cli/bundle_inspect.h"
#include "cli/fail.h"
#include "cli/run_names.h"
#include "cli/verbs.h"

static const char details[] =
    "  export    pack executables, their programs, the prefetch list, caches of torch.compile and "
    "JAX\n"
    "  inspect   show what it holds, who signed it, and what is of use here\n"
    "  import    check a bundle, and add to the store what is missing\n\n"
    "Without --job, --run, --all or KEY, export packs the last run's job.\n\n"
    "Every bundle is signed, by REKINDLE_SIGNING_KEY or by a key that the first export creates "
    "for you. import takes a bundle that you made yourself, or that a trusted key signed "
    "(REKINDLE_TRUSTED_KEYS, --trust): it holds code that your jobs will run. A refused bundle "
    "changes nothing. Entries that are in the store already stay as they are, so an interrupted "
    "import can be started again.\n\n"
    "  rekindle bundle export -o job.rkb\n  rekindle bundle inspect --for-this-machine job.rkb\n"
    "  rekindle bundle import job.rkb\n"
    "  rekindle bundle export --module jax --directory /var/cache/jax -o jax.rkb\n";

static const char *const action_names[] = {"export", "import", "inspect", NULL};
static const char *const modules[] = {"pjrt", "inductor", "aotautograd", "triton", "autotune",
                                      "pgo",  "headers",  "jax",         NULL};
typedef enum action { EXPORT, IMPORT, INSPECT, ACTIONS } action;

static struct {
    const char *job, *run, *output, *directory, *python;
    bool all, sign, force, dry_run, is_unsigned, for_this_machine;
    rk_opt_list modules, trust;
} given;

static rk_err *find_action(const rk_opt_operands *operands, action *out_action) {
    for (*out_action = EXPORT; *out_action < ACTIONS; (*out_action)++)
        if (strcmp(operands->items[0], action_names[*out_action]) == 0)
            return NULL;
    return rk_error(RK_INVALID_ARGUMENT, "bundle has no '%s': it is export, import or inspect",
                    operands->items[0]);
}

// Which options go with which actions.
static rk_err *check_options(action which) {
    const struct {
        const char *name;
        bool given;
        unsigned actions;
    } rules[] = {
        {"--job", given.job, 1 << EXPORT},
        {"--run", given.run, 1 << EXPORT},
        {"--all", given.all, 1 << EXPORT | 1 << INSPECT},
        {"--sign", given.sign, 1 << EXPORT},
        {"--output", given.output, 1 << EXPORT},
        {"--force", given.force, 1 << IMPORT},
        {"--dry-run", given.dry_run, 1 << IMPORT},
        {"--unsigned", given.is_unsigned, 1 << IMPORT},
        {"--module", given.modules.count, 1 << EXPORT | 1 << IMPORT},
        {"--trust", given.trust.count, 1 << IMPORT | 1 << INSPECT},
        {"--directory", given.directory, 1 << EXPORT | 1 << IMPORT | 1 << INSPECT},
        {"--python", given.python, 1 << EXPORT | 1 << IMPORT | 1 << INSPECT},
        {"--for-this-machine", given.for_this_machine, 1 << INSPECT},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(rules); i++)
        if (rules[i].given && !(rules[i].actions & 1u << which))
            return rk_error(RK_INVALID_ARGUMENT, "bundle %s has no %s", action_names[which],
                            rules[i].name);
    return NULL;
}

static rk_err *check_export(const rk_opt_operands *operands) {
    if (!given.output)
        return rk_error(RK_INVALID_ARGUMENT, "bundle export needs -o FILE: where to write it");
    if (!!given.job + !!given.run + given.all + (operands->count > 1) > 1)
        return rk_error(RK_INVALID_ARGUMENT,
                        "--job, --run, --all and KEY exclude each other: give one of them");
    if (given.python && !given.directory)
        return rk_error(RK_INVALID_ARGUMENT, "bundle export has --python for --directory only");
    if (given.directory && (given.run || given.all || operands->count > 1))
        return rk_error(RK_INVALID_ARGUMENT, "--directory goes with --job only: it stores the "
                                             "directory's files under the name of a job");
    return NULL;
}

static rk_err *check(const rk_verb_call *call) {
    action which;
    RK_TRY(find_action(call->operands, &which));
    RK_TRY(check_options(which));
    if (which == EXPORT)
        return check_export(call->operands);
    if (call->operands->count != 2)
        return rk_error(RK_INVALID_ARGUMENT, "bundle %s takes one FILE", action_names[which]);
    return NULL;
}

static rk_err *run_export(const rk_verb_call *call) {
    const rk_bundle_export_request request = {
        .wish = {.job = given.job,
                 .run = given.run,
                 .all = given.all,
                 .modules = &given.modules,
                 .keys = call->operands->items + 1,
                 .key_count = call->operands->count - 1},
        .output = given.output,
        .directory = given.directory,
        .python = given.python,
        .json = call->json,
    };
    return rk_bundle_export(call->settings, &request);
}

static rk_err *run_import(const rk_verb_call *call) {
    const rk_bundle_import_request request = {
        .file = call->operands->items[1],
        .directory = given.directory,
        .python = given.python,
        .trust = &given.trust,
        .modules = &given.modules,
        .force = given.force,
        .dry_run = given.dry_run,
        .is_unsigned = given.is_unsigned,
        .json = call->json,
    };
    return rk_bundle_import(call->settings, &request);
}

static rk_err *run_inspect(rk_verb_call *call) {
    bool is_usable = true;
    const rk_bundle_inspect_request request = {
        .file = call->operands->items[1],
        .python = given.python,
        .directory = given.directory,
        .trust = &given.trust,
        .for_this_machine = given.for_this_machine,
        .all = given.all,
        .json = call->json,
    };
    RK_TRY(rk_bundle_inspect(call->settings, &request, &is_usable));
    call->status = is_usable ? RK_EXIT_OK : RK_EXIT_FAILED;
    return NULL;
}

static rk_err *run(rk_verb_call *call) {
    action which;
    RK_TRY(find_action(call->operands, &which));
    if (which == EXPORT)
        return run_export(call);
    return which == IMPORT ? run_import(call) : run_inspect(call);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("output", 'o', &given.output, "FILE", "export: the bundle to write"),
    RK_OPT_VALUE("job", 0, &given.job, "JOB", "export: this job"),
    RK_OPT_VALUE("run", 0, &given.run, "RUN", "export: the programs of this run"),
    RK_OPT_FLAG("all", 'a', &given.all, "export: everything in the store; inspect: every line"),
    RK_OPT_LIST("module", 0, &given.modules, "MODULE", modules,
                "export, import: only this module; can be given several times"),
    RK_OPT_VALUE("directory", 0, &given.directory, "DIR",
                 "export: first store the files of this cache directory of torch.compile or JAX; "
                 "import: also write such files there; inspect: compare with it"),
    RK_OPT_VALUE("python", 0, &given.python, "PATH",
                 "the Python whose torch or JAX made or uses the cache directory; default: the "
                 "first one in PATH"),
    RK_OPT_FLAG("sign", 0, &given.sign, "export: sign the bundle, as is always done"),
    RK_OPT_FLAG("for-this-machine", 0, &given.for_this_machine,
                "inspect: compare with this machine; exit status 1 if nothing can be used"),
    RK_OPT_FLAG("force", 0, &given.force,
                "import: also if flags or versions of the framework differ"),
    RK_OPT_FLAG("dry-run", 'n', &given.dry_run, "import: only say what would be imported"),
    RK_OPT_LIST("trust", 0, &given.trust, "KEY", NULL,
                "import, inspect: trust this public key, or the keys in this file, too"),
    RK_OPT_FLAG("unsigned", 0, &given.is_unsigned,
                "import: also if no trusted key signed it; it may then hold anyone's code"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "bundle",
    .operands = "export [KEY…] | import FILE | inspect FILE",
    .summary = "Carries compiled programs to another machine, in one file that is checked before "
               "it is used.",
    .details = details,
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .min_operands = 1,
    .max_operands = 10000,
    .words = RK_WORD_KEY | RK_WORD_FILE,
    .choices = action_names,
};

const rk_verb rk_verb_bundle = {
    .brief = "carry compiled programs to another machine, in one signed file",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS,
    .check = check,
    .run = run,
};
