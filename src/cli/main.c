// `rekindle`: finds the verb, runs it, and checks once, at the end, that all output was written.
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/command_file.h"
#include "cli/fail.h"
#include "cli/text.h"
#include "cli/verbs.h"

// True if a shell would run this word as a command, or if it is a file.
static bool is_command(const char *word) {
    if (strchr(word, '/') || strchr(word, '.'))
        return access(word, R_OK) == 0;
    rk_autofree char *file = rk_command_file_find(word);
    return file != NULL;
}

static int command_without_run(int argc, char **argv) {
    enum { MOST_BYTES = 200 };
    RK_AUTO(rk_buf) command = RK_BUF_INIT(0);
    for (int i = 1; i < argc && command.len < MOST_BYTES; i++)
        rk_buf_add_format(&command, " %s", argv[i]);
    return rk_fail_print(rk_error(
        RK_INVALID_ARGUMENT, "'%s' is no command of rekindle; to run a job: `rekindle run --%s`",
        argv[1], rk_need_text(&command)));
}

static const char *nearest_verb(const char *name) {
    const char *best = rk_verbs.items[0]->usage->verb;
    for (size_t i = 1; i < rk_verbs.count; i++) {
        const char *other = rk_verbs.items[i]->usage->verb;
        if (rk_text_distance(name, other) < rk_text_distance(name, best))
            best = other;
    }
    return best;
}

static bool is_near_verb(const char *name) {
    return rk_text_is_near(name, nearest_verb(name));
}

static int unknown_verb(const char *name) {
    const char *best = nearest_verb(name);
    if (is_near_verb(name))
        return rk_fail_print(rk_error(RK_INVALID_ARGUMENT,
                                      "there is no command '%s'; did you mean `rekindle %s`?", name,
                                      best));
    return rk_fail_print(rk_error(RK_INVALID_ARGUMENT,
                                  "there is no command '%s' in rekindle " REKINDLE_VERSION
                                  "; `rekindle help` lists all commands",
                                  name));
}

// Opens /dev/null for each closed standard stream. Otherwise the next file that is opened would get
// the stream's number, and output would go into that file. Not for `run`: the job must inherit the
// streams as they are.
static void hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) != fd)
            return;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2)
        return rk_fail_print(rk_error(RK_INVALID_ARGUMENT,
                                      "no command given; for instance: rekindle run -- python "
                                      "train.py (`rekindle help` lists all commands)"));
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    const rk_verb *verb = rk_verb_find(&rk_verbs, name);
    if (verb) {
        if (verb != &rk_verb_run)
            hold_standard_streams();
        return rk_verb_start(&rk_verbs, verb, argc - 1, argv + 1);
    }
    if (name[0] == '-')
        return rk_fail_print(rk_error(RK_INVALID_ARGUMENT,
                                      "'%s' is an option, but a command must come first, as in "
                                      "`rekindle stats --json`",
                                      name));
    return is_command(name) && !is_near_verb(name) ? command_without_run(argc, argv)
                                                   : unknown_verb(name);
}

// Output that is lost must not look like success.
static int finish(int status) {
    errno = 0;
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (!lost)
        return status;
    if (errno == EPIPE) // the reader closed the pipe early, as `head` does
        return RK_EXIT_FAILED;
    return rk_fail_print(errno ? rk_error_errno(errno, "cannot write the output")
                               : rk_error(RK_INTERNAL, "cannot write the output"));
}

int main(int argc, char **argv) {
    // Only for the width of characters. Numbers keep the form that JSON requires.
    (void)setlocale(LC_CTYPE, "");
    return finish(dispatch(argc, argv));
}
