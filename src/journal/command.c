#include "journal/command.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "journal/line_internal.h"
#include "journal/read_event_internal.h"

static rk_json begin_line(const char *event, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_member_uint(&json, "v", RK_LINE_VERSION);
    rk_json_member_seconds(&json, "t", rk_realtime_ns());
    rk_json_member_string(&json, "ev", event);
    return json;
}

static void add_command(const rk_run_command *command, rk_buf *out) {
    rk_json json = begin_line("command", out);
    rk_json_member_uint(&json, "pid", (uint64_t)command->pid);
    rk_line_add_name(&json, "host", command->host);
    if (command->signal_number)
        rk_json_member_uint(&json, "signal", (uint64_t)command->signal_number);
    else
        rk_json_member_uint(&json, "exit_status", command->exit_status);
    rk_json_end_object(&json);
    rk_buf_add_byte(out, '\n');
}

static void add_counts(const rk_run_torch *torch, rk_json *json) {
    rk_json_member_uint(json, "restored", torch->restored);
    rk_json_member_uint(json, "restored_bytes", torch->restored_bytes);
    rk_json_member_uint(json, "present", torch->present);
    rk_json_member_uint(json, "not_restored", torch->not_restored);
    rk_json_member_uint(json, "made", torch->made);
    rk_json_member_uint(json, "kept", torch->kept);
    rk_json_member_uint(json, "kept_bytes", torch->kept_bytes);
    rk_json_member_uint(json, "not_kept", torch->not_kept);
    rk_json_member_uint(json, "damaged", torch->damaged);
    rk_json_member_seconds(json, "restore_seconds", torch->restore_ns);
    rk_json_member_seconds(json, "keep_seconds", torch->keep_ns);
}

static void add_torch(const rk_run_torch_note *note, rk_buf *out) {
    rk_json json = begin_line("torch", out);
    if (note->torch)
        add_counts(note->torch, &json);
    if (note->why)
        rk_json_member_string(&json, "why", note->why);
    if (note->warning)
        rk_json_member_string(&json, "warning", note->warning);
    rk_json_end_object(&json);
    rk_buf_add_byte(out, '\n');
}

// Sets `*out_torn` if the last line is unfinished, because its process was killed during the write.
static rk_err *look_at_end(int fd, bool *out_torn) {
    struct stat info;
    char last = '\n';
    if (rk_sys()->fstat_fn(fd, &info) != 0 ||
        (info.st_size > 0 && rk_sys()->pread_fn(fd, &last, 1, info.st_size - 1) < 0))
        return rk_error_errno(errno, "the journal cannot be read");
    *out_torn = last != '\n';
    return NULL;
}

// Appends a line to the first journal of the run. `*out_added`: false if the run has no journal.
static rk_err *append(const char *store_directory, const char *run, rk_span line, bool *out_added) {
    RK_AUTO(rk_run_model) listed = {0};
    rk_autofree char *directory = NULL;
    *out_added = false;
    RK_TRY(rk_run_list_files(store_directory, run, &listed, &directory));
    if (listed.process_count == 0)
        return NULL;
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) text = {0};
    bool torn = false;
    rk_buf_add_format(&path, "runs/%s/%s", run, listed.processes[0].file);
    RK_TRY(rk_buf_status(&path));
    rk_autofd fd = -1;
    RK_TRY(
        rk_tree_open(store_directory, rk_buf_text(&path), O_RDWR | O_APPEND | O_NONBLOCK, 0, &fd));
    RK_TRY(look_at_end(fd, &torn));
    if (torn)
        rk_buf_add_byte(&text, '\n');
    rk_buf_add_span(&text, line);
    RK_TRY(rk_buf_status(&text));
    *out_added = true;
    return rk_fd_write_all(fd, text.data, text.len);
}

rk_err *rk_run_add_command(const char *store_directory, const char *run,
                           const rk_run_command *command) {
    RK_AUTO(rk_buf) line = {0};
    bool added;
    add_command(command, &line);
    RK_TRY(rk_buf_status(&line));
    return append(store_directory, run, rk_buf_span(&line), &added);
}

static rk_err *make_journal(const rk_journal_start *start) {
    rk_journal *journal = NULL;
    RK_TRY(rk_journal_open(start, &journal));
    rk_journal_add_end(journal);
    rk_journal_close(journal);
    return NULL;
}

rk_err *rk_run_add_torch(const rk_journal_start *start, const rk_run_torch_note *note) {
    RK_AUTO(rk_buf) line = {0};
    bool added = false;
    add_torch(note, &line);
    RK_TRY(rk_buf_status(&line));
    rk_err *err = append(start->store_directory, start->run, rk_buf_span(&line), &added);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "the run has no folder yet");
        err = NULL;
    }
    if (err || added)
        return err;
    RK_TRY(make_journal(start));
    return append(start->store_directory, start->run, rk_buf_span(&line), &added);
}
