// The list of verbs, one file per verb.
#pragma once

#include "cli/fail.h"

typedef struct rk_verb {
    const char *name;
    const char *summary;               // one line, for `rekindle help`
    int (*run)(int argc, char **argv); // argv[0] is the verb; returns the exit status
} rk_verb;

// All verbs, in the order of `rekindle help`.
extern const rk_verb rk_verbs[];
extern const size_t rk_verb_count;
const rk_verb *rk_verb_find(const char *name); // NULL if there is none

int rk_verb_run(int argc, char **argv);
int rk_verb_verify(int argc, char **argv);
int rk_verb_stats(int argc, char **argv);
int rk_verb_explain(int argc, char **argv);
int rk_verb_runs(int argc, char **argv);
int rk_verb_memory(int argc, char **argv);
int rk_verb_shapes(int argc, char **argv);
int rk_verb_ls(int argc, char **argv);
int rk_verb_show(int argc, char **argv);
int rk_verb_diff(int argc, char **argv);
int rk_verb_rm(int argc, char **argv);
int rk_verb_gc(int argc, char **argv);
int rk_verb_fsck(int argc, char **argv);
int rk_verb_pin(int argc, char **argv);
int rk_verb_unpin(int argc, char **argv);
int rk_verb_keys(int argc, char **argv);
int rk_verb_probe(int argc, char **argv);
int rk_verb_config(int argc, char **argv);
int rk_verb_version(int argc, char **argv);
int rk_verb_help(int argc, char **argv);

// Prints the error like rk_fail_print, and with `json` also as {"error":"…"} on stdout. Consumes
// `err`. Returns the exit status.
RK_NODISCARD int rk_cli_fail(rk_err *err, bool json);
