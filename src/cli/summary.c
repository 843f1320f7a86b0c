#include "cli/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/temporary.h"
#include "cli/builtin_cpu.h"
#include "cli/env.h"
#include "cli/fail.h"
#include "cli/run_view.h"
#include "cli/text.h"
#include "cli/unseen.h"
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

static void add_compiled(rk_buf *out, const rk_run_model *model, const rk_run_totals *totals) {
    const rk_run_failures failed = rk_run_count_failed(model);
    uint64_t compiled = totals->compiled - failed.count;
    add_count(out, compiled, "compiled");
    if (compiled > 0)
        rk_buf_add_format(out, " in %s",
                          rk_text_seconds(totals->compile_ns - failed.compile_ns).text);
    add_if_any(out, failed.count, "failed to compile");
    if (failed.count > 0)
        rk_buf_add_format(out, " after %s", rk_text_seconds(failed.compile_ns).text);
}

static const char no_plugin[] =
    "no PJRT plugin was seen to create a client, so there is nothing to keep";
static const char possible_reasons[] =
    " (the built-in CPU backends of JAX and PyTorch/XLA are not plugins; rekindle does not see a "
    "plugin that is linked in, or whose GetPjrtApi is not looked up with dlsym)";
void rk_summary_write_no_client(const rk_run_model *model, rk_buf *out) {
    if (model->unwatched_count == 0) {
        rk_buf_add_text(out, model->process_count == 0 ? "no PJRT plugin was seen"
                                                       : "no client of a PJRT plugin was watched");
        return;
    }
    const rk_run_unwatched *first = &model->unwatched[0];
    rk_buf_add_text(out, "the PJRT plugin ");
    if (first->plugin[0]) {
        rk_text_add_printable(out, rk_span_text(first->plugin));
        rk_buf_add_text(out, " ");
    }
    rk_buf_add_text(out, "was not watched: ");
    rk_text_add_printable(out, rk_span_text(first->reason));
}

static void add_warnings(const rk_run_totals *totals, rk_buf *out) {
    if (totals->warning_count > 0)
        rk_buf_add_format(out, "; %zu warning%s: see `rekindle stats`", totals->warning_count,
                          rk_text_plural(totals->warning_count));
}

void rk_summary_add_torch(const rk_run_torch *torch, rk_buf *out) {
    bool only_present = torch->present > 0 && torch->restored + torch->not_restored == 0;
    uint64_t first = only_present ? torch->present : torch->restored;
    if (first + torch->not_restored == 0)
        rk_buf_add_text(out, "no file of torch.compile's caches was in the store");
    else
        rk_buf_add_format(out, "%s file%s of torch.compile's caches %s", rk_text_count(first).text,
                          rk_text_plural(first), only_present ? "already there" : "restored");
    add_if_any(out, only_present ? 0 : torch->present, "already there");
    add_if_any(out, torch->not_restored, "not restored");
    if (torch->kept + torch->not_kept == 0 && torch->made > 0)
        rk_buf_add_format(out, ", %s new and not stored", rk_text_count(torch->made).text);
    else
        rk_buf_add_format(out, ", %s new", rk_text_count(torch->kept).text);
    add_if_any(out, torch->not_kept, "not stored");
    if (torch->damaged > 0)
        rk_buf_add_format(out, ", %s pack%s damaged", rk_text_count(torch->damaged).text,
                          rk_text_plural(torch->damaged));
}

void rk_summary_write(const rk_run_model *model, const rk_run_totals *totals, rk_buf *out) {
    bool is_quiet = model->client_count == 0 && model->compile_count == 0;
    if (totals->torch.starts > 0) {
        rk_summary_add_torch(&totals->torch, out);
        rk_buf_add_text(out, is_quiet ? "" : "; ");
    }
    if (is_quiet && totals->torch.starts > 0) {
        add_warnings(totals, out);
        return;
    }
    if (is_quiet) {
        if (model->process_count == 0) {
            rk_buf_add_text(out, no_plugin);
            rk_buf_add_text(out, possible_reasons);
        } else {
            rk_buf_add_text(out, "nothing to keep, ");
            rk_summary_write_no_client(model, out);
        }
        if (model->torch_why) {
            rk_buf_add_text(out, "; torch.compile's caches were left alone: ");
            rk_text_add_printable(out, rk_span_text(model->torch_why));
        }
        add_warnings(totals, out);
        return;
    }
    uint64_t again = rk_run_count_again(model);
    add_count(out, totals->programs, totals->programs == 1 ? "program" : "programs");
    rk_buf_add_text(out, ", ");
    add_count(out, totals->hits > again ? totals->hits - again : 0, "loaded, ");
    add_compiled(out, model, totals);
    add_if_any(out, again, "requested again");
    add_if_any(out, totals->preloaded, "prefetched");
    // A request that failed is counted as failed only, as in `rekindle stats`.
    add_if_any(out, totals->bypassed - totals->failed_bypassed, "bypassed");
    add_if_any(out, totals->refused, "refused");
    add_if_any(out, totals->deserialize_failures, "failed to load");
    add_if_any(out, totals->quarantined, "quarantined");
    add_if_any(out, totals->not_stored, "not stored");
    add_if_any(out, rk_run_count_lost(model), "not stored because the process ended first");
    add_if_any(out, totals->verify_differences,
               totals->verify_differences == 1 ? "differs from a new compilation"
                                               : "differ from a new compilation");
    if (totals->saved_ns > 0)
        rk_buf_add_format(out, ", saved %s", rk_text_seconds(totals->saved_ns).text);
    add_warnings(totals, out);
}

