// The command line, `rekindle`: one file a verb. This header is what the verbs share: the list of
// verbs, exit statuses, and how a verb fails.
//
// The command line is a process of its own with one thread, so that here, other than in the
// libraries, printing, the locale and ending the process are allowed.
#pragma once

#include "base/alloc.h"
#include "base/buf.h"

enum {
    RK_EXIT_OK = 0,
    RK_EXIT_FAILED = 1,           // what was asked for could not be done, or a check failed
    RK_EXIT_USAGE = 2,            // wrong usage or settings
    RK_EXIT_NO_PROCESS = 125,     // `run`, as env(1) and timeout(1): no process could be made,
    RK_EXIT_NOT_EXECUTABLE = 126, // the command is there but cannot be executed,
    RK_EXIT_NOT_FOUND = 127,      // there is no such command
};

typedef struct rk_verb {
    const char *name;
    const char *summary;               // one line, for `rekindle help`
    int (*run)(int argc, char **argv); // argv[0] is the verb; returns the exit status
} rk_verb;

// All verbs, in the order in which `rekindle help` lists them.
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

// Prints the error on stderr, and with `json` also as {"error":"…"} on stdout. Consumes it, and
// returns the exit status that its code asks for: RK_EXIT_USAGE where the user can mend it by
// asking differently, else RK_EXIT_FAILED.
RK_NODISCARD int rk_cli_fail(rk_err *err, bool json);

// For a command that has nothing better to do without memory: a message, and exit.
void *rk_need(void *ptr); // returns `ptr`, or does not return where it is NULL
// The text of a buffer all of whose appends succeeded; borrowed from it.
const char *rk_need_text(const rk_buf *buf);
