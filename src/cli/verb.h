// Describes and runs a verb of the command line. Running a verb parses its options, sets variables,
// loads the settings, calls the verb and reports its error.
#pragma once

#include "cli/opt.h"
#include "settings/settings.h"

typedef struct rk_verb rk_verb;

typedef struct rk_verb_list {
    const rk_verb *const *items; // in the order of `rekindle help`
    size_t count;
} rk_verb_list;

// One call of a verb. The pointers are borrowed until the verb returns.
typedef struct rk_verb_call {
    const rk_verb_list *verbs;
    const rk_opt_operands *operands;
    const rk_settings *settings; // NULL with RK_VERB_NO_SETTINGS, and in `check`
    bool json;                   // --json was given
    int status;                  // set by the verb: the exit status if it returns no error
} rk_verb_call;

typedef enum rk_verb_settings {
    RK_VERB_NO_SETTINGS,       // the verb needs none, or loads them itself
    RK_VERB_SETTINGS,          // rk_place_settings
    RK_VERB_SETTINGS_OF_STORE, // rk_place_settings; the store must be a folder, see rk_place_check
    RK_VERB_SETTINGS_OF_RUNS,  // as RK_VERB_SETTINGS_OF_STORE, with rk_place_settings_of_runs
} rk_verb_settings;

struct rk_verb {
    const char *brief;         // one line, for `rekindle help`
    const rk_opt_usage *usage; // its options have static targets: a process runs one verb, once
    rk_verb_settings settings;
    // Checks the options, before the settings are loaded. NULL if there is nothing to check.
    rk_err *(*check)(const rk_verb_call *call);
    // Does the work and prints the result. Returns its error, which rk_verb_start prints.
    rk_err *(*run)(rk_verb_call *call);
};

// Options that many verbs share. rk_verb_start evaluates their values.
typedef struct rk_verb_shared {
    bool json;
    const char *dir;
} rk_verb_shared;
extern rk_verb_shared rk_verb_shared_options;
#define RK_VERB_JSON_HELP(help_text) RK_OPT_FLAG("json", 0, &rk_verb_shared_options.json, help_text)
#define RK_VERB_JSON                 RK_VERB_JSON_HELP("JSON for programs, on stdout")
#define RK_VERB_DIR                                                                                \
    RK_OPT_SETTING("dir", 0, &rk_verb_shared_options.dir, "REKINDLE_DIR", "DIR",                   \
                   "the store, instead of REKINDLE_DIR or the default")

// The words of this command line, from the verb on. Ends with NULL. NULL before rk_verb_start.
extern char *const *rk_verb_words;

// Appends " --dir FOLDER" if this command line has the option, for commands that messages
// recommend.
void rk_verb_add_dir(rk_buf *out);

// Returns the verb with this name; NULL if there is none.
const rk_verb *rk_verb_find(const rk_verb_list *verbs, const char *name);

// Prints how to use the verb, on stdout.
void rk_verb_print_help(const rk_verb *verb);

// Runs the verb, and prints its error on stderr, and with --json also as {"error":"…"} on stdout.
// argv[0] is the verb. Returns the exit status.
RK_NODISCARD int rk_verb_start(const rk_verb_list *verbs, const rk_verb *verb, int argc,
                               char **argv);
