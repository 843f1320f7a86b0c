#include "cli/cli.h"

#include <string.h>

#include "cli/out.h"

const rk_verb rk_verbs[] = {
    {"run", "run a job with rekindle in it", rk_verb_run},
    {"verify", "run a job cold and warm, and fail if a restart compiled anything", rk_verb_verify},
    {"stats", "counters of the last run, of another, or of all", rk_verb_stats},
    {"explain", "why a run compiled what it compiled, and what to do", rk_verb_explain},
    {"runs", "the runs there were", rk_verb_runs},
    {"memory", "memory of every physical device in a run", rk_verb_memory},
    {"shapes", "which sizes to pad to, so that fewer programs are compiled", rk_verb_shapes},
    {"ls", "the executables that are kept", rk_verb_ls},
    {"show", "one of them, with all components of its key; its program", rk_verb_show},
    {"diff", "what differs between two of them, and which line it comes from", rk_verb_diff},
    {"rm", "remove some or all of them, or what was set aside", rk_verb_rm},
    {"gc", "make the store smaller: what saves the least for its size goes first", rk_verb_gc},
    {"fsck", "check every byte that is kept, and repair", rk_verb_fsck},
    {"pin", "keep executables whatever the size of the store", rk_verb_pin},
    {"unpin", "let go of them", rk_verb_unpin},
    {"keys", "make signing keys, and say which are trusted", rk_verb_keys},
    {"probe", "whether a PJRT plugin is alive, or only installed", rk_verb_probe},
    {"config", "every setting, and where it came from", rk_verb_config},
    {"version", "the version, and the libraries that were found", rk_verb_version},
    {"help", "this list, or how to use one command", rk_verb_help},
};
const size_t rk_verb_count = RK_ARRAY_LEN(rk_verbs);

const rk_verb *rk_verb_find(const char *name) {
    for (size_t i = 0; i < rk_verb_count; i++)
        if (strcmp(rk_verbs[i].name, name) == 0)
            return &rk_verbs[i];
    return NULL;
}

int rk_cli_fail(rk_err *err, bool json) {
    json_t *object = NULL;
    if (json) {
        object = rk_out_object();
        rk_out_set(object, "error", rk_out_text(rk_span_text(rk_err_message(err))));
    }
    int status = rk_fail_print(err);
    if (object)
        rk_out_print(object);
    return status;
}
