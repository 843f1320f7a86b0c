// The command line, `rekindle`: one file per verb. This header declares what the verbs share: the
// list of verbs, exit statuses, and error output.
//
// The command line is a separate process with one thread. So, unlike in the libraries, code here
// may print, set the locale and end the process.
#pragma once

#include "base/alloc.h"
#include "base/buf.h"

enum {
    RK_EXIT_OK = 0,
    RK_EXIT_FAILED = 1,           // the request was valid but failed, or a check failed
    RK_EXIT_USAGE = 2,            // wrong usage or settings
    RK_EXIT_NO_PROCESS = 125,     // `run`, like env(1) and timeout(1): no process could be made,
    RK_EXIT_NOT_EXECUTABLE = 126, // the command exists but cannot be executed,
    RK_EXIT_NOT_FOUND = 127,      // the command does not exist
};

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

// Prints the error on stderr, and with `json` also as {"error":"…"} on stdout. Consumes `err`.
// Returns the exit status for its code: RK_EXIT_USAGE if the user can fix the problem with another
// request or setting, else RK_EXIT_FAILED.
RK_NODISCARD int rk_cli_fail(rk_err *err, bool json);

// Ends the process with a message if `ptr` is NULL, because memory ran out. Otherwise returns it.
void *rk_need(void *ptr);
// Returns the text of a buffer, borrowed from it. Ends the process if an append to it failed.
const char *rk_need_text(const rk_buf *buf);
