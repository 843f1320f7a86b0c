#include "journal/command.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "journal/line_internal.h"
#include "journal/read_event_internal.h"

static void add_line(const rk_run_command *command, rk_buf *out) {
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_member_uint(&json, "v", RK_LINE_VERSION);
    rk_json_member_seconds(&json, "t", rk_realtime_ns());
    rk_json_member_string(&json, "ev", "command");
    rk_json_member_uint(&json, "pid", (uint64_t)command->pid);
    rk_line_add_name(&json, "host", command->host);
    if (command->signal_number)
        rk_json_member_uint(&json, "signal", (uint64_t)command->signal_number);
    else
        rk_json_member_uint(&json, "exit_status", command->exit_status);
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

rk_err *rk_run_add_command(const char *store_directory, const char *run,
                           const rk_run_command *command) {
    RK_AUTO(rk_run_model) listed = {0};
    rk_autofree char *directory = NULL;
    RK_TRY(rk_run_list_files(store_directory, run, &listed, &directory));
    if (listed.process_count == 0)
        return NULL;
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) line = {0};
    bool torn = false;
    rk_buf_add_format(&path, "runs/%s/%s", run, listed.processes[0].file);
    RK_TRY(rk_buf_status(&path));
    rk_autofd fd = -1;
    RK_TRY(
        rk_tree_open(store_directory, rk_buf_text(&path), O_RDWR | O_APPEND | O_NONBLOCK, 0, &fd));
    RK_TRY(look_at_end(fd, &torn));
    if (torn)
        rk_buf_add_byte(&line, '\n');
    add_line(command, &line);
    RK_TRY(rk_buf_status(&line));
    return rk_fd_write_all(fd, line.data, line.len);
}
