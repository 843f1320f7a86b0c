#include "journal/summary.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/temporary.h"
#include "base/tree.h"
#include "journal/read_event_internal.h"
#include "journal/read_lines_internal.h"
#include "journal/summary_text.h"

void rk_run_summary_cleanup(rk_run_summary *summary) {
    rk_run_model_cleanup(&summary->run);
    rk_run_totals_cleanup(&summary->totals);
    for (size_t i = 0; i < summary->unkept_count; i++) {
        rk_free(summary->unkept[i].name);
        rk_free(summary->unkept[i].reason);
    }
    rk_free(summary->unkept);
    *summary = (rk_run_summary){0};
}

static rk_run_unkept *find_unkept(const rk_run_summary *summary, const rk_run_compile *compile) {
    for (size_t i = 0; i < summary->unkept_count; i++) {
        rk_run_unkept *unkept = &summary->unkept[i];
        if (strcmp(unkept->program, compile->program) == 0 &&
            strcmp(unkept->name, compile->name) == 0 &&
            strcmp(unkept->reason, compile->reason) == 0)
            return unkept;
    }
    return NULL;
}

static rk_err *add_unkept(rk_run_summary *summary, const rk_run_compile *compile,
                          size_t *capacity) {
    rk_run_unkept *unkept = find_unkept(summary, compile);
    if (unkept) {
        unkept->count++;
        return NULL;
    }
    void *items =
        rk_run_grow(summary->unkept, summary->unkept_count, capacity, sizeof *summary->unkept);
    if (!items)
        return rk_err_no_memory();
    summary->unkept = items;
    unkept = &summary->unkept[summary->unkept_count++];
    memcpy(unkept->program, compile->program, sizeof unkept->program);
    unkept->count = 1;
    unkept->name = rk_strdup(compile->name);
    unkept->reason = rk_strdup(compile->reason);
    return unkept->name && unkept->reason ? NULL : rk_err_no_memory();
}

// A program that the compiler refused has nothing to keep.
static bool is_unkept(const rk_run_compile *compile) {
    return compile->outcome == RK_OUTCOME_BYPASS && !(compile->compiled && compile->failed);
}

rk_err *rk_run_summary_of(rk_run_model *model, rk_run_summary *out_summary) {
    size_t capacity = 0;
    out_summary->run = *model;
    *model = (rk_run_model){0};
    const rk_run_model *run = &out_summary->run;
    RK_TRY(rk_run_totals_of(run, &out_summary->totals));
    for (size_t i = 0; i < run->compile_count; i++)
        if (is_unkept(&run->compiles[i]))
            RK_TRY(add_unkept(out_summary, &run->compiles[i], &capacity));
    return NULL;
}

// True if the summary was made from the journals that are there now.
static bool fits(const rk_run_summary *summary, const rk_run_model *listed, const char *directory) {
    if (summary->lacks_members || listed->process_count != summary->run.process_count)
        return false;
    for (size_t i = 0; i < listed->process_count; i++) {
        const rk_run_process *process = &summary->run.processes[i];
        if (strcmp(process->file, listed->processes[i].file) != 0)
            return false;
        struct stat info;
        rk_autofree char *path = rk_path_join(directory, process->file);
        if (!path || rk_sys()->lstat_fn(path, &info) != 0 || !S_ISREG(info.st_mode) ||
            (uint64_t)info.st_size != process->file_bytes ||
            rk_lines_modified_ns(&info) != process->modified_ns)
            return false;
    }
    return true;
}

static rk_err *read_kept(const char *store_directory, const char *run, rk_run_summary *out,
                         bool *out_fits) {
    RK_AUTO(rk_run_model) listed = {0};
    RK_AUTO(rk_buf) text = {0};
    rk_autofree char *directory = NULL;
    RK_TRY(rk_run_list_files(store_directory, run, &listed, &directory));
    rk_autofree char *path = rk_path_join(directory, RK_RUN_SUMMARY_NAME);
    if (!path)
        return rk_err_no_memory();
    RK_TRY(rk_fs_read(path, RK_RUN_SUMMARY_MAX_BYTES, &text));
    *out_fits = rk_summary_text_read(rk_buf_span(&text), run, out) && fits(out, &listed, directory);
    return NULL;
}

rk_err *rk_run_summary_load(const char *store_directory, const char *run,
                            rk_run_summary *out_summary) {
    bool is_kept = false;
    rk_err *err = read_kept(store_directory, run, out_summary, &is_kept);
    if (is_kept)
        return NULL;
    rk_err_drop(err, "the journals are read instead, and report what is wrong");
    rk_run_summary_cleanup(out_summary);
    RK_AUTO(rk_run_model) model = {0};
    RK_TRY(rk_run_load(store_directory, run, &model));
    return rk_run_summary_of(&model, out_summary);
}

bool rk_run_summary_is_whole(const rk_run_summary *summary) {
    const rk_run_model *run = &summary->run;
    for (size_t i = 0; i < run->process_count; i++)
        if (!run->processes[i].names_run || run->processes[i].incomplete)
            return false;
    return run->process_count > 0 && run->bad_lines == 0 && run->newer_lines == 0 &&
           run->unknown_events == 0;
}

static uint64_t newest_ns(const rk_run_model *run) {
    uint64_t newest = 0;
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i].modified_ns > newest)
            newest = run->processes[i].modified_ns;
    return newest;
}

static rk_err *write_temporary(const char *top, const char *path, rk_span text, uint64_t time_ns) {
    const uint64_t second_ns = 1000000000;
    const struct timespec at = {.tv_sec = (time_t)(time_ns / second_ns),
                                .tv_nsec = (long)(time_ns % second_ns)};
    rk_autofd fd = -1;
    RK_TRY(rk_tree_open(top, path, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd));
    RK_TRY(rk_fd_write_all(fd, text.data, text.len));
    if (rk_sys()->futimens_fn(fd, (const struct timespec[2]){at, at}) != 0)
        return rk_error_errno(errno, "cannot set the time of %s/%s", top, path);
    return NULL;
}

rk_err *rk_run_summary_keep(const char *store_directory, const rk_run_summary *summary) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_RUN_SUMMARY_MAX_BYTES);
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) folder = {0};
    RK_AUTO(rk_buf) temporary = {0};
    RK_TRY(rk_summary_text_write(summary, &text));
    rk_buf_add_format(&folder, "runs/%s", summary->run.run);
    rk_buf_add_format(&path, "runs/%s/%s", summary->run.run, RK_RUN_SUMMARY_NAME);
    rk_buf_add_format(&temporary, "runs/%s/", summary->run.run);
    rk_temporary_add_name(&temporary);
    RK_TRY(rk_buf_status(&folder));
    RK_TRY(rk_buf_status(&path));
    RK_TRY(rk_buf_status(&temporary));
    // Removes temporary files of killed writers.
    rk_err_drop(rk_tree_sweep(store_directory, rk_buf_text(&folder), 0, NULL),
                "leftover files only use space");
    rk_err *err = write_temporary(store_directory, rk_buf_text(&temporary), rk_buf_span(&text),
                                  newest_ns(&summary->run));
    if (!err)
        err = rk_tree_rename(store_directory, rk_buf_text(&temporary), rk_buf_text(&path));
    if (err)
        rk_err_drop(rk_tree_remove(store_directory, rk_buf_text(&temporary)), "there may be none");
    return err;
}