// True if the file system has no blocks or no inodes left.
static bool is_full(const char *directory) {
    struct statvfs info;
    return statvfs(directory, &info) == 0 &&
           ((info.f_blocks > 0 && info.f_bavail == 0) || (info.f_files > 0 && info.f_favail == 0));
}

bool rk_summary_write_unknown(const char *store_directory, const rk_run_model *model, rk_buf *out) {
    bool full = is_full(store_directory);
    bool says_nothing = model->client_count == 0 && model->compile_count == 0;
    bool has_gap = rk_run_count_incomplete(model) > 0 || (!model->ended && full);
    // A journal without its first line is removed, but its folder stays.
    if (model->process_count > 0 && !(says_nothing && has_gap))
        return false;
    rk_buf_add_text(out, "not known: the journal of this run could not be written");
    if (full)
        rk_buf_add_format(out, ", because the file system of %s is full", store_directory);
    return true;
}

void rk_summary_add_gap(const char *store_directory, const rk_run_model *model, rk_buf *out) {
    bool full = is_full(store_directory);
    if (rk_run_count_incomplete(model) == 0 && (model->ended || !full))
        return;
    rk_buf_add_text(out, "; there may be more: the journal ends early");
    if (full)
        rk_buf_add_format(out, ", and the file system of %s is full", store_directory);
    else
        rk_buf_add_text(out, ", since a write to it failed");
}

// The nearest existing directory: the path itself, or one above it. Owned: rk_free.
static char *nearest_directory(const char *path) {
    char *nearest = rk_need(rk_strdup(path));
    struct stat info;
    char *slash;
    while (lstat(nearest, &info) != 0 && (slash = strrchr(nearest, '/')) != NULL)
        slash[slash == nearest] = '\0';
    return nearest;
}

// Writes a temporary file and removes it: a quota, for example, fails only a write.
static rk_err *try_to_write(const char *directory) {
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    rk_buf_add_format(&path, "%s/", directory);
    rk_temporary_add_name(&path);
    rk_autofd fd = rk_sys()->open_fn(rk_need_text(&path),
                                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return rk_error_errno(errno, "%s cannot be written", directory);
    rk_err *err = rk_fd_write_all(fd, "\n", 1);
    (void)rk_sys()->unlink_fn(rk_need_text(&path));
    return rk_err_wrap(err, "%s", directory);
}

// Returns the error that each process of the job also got for this existing directory.
static rk_err *try_store(const char *directory) {
    rk_store *store = NULL;
    RK_TRY(rk_store_open(directory, true, &store));
    rk_store_free(store);
    return try_to_write(directory);
}

// A job with a plugin may fail before it loads it.
static void add_possible_reasons(int exit_status, rk_buf *out) {
    bool names_plugin =
        rk_env_is_set("PJRT_NAMES_AND_LIBRARY_PATHS") || rk_env_is_set("PJRT_LIBRARY_PATH");
    if (exit_status != 0)
        rk_buf_add_format(out, "; the command ended with status %d, maybe before it used a plugin",
                          exit_status);
    if (exit_status == 0 || !names_plugin)
        rk_buf_add_text(out, possible_reasons);
}

static void write_no_plugin(const char *command, int exit_status, rk_buf *out, rk_buf *out_remedy) {
    RK_AUTO(rk_buf) reason = RK_BUF_INIT(0);
    rk_buf_add_text(out, no_plugin);
    if (rk_unseen_add_reason(command, &reason)) {
        rk_buf_add_format(out, ": %s", rk_need_text(&reason));
        return;
    }
    add_possible_reasons(exit_status, out);
    bool ignored = rk_builtin_cpu_add_remedy(command, out_remedy);
    (void)ignored;
}

void rk_summary_write_nothing(const char *store_directory, bool may_make_store, const char *command,
                              int exit_status, rk_buf *out, rk_buf *out_remedy) {
    rk_autofree char *nearest = nearest_directory(store_directory);
    rk_err *err = NULL;
    if (is_full(nearest))
        rk_buf_add_format(out, "nothing was recorded: the file system of %s is full", nearest);
    else if (strcmp(nearest, store_directory) == 0 && (err = try_store(store_directory)) != NULL)
        rk_buf_add_format(out, "nothing was recorded: %s", rk_err_message(err));
    else if (!may_make_store && strcmp(nearest, store_directory) != 0)
        rk_buf_add_format(out,
                          "nothing was recorded: there is no store at %s, and the mode does not "
                          "make one",
                          store_directory);
    else if (access(nearest, W_OK | X_OK) != 0)
        rk_buf_add_format(out, "nothing was recorded: %s cannot be written", nearest);
    else
        write_no_plugin(command, exit_status, out, out_remedy);
    rk_err_drop(err, "it was told");
}
