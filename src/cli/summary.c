#include "cli/summary.h"

#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run_view.h"
#include "cli/text.h"
#include "store/store.h"

static void add_count(rk_buf *out, uint64_t count, const char *what) {
    rk_buf_add_format(out, "%s %s", rk_text_count(count).text, what);
}

static void add_if_any(rk_buf *out, uint64_t count, const char *what) {
    if (count == 0)
        return;
    rk_buf_add_text(out, ", ");
    add_count(out, count, what);
}

static const char no_plugin[] = "no PJRT plugin was loaded, nothing to keep (the built-in CPU "
                                "backends of JAX and PyTorch/XLA are not plugins)";

static void add_warnings(const rk_run_totals *totals, rk_buf *out) {
    if (totals->warning_count > 0)
        rk_buf_add_format(out, "; %zu warning%s: see `rekindle stats`", totals->warning_count,
                          rk_text_plural(totals->warning_count));
}

void rk_summary_write(const rk_run_model *model, const rk_run_totals *totals, rk_buf *out) {
    if (model->client_count == 0 && model->compile_count == 0) {
        rk_buf_add_text(out, no_plugin);
        add_warnings(totals, out);
        return;
    }
    add_count(out, totals->programs, totals->programs == 1 ? "program" : "programs");
    rk_buf_add_text(out, ", ");
    add_count(out, totals->hits, "loaded, ");
    add_count(out, totals->compiled, "compiled");
    if (totals->compiled > 0)
        rk_buf_add_format(out, " in %s", rk_text_seconds(totals->compile_ns).text);
    add_if_any(out, totals->preloaded, "loaded ahead");
    add_if_any(out, totals->bypassed, "bypassed");
    add_if_any(out, totals->deserialize_failures, "failed to load");
    add_if_any(out, totals->quarantined, "set aside as damaged");
    add_if_any(out, rk_run_not_stored(model), "not stored");
    add_if_any(out, totals->verify_differences,
               totals->verify_differences == 1 ? "is not what compiling it gives"
                                               : "are not what compiling them gives");
    if (totals->hits > 0)
        rk_buf_add_format(out, ", saved %s", rk_text_seconds(totals->saved_ns).text);
    add_warnings(totals, out);
}

// The directory itself, or the nearest one above it that is there.
static char *nearest_directory(const char *path) {
    char *nearest = rk_need(rk_strdup(path));
    while (access(nearest, F_OK) != 0) {
        char *slash = strrchr(nearest, '/');
        if (!slash || slash == nearest)
            break;
        *slash = '\0';
    }
    return nearest;
}

// What each process of the job was told as well, of a directory that is there.
static rk_err *try_store(const char *directory) {
    rk_store *store = NULL;
    if (access(directory, F_OK) == 0)
        RK_TRY(rk_store_open(directory, true, &store));
    rk_store_free(store);
    return NULL;
}

void rk_summary_write_nothing(const char *store_directory, rk_buf *out) {
    rk_autofree char *nearest = nearest_directory(store_directory);
    struct statvfs info;
    rk_err *err = NULL;
    if (access(nearest, W_OK | X_OK) != 0)
        rk_buf_add_format(out, "nothing was recorded: %s cannot be written", nearest);
    else if (statvfs(nearest, &info) == 0 && info.f_blocks > 0 && info.f_bavail == 0)
        rk_buf_add_format(out, "nothing was recorded: the file system of %s is full", nearest);
    else if ((err = try_store(store_directory)) != NULL)
        rk_buf_add_format(out, "nothing was recorded: %s", rk_err_message(err));
    else
        rk_buf_add_text(out, no_plugin);
    rk_err_drop(err, "it was told");
}
