#include "journal/process_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/redact.h"
#include "journal/journal.h"
#include "journal/line_internal.h"

static bool parse_rank(const char *text, uint32_t *out_rank) {
    enum { MOST_DIGITS = 9 };
    uint32_t rank = 0;
    size_t len = 0;
    for (; text[len] >= '0' && text[len] <= '9' && len < MOST_DIGITS; len++)
        rank = rank * 10 + (uint32_t)(text[len] - '0');
    *out_rank = rank;
    return len > 0 && text[len] == '\0';
}

uint32_t rk_process_rank(void) {
    static const char *const variables[] = {"RANK",     "JAX_PROCESS_ID", "OMPI_COMM_WORLD_RANK",
                                            "PMI_RANK", "SLURM_PROCID",   "TPU_WORKER_ID"};
    uint32_t rank = 0;
    for (size_t i = 0; i < RK_ARRAY_LEN(variables); i++) {
        const char *text = getenv(variables[i]);
        if (text && parse_rank(text, &rank))
            return rank;
    }
    return 0;
}

uint32_t rk_journal_rank(void) {
    return rk_process_rank();
}

// Reads the command line up to the maximum of `out_text`. `*out_cut`: the rest is missing.
static rk_err *read_command_line(rk_buf *out_text, bool *out_cut) {
    enum { CHUNK_BYTES = 4096 };
    rk_autofd fd = rk_sys()->open_fn("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open /proc/self/cmdline");
    for (;;) {
        uint8_t chunk[CHUNK_BYTES];
        ssize_t got = rk_sys()->read_fn(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rk_error_errno(errno, "cannot read /proc/self/cmdline");
        *out_cut = got > 0 && out_text->len + (size_t)got > out_text->max;
        if (got == 0 || *out_cut)
            return NULL;
        rk_buf_add(out_text, chunk, (size_t)got);
        RK_TRY(rk_buf_status(out_text));
    }
}

static rk_err *write_arguments(rk_json *json, rk_span command_line, bool cut) {
    enum { ARGUMENT_MAX_BYTES = 4096 };
    rk_redactor redactor = {0};
    size_t end = json->out->len + RK_LINE_LIST_BYTES;
    rk_json_key(json, "argv");
    rk_json_begin_array(json);
    while (command_line.len && json->out->len + ARGUMENT_MAX_BYTES < end) {
        size_t len = strnlen((const char *)command_line.data, command_line.len);
        RK_AUTO(rk_buf) shown = {0};
        rk_redact_argument(&redactor, rk_span_of(command_line.data, len), &shown);
        RK_TRY(rk_buf_status(&shown));
        rk_line_add_item(json, rk_buf_span(&shown), ARGUMENT_MAX_BYTES);
        size_t taken = len < command_line.len ? len + 1 : len;
        command_line = rk_span_of(command_line.data + taken, command_line.len - taken);
    }
    rk_json_end_array(json);
    if (cut || command_line.len)
        rk_json_member_bool(json, "argv_cut", true);
    return NULL;
}

rk_err *rk_process_describe(rk_json *json) {
    enum { COMMAND_LINE_MAX_BYTES = 256 << 10 };
    rk_json_member_uint(json, "pid", (uint64_t)getpid());
    char text[PATH_MAX] = "";
    if (gethostname(text, sizeof text - 1) == 0)
        rk_line_add_name(json, "host", text);
    ssize_t len = readlink("/proc/self/exe", text, sizeof text);
    if (len > 0)
        rk_line_add_text(json, "executable", rk_span_of(text, (size_t)len), RK_LINE_NAME_BYTES);
    RK_AUTO(rk_buf) command_line = RK_BUF_INIT(COMMAND_LINE_MAX_BYTES);
    bool cut = false;
    rk_err *err = read_command_line(&command_line, &cut);
    if (err) {
        rk_err_drop(err, "the journal is written without the command line");
        return NULL;
    }
    return write_arguments(json, rk_buf_span(&command_line), cut);
}
